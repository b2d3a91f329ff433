#pragma once
// The memory of `kvdirect`: one range of addresses, so that a number of 31 bits names a place in it.
//
//     unit 0                                                          32 bytes a unit, so 64 GiB in all
//     | bucket 0 | bucket 1 | ... | chunk | chunk | ...  | not in use yet |
//
// The buckets are fixed. Chunks go to shards, of which each bucket has one. A shard divides its chunk into lines, two
// units each, and a line into two records (the paper's split). Lines and records that are freed go to lists of the same
// shard, so none of them gains what another loses. Records do not become lines again: the paper merges them seldom, by
// a sort of all that are free. src/memory/slabs.h does so, but cannot serve an attempt: a move takes a mutex, and no
// restart or abort would undo it. A shard is made of cells, which the attempt upgrades.
//
// A block is free for others at once, without a grace period:
//   1. All blocks stay mapped, and their fields stay cells, so a late reader sees numbers, whatever is there.
//   2. A line or record is linked and unlinked only while the bucket of its chain is upgraded. So a reader that came
//      through this bucket fails to validate it after the block has gone.
//   3. The stores of the next owner come after that upgrade, and cells acquire and release. So a reader that has seen
//      one of these stores also sees the new version of its bucket.
//
// Each shard and the meter are nodes of their own, which an operation upgrades before it changes them. Lines behind the
// buckets need no version.
#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>

#include "indexes/kvdirect/image.h"
#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/machine/machine.h"
#include "src/memory/pool.h"
#include "sync/attempt.h"

namespace latchlab::kvdirect {

/// A line, of the buckets or of a chain. A free one has the number of the next free line in its first word.
template <class Layout>
struct alignas(kLineBytes) Line {
  u8 tag() const { return 0; }
  [[gnu::always_inline]] Image load() const {
    Image::Words words;
    for (u32 i = 0; i < kWords; ++i) words[i] = word[i].load();
    return Image(words);
  }

  // The next three are those of Image, without a copy.

  [[gnu::always_inline]] u64 number(u32 at, u32 bytes) const { return Image::number_of(at, bytes, words()); }
  template <u32 kKey, u32 kValue>
  [[gnu::always_inline]] Entry find_alike(u64 key) const {
    return Image::find_alike_in<kKey, kValue>(key, words());
  }
  u32 chain() const { return Image::chain_of(word[7].load()); }

  void store(const Image& image) {
    for (u32 i = 0; i < kWords; ++i) word[i].store(image.words()[i]);
  }
  /// Stores the words that a change of this line's copy has changed.
  void store_change(const Image& before, const Image& after) {
    for (u32 i = 0; i < kWords; ++i) {
      if (before.words()[i] != after.words()[i]) word[i].store(after.words()[i]);
    }
  }

  typename Layout::template Cell<u64> word[kWords];

 private:
  [[gnu::always_inline]] auto words() const {
    return [this](u32 i) __attribute__((always_inline)) { return word[i].load(); };
  }
};

/// A record: a pair that is not in a line. A free one has the number of the next free record in its head.
template <class Layout>
struct alignas(kUnitBytes) Record {
  static constexpr u64 kHead = 8 | 8 << 8;  ///< the header of two bytes: those of the key, and those of the value
  static constexpr u32 kClass = 0;          ///< 32 bytes << kClass

  typename Layout::template Cell<u64> head, key, value;
};

template <class Layout>
class Space {
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;
  using Machine = typename Layout::Machine;
  template <class T>
  using Cell = typename Layout::template Cell<T>;

 public:
  using Line = kvdirect::Line<Layout>;
  using Record = kvdirect::Record<Layout>;
  static_assert(sizeof(Line) == kLineBytes, "a line of the machine, all of it slots, marks, classes and the chain");
  static_assert(sizeof(Record) == kUnitBytes);
  static constexpr u32 kUnitsOfLine = kLineBytes / kUnitBytes;
  static constexpr u64 kMostUnits = u64{1} << kAddressBits;

