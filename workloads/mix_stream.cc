#include "workloads/mix_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <numeric>

#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/deal.h"
#include "workloads/streams.h"

namespace latchlab {

namespace {

static_assert(Mix::kBlock == Ranks::kBatch, "a block draws its slots in one batch");

u64 checked(u64 records, const KeySet& keys) {
  if (records == 0) throw InputError("records=0: a workload needs at least one record");
  if (records > keys.capacity()) {
    throw InputError(fmt::format("records={} is more than the {} distinct keys available", records, keys.capacity()));
  }
  if (records > Ranks::kMost) {
    throw InputError(fmt::format("records={} is more than the {} that a distribution covers", records, Ranks::kMost));
  }
  return records;
}

}  // namespace

/// Returns the mask of record numbers, or all ones. Finite keys (mix_stream.h) wrap around by themselves if there are
/// fewer.
u64 MixStream::mask_of(u64 records, const KeySet& keys, const Mix& mix) {
  const bool moves_on = mix.has(OpKind::kErase) && mix.ppm(OpKind::kInsert) == mix.ppm(OpKind::kErase);
  const u64 numbers = std::bit_ceil(2 * checked(records, keys));
  return moves_on && numbers <= keys.capacity() ? numbers - 1 : ~u64{0};
}

MixStream::MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix,
                     Window window, const Churn& churn, u64 number_mask)
    : Stream(keys),
      mix_(mix),
      gone_(window.gone),
      records_(checked(window.records, keys)),
      fills_(mix.fills()),
      number_mask_(number_mask),
      popularity_(distribution, records_, seed, churn),
      insert_order_(records_, seed, kInsertOrderStream),
      slots_(seed, kFirstPhaseStream + 2 * phase),
      schedules_(seed, kFirstPhaseStream + 2 * phase + 1),
      scan_lengths_(seed, kFirstScanStream + phase),
      gets_(seed, kFirstGetStream + phase) {}

MixStream MixStream::loading(u64 seed, const KeySet& keys, u64 records) {
  return MixStream(seed, 0, keys, Distribution(Spec{.name = "uniform", .arg = {}, .options = {}}),
                   Mix(Spec{.name = "insert", .arg = {}, .options = {}}, 0), records);
}

/// Maps the slots of one block to records: to the record in the window [erased, erased + records) congruent to the
/// slot, or to the record of that age.
class MixStream::Records {
 public:
  Records(const MixStream& stream, u64 block) : stream_(stream) {
    const Mix& mix = stream.mix_;
    const u64 erased = stream.gone_ + mix.before(block, static_cast<std::size_t>(OpKind::kErase));
    turn_ = stream.turn_of(erased);
    turned_slots_ = erased - turn_;
    const u64 lagged = block - std::min(block, kLatestLag / Mix::kBlock);
    newest_ = stream.gone_ + stream.records_ + mix.before(lagged, static_cast<std::size_t>(OpKind::kInsert)) - 1;
    by_age_ = stream.popularity_.by_age();
  }
  u64 operator()(u64 slot) const {
    return by_age_ ? newest_ - slot : turn_ + slot + (slot < turned_slots_ ? stream_.records_ : 0);
  }

 private:
  const MixStream& stream_;
  u64 turn_, turned_slots_, newest_;
  bool by_age_;
};

void MixStream::fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const {
  assert(first <= size() && ops.size() <= size() - first);
  if (const std::optional<Op> like = only()) {
    while (!ops.empty()) {
      std::array<u64, Ranks::kBatch> records;
      const auto here = std::span(records).first(std::min(ops.size(), records.size()));
      fill_records(first, here);
      std::fill_n(ops.begin(), here.size(), *like);
      keys().put_all(ops.first(here.size()), here);
      ops = ops.subspan(here.size());
      first += here.size();
    }
    return;
  }
  while (!ops.empty()) {
    const u64 block = first / Mix::kBlock;
    const u64 from = first % Mix::kBlock;
    const std::size_t here = std::min<std::size_t>(ops.size(), Mix::kBlock - from);
    if (here == Mix::kBlock) {
      fill_block(block, ops.first<Mix::kBlock>());
      if (mix_.has(OpKind::kMultiGet)) fill_gets(block, ops.first(here), 0, here, gets);
    } else {
      std::array<Op, Mix::kBlock> whole;
      fill_block(block, whole);
      std::copy_n(whole.begin() + from, here, ops.begin());
      if (mix_.has(OpKind::kMultiGet)) fill_gets(block, whole, from, from + here, gets);
    }
    ops = ops.subspan(here);
    first += here;
  }
}

void MixStream::fill_keys(u64 first, std::span<u64> keys) const {
  const std::optional<Op> like = alike();
  assert(like && first <= size() && keys.size() <= size() - first);
  while (!keys.empty()) {
    const auto here = keys.first(std::min(keys.size(), Ranks::kBatch));
    fill_records(first, here);
    this->keys().put_keys(here, like->absent);
    keys = keys.subspan(here.size());
    first += here.size();
  }
}

