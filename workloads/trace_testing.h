#pragma once

// Random operations of traces, for tests.

#include "src/base/rng.h"
#include "workloads/trace.h"

namespace latchlab::testing {

/// Returns a kind of operations that a trace may have, each with the same probability.
[[nodiscard]] inline OpKind random_trace_kind(Rng& rng) {
  while (true) {
    const u32 kind = static_cast<u32>(rng.below(kOpKinds));
    if (TraceOp::may_have(kind)) return static_cast<OpKind>(kind);
  }
}

}  // namespace latchlab::testing
