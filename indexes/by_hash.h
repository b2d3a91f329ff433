#pragma once
// An index of numbers as an index of byte strings. The number is a hash of the string, and the value in the cell is the
// address of a record:
//
//     cell: hash -> record      | value | next | size | bytes of the key |   in the memory of the index
//                     `--> record of another key with the same hash
//
// So a hit reads one line more than with numbers, if the key is short. A miss reads none more, unless two keys have one
// hash. The hash is wide enough that chains are longer than one record in tests only.
//
//   1. A record belongs to one key as long as it is linked. Its key is fixed, its value and its link are cells.
//   2. All that changes a chain runs in an attempt of the index on the hash (update_if, erase_if, insert). So changes
//   of
//      one chain exclude each other, under every policy. They are undone with the attempt.
//   3. A reader gets the first record by an attempt, and reads the rest after it, in the epoch of the records. A record
//      that is unlinked meanwhile keeps its value and its link. The reader's answer is then that of the moment before
//      the unlinking, and otherwise that of the moment when it read the value or the end of the chain.
//   4. A new record is linked first in its chain, or is the chain. Its fields are stored before its address is.
//
// Records wait for a grace period of their own epochs, whatever the policy is: lookups read them outside attempts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/walked_pairs.h"
#include "src/base/batching.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/scale.h"
#include "src/base/spec.h"
#include "src/machine/machine.h"
#include "src/memory/memory.h"
#include "src/reclaim/epochs.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

namespace by_hash {

/// The hash of a key: 64 bits, all of which depend on every byte.
struct Hash {
  static u64 of(std::string_view key) { return hash_bytes(key); }
};

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// Lookups do not enter the records' epoch.
  static inline Flag kDropEpoch{};
  /// A hash that is there counts as the key that is looked up.
  static inline Flag kTrustHash{};
  /// An erase clears the link of the record that it takes from a chain.
  static inline Flag kCutLink{};
  /// An erased record is freed at once.
  static inline Flag kFreeAtOnce{};
};

template <class M>
class Record {
 public:
  static std::size_t bytes_for(std::string_view key) { return sizeof(Record) + key.size(); }
  /// Makes a record in a block of bytes_for(key) bytes.
  Record(std::string_view key, u64 first) : value(first), size_(static_cast<u32>(key.size())) {
    M::touch(this + 1, size_, Access::kWrite);
    if (size_ != 0) std::memcpy(static_cast<void*>(this + 1), key.data(), size_);
  }

  std::string_view key() const {
    M::touch(this + 1, size_, Access::kRead);
    return {reinterpret_cast<const char*>(this + 1), size_};
  }
  std::size_t bytes() const { return sizeof(Record) + size_; }

  static Record* at(u64 word) { return reinterpret_cast<Record*>(word); }
  u64 word() const { return reinterpret_cast<u64>(this); }

  typename M::template Racy<u64> value;
  typename M::template Racy<Record*> next;

 private:
  const u32 size_;
};

}  // namespace by_hash

/// An index of numbers joined to a policy (Map, a Synchronized), with byte strings as keys, as callers see it: a
/// SharedIndex. Operations promise what those of Synchronized do.
template <class Map, class Hash = by_hash::Hash>
class ByHash {
 public:
  using Policy = typename Map::Policy;
  using Machine = typename Map::Machine;
  using Key = BytesKey;
  using Raw = std::string_view;
  using Body = typename Map::Body;
  using Counters = typename Map::Counters;
  static constexpr bool kOrdered = false;
  static constexpr bool kSideBySide = Map::kSideBySide;
  static constexpr bool kHints = Map::kHints;
  static constexpr bool kWalksBesideWriters = Map::kWalksBesideWriters;

 private:
  using Record = by_hash::Record<Machine>;
  using Bugs = by_hash::BugFlags<typename Policy::Layout::Bugs::Flag>;
  static constexpr bool kTiny = Policy::Layout::kScale == Scale::kTiny;
  using Reclaimer =
      Epochs<Machine, 2, kTiny ? 1 : 64, kTiny ? 1 : 64, HoldsNothing, typename Policy::Layout::Bugs::Flag>;

