#pragma once
// An index under node replication: R indexes with the same content, one for each NUMA node, and the log of the
// operations that change them (sync/nr.h). It is what `--sync=nr` makes of an index that knows nothing of it.
//
//     harness --index=art --sync=nr:2
//
//     find, scan, walk     on the replica of the caller's node, once it has run what was completed before
//     insert, erase, ...   an entry of the log, which each replica runs
//     modify, update_if    find, then an entry "replace the value if it is still this one", until it is
//
// So a function runs on its caller's thread alone, and entries are numbers. A caller whose modify meets others on the
// same key may have to try again, as often as they change it.
//
// Keys are numbers: a byte string would have to lie in the memory of each node. Values are words: those of any size are
// above an index, which sees their handles. An index that learns from lookups has no replicas: its lookups would change
// one of them alone, beside other readers.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/nr.h"
#include "sync/synchronized.h"

namespace latchlab {

/// Replicas of an index of numbers, as callers see them: a SharedIndex. Operations promise what those of Synchronized
/// do. But each change of a batch is a step of its own, and memory that is out on one of several replicas ends the
/// process. `PolicyType` is Nr.
template <template <class Layout, class Key> class Index, class PolicyType, class Bugs = nr::NoBugs,
          u32 kEntries = 4096>
class Replicated {
  using Map = Synchronized<Index, NrReplica<typename PolicyType::Machine, Bugs>, U64Key>;
  static_assert(!Map::kLearns, "lookups of this index change it");

 public:
  using Policy = PolicyType;
  using Machine = typename Policy::Machine;
  using Key = U64Key;
  using Raw = u64;
  using Body = typename Map::Body;
  static constexpr bool kOrdered = Map::kOrdered;
  static constexpr bool kSideBySide = Map::kSideBySide;
  static constexpr bool kWalksBesideWriters = Map::kWalksBesideWriters;
  using Walk = typename Map::Walk;

 private:
  /// A replica, with the state of the thread that has its lock.
  class Replica {
   public:
    template <class... Options>
    explicit Replica(const Options&... options) : map(options...), alone_(map.join()) {}

    nr::Answer run(const nr::Operation& operation) {
      try {
        return change(operation) ? nr::Answer::kYes : nr::Answer::kNo;
      } catch (const IndexFull&) {
        return nr::Answer::kFull;
      } catch (const std::bad_alloc&) {
        return nr::Answer::kNoMemory;
      }
    }

    Map map;

   private:
    bool change(const nr::Operation& operation) {
      using Kind = nr::Operation::Kind;
      const auto [kind, key, value, expected] = operation;
      switch (kind) {
        case Kind::kInsert: return map.insert(alone_, key, value);
        case Kind::kUpdate: return map.update(alone_, key, value);
        case Kind::kUpsert: return map.upsert(alone_, key, value);
        case Kind::kErase: return map.erase(alone_, key);
        case Kind::kReplace: {
          const auto replace = [&operation](u64 before) noexcept {
            return before == operation.expected ? Found(operation.value) : Found();
          };
          return map.update_if(alone_, key, replace) == Changed::kChanged;
        }
        case Kind::kEraseIf:
          return map.erase_if(alone_, key, [expected = expected](u64 before) noexcept { return before == expected; }) ==
                 Changed::kChanged;
      }
      return false;
    }

    typename Map::ThreadState alone_;  // has no seat at the lock (NrReplica)
  };
  using Replication = NodeReplication<Machine, Replica, Bugs, kEntries>;

 public:
  class ThreadState {
   public:
    explicit ThreadState(Replicated& index) : thread_(std::make_unique<typename Replication::Thread>()) {
      Replication& all = index.replication_;
      for (u32 i = 0; i < all.replicas(); ++i) {
        states_.push_back(std::make_unique<typename Map::ThreadState>(all.replica(i).map));
        states_.back()->learned.sit(all.lock(i));
      }
    }

    nr::Counters counters;

