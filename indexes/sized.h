#pragma once
// An index whose values have any size: an index of words (sync/synchronized.h) joined to a store of values
// (src/memory/values.h).
//
//     Sized<Synchronized<Art, Olc<Native>, U64Key>> index(MemoryConfig{}, Spec::parse("olc"), MemoryConfig{});
//     auto me = index.join();                 // one per thread, on that thread; ends before the index does
//     index.insert(me, 7, bytes);
//     index.find(me, 7, [](ByteSpan value) { ... });
//
//     key --index--> word --short--> the value itself
//                        `--long---> block, in a memory and a reclaimer of the values' own
//
// A value is replaced, never changed. An operation builds the new block first, then changes the word in one attempt of
// the policy, then retires the old block. So the attempt is as short as in an index of numbers. No allocation is inside
// a lock or a transaction, and no copy of bytes but the last resort of `modify`.
//
// The values reclaim by epochs under every policy, the coarse ones too. An operation enters the values' epoch before it
// looks for a word, and leaves it after its last use of the bytes:
//   1. A word that was found leads to a block that stays readable. A visitor may be long, and it may throw.
//   2. While a thread is inside, no block that it could find is used again. So equal words mean that nothing has
//      changed (no ABA): two long words are the same block, two short words the same value.
//   3. The thread whose attempt removed a word from the index is the only one that retires its block, after it has left
//      the epoch.
//
// `modify` is the one step from what is there, or nothing, to what shall be, or nothing (sized_modify.h). Its function
// runs outside attempts, and after kMostStale tries that came too late inside one. A modification that erases there
// claims the pair first: its word is then another word for the same value, and nothing but the erasure follows.
//
// With a FarMemory the values lie in two memories (sized_tiers.h).
//
// A cache finds by `use`, which marks the value, and makes room by `evict`, a step of a clock hand (sized_evict.h).
//
// A visitor, or the function of modify, must not call an operation with the same ThreadState: epochs do not nest.
//
// When memory is out, an operation frees the blocks that are due and tries once more. Then it throws std::bad_alloc and
// has changed nothing. A value longer than 16 MiB throws std::length_error, and changes nothing either. What else an
// operation throws, the index of words does.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/sized_batch.h"
#include "indexes/sized_evict.h"
#include "indexes/sized_modify.h"
#include "indexes/sized_seeded_bugs.h"
#include "indexes/sized_tiers.h"
#include "src/base/batch_room.h"
#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "src/memory/values.h"
#include "src/reclaim/epochs.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/concepts.h"

namespace latchlab {

/// The memory of an index of sized values, in its parts.
struct SizedFootprint {
  Footprint index;   ///< of the index of words, and of the entries that say which values are near
  Footprint values;  ///< of the blocks in near memory, and the records of those that wait to be freed
  Footprint far;     ///< of the blocks in far memory
};

/// The index of sized values over `Map`, a Synchronized that keeps its pairs. Any thread may call any operation with
/// its own ThreadState at any time, as far as the policy of Map allows.
template <class Map>
class Sized {
 public:
  using Machine = typename Map::Machine;
  using Raw = typename Map::Raw;
  static constexpr bool kOrdered = Map::kOrdered;
  static constexpr bool kHints = Map::kHints;
  static constexpr bool kWalksBesideWriters = Map::kWalksBesideWriters;

 private:
  using Store = Values<Machine>;
  using Bugs = sized::BugFlags<typename Map::Policy::Layout::Bugs::Flag>;
  static constexpr bool kTiny = Map::Policy::Layout::kScale == Scale::kTiny;
  struct Holds {
    static bool held(const Block& block) { return !Bugs::kIgnorePins && PinnedValues<Machine>::held(block); }
  };
  using Reclaimer = Epochs<Machine, 2, kTiny ? 1 : 64, kTiny ? 1 : 64, Holds, typename Map::Policy::Layout::Bugs::Flag>;

 public:
  /// The tries of a modification that may come too late before its function runs inside an attempt.
  static constexpr u32 kMostStale = kTiny ? 1 : 8;

