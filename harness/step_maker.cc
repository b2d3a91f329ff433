#include "harness/step_maker.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace latchlab {
namespace {

/// The key and the value that stamp `stamp` writes for it.
template <class Raw>
[[gnu::always_inline]] inline void fill_key(Step& step, const KeySet& keys, const Op& op, u64 stamp, u32 value_bits) {
  const Raw raw = keys.raw<Raw>(op);
  if constexpr (std::is_same_v<Raw, u64>) {
    step.number = raw;
    step.length = sizeof(u64);
  } else {
    step.bytes = raw.data();
    step.length = static_cast<u32>(raw.size());
  }
  step.value = value_of(raw, stamp, value_bits);
}

/// `may_miss`: a record may be gone, or not there yet. `may_hit`: what is to be inserted may be there.
Expect expectation(OpKind kind, bool absent, bool may_miss, bool may_hit) {
  switch (kind) {
    case OpKind::kRead:
      if (absent) return Expect::kMiss;
      [[fallthrough]];
    case OpKind::kUpdate:
    case OpKind::kUpsert:
    case OpKind::kRmw: return may_miss ? Expect::kEither : Expect::kHit;
    case OpKind::kInsert: return may_hit ? Expect::kEither : Expect::kMiss;
    case OpKind::kErase:
    case OpKind::kScan:
    case OpKind::kMultiGet: break;   // its keys are reads
  }
  return Expect::kEither;
}

}  // namespace

Slice slice_of(std::span<const Step> steps, std::span<const Step> gets) {
  Slice slice{.steps = steps.data(), .count = static_cast<u32>(steps.size()), .only = {}, .teaches = true, .gets = gets.data()};
  if (steps.empty()) return slice;
  const OpKind kind = steps.front().kind;
  if (std::all_of(steps.begin(), steps.end(), [&](const Step& step) { return step.kind == kind; })) {
    slice.only = kind;
  }
  return slice;
}

Slice Steps::ran() const {
  if (rest_.steps == nullptr) return {};
  return slice_of(std::span(steps_.data(), rest_.steps), gets_);
}

void Steps::refill(const StepMaker& maker, u64 first, u32 count) {
  const u32 left = rest_.count;
  std::copy_n(rest_.steps, left, steps_.data());
  steps_.resize(std::max<std::size_t>(steps_.size(), left + count));
  if (!gets_.empty()) {
    const auto is_multi_get = [](const Step& step) { return step.kind == OpKind::kMultiGet; };
    const auto kept = std::span(steps_).first(left);
    const auto next = std::ranges::find_if(kept, is_multi_get);
    const u64 gone = next == kept.end() ? gets_.size() : next->number;
    gets_.erase(gets_.begin(), gets_.begin() + static_cast<std::ptrdiff_t>(gone));
    for (Step& step : kept) step.number -= is_multi_get(step) ? gone : 0;
  }
  maker.make(first, std::span(steps_).subspan(left, count), gets_, made_);
  rest_ = slice_of(std::span(steps_).first(left + count), gets_);
}

Slice Steps::only(const StepMaker& maker, u64 first, u32 count) {
  rest_ = {};
  refill(maker, first, count);
  return std::exchange(rest_, {});
}

void StepMaker::make(u64 first, std::span<Step> steps, std::vector<Step>& gets, MadeOps& made) const {
  made.ops.resize(steps.size());
  made.gets.clear();
  stream_.fill(first, made.ops, made.gets);
  stream_.keys().bytes() ? make_of<std::string_view>(first, steps, gets, made) : make_of<u64>(first, steps, gets, made);
}

template <class Raw>
void StepMaker::make_of(u64 first, std::span<Step> steps, std::vector<Step>& gets, const MadeOps& made) const {
  const KeySet& keys = stream_.keys();
  const bool may_miss = may_be_gone_ || stream_.addresses_new();
  const bool may_hit = may_be_gone_ || stream_.inserts_may_hit() || stream_.size() > keys.capacity();
  std::array<std::array<Expect, 2>, kOpKinds> expect;   // by kind, and whether the key is an absent one
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    for (const bool absent : {false, true}) expect[kind][absent] = expectation(OpKind{static_cast<u8>(kind)}, absent, may_miss, may_hit);
  }
  const u32 value_bits = value_bits_;
  const auto fill = [&](Step& step, const Op& op, u64 stamp) {
    fill_key<Raw>(step, keys, op, stamp, value_bits);
    step.limit = op.keys;
    step.kind = op.kind;
    step.expect = expect[static_cast<std::size_t>(op.kind)][op.absent];
  };
  for (std::size_t i = 0; i < steps.size(); ++i) fill(steps[i], made.ops[i], first + i);
  if (made.gets.empty()) return;
  u64 next = gets.size();
  gets.resize(next + made.gets.size());
  for (std::size_t i = 0; i < made.gets.size(); ++i) fill(gets[next + i], made.gets[i], 0);
  for (Step& step : steps) {
    if (step.kind == OpKind::kMultiGet) step.number = std::exchange(next, next + step.limit);
  }
}

Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Step>& steps,
                  u32 value_bits) {
  steps.resize(count);
  for (u32 i = 0; i < count; ++i) {
    // 128 bits: the product of two counts may exceed 64.
    __extension__ using Wide = unsigned __int128;
    const u64 record = static_cast<u64>(static_cast<Wide>(first + i) * records / samples);
    Op op;
    keys.put(op, record);
    keys.bytes() ? fill_key<std::string_view>(steps[i], keys, op, 0, value_bits) : fill_key<u64>(steps[i], keys, op, 0, value_bits);
    steps[i].limit = 0;
    steps[i].kind = OpKind::kRead;
    steps[i].expect = Expect::kHit;
  }
  return {.steps = steps.data(), .count = count, .only = OpKind::kRead, .teaches = false, .gets = nullptr};
}

StreamPrint print_of(const Stream& stream, u64 first, u64 made) {
  StreamPrint print{.operations = std::min(StreamPrint::kMost, stream.size()), .fingerprint = made};
  std::vector<Op> ops(kChunkSteps), gets;
  while (first < print.operations) {
    const auto here = std::span(ops).first(std::min<u64>(kChunkSteps, print.operations - first));
    gets.clear();
    stream.fill(first, here, gets);
    print.fingerprint += fingerprint(first, here, gets);
    first += here.size();
  }
  return print;
}

}  // namespace latchlab