  /// The blocks for the chains of some of the buckets.
  struct alignas(kFalseSharingBytes) Shard {
    u8 tag() const { return 0; }
    Cell<u64> records, lines;  // the first free ones, or 0
    Cell<u64> next, end;       // the rest of its chunk, in units: whole lines
  };

  /// Makes the space for `buckets` buckets, and `more` units behind them if the address has room for as many. `lines`
  /// is the largest number of free lines that a put may need.
  Space(u64 buckets, u64 more, u32 lines)
      : buckets_(buckets),
        most_(std::min(kMostUnits, buckets * kUnitsOfLine + (kTiny ? std::min(more, u64{128}) : more))),
        shards_(more < kMostUnits ? 1 : kShards),
        lines_(lines),
        meter_(buckets * kUnitsOfLine) {}
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  u64 buckets() const { return buckets_; }
  /// Returns true if there is memory for the buckets. It is there from the first put on.
  [[gnu::always_inline]] bool begun() const { return start_.load() != 0; }
  /// Returns the line that begins with this unit, which must have memory.
  [[gnu::always_inline]] Line* line(u64 unit) const { return at<Line>(unit); }
  [[gnu::always_inline]] Line* bucket(u64 number) const { return line(number * kUnitsOfLine); }
  Record* record(u64 unit) const { return at<Record>(unit); }
  /// Returns true if the line of a unit has memory. The number may have been read without proof.
  [[gnu::always_inline]] bool has_memory(u64 unit) const { return (unit | 1) < usable_.load(); }
  /// Returns a limit of the number of lines in a chain.
  u64 most_lines() const { return usable_.load() / kUnitsOfLine; }

  /// Returns the shard of the bucket with this number.
  Shard& shard_of(u64 number) const { return shard_[number % shards_]; }
  /// Returns true if the shard has so many records and lines; each is 0 or 1.
  bool has(const Shard& shard, u32 records, u32 lines) const {
    if (records != 0 && shard.records.load() == 0) ++lines;
    return free_lines(shard, lines) >= lines;
  }

  // The next four need an upgrade of the shard, and the takers what `has` says.

  u64 take_line(Shard& shard) {
    if (const u64 first = shard.lines.load(); first != 0) {
      shard.lines.store(line(first)->word[0].load());
      return first;
    }
    const u64 next = shard.next.load();
    shard.next.store(next + kUnitsOfLine);
    return next;
  }
  u64 take_record(Shard& shard) {
    if (const u64 first = shard.records.load(); first != 0) {
      shard.records.store(record(first)->head.load());
      return first;
    }
    const u64 halves = take_line(shard);
    give_record(shard, halves + 1);
    return halves;
  }
  void give_line(Shard& shard, u64 unit) {
    line(unit)->word[0].store(shard.lines.load());
    shard.lines.store(unit);
  }
  void give_record(Shard& shard, u64 unit) {
    record(unit)->head.store(shard.records.load());
    shard.records.store(unit);
  }

  using Range = typename Pool<Machine>::Range;
  /// The task of a put that lacked room: the memory of the buckets, or a chunk for a shard.
  class Growth {
   public:
    static Growth for_room() { return {}; }
    bool done() const { return done_; }
    /// Gets the memory that the next step lacks, outside attempts. Returns false when memory is out.
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      if (lacking_ <= usable_) return true;
      usable_ = pool.extend(*range_, lacking_, most_);
      if (lacking_ > usable_) return false;
      start_ = reinterpret_cast<u64>(range_->space.start);  // fixed once there are usable bytes
      return true;
    }
    template <class Pool>
    void release(Pool&) {}
    void one_done() { done_ = true; }

   private:
    friend Space;
    bool done_ = false;
    Range* range_ = nullptr;
    u64 lacking_ = 0, usable_ = 0, most_ = 0;  // bytes of the range: needed, known to be usable, ever wanted
    u64 start_ = 0;                            // address of the range, if it has usable bytes
  };