  /// The state of one thread.
  class ThreadState {
   public:
    explicit ThreadState(Sized& sized)
        : index(sized.index_),
          pool_(sized.memory_),
          reclaim_(sized.reclaimer_, *pool_),
          tier_(sized.tiers_ == nullptr ? nullptr : sized.tiers_->join()) {}

    typename Map::ThreadState index;  ///< the state in the index of words

   private:
    friend Sized;
    template <class Owner, class F>
    friend class sized::Modification;
    template <class Owner>
    friend class sized::Group;
    template <class Owner, class Evicted>
    friend class sized::HandStep;
    template <class Owner>
    friend class sized::Tiers;
    PoolLease<Machine> pool_;
    typename Reclaimer::ThreadState reclaim_;
    std::unique_ptr<typename sized::Tiers<Sized>::Thread> tier_;  // null if there is no far memory
  };

  /// The values of a group of keys, in the order of the keys. Valid during the visit.
  class FoundValues {
   public:
    explicit FoundValues(std::span<const Found> words) : words_(words) {}
    std::size_t size() const { return words_.size(); }
    /// Returns the value of key i of the group; nothing if the key is absent.
    std::optional<ByteSpan> operator[](std::size_t i) const {
      return words_[i] ? std::optional(Store::bytes(*words_[i])) : std::nullopt;
    }

   private:
    std::span<const Found> words_;
  };

  /// Makes an empty index: `values` describes the memory of the values, and the rest are the arguments of Map. Throws
  /// as Map's constructor does.
  template <class... Arguments>
    requires std::constructible_from<Map, Arguments...>
  explicit Sized(const MemoryConfig& values, Arguments&&... index)
      : memory_(values, values.sharing), reclaimer_(memory_), index_(std::forward<Arguments>(index)...) {}
  /// Makes one whose values lie in two memories: `near` describes the near one, whose limit says when it is full.
  /// Throws Contradiction for a rule that drops values.
  template <class... Arguments>
  Sized(const MemoryConfig& near, const FarMemory& far, Arguments&&... index)
      : tiers_(std::make_unique<sized::Tiers<Sized>>(far, near.sharing)),
        memory_(near, near.sharing, &tiers_->memory()),
        reclaimer_(memory_),
        index_(std::forward<Arguments>(index)...) {}
  Sized(const Sized&) = delete;
  Sized& operator=(const Sized&) = delete;
  /// Every ThreadState and every pin must have ended.
  ~Sized() {
    if (memory_.releases_in_bulk() && (tiers_ == nullptr || tiers_->memory().releases_in_bulk())) return;
    ThreadState me = join();
    index_.for_each_at_rest(me.index, [&](const auto&, u64 word) { Store::free(*me.pool_, word); });
  }

  /// Returns a state for the calling thread. Takes mutexes. Throws std::bad_alloc.
  ThreadState join() { return ThreadState(*this); }

  /// Declares that the thread runs no operation for a while (Synchronized::idle).
  void idle(ThreadState& me) const {
    me.reclaim_.idle();
    index_.idle(me.index);
  }

