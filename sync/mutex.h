#pragma once
// `mutex`: one global mutex of the system around every operation. A thread that finds it taken sleeps in the kernel.
// Waiting costs nothing, and waking a thread costs a system call.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class Mutex : public OneExclusiveLock<M, typename M::Mutex> {
 public:
  static constexpr std::string_view kName = "mutex";
  static constexpr std::string_view kAbout = "one global mutex of the system: waiting threads sleep";
  static constexpr std::string_view kWaitsElsewhere =
      "its threads sleep in the system's lock, each time by a voluntary context switch";
  using Mutex::OneLock::OneLock;
};

}  // namespace latchlab
