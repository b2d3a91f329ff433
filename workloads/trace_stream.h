#pragma once

// The operations of a trace (trace.h), in as many parts as threads replay it. All operations on a key are in one part,
// in their order, so that what one wrote the next one reads, however fast the other parts go. The numbers of a part's
// operations follow each other, part after part:
//
//     number   0 ............... p1 ................. p2 ........ n
//              | keys of part 0  | keys of part 1     | ...
//
// In one part a number is the place in the trace.

#include <memory>
#include <vector>

#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/stream.h"
#include "workloads/trace.h"

namespace latchlab {

class TraceStream final : public Stream {
 public:
  /// `keys` are those of the same file, and must outlive the stream. parts >= 1. O(operations).
  TraceStream(std::shared_ptr<const Trace> trace, u32 parts, const KeySet& keys);

  [[nodiscard]] u64 size() const override { return trace_->ops().size(); }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::vector<u64> parts() const override { return begins_; }
  /// What is read may have been erased, and what is inserted be there.
  [[nodiscard]] bool addresses_new() const override { return true; }
  [[nodiscard]] bool inserts_may_hit() const override { return true; }

  /// As trace_times.h says, where the trace has times, of two stamps at least.
  [[nodiscard]] std::unique_ptr<RecordedTimes> times_from(u64 first) const override;

 private:
  [[nodiscard]] u64 place_of(u64 number) const { return places_.empty() ? number : places_[number]; }

  std::shared_ptr<const Trace> trace_;
  std::vector<u64> begins_;  // of the parts, and the end
  std::vector<u64> places_;  // in the trace, by number; empty for one part
};

}  // namespace latchlab