  /// Calls `visit(ByteSpan)` for the value of the key, if the key is present. Returns whether it is. `visit` runs once,
  /// outside locks and transactions; other threads may replace the value meanwhile. What it throws, find throws.
  template <class Visit>
  bool find(ThreadState& me, Raw key, Visit&& visit) const {
    if (tiers_ != nullptr) return tiers_->find(self(), me, key, visit);
    const Inside inside(me);
    const Found word = index_.find(me.index, key);
    if (!word) return false;
    if (Bugs::kVisitLate) me.reclaim_.leave();
    visit(Store::bytes(*word));
    return true;
  }
  /// Does the same, and marks the value as used, after the attempt. It writes only if the value is not marked yet.
  template <class Visit>
  bool use(ThreadState& me, Raw key, Visit&& visit) const {
    if (tiers_ != nullptr) return tiers_->find(self(), me, key, visit);
    const Inside inside(me);
    const Found word = find_word(me, key);
    if (!word) return false;
    Store::mark_used(*word);
    visit(Store::bytes(*word));
    return true;
  }
  /// Calls `visit(i, ByteSpan)` for the value of each keys[i] that is present, as find would at some moment of the
  /// call, in the order of the keys. Returns the number of keys present. The misses of up to kMostInAttempt keys
  /// overlap.
  template <class Visit>
  std::size_t find_batch(ThreadState& me, std::span<const Raw> keys, Visit&& visit,
                         BatchOrder order = BatchOrder::kSideBySide) const {
    return visit_batch<false>(me, keys, visit, order);
  }
  /// Does the same, and marks the values as `use` does.
  template <class Visit>
  std::size_t use_batch(ThreadState& me, std::span<const Raw> keys, Visit&& visit,
                        BatchOrder order = BatchOrder::kSideBySide) const {
    return visit_batch<true>(me, keys, visit, order);
  }
  /// Marks values as use_batch does, and calls `visit(first, FoundValues)` for those of up to kMostInAttempt keys at a
  /// time, from keys[first] on. So a caller that has a virtual call for its visits makes one a group.
  template <class Visit>
  void use_groups(ThreadState& me, std::span<const Raw> keys, Visit&& visit,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    visit_groups(me, keys, order, [&](std::size_t first, std::span<const Found> words) {
      for (const Found& word : words) {
        if (word) Store::mark_used(*word);
      }
      visit(first, FoundValues(words));
    });
  }
  /// Returns true if the key is present. Reads no value.
  bool contains(ThreadState& me, Raw key) const { return index_.find(me.index, key).has_value(); }
  /// Sets present[i] to whether keys[i] is present at some moment of the call. `present` must have one element for each
  /// key.
  void contains_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> present,
                      BatchOrder order = BatchOrder::kSideBySide) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      const BatchRoom<Found> room(count);
      const std::span<Found> words = room.all();
      index_.find_batch(me.index, keys.subspan(first, count), words, order);
      for (std::size_t i = 0; i < count; ++i) present[first + i] = words[i].has_value();
    }
  }
  /// Returns a handle that keeps the value of the key readable after the call; nothing if the key is absent. The handle
  /// must end before the index does.
  [[nodiscard]] std::optional<Pinned<Machine>> pin(ThreadState& me, Raw key) const {
    const Inside inside(me);
    const Found word = index_.find(me.index, key);
    if (!word) return std::nullopt;
    if (Bugs::kPinLate) me.reclaim_.leave();
    if (Store::is_far(*word)) (void)tiers_->read(me, *word);
    return std::optional<Pinned<Machine>>(std::in_place, *word);
  }

  /// Prefetches for operations to come, as the index of words does. The values are not prefetched.
  void prefetch(ThreadState& me, std::span<const Raw> keys, std::span<const Hint> hints) const
    requires(kHints)
  {
    index_.prefetch(me.index, keys, hints);
  }
  /// Does so in one way for all keys.
  void prefetch(ThreadState& me, std::span<const Raw> keys, Hint hint) const
    requires(kHints)
  {
    index_.prefetch(me.index, keys, hint);
  }

  // The forms below with `before` call before(ByteSpan) once, outside locks and transactions, for the value that the
  // key had, if it was present. If `before` throws, the operation has been done all the same.

  /// Inserts the pair if the key is absent. Returns true if it was absent.
  bool insert(ThreadState& me, Raw key, ByteSpan value) {
    New made(me, make(me, key, value));
    const Inside inside(me);
    if (!insert_word(me, key, made.word())) return false;
    made.publish(*this, key);
    return true;
  }
  /// Does the same. If the key is present, `before` gets its value.
  template <class Before>
  bool insert(ThreadState& me, Raw key, ByteSpan value, Before&& before) {
    New made(me, make(me, key, value));
    const Inside inside(me);
    for (;;) {
      if (insert_word(me, key, made.word())) {
        made.publish(*this, key);
        return true;
      }
      if (const Found word = find_word(me, key)) {  // else the key has gone since
        before(shown(me, *word));
        return false;
      }
    }
  }

  /// Sets the value of the key. Returns true if the key was absent.
  bool upsert(ThreadState& me, Raw key, ByteSpan value) { return upsert(me, key, value, kShowNothing); }
  template <class Before>
  bool upsert(ThreadState& me, Raw key, ByteSpan value, Before&& before) {
    New made(me, make(me, key, value));
    prepare(me);
    Old old(me);
    const Inside inside(me);
    const Found there = upsert_word(me, key, made.word());
    made.publish(*this, key);
    if (!there) return true;
    old.take(*there);
    if (is_claimed(*there)) return true;
    show_old(me, before, old);
    return false;
  }

  /// Changes the value if the key is present. Returns true if it was present.
  bool update(ThreadState& me, Raw key, ByteSpan value) { return update(me, key, value, kShowNothing); }
  template <class Before>
  bool update(ThreadState& me, Raw key, ByteSpan value, Before&& before) {
    New made(me, make(me, key, value));
    prepare(me);
    Old old(me);
    const Inside inside(me);
    for (;;) {
      const auto [there, after] = update_word(me, key, made.word());
      if (!there) return false;
      if (after) {
        made.publish(*this, key);
        old.take(*there);
        show_old(me, before, old);
        return true;
      }
      if (finish_claim(me, key, *there, old)) return false;
    }
  }

  /// Erases the key. Returns true if it was present.
  bool erase(ThreadState& me, Raw key) { return erase(me, key, kShowNothing); }
  template <class Before>
  bool erase(ThreadState& me, Raw key, Before&& before) {
    prepare(me);
    Old old(me);
    const Inside inside(me);
    const Found there = erase_word(me, key);
    if (!there) return false;
    old.take(*there);
    if (is_claimed(*there)) return false;
    show_old(me, before, old);
    return true;
  }

  /// Changes the value of a key in one step to what `f` wishes: f(std::optional<ByteSpan>) -> Change. It gets the
  /// value, or nothing if the key is absent. `f` is pure and may run several times; its last run is the one that
  /// counts. If it throws, modify throws the same and has changed nothing.
  ///
  /// `f` runs at most kMostStale + 2 times, whatever other threads do: kMostStale times outside attempts, then once on
  /// nothing if the key is absent, and once under the policy's latch or lock if it is present. Twice more may come each
  /// time that a value has outgrown the room for it, which at least doubles. (A transaction that aborts has run `f`
  /// without a trace.) O(size of the new value), if no other thread intervenes.
  template <class F>
  Effect modify(ThreadState& me, Raw key, const F& f) {
    return sized::Modification<Sized, F>(*this, me, key, f).run();
  }

  /// True if `with_bytes` is there: a lock of the policy lets each operation have the index for itself.
  static constexpr bool kLocksAll = RunsAlone<typename Map::Policy> && !Map::Policy::kElides;
  /// Calls f(std::span<std::byte>) for the value of a key, under the policy's lock, and returns true if it is present.
  /// `f` may change the bytes where they lie, and does not throw. So it races with everything that reads a value after
  /// its attempt: find, modify, scan and the rest. An index of which one thread calls with_bytes has no other readers
  /// of values than with_bytes, and the forms with `before` of update, upsert and erase. Throws Contradiction if values
  /// lie in two memories. O(1) beside f.
  template <class F>
    requires(kLocksAll)
  bool with_bytes(ThreadState& me, Raw key, const F& f) const {
    if (tiers_ != nullptr) [[unlikely]]
      throw Contradiction("values that change in place lie in one memory: a move would copy them outside the lock");
    bool present = false;
    const auto change = [&](u64 word) noexcept {
      present = !is_claimed(word);
      if (!present) return Found();
      f(Store::own_bytes(word));
      return Store::is_short(word) ? Found(word) : Found();  // a long value has the word that it had
    };
    index_.update_if(me.index, key, change);
    return present;
  }

  // The batches below are one operation after the other, for keys[i] in turn. All results are false (kNone) first. If
  // an operation throws, the earlier ones stay done and have their results. The cache misses of a group of keys overlap
  // before it if `order` is kSideBySide. Spans have one element for each key.

  /// Sets inserted[i] to the result of insert for values[i]. The values of a group are made before its first attempt.
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const ByteSpan> values,
                    std::span<bool> inserted, BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(keys, inserted, [&](std::span<const Raw> group, std::size_t first, std::span<bool> done) {
      Group words(me, done);
      words.make(*this, group, values.subspan(first, group.size()));
      const Inside inside(me);
      const typename Group::Publishing publishing(*this, words, group);
      words.insert_in(index_, group, order);
    });
  }
  /// Sets added[i] to the result of upsert for values[i]. The values of a group are made before its first attempt.
  void upsert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const ByteSpan> values, std::span<bool> added,
                    BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(keys, added, [&](std::span<const Raw> group, std::size_t first, std::span<bool> done) {
      Group words(me, done);
      words.make(*this, group, values.subspan(first, group.size()));
      prepare(me);
      const Inside inside(me);
      const typename Group::Publishing publishing(*this, words, group);
      const auto put = [made = words.made()](std::size_t i, const Found&) noexcept { return Found(made[i]); };
      index_.modify_batch(me.index, group, words.modified(), put, order);
    });
  }
  /// Sets erased[i] to the result of erase.
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased,
                   BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(keys, erased, [&](std::span<const Raw> group, std::size_t, std::span<bool> done) {
      prepare(me);
      Group words(me, done);
      const Inside inside(me);
      const auto nothing = [](std::size_t, const Found&) noexcept { return Found(); };
      index_.modify_batch(me.index, group, words.modified(), nothing, order);
    });
  }
  /// Sets effects[i] to the result of modify for the function f(i, value). What it throws, modify_batch throws.
  template <class F>
  void modify_batch(ThreadState& me, std::span<const Raw> keys, std::span<Effect> effects, const F& f,
                    BatchOrder order = BatchOrder::kSideBySide) {
    std::ranges::fill(effects, Effect::kNone);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (order == BatchOrder::kSideBySide && i % kMostInAttempt == 0)
        prefetch_values(me, keys.subspan(i, std::min<std::size_t>(keys.size() - i, kMostInAttempt)));
      effects[i] = modify(me, keys[i], [&f, i](const std::optional<ByteSpan>& value) { return f(i, value); });
    }
  }
  /// Prefetches the values of up to kMostInAttempt keys for operations to come. It waits for their words.
  void prefetch_values(ThreadState& me, std::span<const Raw> keys) const {
    const BatchRoom<Found> room(keys.size());
    const Inside inside(me);
    index_.find_batch(me.index, keys, room.all(), BatchOrder::kSideBySide);
    for (const Found& word : room.all()) {
      if (word) Store::prefetch(*word);
    }
  }

  /// Calls `visit(key, ByteSpan)` for the first `limit` pairs from `from` on, in order, and returns their number. The
  /// order, and what it says beside changes of other threads, are those of Synchronized::scan. The thread stays in the
  /// values' epoch until the scan ends.
  template <class Visit>
    requires(kOrdered)
  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, Visit&& visit) const {
    const Inside inside(me);
    return index_.scan(me.index, from, limit, [&](const Raw& key, u64 word) { visit(key, shown(me, word)); });
  }
  using Walk = typename Map::Walk;
  /// Calls `visit(key, ByteSpan)` for the next pairs of the walk, as Synchronized::walk_on does. The thread is in the
  /// values' epoch for the step, so other threads may replace a value or erase its key meanwhile.
  template <class Visit>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit) const {
    const Inside inside(me);
    return index_.walk_on(me.index, walk, most, [&](const Raw& key, u64 word) { visit(key, shown(me, word)); });
  }
  /// Turns a cache's clock hand by one step of about `most` pairs (sized_evict.h): at most 16 are erased. The hand
  /// clears the marks of values that were used since it last came by, and erases the other pairs. It calls evicted(key,
  /// ByteSpan) for each pair that it has erased, after the attempt. A pair stays if its erase lacks memory. What
  /// `evicted` throws, evict throws at the end of the step; what was evicted stays so. Throws std::bad_alloc if another
  /// thread holds up too many erased values, and has then done nothing, or if the hand lacks room for its copies.
  template <class Evicted>
    requires(kWalksBesideWriters)
  Eviction evict(ThreadState& me, Walk& hand, std::size_t most, Evicted&& evicted) {
    return sized::HandStep<Sized, Evicted>(*this, me, evicted).take(hand, most);
  }
  /// Moves some cold values to far memory, as operations do when near memory is full. Returns true if some have gone.
  bool demote(ThreadState& me) { return tiers_ != nullptr && tiers_->make_room(*this, me, 1); }
  /// Calls `visit(key, ByteSpan)` for every pair, in order if the index has one: a whole walk. If the index has no
  /// walks, it must not run beside changes.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    if constexpr (kWalksBesideWriters) {
      for (Walk walk; walk_on(me, walk, kMostInAttempt, visit);) {}
    } else {
      const Inside inside(me);
      index_.for_each(me.index, [&](const Raw& key, u64 word) { visit(key, shown(me, word)); });
    }
  }

  /// Returns the memory; exact only while no operation runs.
  [[nodiscard]] SizedFootprint bytes() const {
    SizedFootprint all{index_.bytes(), memory_.bytes(), {}};
    if (tiers_ != nullptr) {
      all.far = tiers_->memory().bytes();
      all.index.live += tiers_->clock_bytes();
      all.index.reserved += tiers_->clock_bytes();
    }
    return all;
  }
  /// Returns the mappings of the index and of the values, if they come from chunks.
  std::vector<ChunkSource::Chunk> chunks() const {
    std::vector<ChunkSource::Chunk> all = index_.chunks();
    for (const ChunkSource::Chunk& chunk : memory_.chunks()) all.push_back(chunk);
    return all;
  }
  /// Returns the mappings of far memory, if it comes from chunks.
  std::vector<ChunkSource::Chunk> far_chunks() const {
    return tiers_ == nullptr ? std::vector<ChunkSource::Chunk>() : tiers_->memory().chunks();
  }
  /// Returns what the two memories have done; zeros if there is one.
  [[nodiscard]] TierCounters tier_counters() const { return tiers_ == nullptr ? TierCounters() : tiers_->counters(); }
  /// Returns the counts of the blocks of values; exact only while no operation runs.
  [[nodiscard]] ReclaimCounters reclaim_counters() const { return reclaimer_.counters(); }

 private:
  template <class Owner, class F>
  friend class sized::Modification;
  template <class Owner>
  friend class sized::Group;
  template <class Owner, class Evicted>
  friend class sized::HandStep;
  template <class Owner>
  friend class sized::Tiers;

  template <bool kMarks, class Visit>
  std::size_t visit_batch(ThreadState& me, std::span<const Raw> keys, Visit& visit, BatchOrder order) const {
    std::size_t present = 0;
    visit_groups(me, keys, order, [&](std::size_t first, std::span<const Found> words) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i]) continue;
        ++present;
        if constexpr (kMarks) Store::mark_used(*words[i]);
        visit(first + i, Store::bytes(*words[i]));
      }
    });
    return present;
  }
  /// Calls visit(first, words) for the words of up to kMostInAttempt keys, from keys[first] on, in the values' epoch.
  template <class Visit>
  void visit_groups(ThreadState& me, std::span<const Raw> keys, BatchOrder order, const Visit& visit) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      const BatchRoom<Found> room(count);
      const std::span<Found> words = room.all();
      if (tiers_ != nullptr) {
        tiers_->visit_group(self(), me, keys.subspan(first, count), words, order, [&] { visit(first, words); });
        continue;
      }
      const Inside inside(me);
      find_group(me, keys.subspan(first, count), words, order);
      visit(first, words);
    }
  }
  /// Finds the words of up to kMostInAttempt keys, and prefetches their values.
  void find_group(ThreadState& me, std::span<const Raw> keys, std::span<Found> words, BatchOrder order) const {
    index_.find_batch(me.index, keys, words, order);
    for (const Found& word : words) {
      if (word) Store::prefetch(*word);
    }
  }

  static constexpr u64 kNothing = 1;  // the word of the empty value: there is no block to free or to retire
  static constexpr auto kShowNothing = [](ByteSpan) {};

  /// A stay in the values' epoch.
  class Inside {
   public:
    explicit Inside(ThreadState& me) : reclaim_(me.reclaim_) {
      if (!Bugs::kDropEpoch) reclaim_.enter();
    }
    ~Inside() { reclaim_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    typename Reclaimer::ThreadState& reclaim_;
  };

  /// A new value, which goes back to the pool unless it is published.
  class New {
   public:
    New(ThreadState& me, u64 word) : me_(me), word_(word) {}
    ~New() { Store::free(*me_.pool_, word_); }
    New(const New&) = delete;
    New& operator=(const New&) = delete;
    u64 word() const { return word_; }
    void hold(u64 word) { word_ = word; }
    /// Frees the value, and holds another.
    void replace(u64 word) { Store::free(*me_.pool_, std::exchange(word_, word)); }
    /// Leaves the value to the index, which has its word for this key.
    void publish(Sized& owner, const Raw& key) {
      owner.published(me_, key, word_);
      leave();
    }
    /// Leaves it to the index, which has another word for it.
    void leave() { word_ = kNothing; }

   private:
    ThreadState& me_;
    u64 word_;
  };

  /// The value that an operation takes from the index. It is retired at the end of this object, which must outlive the
  /// stay in the epoch: the thread's own stay would delay the collection.
  class Old {
   public:
    explicit Old(ThreadState& me) : me_(me) {}
    ~Old() { retire(me_, word_); }
    Old(const Old&) = delete;
    Old& operator=(const Old&) = delete;
    /// Takes over a word that this thread has removed from the index.
    void take(u64 word) { word_ = word; }
    const u64& word() const { return word_; }

   private:
    ThreadState& me_;
    u64 word_ = kNothing;
  };

  using Group = sized::Group<Sized>;
  /// Calls change(group, first, changed) for the keys, some at a time. Sets all of `changed` to false before.
  template <class Run>
  static void in_groups(std::span<const Raw> keys, std::span<bool> changed, const Run& change) {
    std::ranges::fill(changed, false);
    for (std::size_t first = 0; first < keys.size(); first += Group::kMost) {
      const std::size_t count = std::min(keys.size() - first, Group::kMost);
      change(keys.subspan(first, count), first, changed.subspan(first, count));
    }
  }

  static void retire(ThreadState& me, u64 word) {
    if (Store::is_short(word)) return;
    const Block block = Store::block(word);
    if (me.tier_ != nullptr) me.tier_->retired(word);
    me.reclaim_.retire(block.start, block.bytes);
  }
  void published(ThreadState& me, const Raw& key, u64 word) {
    if (me.tier_ != nullptr) me.tier_->published(key, word);
  }

  /// Does what earlier operations have left to do, outside the epoch.
  void tidy(ThreadState& me) {
    if (tiers_ != nullptr) tiers_->tidy(*this, me);
  }
  /// Makes sure that the blocks of an operation can be retired. Nothing is retired between this and the operation: so
  /// it comes after the making of a value, which may move others.
  static void prepare(ThreadState& me) {
    if (!me.reclaim_.reserve()) throw std::bad_alloc();
  }
  /// Frees the blocks that are due, outside the epoch. Blocks retired just now become due if no other thread is inside.
  static void collect(ThreadState& me) { me.reclaim_.collect_all(); }
  /// Returns attempt(), inside the epoch. If memory is out, leaves it to free the blocks that are due, and tries once
  /// more: no word that was read before may be used after it.
  template <class Attempt>
  static auto with_memory(ThreadState& me, const Attempt& attempt) {
    try {
      return attempt();
    } catch (const std::bad_alloc&) {
      me.reclaim_.leave();
      collect(me);
      if (!Bugs::kDropEpoch) me.reclaim_.enter();
    }
    return attempt();
  }

  // The next five find or change words of the index in one attempt. They are not inlined, so that each is compiled once
  // for all visitors: a call is cheap beside the making of a block.

  [[gnu::noinline]] Found find_word(ThreadState& me, Raw key) const { return index_.find(me.index, key); }
  [[gnu::noinline]] bool insert_word(ThreadState& me, Raw key, u64 word) {
    return with_memory(me, [&] { return index_.insert(me.index, key, word); });
  }
  /// Puts the word, and returns the word that was there.
  [[gnu::noinline]] Found upsert_word(ThreadState& me, Raw key, u64 word) {
    const auto put = [word](Found) noexcept { return Found(word); };
    return with_memory(me, [&] { return index_.modify(me.index, key, put).before; });
  }
  /// Replaces the word of a present key, if it is `expected`; if none is, unless it is claimed. Returns the word that
  /// was there, and the new one if it was replaced.
  [[gnu::noinline]] Modified update_word(ThreadState& me, Raw key, u64 word, Found expected = {}) {
    u64 there = kNothing;  // the last run writes it
    const auto change = [&there, word, expected](u64 now) noexcept {
      there = now;
      const bool goes = expected ? Bugs::kTrustWord || now == *expected : !is_claimed(now);
      return goes ? Found(word) : Found();
    };
    switch (index_.update_if(me.index, key, change)) {
      case Changed::kChanged: return {there, word};
      case Changed::kLeft: return {there, {}};
      case Changed::kAbsent: break;
    }
    return {};
  }
  /// Erases a present key, if its word is `expected` or none is. Returns the word that was there.
  [[gnu::noinline]] Found erase_word(ThreadState& me, Raw key, Found expected = {}) {
    u64 there = kNothing;  // the last run writes it
    const auto wanted = [&there, expected](u64 now) noexcept {
      there = now;
      return Bugs::kEraseAnyWord || now == expected.value_or(now);
    };
    return index_.erase_if(me.index, key, wanted) == Changed::kChanged ? Found(there) : Found();
  }

  static bool is_claimed(u64 word) { return Store::is_claimed(word) && !Bugs::kForgetClaim; }
  /// Erases the pair if it has this claimed word. Returns whether it had; then `old` takes the word.
  bool finish_claim(ThreadState& me, Raw key, u64 claimed, Old& old) {
    if (!erase_word(me, key, claimed)) return false;
    old.take(claimed);
    return true;
  }

  u64 make(ThreadState& me, const Raw& key, ByteSpan value) {
    return made_by(me, [&] { return try_make(me, key, true, value); });
  }
  /// Returns the word of a value for a key, in the memory where it begins; nothing when memory is out.
  template <class... Value>
  std::optional<u64> try_make(ThreadState& me, const Raw& key, bool is_outside, const Value&... value) {
    if (tiers_ != nullptr) return tiers_->make(*this, me, key, is_outside, value...);
    return Store::make(*me.pool_, value...);
  }
  /// Returns the word of a blank, in far memory if near memory has no room; nothing when both are out.
  std::optional<u64> try_make_blank(ThreadState& me, u64 most) {
    const std::optional<u64> near = Store::make_blank(*me.pool_, Tier::kNear, most);
    return near || tiers_ == nullptr ? near : Store::make_blank(*me.pool_, Tier::kFar, most);
  }
  /// Returns the bytes of a value for a caller's function, after the wait for its medium.
  ByteSpan shown(ThreadState& me, const u64& word) const {
    if (Store::is_far(word)) (void)tiers_->read(me, word);
    return Store::bytes(word);
  }
  ByteSpan shown(ThreadState& me, u64&& word) const = delete;  // the result may point into it
  /// Calls before(ByteSpan) for a value that an operation has removed. The caller that wants to see nothing reads
  /// nothing.
  template <class Before>
  void show_old(ThreadState& me, Before& before, const Old& old) const {
    if constexpr (!std::is_same_v<std::remove_const_t<Before>, std::remove_const_t<decltype(kShowNothing)>>)
      before(shown(me, old.word()));
  }
  Sized& self() const { return const_cast<Sized&>(*this); }  // a find may move its value
  /// Returns the result of `make`, outside the epoch.
  template <class Make>
  static u64 made_by(ThreadState& me, const Make& make) {
    std::optional<u64> word = make();
    if (!word) [[unlikely]] {
      collect(me);
      word = make();
      if (!word) throw std::bad_alloc();
    }
    return *word;
  }

  const std::unique_ptr<sized::Tiers<Sized>> tiers_;  // null if there is no far memory
  Memory<Machine> memory_;
  mutable Reclaimer reclaimer_;
  mutable Map index_;  // with_bytes takes the lock of a change
};

}  // namespace latchlab
