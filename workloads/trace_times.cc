#include "workloads/trace_times.h"

#include <algorithm>

namespace latchlab {

void TraceTimes::look_for_stamp(u64 place) {
  const u64 stamp = ops_[place].time_ns;
  // Searches in doubling steps from the place, since a trace may have a stamp for every operation.
  u64 before = 1, after = 1;
  while (before < place && ops_[place - before].time_ns == stamp) before *= 2;
  while (after < ops_.size() - place && ops_[place + after].time_ns == stamp) after *= 2;
  const auto at = ops_.begin() + static_cast<std::ptrdiff_t>(place);
  const auto first = at - static_cast<std::ptrdiff_t>(std::min(before, place));
  const auto last = at + static_cast<std::ptrdiff_t>(std::min(after, ops_.size() - place));
  const auto same = std::ranges::equal_range(first, last, stamp, {}, &TraceOp::time_ns);
  begin_ = static_cast<u64>(same.begin() - ops_.begin());
  end_ = static_cast<u64>(same.end() - ops_.begin());
  const u64 next = end_ < ops_.size() ? end_ : begin_;
  lasts_ns_ = next == 0 ? 0 : std::min(ops_[next].time_ns - ops_[next - 1].time_ns, ~u64{0} - stamp);
}

}  // namespace latchlab
