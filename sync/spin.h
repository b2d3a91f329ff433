#pragma once
// `spin`: one global test-and-test-and-set lock around every operation. It is the lock that the elided policies elide
// and fall back to.
#include "sync/one_lock.h"
#include "sync/spin_lock.h"

namespace latchlab {

template <class M>
class Spin : public OneExclusiveLock<M, SpinLock<M>> {
 public:
  static constexpr std::string_view kName = "spin";
  static constexpr std::string_view kAbout = "one global spin lock";
  using Spin::OneLock::OneLock;
};

}  // namespace latchlab
