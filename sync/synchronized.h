#pragma once
// An index joined to a policy, as callers see it. Every operation passes a body of the index to the policy's read or
// write, and runs the maintenance that the index asks for. Nothing here depends on which index or policy it is.
//
//     Synchronized<Index, Rtm<Native>, U64Key> index(Spec::parse("rtm:20"), MemoryConfig{});
//     auto me = index.join();                 // one per thread, on that thread; ends before the index does
//     index.insert(me, 7, 42);
//     std::optional<u64> value = index.find(me, 7);
//
// Any thread may call any operation with its own ThreadState at any time, as far as the policy allows. (`none` allows
// one thread that writes, or any number that read if the index does not learn from lookups.) No result points into the
// index.
//
// When memory is out, insert, upsert and erase throw std::bad_alloc and have changed nothing. An insert or an upsert
// throws IndexFull if an index that may not grow has no room. An erase needs memory to record a block that other
// threads may still be reading, because it never waits for them.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/concepts.h"
#include "sync/spelled.h"
#include "sync/walk.h"

namespace latchlab {

template <template <class Layout, class Key> class Index, class PolicyType, class KeyType>
  requires Policy<PolicyType>
class Synchronized {
 public:
  using Policy = PolicyType;
  using Machine = typename Policy::Machine;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  using Body = Index<typename Policy::Layout, Key>;  ///< the index as its author wrote it
  using Counters = typename Policy::Counters;
  using Learned = typename LearnedOf<Policy>::Type;
  static constexpr bool kOrdered = Body::kOrdered;
  /// True if the index learns from lookups, which may then change it.
  static constexpr bool kLearns = requires { typename Body::Watch; };
  /// True if the index follows changes that met those of other threads.
  static constexpr bool kRelieves = requires { typename Body::Relief; } && CountsConflicts<Counters>;
  /// True if the index can run the lookups of a batch side by side.
  static constexpr bool kSideBySide = BatchBody<Body, typename Policy::Tx>;
  /// True if the changes of a batch are one attempt. Otherwise each is an attempt of its own.
  static constexpr bool kUpdatesAtOnce = Policy::kExcludes;
  /// True if the index can prefetch for operations to come: the first lines, and what they lead to.
  static constexpr bool kHints = HintingBody<Body, typename Policy::Tx>;
  static constexpr bool kHintsFurther = FurtherHintingBody<Body, typename Policy::Tx>;
  /// True if for_each, and a walk, may run beside changes. Otherwise the index has no walks.
  static constexpr bool kWalksBesideWriters = kOrdered || WalkingBody<Body, typename Policy::Tx>;
  using Walk = latchlab::Walk<Body>;
  static_assert(IndexBody<Body, typename Policy::Tx>, "the index lacks something: see IndexBody in sync/concepts.h");
  static_assert(Admits<Body, Policy>, "the index does not allow what the policy does: see Admits in sync/concepts.h");

  /// The state of one thread: its memory, its state in the reclaimer, its counters and its learned state.
  class ThreadState {
   public:
    explicit ThreadState(Synchronized& index) : pool(index.memory_), reclaim(index.reclaimer_, *pool) {}

    /// Calls `run(me)`. `me` serves as this thread in `find`, and the choices that each operation would make are made
    /// once. For loops of many lookups.
    template <class Run>
    [[gnu::always_inline]] void decide(const Run& run) {
      reclaim.decide([&](auto& decided) {
        run(Decided<std::remove_cvref_t<decltype(decided)>>{pool, decided, counters, learned, *this});
      });
    }

    PoolLease<Machine> pool;
    typename Policy::Reclaimer::ThreadState reclaim;
    Counters counters;
    [[no_unique_address]] Learned learned;
    [[no_unique_address]] typename WatchOf<Body>::Type watch;
    [[no_unique_address]] typename ReliefOf<Body>::Type relief;