  /// Performs one step of the task for the shard of bucket `number`.
  template <class Tx>
  Attempt<StepResult> grow_in(Tx& tx, u64 number, const Growth& growth, Growth& after) {
    auto meter = tx.enter(&meter_);
    auto part = tx.enter(&shard_of(number));
    after = growth;
    if (begun() && free_lines(*part.node(), lines_) >= lines_) {  // another thread was faster
      after.done_ = true;
      return tx.confirm(StepResult::kChanged, meter, part);
    }
    const u64 next = meter->next.load(),
              chunk = begun() ? std::min(kChunk, most_ - next) / kUnitsOfLine * kUnitsOfLine : 0;
    if (begun() && chunk < lines_ * kUnitsOfLine) return tx.confirm(StepResult::kFull, meter, part);
    const u64 bytes = (next + chunk) * kUnitBytes;
    if (usable_.load() * kUnitBytes < bytes && growth.usable_ < bytes) {
      after.range_ = &range_;
      after.lacking_ = rounded(bytes);
      after.most_ = most_ * kUnitBytes;
      return tx.confirm(StepResult::kChanged, meter, part);
    }
    if (!tx.upgrade(meter, part)) return kRestart;
    if (growth.usable_ / kUnitBytes > usable_.load()) {
      start_.store(growth.start_);
      usable_.store(growth.usable_ / kUnitBytes);
    }
    if (chunk != 0) {
      for (u64 unit = part->next.load(); unit < part->end.load(); unit += kUnitsOfLine) give_line(*part.node(), unit);
      part->next.store(next);
      part->end.store(next + chunk);
      meter->next.store(next + chunk);
    }
    after.done_ = true;
    return StepResult::kChanged;
  }

  /// Returns a reader to confirm that the space had no memory yet.
  template <class Tx>
  auto enter_meter(Tx& tx) const {
    return tx.enter(&meter_);
  }
  /// Returns the bytes of all that is usable. They stay until the end.
  u64 usable_bytes() const {
    const std::lock_guard lock(range_.mutex);
    return range_.usable;
  }
  template <class Pool>
  void free_all(Pool& pool) {
    pool.free(range_);
  }

 private:
  static constexpr u32 kShards = kTiny ? 1 : 16;
  static constexpr u64 kChunk = kTiny ? 4 : 128;  // units

  /// The number of units that have been given to shards.
  struct Meter {
    explicit Meter(u64 first) : next(first) {}
    u8 tag() const { return 0; }
    Cell<u64> next;
  };

  template <class T>
  [[gnu::always_inline]] T* at(u64 unit) const {
    return reinterpret_cast<T*>(start_.load() + unit * kUnitBytes);
  }
  /// Returns the number of free lines of the shard, or `most` if that is less. `most` is at most 2.
  u64 free_lines(const Shard& shard, u64 most) const {
    u64 lines = (shard.end.load() - shard.next.load()) / kUnitsOfLine;
    if (lines >= most) return most;
    const u64 first = shard.lines.load();
    if (first != 0 && has_memory(first)) lines += line(first)->word[0].load() != 0 ? 2 : 1;
    return std::min(lines, most);
  }
  /// Returns the bytes to ask for, so that `bytes` are usable, with room for some more.
  u64 rounded(u64 bytes) const {
    constexpr u64 kLeastStep = 4 << 10, kMostStep = 256 << 10;
    const u64 step = std::clamp(std::bit_floor(bytes) / 4, kLeastStep, kMostStep);
    return std::min((bytes + step - 1) / step * step, most_ * kUnitBytes);
  }

  const u64 buckets_;
  const u64 most_;  // units
  const u32 shards_;
  const u32 lines_;
  Cell<u64> start_;   // address of the range, 0 at first
  Cell<u64> usable_;  // units; stored after start_
  alignas(kFalseSharingBytes) mutable Meter meter_;
  mutable std::array<Shard, kShards> shard_;
  alignas(kFalseSharingBytes) mutable Range range_;
};

}  // namespace latchlab::kvdirect
