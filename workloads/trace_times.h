#pragma once

// The times at which the operations of a trace came. A trace has the times of a clock of its own. Twitter's has whole
// seconds, so thousands of operations share a time stamp. They are spread evenly over the time to the next stamp:
//
//     stamp       0 s                1 s       3 s
//     operations  a    b    c    d   e    f    g    h
//     came        0  .25   .5  .75   1    2    3    4     the last stamp lasts as long as the one before

#include <span>

#include "src/base/types.h"
#include "workloads/trace.h"

namespace latchlab {

/// The times of the operations of a trace, in any order. For one thread.
class TraceTimes {
 public:
  /// Takes the operations of a trace that has times, with at least two stamps. They must outlive this object.
  explicit TraceTimes(std::span<const TraceOp> ops) : ops_(ops) {}

  /// Returns the time of the operation at `place` in the trace, in ns since the first, never less than those before it.
  /// O(1) for consecutive places with one stamp, O(log operations) for the first place with another.
  [[nodiscard]] u64 at(u64 place) {
    if (place < begin_ || place >= end_) look_for_stamp(place);
    __extension__ using Wide = unsigned __int128;  // of the product of a time and a count
    return ops_[place].time_ns + static_cast<u64>(Wide{lasts_ns_} * (place - begin_) / (end_ - begin_));
  }

 private:
  void look_for_stamp(u64 place);

  std::span<const TraceOp> ops_;
  u64 begin_ = 0, end_ = 0;  // the operations with the stamp that was looked for last
  u64 lasts_ns_ = 0;         // time to the next stamp
};

}  // namespace latchlab
