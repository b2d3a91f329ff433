#include "workloads/trace_stream.h"

#include <cassert>
#include <utility>

#include "src/base/hash.h"
#include "workloads/trace_times.h"

namespace latchlab {

TraceStream::TraceStream(std::shared_ptr<const Trace> trace, u32 parts, const KeySet& keys)
    : Stream(keys), trace_(std::move(trace)), begins_(parts + u64{1}) {
  assert(parts >= 1);
  begins_.back() = trace_->ops().size();
  if (parts == 1) return;
  const auto part_of = [&](const TraceOp& op) { return multiply_high(mix64(op.key + u64{1}), parts); };
  std::vector<u64> next(parts);  // the next place of each part
  for (const TraceOp& op : trace_->ops()) ++next[part_of(op)];
  u64 begin = 0;
  for (u32 part = 0; part < parts; ++part) {
    begins_[part] = begin;
    begin += std::exchange(next[part], begin);
  }
  places_.resize(trace_->ops().size());
  for (u64 place = 0; place < places_.size(); ++place) places_[next[part_of(trace_->ops()[place])]++] = place;
}

void TraceStream::fill(u64 first, std::span<Op> ops, std::vector<Op>& /*gets*/) const {
  assert(first <= size() && ops.size() <= size() - first);
  for (Op& op : ops) {
    const TraceOp& recorded = trace_->ops()[place_of(first++)];
    op = Op{.kind = static_cast<OpKind>(recorded.kind)};
    keys().put(op, recorded.key);
  }
}

std::unique_ptr<RecordedTimes> TraceStream::times_from(u64 first) const {
  class Times final : public RecordedTimes {
   public:
    Times(const TraceStream& stream, u64 first) : stream_(stream), times_(stream.trace_->ops()), number_(first) {}
    u64 next() override { return times_.at(stream_.place_of(number_++)); }

   private:
    const TraceStream& stream_;
    TraceTimes times_;
    u64 number_;
  };
  return trace_->has_times() ? std::make_unique<Times>(*this, first) : nullptr;
}

}  // namespace latchlab