   private:
    template <class Reclaim>
    struct Decided {
      const PoolLease<Machine>& pool;
      Reclaim reclaim;
      Counters& counters;
      Learned& learned;
      ThreadState& thread;
    };
  };

  /// Makes an empty index. Throws InputError for a spec that the policy refuses, and std::bad_alloc.
  Synchronized(const Spec& policy, const MemoryConfig& memory)
      : memory_(memory), reclaimer_(memory_), policy_(Policy::Options::parse(policy)) {
    name_parts();
  }
  /// Does the same for an index with options.
  Synchronized(const Spec& policy, const MemoryConfig& memory, const Spec& index)
    requires requires { typename Body::Options; }
      : memory_(memory),
        reclaimer_(memory_),
        policy_(Policy::Options::parse(policy)),
        index_(Body::Options::parse(index)) {
    name_parts();
  }
  Synchronized(const Synchronized&) = delete;
  Synchronized& operator=(const Synchronized&) = delete;
  ~Synchronized() {
    if (!memory_.releases_in_bulk()) index_.free_all(*PoolLease<Machine>(memory_));
  }

  /// Returns a state for the calling thread. Takes a mutex. Throws std::bad_alloc.
  ThreadState join() { return ThreadState(*this); }

  /// Declares that the thread runs no operation for a while. Otherwise blocks that others retire may wait for it
  /// (--reclaim=qsbr), and a policy that learns the costs of operations counts this time as theirs (adaptive).
  void idle(ThreadState& me) const {
    me.reclaim.idle();
    if constexpr (requires { policy_.idle(me); }) policy_.idle(me);
  }

  /// Returns the value of the key, or nothing if it is absent. `me` is a ThreadState, or the argument of decide's
  /// `run`.
  template <ThreadContext<Policy> Me>
  [[gnu::always_inline]] std::optional<u64> find(Me& me, Raw raw) const {
    Machine::begin_operation();
    const typename Key::Spelling spelling(raw);
    // Inlined into the caller: a call would keep the misses of successive lookups from overlapping.
    const auto found = policy_.read(
        me, [this, key = spelling.key()](auto& tx) __attribute__((always_inline)) { return index_.find_in(tx, key); });
    if constexpr (kLearns) {
      ThreadState& thread = thread_of(me);
      if (thread.watch.lookups(1) != 0) [[unlikely]] {
        if (!follow(thread, spelling.key(), thread.watch)) thread.watch.pass(1);
      }
    }
    return found;
  }
  /// Returns the number of nodes that find visits.
  u64 visits(ThreadState& me, Raw raw) const
    requires CountsVisits<Body, typename Policy::Tx>
  {
    const typename Key::Spelling spelling(raw);
    return policy_.read(me, [this, key = spelling.key()](auto& tx) { return index_.visits_in(tx, key); });
  }
  /// Sets found[i] to the value of keys[i], as find would return it at some moment of the call; these moments may
  /// differ. Up to kMostInAttempt keys are one attempt of the policy. The index looks them up side by side if it can
  /// and `order` says so, or else one after the other. `found` must have one element for each key.
  template <ThreadContext<Policy> Me>
  void find_batch(Me& me, std::span<const Raw> keys, std::span<std::optional<u64>> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      find_in_one_attempt(me, keys.subspan(first, count), found.subspan(first, count), order);
    }
  }
  /// Prefetches for operations to come, of up to kMostInAttempt keys: the first lines for each key, in the way that
  /// hints[i] asks for. Waits for none of them. It is one more operation of the policy, which counts it.
  template <ThreadContext<Policy> Me>
  [[gnu::always_inline]] void prefetch(Me& me, std::span<const Raw> keys, std::span<const Hint> hints) const
    requires(kHints)
  {
    prefetch_first(me, keys, [hints](std::size_t i) __attribute__((always_inline)) { return hints[i]; });
  }
  /// Does so in one way for all keys.
  template <ThreadContext<Policy> Me>
  [[gnu::always_inline]] void prefetch(Me& me, std::span<const Raw> keys, Hint hint) const
    requires(kHints)
  {
    prefetch_first(me, keys, [hint](std::size_t) __attribute__((always_inline)) { return hint; });
  }
  /// Does the same for the lines to which the first lines lead. It reads the first lines, so leave time for them.
  template <ThreadContext<Policy> Me>
  [[gnu::always_inline]] void prefetch_further(Me& me, std::span<const Raw> keys) const
    requires(kHintsFurther)
  {
    prefetch_for(me, keys, [this](auto& tx, const Key& key, std::size_t) __attribute__((always_inline)) {
      index_.prefetch_further_in(tx, key);
    });
  }
  // The next four are not inlined, so that they are compiled once: a call is cheap beside the many keys of a batch.

