#pragma once

// The operations of a trace (trace.h), in as many parts as there are threads to replay it. All operations on a key are
// in one part, in their order. So each operation sees the effects of those before it on its key, no matter how fast
// other parts go. The operations of a part have consecutive numbers, part after part:
//
//     number   0 ............... p1 ................. p2 ........ n
//              | keys of part 0  | keys of part 1     | ...
//
// With a single part a number is the place in the trace.

#include <memory>
#include <vector>

#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/stream.h"
#include "workloads/trace.h"

namespace latchlab {

class TraceStream final : public Stream {
 public:
  /// Makes the stream, with parts >= 1. `keys` are those of the same file, and must outlive it. O(operations).
  TraceStream(std::shared_ptr<const Trace> trace, u32 parts, const KeySet& keys);

  [[nodiscard]] u64 size() const override { return trace_->ops().size(); }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::vector<u64> parts() const override { return begins_; }
  /// Returns true: a key that is read may have been erased, and a key that is inserted may be present.
  [[nodiscard]] bool addresses_new() const override { return true; }
  [[nodiscard]] bool inserts_may_hit() const override { return true; }

  /// Returns times as trace_times.h says, if the trace has times, with at least two stamps.
  [[nodiscard]] std::unique_ptr<RecordedTimes> times_from(u64 first) const override;

 private:
  [[nodiscard]] u64 place_of(u64 number) const { return places_.empty() ? number : places_[number]; }

  std::shared_ptr<const Trace> trace_;
  std::vector<u64> begins_;  // beginnings of the parts, and the end
  std::vector<u64> places_;  // place in the trace by number; empty for a single part
};

}  // namespace latchlab
