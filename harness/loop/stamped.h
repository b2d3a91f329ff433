#pragma once
// An index of sized values (indexes/sized.h) as an index of numbers: an IndexFace for code that checks values. A
// number stands for a value of a fixed size, which it determines:
//
//     8 bytes or more     | number | number + kStride | number + 2 kStride | ... |    the last word may be cut
//     fewer               | the low bytes of the number |
//
// A read checks every byte. If one is wrong, it returns a number with another tag (workloads/value.h). So a torn value,
// or memory that was freed under a reader, counts as the value of another key.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "harness/loop/trial.h"
#include "indexes/sized.h"
#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/values.h"
#include "src/reclaim/reclaimer.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

namespace stamped {

/// The difference of neighbouring words. It is odd, so no word of a value equals another.
inline constexpr u64 kStride = 0x9e3779b97f4a7c15ull;

/// Writes the value that stands for the number. O(size).
inline void write(std::span<std::byte> value, u64 number) {
  std::byte* at = value.data();
  std::size_t left = value.size();
  for (; left >= sizeof number; at += sizeof number, left -= sizeof number, number += kStride)
    std::memcpy(at, &number, sizeof number);
  if (left != 0) std::memcpy(at, &number, left);  // the low bytes: only little-endian processors are supported
}

/// Returns the number that the value stands for; for a wrong value, a number with another tag. O(size).
inline u64 read(ByteSpan value) {
  const std::byte* at = value.data();
  std::size_t left = value.size();
  u64 first = 0, word;
  if (left < sizeof first) {
    if (left != 0) std::memcpy(&first, at, left);
    return first;
  }
  std::memcpy(&first, at, sizeof first);
  u64 wrong = 0, expected = first;
  const auto check = [&](const std::byte* from, u64 number) {
    std::memcpy(&word, from, sizeof word);
    wrong |= word ^ number;
  };
  for (; left >= 4 * sizeof first; at += 4 * sizeof first, left -= 4 * sizeof first, expected += 4 * kStride) {
    for (u64 i = 0; i < 4; ++i) check(at + i * sizeof first, expected + i * kStride);
  }
  for (; left >= sizeof first; at += sizeof first, left -= sizeof first, expected += kStride) check(at, expected);
  if (left != 0) {  // the low bytes of a word are the last ones of the value
    std::memcpy(&word, at + left - sizeof word, sizeof word);
    wrong |= (word >> (8 * (sizeof word - left))) ^ (expected & ((u64{1} << 8 * left) - 1));
  }
  return wrong == 0 ? first : ~first;
}

}  // namespace stamped

/// The index of numbers over Sized<Map>. Operations promise what those of Sized do.
template <class Map>
class Stamped {
 public:
  using Raw = typename Map::Raw;
  static constexpr bool kOrdered = Map::kOrdered;
  static constexpr bool kMayBeNarrow = true;

  /// The state of one thread.
  class ThreadState {
   public:
    explicit ThreadState(Stamped& index) : sized_(index.sized_), room_(index.value_bytes_) {}
    ThreadState(const ThreadState&) = delete;
    ThreadState& operator=(const ThreadState&) = delete;
    /// Returns the session of the index of words, which has the counters.
    Counted& asked() const { return *sized_.index.session; }

   private:
    friend Stamped;
    typename Sized<Map>::ThreadState sized_;
    std::vector<std::byte> room_;  // the value to write
  };

  /// Makes the index: `memory` and `value_bytes`, 0 to 16 MiB, are those of the values, the rest are the arguments of
  /// Map.
  template <class... Index>
  Stamped(const MemoryConfig& memory, u32 value_bytes, Index&... index)
      : sized_(memory, index...), value_bytes_(value_bytes) {}
  /// Makes one whose values lie in two memories.
  template <class... Index>
  Stamped(const MemoryConfig& near, const FarMemory& far, u32 value_bytes, Index&... index)
      : sized_(near, far, index...), value_bytes_(value_bytes) {}

  /// Makes all later lookups return 0 for a key that is present: they read no value, and tell the cost of that. Must
  /// not run beside operations.
  void read_no_values() { reads_values_ = false; }

  ThreadState join() { return ThreadState(*this); }
  void idle(ThreadState& me) const { sized_.idle(me.sized_); }