   private:
    friend Replicated;
    std::unique_ptr<typename Replication::Thread> thread_;
    std::vector<std::unique_ptr<typename Map::ThreadState>> states_;  // for each replica
  };

  /// Makes empty replicas, each with memory of its own. Throws InputError for a spec that is refused, and
  /// std::bad_alloc.
  Replicated(const Spec& policy, const MemoryConfig& memory) : replication_(make(policy, policy, memory)) {}
  /// Does the same for an index with options.
  Replicated(const Spec& policy, const MemoryConfig& memory, const Spec& index)
    requires requires { typename Body::Options; }
      : replication_(make(policy, policy, memory, index)) {}

  /// Takes mutexes. Throws std::bad_alloc.
  ThreadState join() { return ThreadState(*this); }
  void idle(ThreadState& me) const {
    for (u32 i = 0; i < replication_.replicas(); ++i) replication_.replica(i).map.idle(*me.states_[i]);
  }

  Found find(ThreadState& me, Raw key) const {
    return here(me, [key](const Map& map, auto& state) { return map.find(state, key); });
  }
  u64 visits(ThreadState& me, Raw key) const
    requires CountsVisits<Body, typename NrReplica<Machine, Bugs>::Tx>
  {
    return here(me, [key](const Map& map, auto& state) { return map.visits(state, key); });
  }
  bool insert(ThreadState& me, Raw key, u64 value) { return run(me, Kind::kInsert, key, value); }
  bool update(ThreadState& me, Raw key, u64 value) { return run(me, Kind::kUpdate, key, value); }
  bool upsert(ThreadState& me, Raw key, u64 value) { return run(me, Kind::kUpsert, key, value); }
  bool erase(ThreadState& me, Raw key) { return run(me, Kind::kErase, key); }
  template <class Change>
  Changed update_if(ThreadState& me, Raw key, const Change& change) {
    for (;;) {
      const Found before = find(me, key);
      if (!before) return Changed::kAbsent;
      const Found after = change(*before);
      if (!after) return Changed::kLeft;
      if (run(me, Kind::kReplace, key, *after, *before)) return Changed::kChanged;
    }
  }
  template <class Wanted>
  Changed erase_if(ThreadState& me, Raw key, const Wanted& wanted) {
    for (;;) {
      const Found before = find(me, key);
      if (!before) return Changed::kAbsent;
      if (!wanted(*before)) return Changed::kLeft;
      if (run(me, Kind::kEraseIf, key, 0, *before)) return Changed::kChanged;
    }
  }
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    static_assert(noexcept(f(Found())));
    for (;;) {
      const Found before = find(me, key);
      const Found after = f(before);
      if (!before && !after) return {};
      const bool done = !before  ? run(me, Kind::kInsert, key, *after)
                        : !after ? run(me, Kind::kEraseIf, key, 0, *before)
                                 : run(me, Kind::kReplace, key, *after, *before);
      if (done) return {before, after};
    }
  }

  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    here(me, [&](const Map& map, auto& state) { map.find_batch(state, keys, found, order); });
  }
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> inserted,
                    BatchOrder = BatchOrder::kSideBySide) {
    for (std::size_t i = 0; i < keys.size(); ++i) inserted[i] = insert(me, keys[i], values[i]);
  }
  void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder = BatchOrder::kSideBySide) {
    for (std::size_t i = 0; i < keys.size(); ++i) changed[i] = update(me, keys[i], values[i]);
  }
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased,
                   BatchOrder = BatchOrder::kSideBySide) {
    for (std::size_t i = 0; i < keys.size(); ++i) erased[i] = erase(me, keys[i]);
  }
  template <class F>
  void modify_batch(ThreadState& me, std::span<const Raw> keys, std::span<Modified> modified, const F& f,
                    BatchOrder = BatchOrder::kSideBySide) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      modified[i] = modify(me, keys[i], [&f, i](const Found& before) noexcept { return f(i, before); });
  }

  template <class Visit>
    requires(kOrdered)
  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, Visit&& visit) const {
    return here(me, [&](const Map& map, auto& state) { return map.scan(state, from, limit, visit); });
  }
  template <class Visit>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit) const {
    return walk_on(me, walk, most, visit, [] {});
  }
  /// Walks on the caller's replica. A key that stays is visited at least once even if the caller moves to another node
  /// meanwhile: replicas have the same layout, except for how far they are.
  template <class Visit, class Then>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit, Then&& then) const {
    return here(me, [&](const Map& map, auto& state) { return map.walk_on(state, walk, most, visit, then); });
  }
  /// Visits every pair of the caller's replica, which is brought up to date once, at the beginning: a pair may have
  /// been replaced before its step.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    here(me, [&](const Map& map, auto& state) { map.for_each(state, visit); });
  }
  /// Does the same while no other thread changes the index. Throws std::logic_error if the replicas differ. O(pairs *
  /// replicas).
  template <class Visit>
  void for_each_at_rest(ThreadState& me, Visit&& visit) const {
    replication_.catch_up_all();
    const u32 home = replication_.ready(*me.thread_, me.counters);
    const Content content = content_of(me, home, visit);
    for (u32 i = 0; i < replication_.replicas(); ++i) {
      if (i != home && content_of(me, i, [](Raw, u64) {}) != content)
        throw std::logic_error("replicas " + std::to_string(i) + " and " + std::to_string(home) + " of nr differ");
    }
  }

  /// Returns the bytes of all replicas, of the log and of the locks. Exact only while no operation runs.
  Footprint bytes() const {
    replication_.catch_up_all();
    const u64 fixed = replication_.bytes() + replication_.replicas() * sizeof(Replica);
    Footprint all{.live = fixed, .room = fixed, .reserved = fixed};
    for (u32 i = 0; i < replication_.replicas(); ++i) all += replication_.replica(i).map.bytes();
    return all;
  }
  std::vector<ChunkSource::Chunk> chunks() const {
    std::vector<ChunkSource::Chunk> all;
    for (u32 i = 0; i < replication_.replicas(); ++i) {
      for (const ChunkSource::Chunk& chunk : replication_.replica(i).map.chunks()) all.push_back(chunk);
    }
    return all;
  }

 private:
  using Kind = nr::Operation::Kind;

  /// The pairs of a replica, whatever their order: their number, and a sum of hashes.
  struct Content {
    u64 pairs = 0, sum = 0;
    bool operator==(const Content&) const = default;
  };

  template <class... Options>
  static std::vector<std::unique_ptr<Replica>> make(const Spec& policy, const Options&... options) {
    std::vector<std::unique_ptr<Replica>> all(NrOptions::parse(policy).count());
    for (auto& replica : all) replica = std::make_unique<Replica>(options...);
    return all;
  }

  /// Calls f(map, state) for the caller's replica.
  template <class F>
  [[gnu::always_inline]] auto here(ThreadState& me, const F& f) const {
    const u32 home = replication_.ready(*me.thread_, me.counters);
    return f(std::as_const(replication_.replica(home).map), *me.states_[home]);
  }

  bool run(ThreadState& me, Kind kind, Raw key, u64 value = 0, u64 expected = 0) {
    switch (replication_.run(*me.thread_, me.counters, {kind, key, value, expected})) {
      case nr::Answer::kNo: return false;
      case nr::Answer::kYes: return true;
      case nr::Answer::kFull: throw IndexFull();
      case nr::Answer::kNoMemory: break;
    }
    throw std::bad_alloc();
  }

  template <class Visit>
  Content content_of(ThreadState& me, u32 number, Visit&& visit) const {
    Content content;
    replication_.replica(number).map.for_each_at_rest(*me.states_[number], [&](Raw key, u64 value) {
      ++content.pairs;
      content.sum += mix64(key ^ mix64(value));
      visit(key, value);
    });
    return content;
  }

  mutable Replication replication_;  // lookups may bring a replica up to date
};

}  // namespace latchlab
