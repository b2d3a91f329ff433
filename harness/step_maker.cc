#include "harness/step_maker.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>

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
    case OpKind::kScan: break;
  }
  return Expect::kEither;
}

}  // namespace

Slice slice_of(std::span<const Step> steps) {
  Slice slice{.steps = steps.data(), .count = static_cast<u32>(steps.size()), .only = {}, .teaches = true};
  if (steps.empty()) return slice;
  const OpKind kind = steps.front().kind;
  if (std::all_of(steps.begin(), steps.end(), [&](const Step& step) { return step.kind == kind; })) {
    slice.only = kind;
  }
  return slice;
}

void StepMaker::make(u64 first, std::span<Step> steps, std::vector<Op>& ops) const {
  ops.resize(steps.size());
  stream_.fill(first, ops);
  stream_.keys().bytes() ? make_of<std::string_view>(first, steps, ops) : make_of<u64>(first, steps, ops);
}

template <class Raw>
void StepMaker::make_of(u64 first, std::span<Step> steps, std::span<const Op> ops) const {
  const KeySet& keys = stream_.keys();
  const bool may_miss = may_be_gone_ || stream_.addresses_new();
  const bool may_hit = may_be_gone_ || stream_.inserts_may_hit() || stream_.size() > keys.capacity();
  std::array<std::array<Expect, 2>, kOpKinds> expect;   // by kind, and whether the key is an absent one
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    for (const bool absent : {false, true}) expect[kind][absent] = expectation(OpKind{static_cast<u8>(kind)}, absent, may_miss, may_hit);
  }
  const u32 value_bits = value_bits_;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Op& op = ops[i];
    Step& step = steps[i];
    fill_key<Raw>(step, keys, op, first + i, value_bits);
    step.limit = op.scan;
    step.kind = op.kind;
    step.expect = expect[static_cast<std::size_t>(op.kind)][op.absent];
  }
}

Slice StepMaker::make(u64 first, u32 count, std::vector<Op>& ops, std::vector<Step>& steps) const {
  steps.resize(count);
  make(first, steps, ops);
  return slice_of(steps);
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
  return {.steps = steps.data(), .count = count, .only = OpKind::kRead, .teaches = false};
}

StreamPrint print_of(const Stream& stream, u64 first, u64 made) {
  StreamPrint print{.operations = std::min(StreamPrint::kMost, stream.size()), .fingerprint = made};
  std::vector<Op> ops(kChunkSteps);
  while (first < print.operations) {
    const auto here = std::span(ops).first(std::min<u64>(kChunkSteps, print.operations - first));
    stream.fill(first, here);
    print.fingerprint += fingerprint(first, here);
    first += here.size();
  }
  return print;
}

}  // namespace latchlab