  Found find(ThreadState& me, Raw key) const {
    if (!reads_values_) return sized_.contains(me.sized_, key) ? Found(0) : Found();
    Found number;
    sized_.find(me.sized_, key, [&](ByteSpan value) { number = stamped::read(value); });
    return number;
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    if (!reads_values_) return contains_batch(me, keys, found, order);
    std::ranges::fill(found, std::nullopt);
    sized_.find_batch(me.sized_, keys, [&](std::size_t i, ByteSpan value) { found[i] = stamped::read(value); }, order);
  }
  bool insert(ThreadState& me, Raw key, u64 number) { return sized_.insert(me.sized_, key, written(me, number)); }
  bool update(ThreadState& me, Raw key, u64 number) { return sized_.update(me.sized_, key, written(me, number)); }
  bool upsert(ThreadState& me, Raw key, u64 number) { return sized_.upsert(me.sized_, key, written(me, number)); }
  bool erase(ThreadState& me, Raw key) { return sized_.erase(me.sized_, key); }
  /// Do the same, and say which value they removed. They read it, in the epoch, after they have removed it.
  Removed replace(ThreadState& me, Put how, Raw key, u64 number) {
    Removed answer;
    switch (how) {
      case Put::kInsert: answer.done = insert(me, key, number); break;
      case Put::kUpdate: answer.done = sized_.update(me.sized_, key, written(me, number), read_into(answer)); break;
      case Put::kUpsert: answer.done = sized_.upsert(me.sized_, key, written(me, number), read_into(answer)); break;
    }
    return answer;
  }
  Removed remove(ThreadState& me, Raw key) {
    Removed answer;
    answer.done = sized_.erase(me.sized_, key, read_into(answer));
    return answer;
  }

  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    Modified done;
    sized_.modify(me.sized_, key, [&](std::optional<ByteSpan> before) {
      done.before = before ? Found(stamped::read(*before)) : Found();
      done.after = f(done.before);
      return done.after ? Change::to(written(me, *done.after)) : Change::erase();
    });
    return done;
  }

  void prefetch(ThreadState& me, std::span<const Raw> keys, std::span<const Hint> hints) const {
    sized_.prefetch(me.sized_, keys, hints);
  }
  void prefetch(ThreadState& me, std::span<const Raw> keys, Hint hint) const { sized_.prefetch(me.sized_, keys, hint); }

  template <class Visit>
  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, Visit&& visit) const {
    return sized_.scan(me.sized_, from, limit,
                       [&](const Raw& key, ByteSpan value) { visit(key, stamped::read(value)); });
  }
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    sized_.for_each(me.sized_, [&](const Raw& key, ByteSpan value) { visit(key, stamped::read(value)); });
  }

  /// Returns the bytes of the index of words.
  Footprint bytes() const { return sized_.bytes().index; }
  /// Returns the bytes of the values.
  Footprint value_bytes() const { return sized_.bytes().values; }
  /// Returns the bytes of those in far memory.
  Footprint far_bytes() const { return sized_.bytes().far; }
  TierCounters tier_counters() const { return sized_.tier_counters(); }
  std::vector<ChunkSource::Chunk> chunks() const { return sized_.chunks(); }
  /// Returns the mappings of far memory.
  std::vector<ChunkSource::Chunk> far_chunks() const { return sized_.far_chunks(); }
  /// Returns the counts of the blocks of values; exact only while no operation runs.
  ReclaimCounters reclaim_counters() const { return sized_.reclaim_counters(); }

 private:
  static auto read_into(Removed& answer) {
    return [&answer](ByteSpan value) { answer.was = stamped::read(value); };
  }
  void contains_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found, BatchOrder order) const {
    std::array<bool, kMostInAttempt> present;
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      sized_.contains_batch(me.sized_, keys.subspan(first, count), std::span(present).first(count), order);
      for (std::size_t i = 0; i < count; ++i) found[first + i] = present[i] ? Found(0) : Found();
    }
  }
  static ByteSpan written(ThreadState& me, u64 number) {
    stamped::write(me.room_, number);
    return me.room_;
  }

  Sized<Map> sized_;
  const u32 value_bytes_;
  bool reads_values_ = true;
};

}  // namespace latchlab