 public:
  /// The state of one thread: that of the map, and its state in the records' reclaimer.
  class ThreadState : public Map::ThreadState {
   public:
    explicit ThreadState(ByHash& index)
        : Map::ThreadState(index.map_), reclaim_records_(index.reclaimer_, *this->pool) {}
    /// Not for lookups here, which have epochs of their own besides.
    template <class Run>
    void decide(const Run&) = delete;

   private:
    friend ByHash;
    typename Reclaimer::ThreadState reclaim_records_;
  };

  ByHash(const Spec& policy, const MemoryConfig& memory) : map_(policy, memory), reclaimer_(map_.memory()) {}
  ByHash(const Spec& policy, const MemoryConfig& memory, const Spec& index)
    requires requires { typename Body::Options; }
      : map_(policy, memory, index), reclaimer_(map_.memory()) {}
  ByHash(const ByHash&) = delete;
  ByHash& operator=(const ByHash&) = delete;
  ~ByHash() {
    if (map_.memory().releases_in_bulk()) return;
    ThreadState me = join();
    for_each_record(me, [&](Record* record) { me.pool->free(record, record->bytes()); });
  }

  /// Returns a state for the calling thread. Takes mutexes. Throws std::bad_alloc.
  ThreadState join() { return ThreadState(*this); }

  /// Declares that the thread runs no operation for a while (Synchronized::idle).
  void idle(ThreadState& me) const {
    me.reclaim_records_.idle();
    map_.idle(me);
  }