std::optional<Op> MixStream::only() const {
  if (fills_) return Op{.kind = OpKind::kInsert};
  const std::size_t only = mix_.only();
  if (only == static_cast<std::size_t>(OpKind::kRead)) return Op{.kind = OpKind::kRead};
  if (only == Mix::kAbsentRead) return Op{.kind = OpKind::kRead, .absent = true};
  return std::nullopt;
}

void MixStream::fill_records(u64 first, std::span<u64> records) const {
  if (fills_) {
    std::iota(records.begin(), records.end(), first);
    if (!keys().in_order()) insert_order_.permute(records);
    return;
  }
  popularity_.fill(slots_, first, records);
  if (popularity_.by_age()) {
    for (u64& record : records) record = gone_ + records_ - 1 - record;
  } else if (gone_ > 0) {
    const u64 turn = turn_of(gone_);
    for (u64& record : records) record += turn + (record < gone_ - turn ? records_ : 0);
  }
}

void MixStream::fill_block(u64 block, std::span<Op, Mix::kBlock> ops) const {
  std::array<u64, Mix::kBlock> slots, numbers;
  popularity_.fill(slots_, block * Mix::kBlock, slots);
  const Records record_of(*this, block);

  // Kind by kind, so that no branch depends on chance: the deal gives the place in the block of the next operation of a
  // kind.
  const Deal deal(schedules_(block));
  u64 dealt = 0;
  for (std::size_t kind = 0; kind < Mix::kScheduled; ++kind) {
    u64 ordinal = mix_.before(block, kind);
    const u64 end = mix_.before(block + 1, kind);
    for (; ordinal < end; ++ordinal) {
      const u64 at = deal(dealt++);
      Op& op = ops[at];
      if (kind == Mix::kAbsentRead) {
        op = Op{.kind = OpKind::kRead, .absent = true};
        numbers[at] = record_of(slots[at]);
        continue;
      }
      op = Op{.kind = static_cast<OpKind>(kind)};
      switch (op.kind) {
        case OpKind::kInsert: numbers[at] = (gone_ + records_ + ordinal) & number_mask_; break;
        case OpKind::kErase: numbers[at] = (gone_ + ordinal) & number_mask_; break;
        case OpKind::kScan:
          op.keys = mix_.scan_length(scan_lengths_(block * Mix::kBlock + at));
          numbers[at] = record_of(slots[at]) & number_mask_;
          break;
        case OpKind::kMultiGet:
          op.keys = mix_.multi_get_keys();
          [[fallthrough]];  // its own key has no meaning; the keys that it looks up come from fill_gets
        default: numbers[at] = record_of(slots[at]) & number_mask_;
      }
    }
  }
  assert(dealt == Mix::kBlock);
  keys().put_all(ops, numbers);
}

/// Appends the keys of the multi-gets among operations `from` to `to` of the block `ops`. Each multi-get takes the next
/// draws in the order of the block, so no two of the stream share a draw.
void MixStream::fill_gets(u64 block, std::span<const Op> ops, std::size_t from, std::size_t to,
                          std::vector<Op>& gets) const {
  const u64 keys_each = mix_.multi_get_keys();
  u64 draw = mix_.before(block, static_cast<std::size_t>(OpKind::kMultiGet)) * keys_each;
  u64 left = 0;  // number of keys still to draw
  for (std::size_t at = 0; at < to; ++at) {
    if (ops[at].kind == OpKind::kMultiGet) (at < from ? draw : left) += keys_each;
  }
  const Records record_of(*this, block);
  while (left > 0) {
    std::array<u64, Ranks::kBatch> numbers;
    const auto here = std::span(numbers).first(std::min<u64>(left, numbers.size()));
    popularity_.fill_as_of(block * Mix::kBlock, gets_, draw, here);
    for (u64& number : here) number = record_of(number) & number_mask_;
    gets.resize(gets.size() + here.size());  // default operations are reads
    keys().put_all(std::span(gets).last(here.size()), here);
    draw += here.size();
    left -= here.size();
  }
}

std::string why_no_churn(const Churn& churn, const Distribution& distribution, std::string_view words, const Mix& mix) {
  if (churn.kind == Churn::Kind::kDrift && distribution.alike()) {
    return fmt::format("under {} no rank is more popular than another, so none can drift", words);
  }
  if (churn.kind == Churn::Kind::kFlash && distribution.by_age() && mix.has(OpKind::kInsert)) {
    return fmt::format(
        "a flash crowd addresses the same records for a while, but under {} every insert makes all of them older",
        words);
  }
  return "";
}

}  // namespace latchlab
