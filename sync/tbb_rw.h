#pragma once
// `tbb-rw`: oneTBB's spin_rw_mutex, the peer of `rwspin`. As there, readers share, and a writer that waits keeps new
// ones out.
//
// Whoever waits looks again after twice as many pauses each time, and after sixteen of them yields between looks: it
// disturbs the lock's line less than `rwspin` does, and learns later that it is free. Its word is not a cell, so it
// exists on Native only.
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
  using TbbRw::OneLock::OneLock;
};

}  // namespace latchlab