  /// Sets changed[i] to the result of update for keys[i] and values[i], in turn; the updates are not one atomic step.
  /// Up to kMostInAttempt keys are one attempt if the policy excludes all other operations. `values` and `changed` must
  /// have one element for each key.
  [[gnu::noinline]] void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values,
                                      std::span<bool> changed, BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(me, keys, order, Hint::kChange, [&](std::size_t first, std::size_t count) {
      if constexpr (kUpdatesAtOnce) {
        update_in_one_attempt(me, keys.subspan(first, count), values.subspan(first, count),
                              changed.subspan(first, count));
      } else {
        for (std::size_t i = first; i < first + count; ++i) changed[i] = update(me, keys[i], values[i]);
      }
    });
  }
  /// Sets inserted[i] to the result of insert for keys[i] and values[i], in turn, each in an attempt of its own. If one
  /// throws, the earlier inserts stay, and `inserted` of the other keys is unchanged. The prefetches beforehand are
  /// operations of the policy, which counts them.
  [[gnu::noinline]] void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values,
                                      std::span<bool> inserted, BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(me, keys, order, Hint::kInsert, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) inserted[i] = insert(me, keys[i], values[i]);
    });
  }
  /// Sets erased[i] to the result of erase for keys[i]; otherwise works as insert_batch.
  [[gnu::noinline]] void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased,
                                     BatchOrder order = BatchOrder::kSideBySide) {
    in_groups(me, keys, order, Hint::kChange, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) erased[i] = erase(me, keys[i]);
    });
  }
  /// Sets modified[i] to the result of modify for keys[i] and the function f(i, value); otherwise works as
  /// insert_batch. Up to kMostInAttempt keys are one attempt if the policy excludes all other operations, until one
  /// comes or goes: that one, and those behind it, are attempts of their own.
  template <class F>
  [[gnu::noinline]] void modify_batch(ThreadState& me, std::span<const Raw> keys, std::span<Modified> modified,
                                      const F& f, BatchOrder order = BatchOrder::kSideBySide) {
    static_assert(noexcept(f(std::size_t{}, Found())));
    in_groups(me, keys, order, Hint::kChange, [&](std::size_t first, std::size_t count) {
      std::size_t i = first;
      if constexpr (kUpdatesAtOnce)
        i += change_in_one_attempt(
            me, keys.subspan(first, count), modified.subspan(first, count),
            [&f, first](std::size_t at, const Found& before) noexcept { return f(first + at, before); });
      for (; i < first + count; ++i)
        modified[i] = modify(me, keys[i], [&f, i](const Found& before) noexcept { return f(i, before); });
    });
  }
  /// Inserts the pair if the key is absent. Returns true if it was absent; otherwise its value is unchanged.
  [[gnu::always_inline]] bool insert(ThreadState& me, Raw raw, u64 value) {
    return put(me, raw, SetTo(value), Put::kInsert);
  }
  /// Changes the value if the key is present. Returns true if it was present.
  [[gnu::always_inline]] bool update(ThreadState& me, Raw raw, u64 value) {
    return put(me, raw, SetTo(value), Put::kUpdate);
  }
  /// Sets the value of the key. Returns true if the key was absent.
  bool upsert(ThreadState& me, Raw raw, u64 value) { return put(me, raw, SetTo(value), Put::kUpsert); }
  /// Erases the key. Returns true if it was present.
  bool erase(ThreadState& me, Raw raw) {
    return erase_by(me, raw, [this](auto& tx, const Key& key) { return index_.erase_in(tx, key, AnyValue()); });
  }

  // The functions that the next three call run inside attempts (sync/change.h): they are pure, do not throw, and may
  // run more than once for one call.

  /// Changes the value of a present key to change(value), which may be nothing to leave it as it is.
  template <class Change>
  Changed update_if(ThreadState& me, Raw raw, const Change& change) {
    Changed outcome = Changed::kAbsent;
    const auto observed = [&](u64 before) {
      const Found after = change(before);
      outcome = after ? Changed::kChanged : Changed::kLeft;
      return after;
    };
    (void)put(me, raw, ChangeBy(observed), Put::kUpdate, [&outcome] { outcome = Changed::kAbsent; });
    return outcome;
  }
  /// Erases the pair of a present key if wanted(value) is true.
  template <class Wanted>
  Changed erase_if(ThreadState& me, Raw raw, const Wanted& wanted) {
    Changed outcome = Changed::kAbsent;
    const auto observed = [&](u64 value) {
      const bool goes = wanted(value);
      outcome = goes ? Changed::kChanged : Changed::kLeft;
      return goes;
    };
    (void)erase_by(me, raw, [&](auto& tx, const Key& key) {
      outcome = Changed::kAbsent;
      return index_.erase_in(tx, key, ValueThat(observed));
    });
    return outcome;
  }
  /// Changes the value of a key in one step, from what it is to f(what it is); nothing stands for an absent key.
  /// Returns both. A change of a present value is one attempt. An insert is two attempts, and an erase as well; each
  /// repeats if another thread changes the key between them. Throws as insert and erase do, and has then changed
  /// nothing.
  template <class F>
  Modified modify(ThreadState& me, Raw raw, const F& f) {
    static_assert(noexcept(f(Found())), "it runs inside an attempt, which an exception would leave half done");
    Modified done;
    // The value of a key that f wants gone stays here, and goes below.
    const auto change = [&](u64 before) noexcept {
      done = {before, f(Found(before))};
      return done.after;
    };
    const auto goes = [&](u64 before) noexcept { return !change(before); };
    for (;;) {
      if (put(me, raw, ChangeBy(change), Put::kUpdate)) {
        if (done.after) return done;
      } else {
        // The miss was one moment. If an insert is needed, the key may have come meanwhile; then the upsert changes it.
        done = {};
        const Found first = f(Found());
        if (!first) return {};
        if (put(me, raw, ChangeBy(change, *first), Put::kUpsert)) {
          // An attempt may have run f on a value and aborted, and the key may have gone since. The last run counts, so
          // it must be the one on nothing.
          if (done.before) [[unlikely]]
            (void)f(Found());
          return {Found(), first};
        }
        if (done.after) return done;
      }
      if (erase_if(me, raw, goes) == Changed::kChanged) return done;
    }
  }

  /// Calls `visit(key, value)` for the first `limit` pairs from `from` on, in order, and returns their number. `visit`
  /// is called outside transactions, on copies. While other threads change the index:
  ///   1. the order is strict;
  ///   2. a key that is present throughout is not missed;
  ///   3. every pair was present at some moment of the scan, but perhaps not all at the same moment.
  /// O(pairs), and O(depth) for each batch of them (64 pairs, if the index does not change meanwhile).
  template <class Visit>
    requires(kOrdered)
  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, Visit&& visit) const {
    const typename Key::Spelling spelling(from);
    typename Body::Batch batch(limit);
    Key next = spelling.key();
    std::size_t seen = 0;
    for (bool after = false; seen < limit; after = true) {
      gather(me, next, after, limit - seen, batch);
      if (batch.empty()) break;
      batch.for_each([&](Raw raw, u64 value) {
        if (seen < limit) visit(raw, value), ++seen;
      });
      next = batch.keep_last();
    }
    return seen;
  }

  /// Calls `visit(key, value)` for the next pairs of the walk, on copies outside attempts, in order if the index has
  /// one. Returns false if that was the end; the walk is then at its start again. A step ends with the bucket with
  /// which it has `most` pairs, or before it, and may visit none. Beside changes of other threads, or of `visit`:
  ///   1. A key that stays from start to end is visited at least once, even if it is moved; by the tables here once.
  ///   2. Every pair was present at some moment of its step, but perhaps not all at the same moment.
  /// Throws std::bad_alloc if a bucket needs more room than the walk has and memory is out. A walk of which a step has
  /// thrown, `visit` too, may go on: it takes that step again.
  template <class Visit>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit) const {
    return walk_on(me, walk, most, visit, [] {});
  }
  /// Does the same, and calls then() behind the visits, as a part of the step.
  template <class Visit, class Then>
    requires(kWalksBesideWriters)
  bool walk_on(ThreadState& me, Walk& walk, std::size_t most, Visit&& visit, Then&& then) const {
    const auto place = collect(me, walk, most);
    walk.show(visit);
    then();
    walk.go_on(place);  // last: a step that throws has not gone on
    return !walk.at_start();
  }
  /// Visits every pair: a whole walk. If the index has no walks, it must not run beside changes.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    if constexpr (kWalksBesideWriters) {
      for (Walk walk; walk_on(me, walk, kMostInAttempt, visit);) {}
    } else {
      index_.for_each(visit);
    }
  }

  /// Does the same while no other thread changes the index. That is faster for an index whose walks are slow.
  template <class Visit>
  void for_each_at_rest(ThreadState& me, Visit&& visit) const {
    if constexpr (requires { index_.for_each(visit); }) {
      index_.for_each(visit);
    } else {
      for_each(me, visit);
    }
  }

  /// Returns the bytes of the index outside this object, values included. Exact only while no operation runs. An index
  /// with memory of its own counts it itself.
  Footprint bytes() const {
    if constexpr (requires {
                    { index_.bytes() } -> std::same_as<Footprint>;
                  }) {
      return index_.bytes();
    } else {
      Footprint all = memory_.bytes();
      if constexpr (requires { index_.room(); }) all.room = index_.room();
      return all;
    }
  }
  /// Returns the memory of the nodes, for a class that keeps more in it. That class must end before this one.
  Memory<Machine>& memory() { return memory_; }
  const Memory<Machine>& memory() const { return memory_; }
  /// Returns the mappings of the nodes, if they come from chunks.
  std::vector<ChunkSource::Chunk> chunks() const { return memory_.chunks(); }
  /// Returns the counts of reclamation; exact only while no operation runs.
  ReclaimCounters reclaim_counters() const { return reclaimer_.counters(); }

 private:
  template <class Me>
  void find_in_one_attempt(Me& me, std::span<const Raw> raws, std::span<std::optional<u64>> found,
                           BatchOrder order) const {
    const Spelled<Key> spelled(raws);
    const std::span<const Key> keys = spelled.keys();
    find_spelled(me, keys, found, order);
    if constexpr (kLearns) {
      ThreadState& thread = thread_of(me);
      const auto seen = keys.last(thread.watch.lookups(keys.size()));
      for (std::size_t i = 0; i < seen.size(); ++i) {
        // The first is due. It may follow fewer meanwhile.
        if ((i == 0 || thread.watch.lookups(1) != 0) && !follow(thread, seen[i], thread.watch)) thread.watch.pass(1);
      }
    }
  }
  template <class Me>
  void find_spelled(Me& me, std::span<const Key> keys, std::span<std::optional<u64>> found, BatchOrder order) const {
    policy_.read(me, [&](auto& tx) -> Attempt<bool> {
      if constexpr (kSideBySide) {
        if (order != BatchOrder::kInTurn)
          return index_.find_batch_in(tx, keys, found, order != BatchOrder::kSideBySide);
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto one = index_.find_in(tx, keys[i]);
        if (!one) return one.failure();
        found[i] = *one;
      }
      return true;
    });
  }

  void update_in_one_attempt(ThreadState& me, std::span<const Raw> raws, std::span<const u64> values,
                             std::span<bool> changed) {
    if constexpr (kLearns) me.watch.pass(raws.size());
    const auto value_of = [&](std::size_t i) __attribute__((always_inline)) { return SetTo(values[i]); };
    update_in_turn(me, raws, value_of, [&](std::size_t i, bool present) __attribute__((always_inline)) {
      changed[i] = present;
      return true;
    });
  }
  /// The value of keys[i] in a batch of modifications, which changes it to f(i, value), and keeps both in `seen`.
  template <class F>
  struct ChangeAt {
    const F& f;
    const std::size_t i;
    Modified& seen;

    u64 first() const { return 0; }  // of no update
    void change(auto&& cell) const {
      const u64 before = cell.load();
      seen = {before, f(i, Found(before))};
      if (seen.after) cell.store(*seen.after);
    }
  };
  /// Does the modifications in turn until one has to insert or to erase. Returns the number of those done.
  template <class F>
  std::size_t change_in_one_attempt(ThreadState& me, std::span<const Raw> raws, std::span<Modified> modified,
                                    const F& f) {
    std::array<Modified, kMostInAttempt> seen;  // `modified` must not get those of an attempt that came to nothing
    std::size_t done = 0;
    const auto value_of = [&](std::size_t i) {
      done = i;
      seen[i] = {};
      return ChangeAt<F>{f, i, seen[i]};
    };
    update_in_turn(me, raws, value_of, [&](std::size_t i, bool present) {
      const bool whole = present ? seen[i].after.has_value() : !f(i, Found());
      done = i + (whole ? 1 : 0);
      return whole;
    });
    std::copy_n(seen.begin(), done, modified.begin());
    if constexpr (kLearns) me.watch.pass(done);
    return done;
  }
  /// Puts value_of(i) in the place of the value of keys[i] in turn, in one attempt. after(i, present) says whether the
  /// next key follows.
  template <class ValueOf, class After>
  [[gnu::always_inline]] void update_in_turn(ThreadState& me, std::span<const Raw> raws, const ValueOf& value_of,
                                             const After& after) {
    const Spelled<Key> spelled(raws);
    const std::span<const Key> keys = spelled.keys();
    policy_.write(me, [&](auto& tx) -> Attempt<bool> {
      Attempt<bool> all(true);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto one = index_.put_in(tx, keys[i], value_of(i), Put::kUpdate);
        // Only a scout is refused here. It goes on, to touch the pages of all keys.
        if (!one) {
          all = one.failure();
        } else if (!after(i, was_put(*one))) {
          break;
        }
      }
      return all;
    });
  }

  /// Prefetches the first lines for the keys; hint_of(i) says how for keys[i].
  template <class Me, class HintOf>
  [[gnu::always_inline]] void prefetch_first(Me& me, std::span<const Raw> keys, const HintOf& hint_of) const {
    prefetch_for(me, keys, [this, hint_of](auto& tx, const Key& key, std::size_t i) __attribute__((always_inline)) {
      index_.prefetch_in(tx, key, hint_of(i));
    });
  }
  /// Calls prefetch(tx, key, i) for the keys in one attempt. They are spelled before it, since that may allocate
  /// memory.
  template <class Me, class Prefetch>
  [[gnu::always_inline]] void prefetch_for(Me& me, std::span<const Raw> raws, const Prefetch& prefetch) const {
    const Spelled<Key> spelled(raws);
    policy_.read(me, [&, keys = spelled.keys()](auto& tx) __attribute__((always_inline)) -> Attempt<bool> {
      for (std::size_t i = 0; i < keys.size(); ++i) prefetch(tx, keys[i], i);
      return true;
    });
  }

  /// Calls `change(first, count)` for up to kMostInAttempt keys at a time, and prefetches for them if the index can.
  template <class Change>
  void in_groups(ThreadState& me, std::span<const Raw> keys, BatchOrder order, Hint hint, const Change& change) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      if (order == BatchOrder::kSideBySide) {
        const std::span<const Raw> group = keys.subspan(first, count);
        if constexpr (kHints) prefetch(me, group, hint);
        if constexpr (kHintsFurther) prefetch_further(me, group);
      }
      change(first, count);
    }
  }

  /// Reserves room to retire, before a body that may retire. Updates retire nothing, and never fail.
  [[gnu::always_inline]] static void reserve(ThreadState& me) {
    if (!me.reclaim.reserve()) [[unlikely]]
      throw std::bad_alloc();
  }

  struct Nothing {
    void operator()() const {}
  };
  /// Puts a value (sync/change.h). Calls `begin()` at the beginning of each attempt.
  template <class Value, class Begin = Nothing>
  [[gnu::always_inline]] bool put(ThreadState& me, Raw raw, const Value value, Put how, const Begin begin = {}) {
    Machine::begin_operation();
    if constexpr (kLearns) me.watch.pass(1);
    const typename Key::Spelling spelling(raw);
    const Key key = spelling.key();
    // The leaf of a long key may need more than a pool has ready. If memory is out, make will fail.
    if (const std::size_t extra = Body::extra_bytes(key); extra != 0) (void)me.pool->top_up(extra);
    const auto once = [&]() __attribute__((always_inline)) {
      if (how != Put::kUpdate) reserve(me);
      return policy_.write(me, [this, key, value, how, begin](auto& tx) __attribute__((always_inline)) {
        begin();
        return index_.put_in(tx, key, value, how);
      });
    };
    const u64 conflicts = conflicts_of(me);
    if (how == Put::kUpdate) {  // takes no memory, and never lacks room
      const bool updated = was_put(once());
      relieve(me, key, conflicts);
      return updated;
    }
    auto placed = with_memory(me, once);
    if constexpr (std::same_as<decltype(placed), PutResult>) {
      for (; placed == PutResult::kNoRoom; placed = with_memory(me, once)) {
        if constexpr (requires { typename Body::Growth; }) {
          const auto grow = [&] {
            const Maintained maintained = maintain(me, key, Body::Growth::for_room());
            if (maintained == Maintained::kFull) throw IndexFull();
            if (maintained == Maintained::kMemoryOut) throw std::bad_alloc();
            return maintained;
          };
          (void)with_memory(me, grow);
        } else {
          throw IndexFull();
        }
      }
    }
    const bool changed = was_put(placed);
    if constexpr (requires { typename Body::Growth; }) {
      // A failure to grow is ignored: the index is then slow, not wrong.
      if (changed && index_.asks_to_grow(key)) [[unlikely]] {
        (void)maintain(me, key, typename Body::Growth());
      }
    }
    relieve(me, key, conflicts);
    return changed;
  }
  /// Runs an erasing body.
  template <class EraseIn>
  [[gnu::always_inline]] bool erase_by(ThreadState& me, Raw raw, const EraseIn& erase_in) {
    Machine::begin_operation();
    if constexpr (kLearns) me.watch.pass(1);
    const typename Key::Spelling spelling(raw);
    const u64 conflicts = conflicts_of(me);
    const bool erased = with_memory(me, [&]() __attribute__((always_inline)) {
      reserve(me);
      return policy_.write(me, [key = spelling.key(), &erase_in](auto& tx) { return erase_in(tx, key); });
    });
    relieve(me, spelling.key(), conflicts);
    return erased;
  }
  static u64 conflicts_of(const ThreadState& me) {
    if constexpr (kRelieves) return me.counters.conflicts();
    return 0;
  }
  /// Follows a change of the key if the thread's Relief says so. There were `before` conflicts before it.
  [[gnu::always_inline]] void relieve(ThreadState& me, const Key& key, u64 before) {
    if constexpr (kRelieves) {
      if (me.relief.changed(me.counters.conflicts() != before)) [[unlikely]]
        follow(me, key, me.relief);
    }
  }
  /// Returns once(). If memory is out, frees the blocks that are due, and tries once more.
  template <class Once>
  [[gnu::always_inline]] static auto with_memory(ThreadState& me, const Once& once) {
    for (bool again = false;; again = true) {
      try {
        return once();
      } catch (const std::bad_alloc&) {
        if (again) throw;
        me.reclaim.collect_all();
      }
    }
  }
  static bool was_put(bool put) { return put; }
  static bool was_put(PutResult placed) { return placed == PutResult::kYes; }

  static ThreadState& thread_of(ThreadState& me) { return me; }
  template <class Me>
  static ThreadState& thread_of(Me& me) {
    return me.thread;
  }

  /// Runs a task that the thread keeps after an operation on the key. Returns false if memory was out.
  template <class Task>
  [[gnu::noinline]] bool follow(ThreadState& me, const Key& key, Task& task) const {
    try {
      return maintain(me, key, task) == Maintained::kDone;
    } catch (const std::bad_alloc&) {  // a step ran out of memory
      return false;
    }
  }

  enum class Maintained : u8 { kDone, kFull, kMemoryOut };

  /// Runs the steps of a task that follows an operation on the key: at least one.
  template <class Task>
  [[nodiscard, gnu::noinline]] Maintained maintain(ThreadState& me, const Key& key, Task&& task) const {
    struct Release {
      ~Release() { task.release(pool); }
      std::remove_reference_t<Task>& task;
      Pool<Machine>& pool;
    } const release{task, *me.pool};
    std::remove_reference_t<Task> after;
    do {
      if (!task.prepare(*me.pool) || !me.reclaim.reserve()) return Maintained::kMemoryOut;
      const auto step = [&](auto& tx) { return index_.maintain_in(tx, key, std::as_const(task), after); };
      const StepResult stepped = policy_.write(me, step);
      if (stepped == StepResult::kFull) [[unlikely]]
        return Maintained::kFull;
      if (stepped == StepResult::kOneDone) {
        task.one_done();
      } else {
        task = after;
      }
    } while (!task.done());
    return Maintained::kDone;
  }

  /// Collects the next pairs, up to `most`, in a batch with room for at least one. It does not depend on the visitor,
  /// so it is compiled once.
  [[gnu::noinline]] void gather(ThreadState& me, const Key& from, bool after, std::size_t most, auto& batch) const {
    do {
      if (batch.too_small()) batch.enlarge();
      policy_.read(me, [&](auto& tx) { return index_.gather_in(tx, from, after, most, batch); });
    } while (batch.too_small());
  }

  /// Collects the next pairs of a walk. Returns the place behind them.
  [[gnu::noinline]] auto collect(ThreadState& me, auto& walk, std::size_t most) const {
    for (;;) {
      if (walk.lacks_room()) walk.enlarge();
      const auto place = policy_.read(me, [&](auto& tx) { return walk.collect_in(tx, index_, most); });
      if (!walk.lacks_room()) return place;
    }
  }

  void name_parts() const {
    Machine::name(&reclaimer_, sizeof(reclaimer_), "reclaimer");
    Machine::name(&policy_, sizeof(policy_), "policy");
    Machine::name(&index_, sizeof(index_), "index");
  }

  Memory<Machine> memory_;
  mutable typename Policy::Reclaimer reclaimer_;
  mutable Policy policy_;  // reads may take locks
  mutable Body index_;     // lookups may change an index that learns
};

}  // namespace latchlab
