#pragma once
// `own`: the word for peers that synchronize themselves (`--index=tbb --sync=own`).
//
// There is nothing to run a body on: a peer implements find, insert and the rest by itself
// (indexes/concepts.h) and uses this type for what the harness asks every policy: its name, its options
// (none), its counters (none).
#include <string_view>

#include "src/stats/counters.h"
#include "sync/no_options.h"
#include "sync/promises.h"

namespace latchlab {

struct Own : Promises {
  static constexpr std::string_view kName = "own";
  static constexpr std::string_view kAbout = "the index synchronizes itself";
  using Options = NoOptions;
  using Counters = NoCounters;

  explicit Own(const Options&) {}
};

}  // namespace latchlab