  std::optional<u64> find(ThreadState& me, Raw key) const {
    const Inside inside(me);
    return found(map_.find(me, Hash::of(key)), key);
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<std::optional<u64>> found_values,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const Hashes hashes(keys.subspan(first));
      const auto answers = found_values.subspan(first, hashes.all().size());
      const Inside inside(me);
      map_.find_batch(me, hashes.all(), answers, order);
      for (const Found& word : answers) {
        if (word) Machine::prefetch(Record::at(*word), Access::kRead);
      }
      for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = found(answers[i], keys[first + i]);
    }
  }
  void prefetch(ThreadState& me, std::span<const Raw> keys, std::span<const Hint> hints) const
    requires(kHints)
  {
    map_.prefetch(me, Hashes(keys).all(), hints);
  }
  void prefetch(ThreadState& me, std::span<const Raw> keys, Hint hint) const
    requires(kHints)
  {
    map_.prefetch(me, Hashes(keys).all(), hint);
  }
  /// Prefetches the records of the keys.
  void prefetch_further(ThreadState& me, std::span<const Raw> keys) const
    requires(kHints)
  {
    const Hashes hashes(keys);
    std::array<Found, kMostInAttempt> words;
    map_.find_batch(me, hashes.all(), std::span(words).first(hashes.all().size()), BatchOrder::kRolling);
    for (std::size_t i = 0; i < hashes.all().size(); ++i) {
      if (words[i]) Machine::prefetch(Record::at(*words[i]), Access::kRead);
    }
  }

  bool insert(ThreadState& me, Raw key, u64 value) {
    return link(me, key, value, [](Record&) {});
  }
  bool upsert(ThreadState& me, Raw key, u64 value) {
    return link(me, key, value, [value](Record& record) { record.value.store(value); });
  }
  bool update(ThreadState& me, Raw key, u64 value) {
    return update_if(me, key, [value](u64) noexcept { return Found(value); }) != Changed::kAbsent;
  }
  bool erase(ThreadState& me, Raw key) {
    return erase_if(me, key, [](u64) noexcept { return true; }) == Changed::kChanged;
  }
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> inserted,
                    BatchOrder order = BatchOrder::kSideBySide) {
    in_turn(me, keys, order, Hint::kInsert, [&](std::size_t i) { inserted[i] = insert(me, keys[i], values[i]); });
  }
  void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder order = BatchOrder::kSideBySide) {
    in_turn(me, keys, order, Hint::kChange, [&](std::size_t i) { changed[i] = update(me, keys[i], values[i]); });
  }
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased,
                   BatchOrder order = BatchOrder::kSideBySide) {
    in_turn(me, keys, order, Hint::kChange, [&](std::size_t i) { erased[i] = erase(me, keys[i]); });
  }
  template <class F>
  void modify_batch(ThreadState& me, std::span<const Raw> keys, std::span<Modified> modified, const F& f,
                    BatchOrder order = BatchOrder::kSideBySide) {
    in_turn(me, keys, order, Hint::kChange, [&](std::size_t i) {
      modified[i] = modify(me, keys[i], [&f, i](const Found& before) noexcept { return f(i, before); });
    });
  }

  template <class Change>
  Changed update_if(ThreadState& me, Raw key, const Change& change) {
    const Inside inside(me);
    Changed outcome = Changed::kAbsent;
    const auto in_chain = [&](u64 chain) -> Found {
      Record* const record = find_in(chain, key).record;
      outcome = record == nullptr ? Changed::kAbsent : changed(*record, change);
      return {};
    };
    return map_.update_if(me, Hash::of(key), in_chain) == Changed::kAbsent ? Changed::kAbsent : outcome;
  }

  template <class Wanted>
  Changed erase_if(ThreadState& me, Raw key, const Wanted& wanted) {
    if (!me.reclaim_records_.reserve()) throw std::bad_alloc();
    Leaving leaving(me);
    const Inside inside(me);
    const u64 hash = Hash::of(key);
    Look seen;
    // A record that is alone goes with the pair of its hash. Any other leaves its chain. If the rest of a chain goes
    // between the two attempts, the record is alone after all.
    const auto goes_alone = [&](u64 chain) {
      seen = look_in(chain, key, wanted);
      return seen.goes && seen.alone;
    };
    const auto leave_chain = [&](u64 chain) -> Found {
      seen = look_in(chain, key, wanted);
      if (!seen.goes || seen.alone) return {};
      Record* const after = seen.record->next.load();
      if (Bugs::kCutLink) seen.record->next.store(nullptr);
      if (seen.before == nullptr) return after->word();
      seen.before->next.store(after);
      return {};
    };
    for (;;) {
      const Changed alone = map_.erase_if(me, hash, goes_alone);
      if (alone == Changed::kAbsent) return Changed::kAbsent;
      if (alone == Changed::kChanged) return leaving.take(seen.record);
      if (seen.goes) {
        if (map_.update_if(me, hash, leave_chain) == Changed::kAbsent) return Changed::kAbsent;
        if (seen.goes && seen.alone) continue;
        if (seen.goes) return leaving.take(seen.record);
      }
      return seen.record == nullptr ? Changed::kAbsent : Changed::kLeft;
    }
  }

  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    static_assert(noexcept(f(Found())), "it runs inside an attempt, which an exception would leave half done");
    Modified done;
    const auto change = [&](u64 before) noexcept {
      done = {before, f(Found(before))};
      return done.after;
    };
    for (;;) {
      if (update_if(me, key, change) == Changed::kAbsent) {
        const Found first = f(Found());
        if (!first) return {};
        if (link(me, key, *first, [&](Record& record) { (void)changed(record, change); })) return {Found(), first};
      }
      if (done.after) return done;
      if (erase_if(me, key, [&](u64 before) noexcept { return !change(before); }) == Changed::kChanged) return done;
    }
  }

  /// The place of a walk (Synchronized::walk_on). It goes over the hashes.
  class Walk {
   public:
    bool at_start() const { return chains_.at_start(); }

   private:
    friend ByHash;
    typename Map::Walk chains_;
    WalkedPairs<BytesKey> pairs_;
  };
  /// Does what Synchronized::walk_on does. A key that stays keeps its record in the chain of its hash, and the hash in
  /// the index. The copies are made in the records' epoch, and visited after it. The visits are a part of the step over
  /// the hashes. So a step whose visit throws is taken again whole, from the records as they are then.
  template <class Visit>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit) const {
    walk.pairs_.clear();
    Inside inside(me);
    const auto copy = [&](u64, u64 chain) {
      for (const Record* record = Record::at(chain); record != nullptr; record = record->next.load()) {
        const BytesKey::Spelling spelling(record->key());
        while (!walk.pairs_.push(spelling.key(), record->value.load())) walk.pairs_.enlarge();
      }
    };
    return map_.walk_on(me, walk.chains_, most, copy, [&] {
      inside.leave();
      walk.pairs_.for_each(visit);
    });
  }
  /// Visits every pair, in no particular order. Must not run beside changes unless the index has walks.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    if constexpr (kWalksBesideWriters) {
      for (Walk walk; walk_on(me, walk, kMostInAttempt, visit);) {}
    } else {
      for_each_at_rest(me, visit);
    }
  }

  /// Does the same while no other thread changes the index.
  template <class Visit>
  void for_each_at_rest(ThreadState& me, Visit&& visit) const {
    for_each_record(me, [&](Record* record) { visit(record->key(), record->value.load()); });
  }

  /// Returns the bytes of the index and of its records, as Synchronized does.
  Footprint bytes() const {
    Footprint all = map_.bytes();
    if constexpr (requires(const Body& index) { index.bytes(); }) {  // it counts only what it allocates itself
      const Footprint records = map_.memory().bytes();
      all.live += records.live;
      all.reserved += records.reserved;
    }
    return all;
  }
  std::vector<ChunkSource::Chunk> chunks() const { return map_.chunks(); }
  /// Returns the counts of the records' reclamation; exact only while no operation runs.
  ReclaimCounters reclaim_counters() const { return reclaimer_.counters(); }

 private:
  /// The hashes of the keys of an attempt.
  class Hashes {
   public:
    /// Hashes up to kMostInAttempt keys.
    explicit Hashes(std::span<const Raw> keys) : count_(std::min<std::size_t>(keys.size(), kMostInAttempt)) {
      for (std::size_t i = 0; i < count_; ++i) hashes_[i] = Hash::of(keys[i]);
    }
    std::span<const u64> all() const { return {hashes_.data(), count_}; }

   private:
    const std::size_t count_;
    std::array<u64, kMostInAttempt> hashes_;
  };

  /// A stay in the records' epoch.
  class Inside {
   public:
    explicit Inside(ThreadState& me) : reclaim_(Bugs::kDropEpoch ? nullptr : &me.reclaim_records_) {
      if (reclaim_ != nullptr) reclaim_->enter();
    }
    ~Inside() { leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    /// Ends the stay early.
    void leave() {
      if (reclaim_ != nullptr) std::exchange(reclaim_, nullptr)->leave();
    }

   private:
    typename Reclaimer::ThreadState* reclaim_;
  };

  /// A new record, which goes back to the pool unless it is linked.
  class New {
   public:
    /// Makes a record. Throws std::bad_alloc.
    New(ThreadState& me, Raw key, u64 value) : me_(me) {
      if (key.size() > BytesKey::kLongest) throw std::length_error("a key has at most 128 MiB - 1 bytes");
      void* const at = me.pool->allocate(Record::bytes_for(key));
      if (at == nullptr) throw std::bad_alloc();
      record_ = new (at) Record(key, value);
    }
    ~New() {
      if (record_ != nullptr) me_.pool->free(record_, record_->bytes());
    }
    New(const New&) = delete;
    New& operator=(const New&) = delete;
    Record& operator*() const { return *record_; }
    /// Leaves the record to the index. Returns true.
    bool linked() {
      record_ = nullptr;
      return true;
    }

   private:
    ThreadState& me_;
    Record* record_;
  };

  /// The record that an erase unlinks. It is retired at the end of this object, which must outlive the stay in the
  /// epoch: the thread's own stay would delay the collection.
  class Leaving {
   public:
    explicit Leaving(ThreadState& me) : me_(me) {}
    ~Leaving() {
      if (record_ == nullptr) return;
      if (Bugs::kFreeAtOnce) {
        me_.pool->free(record_, record_->bytes());
      } else {
        me_.reclaim_records_.retire(record_, record_->bytes());
      }
    }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    Changed take(Record* record) {
      record_ = record;
      return Changed::kChanged;
    }

   private:
    ThreadState& me_;
    Record* record_ = nullptr;
  };

  /// The place of a key in a chain.
  struct Place {
    Record* before = nullptr;
    Record* record = nullptr;  // null: the key is not in the chain
  };
  static Place find_in(u64 chain, Raw key) {
    Place place{.record = Record::at(chain)};
    while (place.record != nullptr && !Bugs::kTrustHash && place.record->key() != key)
      place.before = std::exchange(place.record, place.record->next.load());
    return place;
  }
  static Found found(const Found& chain, Raw key) {
    if (!chain) return {};
    const Record* const record = find_in(*chain, key).record;
    return record == nullptr ? Found() : Found(record->value.load());
  }

  /// A look at a key, in an attempt that may erase it.
  struct Look : Place {
    bool goes = false;   // the key is there, and its value is one that is wanted
    bool alone = false;  // its chain has no other record
  };
  template <class Wanted>
  static Look look_in(u64 chain, Raw key, const Wanted& wanted) {
    Look look{find_in(chain, key)};
    if (look.record == nullptr) return look;
    look.goes = wanted(look.record->value.load());
    look.alone = look.before == nullptr && look.record->next.load() == nullptr;
    return look;
  }
  template <class Change>
  static Changed changed(Record& record, const Change& change) {
    const Found after = change(record.value.load());
    if (!after) return Changed::kLeft;
    record.value.store(*after);
    return Changed::kChanged;
  }

  /// Links a new record unless its key has one, and returns true. Otherwise calls there(Record&) for that one, in the
  /// attempt, and returns false. If memory is out, frees the records and nodes that are due, and tries once more.
  template <class There>
  bool link(ThreadState& me, Raw key, u64 value, const There& there) {
    for (bool again = false;; again = true) {
      try {
        New fresh(me, key, value);
        const Inside inside(me);
        return link(me, key, fresh, there);
      } catch (const std::bad_alloc&) {
        if (again) throw;
        me.reclaim_records_.collect_all();
        me.reclaim.collect_all();
      }
    }
  }
  template <class There>
  bool link(ThreadState& me, Raw key, New& fresh, const There& there) {
    const u64 hash = Hash::of(key);
    Record& record = *fresh;
    const auto before_the_others = [&](u64 chain) -> Found {
      if (Record* const other = find_in(chain, key).record; other != nullptr) {
        there(*other);
        return {};
      }
      record.next.store(Record::at(chain));
      return record.word();
    };
    for (;;) {
      record.next.store(nullptr);
      if (map_.insert(me, hash, record.word())) return fresh.linked();
      switch (map_.update_if(me, hash, before_the_others)) {
        case Changed::kChanged: return fresh.linked();
        case Changed::kLeft: return false;
        case Changed::kAbsent: break;  // the hash has gone since
      }
    }
  }

  /// Calls change(i) for each key in turn, and prefetches for groups of them.
  template <class Change>
  void in_turn(ThreadState& me, std::span<const Raw> keys, BatchOrder order, Hint hint, const Change& change) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if constexpr (kHints) {
        if (order == BatchOrder::kSideBySide && i % kMostInAttempt == 0)
          prefetch(me, keys.subspan(i, std::min<std::size_t>(keys.size() - i, kMostInAttempt)), hint);
      }
      change(i);
    }
  }

  template <class Visit>
  void for_each_record(ThreadState& me, const Visit& visit) const {
    map_.for_each_at_rest(me, [&](u64, u64 chain) {
      for (Record* record = Record::at(chain); record != nullptr;) {
        Record* const after = record->next.load();  // the visit may free the record
        visit(record);
        record = after;
      }
    });
  }

  Map map_;
  mutable Reclaimer reclaimer_;  // its records are in the map's memory
};

}  // namespace latchlab
