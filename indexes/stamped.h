#pragma once
// An index of sized values (indexes/sized.h) as an index of numbers: a SharedIndex for code that checks values. A
// number stands for a value of a fixed size, which it determines:
//
//     8 bytes or more     | number | number + kStride | number + 2 kStride | ... |    the last word may be cut
//     fewer               | the low bytes of the number |
//
// A read checks every byte. If one is wrong, it returns a number with another tag (workloads/value.h). So a torn value,
// or memory that was freed under a reader, counts as the value of another key.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "indexes/concepts.h"
#include "indexes/sized.h"
#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/values.h"
#include "src/reclaim/reclaimer.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/concepts.h"

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
  u64 first = 0;
  if (left != 0) std::memcpy(&first, at, std::min(left, sizeof first));
  u64 wrong = 0, expected = first;
  for (; left >= sizeof first; at += sizeof first, left -= sizeof first, expected += kStride) {
    u64 word;
    std::memcpy(&word, at, sizeof word);
    wrong |= word ^ expected;
  }
  if (left != 0) wrong |= std::memcmp(at, &expected, left) != 0;
  return wrong == 0 ? first : ~first;
}

}  // namespace stamped

/// True if an index may keep words that lead to values of any size.
template <class Map>
inline constexpr bool kKeepsWords = [] {
  if constexpr (requires { typename Map::Body; } && requires { typename Map::Policy::Layout; }) {
    return !requires { requires !Map::Body::kKeeps; } && requires(Map& index, typename Map::ThreadState& me) {
      index.update_if(me, typename Map::Raw(), [](u64) noexcept { return Found(); });
    };
  }
  return false;
}();

/// The index of numbers over Sized<Map>. Operations promise what those of Sized do.
template <class Map>
class Stamped {
 public:
  using Policy = typename Map::Policy;
  using Machine = typename Map::Machine;
  using Raw = typename Map::Raw;
  using Body = typename Map::Body;
  using Counters = typename Map::Counters;
  static constexpr bool kOrdered = Map::kOrdered;
  static constexpr bool kSideBySide = Map::kSideBySide;
  static constexpr bool kLearns = latchlab::kLearns<Map>;

  /// The state of one thread.
  class ThreadState {
   public:
    explicit ThreadState(Stamped& index) : sized(index.sized_), room(index.value_bytes_) {}
    ThreadState(const ThreadState&) = delete;
    ThreadState& operator=(const ThreadState&) = delete;

   private:
    friend Stamped;
    typename Sized<Map>::ThreadState sized;

   public:
    // Those of the index of words.
    Counters& counters = sized.index.counters;
    typename WatchOf<Body>::Type& watch = sized.index.watch;

   private:
    std::vector<std::byte> room;  // the value to write
  };

  template <class... Index>
    requires std::constructible_from<Map, const Spec&, const MemoryConfig&, const Index&...>
  Stamped(const Spec& policy, const MemoryConfig& memory, const Index&... index)
      : sized_(memory, policy, memory, index...) {}

  /// Chooses the size of values, 0 to 16 MiB. Call it before join().
  void set_value_bytes(u32 bytes) { value_bytes_ = bytes; }
  /// Makes all later lookups return 0 for a key that is present: they read no value, and tell the cost of that. Must
  /// not run beside operations.
  void read_no_values() { reads_values_ = false; }

  ThreadState join() { return ThreadState(*this); }
  void idle(ThreadState& me) const { sized_.idle(me.sized); }

  Found find(ThreadState& me, Raw key) const {
    if (!reads_values_) return sized_.contains(me.sized, key) ? Found(0) : Found();
    Found number;
    sized_.find(me.sized, key, [&](ByteSpan value) { number = stamped::read(value); });
    return number;
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    if (!reads_values_) return contains_batch(me, keys, found, order);
    std::ranges::fill(found, std::nullopt);
    sized_.find_batch(me.sized, keys, [&](std::size_t i, ByteSpan value) { found[i] = stamped::read(value); }, order);
  }
  bool insert(ThreadState& me, Raw key, u64 number) { return sized_.insert(me.sized, key, written(me, number)); }
  bool update(ThreadState& me, Raw key, u64 number) { return sized_.update(me.sized, key, written(me, number)); }
  bool upsert(ThreadState& me, Raw key, u64 number) { return sized_.upsert(me.sized, key, written(me, number)); }
  bool erase(ThreadState& me, Raw key) { return sized_.erase(me.sized, key); }

  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    Modified done;
    sized_.modify(me.sized, key, [&](std::optional<ByteSpan> before) {
      done.before = before ? Found(stamped::read(*before)) : Found();
      done.after = f(done.before);
      return done.after ? Change::to(written(me, *done.after)) : Change::erase();
    });
    return done;
  }

  void prefetch(ThreadState& me, std::span<const Raw> keys, std::span<const Hint> hints) const
    requires(Map::kHints)
  {
    sized_.prefetch(me.sized, keys, hints);
  }
  void prefetch(ThreadState& me, std::span<const Raw> keys, Hint hint) const
    requires(Map::kHints)
  {
    sized_.prefetch(me.sized, keys, hint);
  }

  template <class Visit>
    requires(kOrdered)
  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, Visit&& visit) const {
    return sized_.scan(me.sized, from, limit,
                       [&](const Raw& key, ByteSpan value) { visit(key, stamped::read(value)); });
  }
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    sized_.for_each(me.sized, [&](const Raw& key, ByteSpan value) { visit(key, stamped::read(value)); });
  }

  /// Returns the bytes of the index of words.
  Footprint bytes() const { return sized_.bytes().index; }
  /// Returns the bytes of the values.
  Footprint value_bytes() const { return sized_.bytes().values; }
  std::vector<ChunkSource::Chunk> chunks() const { return sized_.chunks(); }
  /// Returns the counts of the blocks of values; exact only while no operation runs.
  ReclaimCounters value_reclaim_counters() const { return sized_.reclaim_counters(); }

 private:
  void contains_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found, BatchOrder order) const {
    std::array<bool, kMostInAttempt> present;
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      sized_.contains_batch(me.sized, keys.subspan(first, count), std::span(present).first(count), order);
      for (std::size_t i = 0; i < count; ++i) found[first + i] = present[i] ? Found(0) : Found();
    }
  }
  static ByteSpan written(ThreadState& me, u64 number) {
    stamped::write(me.room, number);
    return me.room;
  }

  Sized<Map> sized_;
  u32 value_bytes_ = 24;
  bool reads_values_ = true;
};

}  // namespace latchlab
