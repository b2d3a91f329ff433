#pragma once
// `tbb-rw`: oneTBB's spin_rw_mutex, the peer of `rwspin`. As there, readers share the lock, and a waiting writer keeps
// new readers out.
//
// A waiting thread doubles the number of pauses from look to look. After a wait of sixteen pauses it yields between
// looks instead. So it disturbs the lock's line less than `rwspin` does, but learns later that the lock is free. The
// lock's word is not a cell, so this policy exists on Native only.
#include <oneapi/tbb/spin_rw_mutex.h>

#include <concepts>

#include "src/machine/native.h"
#include "sync/one_lock.h"

namespace latchlab {

template <std::derived_from<Native> M>
class TbbRw : public OneSharedLock<M, tbb::spin_rw_mutex> {
 public:
  static constexpr std::string_view kName = "tbb-rw";
  static constexpr std::string_view kAbout = "one global tbb::spin_rw_mutex";
  static constexpr std::string_view kWaitsElsewhere = "oneTBB's lock waits by itself";
  using TbbRw::OneLock::OneLock;
};

}  // namespace latchlab
