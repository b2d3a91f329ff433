#include "harness/step_maker.h"

#include <algorithm>
#include <span>

namespace latchlab {
namespace {

/// The key and the value that stamp `stamp` writes for it.
void fill_key(Step& step, const KeySet& keys, const Op& op, u64 stamp, u32 value_bits) {
  if (keys.bytes()) {
    const std::string_view raw = keys.raw<std::string_view>(op);
    step.bytes = raw.data();
    step.length = static_cast<u32>(raw.size());
    step.value = value_of(raw, stamp, value_bits);
  } else {
    step.number = keys.raw<u64>(op);
    step.length = sizeof(u64);
    step.value = value_of(step.number, stamp, value_bits);
  }
}

/// `may_miss`: a record may be gone, or not there yet. `may_hit`: what is to be inserted may be there.
Expect expectation(const Op& op, bool may_miss, bool may_hit) {
  switch (op.kind) {
    case OpKind::kRead:
      if (op.absent) return Expect::kMiss;
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
  const KeySet& keys = stream_.keys();
  const bool may_miss = erases_ || stream_.addresses_new();
  const bool may_hit = erases_ || stream_.inserts_may_hit() || stream_.size() > keys.capacity();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Op& op = ops[i];
    Step& step = steps[i];
    fill_key(step, keys, op, first + i, value_bits_);
    step.limit = op.scan;
    step.kind = op.kind;
    step.expect = expectation(op, may_miss, may_hit);
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
    fill_key(steps[i], keys, op, 0, value_bits);
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
