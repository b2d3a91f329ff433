#pragma once
// `tbb-spec-rw`: oneTBB's speculative_spin_rw_mutex. It is an elided reader-writer spin lock (sync/tbb_elision.h). An
// elided reader subscribes to a word that only writers change, so it runs beside readers that hold the lock.
#include <oneapi/tbb/spin_rw_mutex.h>

#include <type_traits>

#include "sync/tbb_elision.h"

namespace latchlab {

/// oneTBB's guard with its flag for writing as a template parameter.
template <bool kWrites>
struct TbbSpecRwGuard : tbb::speculative_spin_rw_mutex::scoped_lock {
  explicit TbbSpecRwGuard(tbb::speculative_spin_rw_mutex& lock)
      : tbb::speculative_spin_rw_mutex::scoped_lock(lock, kWrites) {}
};

template <class M>
class TbbSpecRw : public TbbElision<M, tbb::speculative_spin_rw_mutex, TbbSpecRwGuard<false>, TbbSpecRwGuard<true>> {
 public:
  static constexpr std::string_view kName = "tbb-spec-rw";
  static constexpr std::string_view kAbout = "one global tbb::speculative_spin_rw_mutex, elided as oneTBB does";
  using TbbSpecRw::TbbElision::TbbElision;
  static_assert(!std::is_same_v<tbb::speculative_spin_rw_mutex, tbb::spin_rw_mutex>,
                "without -mrtm oneTBB does not elide");
};

}  // namespace latchlab
