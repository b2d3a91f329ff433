#pragma once
// `own`: the policy of peers that synchronize themselves (`--index=tbb --sync=own`).
//
// It runs no body: a peer implements find, insert and the rest by itself (indexes/concepts.h). This type only has what
// the harness asks of every policy: its name, its options (none) and its counters (none).
#include <string_view>

#include "src/stats/counters.h"
#include "sync/no_options.h"
#include "sync/promises.h"

namespace latchlab {

struct Own : Promises {
  static constexpr std::string_view kName = "own";
  static constexpr std::string_view kAbout = "the index synchronizes itself";
  static constexpr std::string_view kWaitsElsewhere = "the index waits by itself";
  using Options = NoOptions;
  using Counters = NoCounters;

  explicit Own(const Options&) {}
};

}  // namespace latchlab
