#include "harness/trial/step_maker.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace latchlab {
namespace {

void put_key(Step& step, u64 key) {
  step.number = key;
  step.length = sizeof(u64);
}

void put_key(Step& step, std::string_view key) {
  step.bytes = key.data();
  step.length = static_cast<u32>(key.size());
}

/// What finds come back with, by kind, and whether the key is an absent one.
using Expectations = std::array<std::array<Expect, 2>, kOpKinds>;

/// What writes are stamped with: first, first + step, ...
struct Stamps {
  u64 first;
  u64 step;
};
constexpr Stamps kNoStamps{0, 0};  // of what writes nothing

/// The steps of these operations.
template <class Raw>
void fill_steps(std::span<Step> steps, const KeySet& keys, std::span<const Op> ops, Stamps stamps, u32 value_bits,
                const Expectations& expect) {
  u64 stamp = stamps.first;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Op& op = ops[i];
    const Raw raw = keys.raw<Raw>(op);
    Step step;  // made in registers, and stored at once
    put_key(step, raw);
    step.value = value_of(raw, stamp, value_bits);
    step.limit = op.keys;
    step.kind = op.kind;
    step.expect = expect[static_cast<std::size_t>(op.kind)][op.absent];
    steps[i] = step;
    stamp += stamps.step;
  }
}

/// The steps of operations with these keys that are like `op`.
void fill_steps(std::span<Step> steps, std::span<const u64> keys, const Op& op, Expect expect, u64 stamp,
                u32 value_bits) {
  const u16 limit = op.keys;  // copies, which stay in registers since no store changes them
  const OpKind kind = op.kind;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step step;
    put_key(step, keys[i]);
    step.value = value_of(keys[i], stamp + i, value_bits);
    step.limit = limit;
    step.kind = kind;
    step.expect = expect;
    steps[i] = step;
  }
}

/// `may_miss`: a record may be gone, or not there yet. `may_hit`: what is to be inserted may be there.
Expect expectation(OpKind kind, bool absent, bool may_miss, bool may_hit) {
  if (absent) return Expect::kMiss;
  if (about(kind).inserts && !about(kind).updates) return may_hit ? Expect::kEither : Expect::kMiss;
  if (!about(kind).updates && kind != OpKind::kRead) return Expect::kEither;  // of a multi-get the keys are reads
  return may_miss ? Expect::kEither : Expect::kHit;
}

Expectations expectations(const Stream& stream, bool may_be_gone) {
  const bool may_miss = may_be_gone || stream.addresses_new();
  const bool may_hit = may_be_gone || stream.inserts_may_hit() || stream.size() > stream.keys().capacity();
  Expectations expect;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    for (const bool absent : {false, true})
      expect[kind][absent] = expectation(OpKind{static_cast<u8>(kind)}, absent, may_miss, may_hit);
  }
  return expect;
}

}  // namespace

Slice slice_of(std::span<const Step> steps, std::span<const Step> gets) {
  Slice slice{
      .steps = steps.data(), .count = static_cast<u32>(steps.size()), .only = {}, .teaches = true, .gets = gets.data()};
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
  // Where memory runs out on the way, steps and keys have moved, or some of them.
  const Slice rest = std::exchange(rest_, {});
  const u32 left = rest.count;
  std::copy_n(rest.steps, left, steps_.data());
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
  kept_ = left;
  rest_ = maker.slice(std::span(steps_).first(left + count), gets_);
}

Slice Steps::only(const StepMaker& maker, u64 first, u32 count) {
  rest_ = {};
  refill(maker, first, count);
  return std::exchange(rest_, {});
}

u64 Steps::print(const Stream& stream, u64 first, u64 count) const {
  const std::optional<Op> like = stream.alike();
  if (!like) return fingerprint(first, std::span(made_.ops).first(count), made_.gets);
  std::array<Op, 256> ops;  // their sums add up to that of all
  ops.fill(*like);
  u64 sum = 0;
  for (u64 done = 0; done < count;) {
    const auto here = std::span(ops).first(std::min<u64>(count - done, ops.size()));
    for (Op& op : here) op.key = steps_[kept_ + done++].number;
    sum += fingerprint(first + done - here.size(), here);
  }
  return sum;
}

void StepMaker::make(u64 first, std::span<Step> steps, std::vector<Step>& gets, MadeOps& made) const {
  if (const std::optional<Op> like = stream_.alike()) return make_alike(first, steps, *like);
  stream_.keys().bytes() ? make_of<std::string_view>(first, steps, gets, made) : make_of<u64>(first, steps, gets, made);
}

Slice StepMaker::slice(std::span<const Step> steps, std::span<const Step> gets) const {
  const std::optional<Op> like = stream_.alike();
  if (!like || steps.empty()) return slice_of(steps, gets);
  return {.steps = steps.data(),
          .count = static_cast<u32>(steps.size()),
          .only = like->kind,
          .teaches = true,
          .gets = gets.data()};
}

void StepMaker::make_alike(u64 first, std::span<Step> steps, const Op& op) const {
  constexpr std::size_t kBlock = 256;  // keys that stay in the nearest cache
  const Expect expect = expectations(stream_, may_be_gone_)[static_cast<std::size_t>(op.kind)][op.absent];
  while (!steps.empty()) {
    std::array<u64, kBlock> keys;
    const auto here = steps.first(std::min(steps.size(), kBlock));
    stream_.fill_keys(first, std::span(keys).first(here.size()));
    fill_steps(here, keys, op, expect, first, value_bits_);
    steps = steps.subspan(here.size());
    first += here.size();
  }
}

template <class Raw>
void StepMaker::make_of(u64 first, std::span<Step> steps, std::vector<Step>& gets, MadeOps& made) const {
  made.ops.resize(steps.size());
  made.gets.clear();
  stream_.fill(first, made.ops, made.gets);
  const KeySet& keys = stream_.keys();
  const Expectations expect = expectations(stream_, may_be_gone_);
  fill_steps<Raw>(steps, keys, made.ops, {first, 1}, value_bits_, expect);
  if (made.gets.empty()) return;
  u64 next = gets.size();
  gets.resize(next + made.gets.size());
  fill_steps<Raw>(std::span(gets).subspan(next), keys, made.gets, kNoStamps, value_bits_, expect);
  for (Step& step : steps) {
    if (step.kind == OpKind::kMultiGet) step.number = std::exchange(next, next + step.limit);
  }
}

Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Step>& steps,
                  u32 value_bits) {
  steps.resize(count);
  std::vector<Op> ops(count);
  for (u32 i = 0; i < count; ++i) {
    // 128 bits: the product of two counts may exceed 64.
    __extension__ using Wide = unsigned __int128;
    const u64 record = static_cast<u64>(static_cast<Wide>(first + i) * records / samples);
    keys.put(ops[i], record);
  }
  Expectations expect;
  for (auto& of_kind : expect) of_kind.fill(Expect::kHit);
  keys.bytes() ? fill_steps<std::string_view>(steps, keys, ops, kNoStamps, value_bits, expect)
               : fill_steps<u64>(steps, keys, ops, kNoStamps, value_bits, expect);
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
