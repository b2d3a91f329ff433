#pragma once
// `tbb-spec`: oneTBB's speculative_spin_mutex, the peer of `rtm`. It is an elided spin lock (sync/tbb_elision.h).
#include <oneapi/tbb/spin_mutex.h>

#include <type_traits>

#include "sync/tbb_elision.h"

namespace latchlab {

template <class M>
class TbbSpec : public TbbElision<M, tbb::speculative_spin_mutex, tbb::speculative_spin_mutex::scoped_lock> {
 public:
  static constexpr std::string_view kName = "tbb-spec";
  static constexpr std::string_view kAbout = "one global tbb::speculative_spin_mutex, elided as oneTBB does";
  using TbbSpec::TbbElision::TbbElision;
  static_assert(!std::is_same_v<tbb::speculative_spin_mutex, tbb::spin_mutex>, "without -mrtm oneTBB does not elide");
};

}  // namespace latchlab
