#pragma once
// `mutex`: one global mutex of the system around every operation. Who finds it taken sleeps in the kernel: threads that
// wait cost nothing, and waking one costs a system call.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class Mutex : public OneExclusiveLock<M, typename M::Mutex> {
 public:
  static constexpr std::string_view kName = "mutex";
  static constexpr std::string_view kAbout = "one global mutex of the system: who waits sleeps";
  using Mutex::OneLock::OneLock;
};

}  // namespace latchlab
