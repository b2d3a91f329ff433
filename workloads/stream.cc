#include "workloads/stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "workloads/streams.h"

namespace latchlab {

namespace {

/// A permutation of [0, kBlock) from one random word: odd multiplications, an addition and xor-shifts, each
/// a bijection of its bits.
class Deal {
 public:
  explicit Deal(u64 word) : word_(word) {}

  [[nodiscard]] u64 operator()(u64 x) const {
    x = (x * (word_ | 1) + (word_ >> 16)) & kMask;
    x ^= x >> 4;
    x = (x * (word_ >> 24 | 1) + (word_ >> 40)) & kMask;
    x ^= x >> 3;
    x = (x * (word_ >> 48 | 1)) & kMask;
    return x ^ x >> 4;
  }

 private:
  static constexpr u64 kMask = Mix::kBlock - 1;
  static_assert(Mix::kBlock == 256, "the shifts are chosen for 8 bits");
  u64 word_;
};

static_assert(Mix::kBlock == Zipf::kBatch, "a block draws its slots in one batch");

u64 checked(u64 records, const KeySet& keys) {
  if (records == 0) throw InputError("records=0: a workload needs at least one record");
  if (records > keys.capacity()) {
    throw InputError(
        fmt::format("records={} is more than the {} distinct keys that there are", records, keys.capacity()));
  }
  if (records > Zipf::kMostRanks) {
    throw InputError(
        fmt::format("records={} is more than the {} that a distribution covers", records, Zipf::kMostRanks));
  }
  return records;
}

/// Keys that end (stream.h) go round by themselves where there are fewer.
u64 mask_of(u64 records, const KeySet& keys, const Mix& mix) {
  const bool moves_on = mix.has(OpKind::kErase) && mix.ppm(OpKind::kInsert) == mix.ppm(OpKind::kErase);
  const u64 numbers = std::bit_ceil(2 * records);
  return moves_on && numbers <= keys.capacity() ? numbers - 1 : ~u64{0};
}

}  // namespace

Stream::Stream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix,
               u64 records)
    : keys_(keys),
      mix_(mix),
      records_(checked(records, keys)),
      fills_(mix.fills()),
      number_mask_(mask_of(records, keys, mix)),
      popularity_(distribution, records, seed),
      insert_order_(records, seed, kInsertOrderStream),
      slots_(seed, kFirstPhaseStream + 2 * phase),
      schedules_(seed, kFirstPhaseStream + 2 * phase + 1) {}

Stream Stream::loading(u64 seed, const KeySet& keys, u64 records) {
  return Stream(seed, 0, keys, Distribution(Spec{.name = "uniform", .arg = {}, .options = {}}),
                Mix(Spec{.name = "insert", .arg = {}, .options = {}}, 0), records);
}

void Stream::fill(u64 first, std::span<Op> ops) const {
  assert(first <= size() && ops.size() <= size() - first);
  if (fills_) return fill_inserts(first, ops);
  const std::size_t only = mix_.only();
  if (only == static_cast<std::size_t>(OpKind::kRead)) return fill_reads(first, ops, false);
  if (only == Mix::kAbsentRead) return fill_reads(first, ops, true);
  while (!ops.empty()) {
    const u64 block = first / Mix::kBlock;
    const u64 from = first % Mix::kBlock;
    const std::size_t here = std::min<std::size_t>(ops.size(), Mix::kBlock - from);
    if (here == Mix::kBlock) {
      fill_block(block, ops.first<Mix::kBlock>());
    } else {
      std::array<Op, Mix::kBlock> whole;
      fill_block(block, whole);
      std::copy_n(whole.begin() + from, here, ops.begin());
    }
    ops = ops.subspan(here);
    first += here;
  }
}

void Stream::fill_inserts(u64 first, std::span<Op> ops) const {
  for (Op& op : ops) {
    op = Op{.kind = OpKind::kInsert};
    keys_.put(op, insert_order_(first++));
  }
}

void Stream::fill_reads(u64 first, std::span<Op> ops, bool absent) const {
  std::array<u64, Zipf::kBatch> records;
  while (!ops.empty()) {
    const std::size_t here = std::min(ops.size(), records.size());
    popularity_.fill(slots_, first, std::span(records).first(here));
    for (std::size_t at = 0; at < here; ++at) {
      ops[at] = Op{.kind = OpKind::kRead};
      absent ? keys_.put_absent(ops[at], records[at]) : keys_.put(ops[at], records[at]);
    }
    ops = ops.subspan(here);
    first += here;
  }
}

void Stream::fill_block(u64 block, std::span<Op, Mix::kBlock> ops) const {
  std::array<u64, Mix::kBlock> slots;
  popularity_.fill(slots_, block * Mix::kBlock, slots);

  // The window [erased, erased + records): slot s stands for the record in it that is congruent to s.
  const u64 erased = mix_.before(block, static_cast<std::size_t>(OpKind::kErase));
  const u64 turn = erased / records_ * records_;
  const u64 turned_slots = erased - turn;
  const auto record_of = [&](u64 slot) { return turn + slot + (slot < turned_slots ? records_ : 0); };

  const auto put = [&](Op& op, u64 number) { keys_.put(op, number & number_mask_); };

  // Kind by kind, so that no branch depends on chance: the deal says which operation of the block is the
  // next of a kind.
  const Deal deal(schedules_(block));
  u64 dealt = 0;
  for (std::size_t kind = 0; kind < Mix::kScheduled; ++kind) {
    u64 ordinal = mix_.before(block, kind);
    const u64 end = mix_.before(block + 1, kind);
    for (; ordinal < end; ++ordinal) {
      const u64 at = deal(dealt++);
      Op& op = ops[at];
      if (kind == Mix::kAbsentRead) {
        op = Op{.kind = OpKind::kRead};
        keys_.put_absent(op, record_of(slots[at]));
        continue;
      }
      op = Op{.kind = static_cast<OpKind>(kind)};
      switch (op.kind) {
        case OpKind::kInsert:
          put(op, records_ + ordinal);
          break;
        case OpKind::kErase:
          put(op, ordinal);
          break;
        case OpKind::kScan:
          op.scan = mix_.scan_length();
          [[fallthrough]];
        default:
          put(op, record_of(slots[at]));
      }
    }
  }
  assert(dealt == Mix::kBlock);
}

u64 fingerprint(u64 first, std::span<const Op> ops) {
  u64 sum = 0;
  for (const Op& op : ops) {
    const u64 rest = u64{op.key_bytes} << 32 | u64{op.scan} << 16 | u64{static_cast<u8>(op.kind)} << 8 |
                     static_cast<u64>(op.absent);
    sum += mix64(mix64(mix64(first++) + op.key) + rest);
  }
  return sum;
}

}  // namespace latchlab
