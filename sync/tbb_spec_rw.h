#pragma once
// `tbb-spec-rw`: oneTBB's speculative_spin_rw_mutex: a reader-writer spin lock that is elided (sync/tbb_elision.h). Who
// elides reading subscribes to a word that only writers change, and so runs beside readers that hold the lock.
#include <oneapi/tbb/spin_rw_mutex.h>

#include <type_traits>

#include "sync/tbb_elision.h"

namespace latchlab {

/// oneTBB's guard takes whether it writes.
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
  static_assert(!std::is_same_v<tbb::speculative_spin_rw_mutex, tbb::spin_rw_mutex>, "so it is without -mrtm");
};

}  // namespace latchlab
