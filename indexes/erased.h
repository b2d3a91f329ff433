#pragma once
// A type-erased index: spans in, spans out, at most one virtual call a batch. Code that is compiled once for all
// indexes uses it: test suites, and the harness, which derives its own classes from it (harness/loop/trial.h).
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "indexes/concepts.h"
#include "src/base/batch_room.h"
#include "src/base/batching.h"
#include "src/base/function_ref.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/stats/counters.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

/// A key of either kind. An index of numbers reads only the number; an index of strings reads the bytes, which must
/// outlive the call.
struct ErasedKey {
  ErasedKey() = default;
  ErasedKey(u64 key) : number(key) {}  // NOLINT: converts implicitly, since it only wraps the key
  ErasedKey(std::string_view key) : bytes(key.data()), length(key.size()) {}  // NOLINT

  union {
    u64 number = 0;
    const char* bytes;
  };
  std::size_t length = 0;  ///< length of the byte string
};

/// Returns the key as the index takes it: `Raw` is u64 or std::string_view.
template <class Raw>
[[nodiscard]] Raw raw_of(const ErasedKey& key) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return key.number;
  } else {
    return Raw(key.bytes, key.length);
  }
}

/// Returns true if an index keeps the pairs that it is given. All do, except `null`, and those whose `keeps` says no.
template <IndexFace Index>
[[nodiscard]] constexpr bool keeps_pairs() {
  if constexpr (requires { Index::Body::kKeeps; }) return Index::Body::kKeeps;
  return true;
}

/// An answer that also says which value the call removed.
struct Removed {
  bool done = false;  ///< the answer of the operation itself
  Found was;          ///< the value that it replaced or erased; nothing if it removed none, or if the index cannot tell
};

class Erased {
 public:
  /// The callback for one pair; the key is valid only during the call.
  using Visit = std::function<void(ErasedKey key, u64 value)>;

  /// The function of a modification.
  using Change = std::function<Found(Found before)>;
  /// That of a batch of modifications, for keys[i].
  using BatchChange = FunctionRef<Found(std::size_t i, const Found& before)>;

  /// One thread's access to the index. That thread makes, uses and destroys the session, before the index is destroyed.
  /// A span of one key is one call of the index's operation. A longer span is a batch if the index takes batches. All
  /// spans have the length of `keys`.
  class Session {
   public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    virtual void find(std::span<const ErasedKey> keys, std::span<Found> found, BatchOrder order) = 0;
    /// Sets done[i] for an insert or an upsert to whether keys[i] was absent, for an update to whether it was present.
    /// Throws std::bad_alloc when memory is out (IndexFull where an index may not grow). Operations done before that
    /// stay done, and the rest of `done` is left as it was.
    virtual void put(Put how, std::span<const ErasedKey> keys, std::span<const u64> values, std::span<bool> done,
                     BatchOrder order) = 0;
    /// Changes the value of the key in one step to change(what it is), where nothing stands for an absent key, and
    /// returns both. `change` is pure, does not throw, and may run several times. Must not be called if the index does
    /// not modify. Throws as put.
    virtual Modified modify(ErasedKey key, const Change& change) = 0;
    /// Sets modified[i] to the result of modify for keys[i] and change(i, value), in turn. Throws as put.
    virtual void modify(std::span<const ErasedKey> keys, std::span<Modified> modified, BatchChange change,
                        BatchOrder order) = 0;
    /// Does modify, where `change` adds one to a value. An index that increments by an operation of its own does that
    /// instead.
    virtual Modified increment(ErasedKey key, const Change& change) = 0;
    /// Sets done[i] to whether keys[i] was present.
    virtual void erase(std::span<const ErasedKey> keys, std::span<bool> done, BatchOrder order) = 0;
    /// Do what put and erase do for one key, by the same bodies, and say which value they removed. An index of words
    /// cannot tell that of an upsert, and a peer none.
    virtual Removed replace(Put how, ErasedKey key, u64 value) = 0;
    virtual Removed remove(ErasedKey key) = 0;

    /// Prefetches for operations to come on the keys, if the index can.
    virtual void prefetch(std::span<const ErasedKey> keys, Hint hint) = 0;

    /// Visits up to `limit` pairs from `from` on, in order, and returns their number. Visits none if the index is not
    /// ordered.
    virtual std::size_t scan(ErasedKey from, std::size_t limit, const Visit& visit) = 0;
    /// Visits every pair, in order if the index is ordered. Unless walks_beside_writers(), no other thread may change
    /// the index meanwhile. Beside changes it visits a key that stays at least once.
    virtual void for_each(const Visit& visit) = 0;
    /// Visits every pair, while no other thread changes the index.
    virtual void for_each_at_rest(const Visit& visit) = 0;
    /// Returns the number of nodes that find visits on its way to the key, or 0 if the index does not count them.
    [[nodiscard]] virtual u64 visits(ErasedKey key) = 0;

    /// Returns one line that names the counters of this session's policy that contradict each other; empty if none do.
    [[nodiscard]] virtual std::string inconsistency() const = 0;
  };

  Erased() = default;
  Erased(const Erased&) = delete;
  Erased& operator=(const Erased&) = delete;
  virtual ~Erased() = default;

  [[nodiscard]] virtual std::unique_ptr<Session> join() = 0;
  [[nodiscard]] virtual bool ordered() const = 0;
  /// Returns true if keys are numbers.
  [[nodiscard]] virtual bool numbers() const = 0;
  /// Returns false for an index that keeps nothing, so that there is nothing to check.
  [[nodiscard]] virtual bool keeps() const = 0;
  /// Returns true if the index modifies.
  [[nodiscard]] virtual bool modifies() const = 0;
  /// Returns true if a session's for_each may run beside changes, as far as the policy lets threads change the index.
  [[nodiscard]] virtual bool walks_beside_writers() const = 0;
  /// Returns true if the index counts the nodes that find visits.
  [[nodiscard]] virtual bool counts_visits() const = 0;
  /// Returns the memory that the index holds beside the index object itself.
  [[nodiscard]] virtual Footprint bytes() const = 0;
  /// Returns the bytes of the index object itself.
  [[nodiscard]] virtual std::size_t own_bytes() const = 0;
};

/// True if an index counts the nodes that find visits.
template <class Index>
inline constexpr bool kCountsVisits = requires(Index& index, decltype(index.join())& me, typename Index::Raw key) {
  { index.visits(me, key) } -> std::convertible_to<u64>;
};

/// True if an index itself says which values its operations remove.
template <class Index>
inline constexpr bool kSaysRemoved =
    requires(Index& index, decltype(index.join())& me, typename Index::Raw key, Put how) {
      { index.replace(me, how, key, u64{}) } -> std::same_as<Removed>;
      { index.remove(me, key) } -> std::same_as<Removed>;
    };
/// True if an index has updates and erases that depend on the value that is there, and so show it.
template <class Index>
inline constexpr bool kShowsRemoved = requires(Index& index, decltype(index.join())& me, typename Index::Raw key,
                                               Found (*change)(u64) noexcept, bool (*wanted)(u64) noexcept) {
  { index.update_if(me, key, change) } -> std::same_as<Changed>;
  { index.erase_if(me, key, wanted) } -> std::same_as<Changed>;
};

/// A session of an index, derived from Base: from Erased::Session or from a class derived from that.
template <IndexFace Index, std::derived_from<Erased::Session> Base = Erased::Session>
class ErasedSession : public Base {
 protected:
  using Raw = typename Index::Raw;
  using ThreadState = decltype(std::declval<Index&>().join());

 public:
  explicit ErasedSession(Index& index) : index_(index), me_(index.join()) {}

  void find(std::span<const ErasedKey> keys, std::span<Found> found, BatchOrder order) final {
    if constexpr (kFindsBatches<Index>) {
      if (keys.size() > 1) {
        return in_batches(keys, [&](std::span<const Raw> raws, std::size_t first) {
          index_.find_batch(me_, raws, found.subspan(first, raws.size()), order);
        });
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = index_.find(me_, raw_of<Raw>(keys[i]));
  }
  void put(Put how, std::span<const ErasedKey> keys, std::span<const u64> values, std::span<bool> done,
           BatchOrder order) final {
    if constexpr (kChangesBatches<Index>) {
      if (keys.size() > 1 && how != Put::kUpsert) {
        return in_batches(keys, [&](std::span<const Raw> raws, std::size_t first) {
          const auto some = values.subspan(first, raws.size());
          const auto changed = done.subspan(first, raws.size());
          how == Put::kInsert ? index_.insert_batch(me_, raws, some, changed, order)
                              : index_.update_batch(me_, raws, some, changed, order);
        });
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Raw key = raw_of<Raw>(keys[i]);
      switch (how) {
        case Put::kInsert: done[i] = index_.insert(me_, key, values[i]); break;
        case Put::kUpdate: done[i] = index_.update(me_, key, values[i]); break;
        case Put::kUpsert: done[i] = index_.upsert(me_, key, values[i]); break;
      }
    }
  }
  Modified modify(ErasedKey key, const Erased::Change& change) final {
    if constexpr (kModifies<Index>) {
      return index_.modify(me_, raw_of<Raw>(key), [&](Found before) noexcept { return change(before); });
    } else {
      return {};
    }
  }
  void modify(std::span<const ErasedKey> keys, std::span<Modified> modified, Erased::BatchChange change,
              BatchOrder order) final {
    if constexpr (kModifiesBatches<Index>) {
      in_batches(keys, [&](std::span<const Raw> raws, std::size_t first) {
        const auto change_one = [&](std::size_t i, const Found& before) noexcept { return change(first + i, before); };
        index_.modify_batch(me_, raws, modified.subspan(first, raws.size()), change_one, order);
      });
    } else if constexpr (kModifies<Index>) {
      if (order == BatchOrder::kSideBySide) prefetch(keys, Hint::kChange);
      for (std::size_t i = 0; i < keys.size(); ++i)
        modified[i] =
            index_.modify(me_, raw_of<Raw>(keys[i]), [&](Found before) noexcept { return change(i, before); });
    }
  }
  Modified increment(ErasedKey key, const Erased::Change& change) final {
    if constexpr (kIncrementsByItself<Index>) {
      const Found after = index_.increment(me_, raw_of<Raw>(key));
      return {.before = after ? Found(*after - 1) : after, .after = after};
    } else {
      return modify(key, change);
    }
  }
  void erase(std::span<const ErasedKey> keys, std::span<bool> done, BatchOrder order) final {
    if constexpr (kChangesBatches<Index>) {
      if (keys.size() > 1) {
        return in_batches(keys, [&](std::span<const Raw> raws, std::size_t first) {
          index_.erase_batch(me_, raws, done.subspan(first, raws.size()), order);
        });
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) done[i] = index_.erase(me_, raw_of<Raw>(keys[i]));
  }
  Removed replace(Put how, ErasedKey key, u64 value) final {
    if constexpr (kSaysRemoved<Index>) {
      return index_.replace(me_, how, raw_of<Raw>(key), value);
    } else if constexpr (kShowsRemoved<Index>) {
      if (how == Put::kUpdate) {
        u64 there = 0;  // the last run writes it
        const auto change = [&there, value](u64 now) noexcept {
          there = now;
          return Found(value);
        };
        const Changed outcome = index_.update_if(me_, raw_of<Raw>(key), change);
        return removed(outcome, there);
      }
    }
    Removed answer;
    put(how, {&key, 1}, {&value, 1}, {&answer.done, 1}, BatchOrder::kInTurn);
    return answer;
  }
  Removed remove(ErasedKey key) final {
    if constexpr (kSaysRemoved<Index>) {
      return index_.remove(me_, raw_of<Raw>(key));
    } else if constexpr (kShowsRemoved<Index>) {
      u64 there = 0;  // the last run writes it
      const auto wanted = [&there](u64 now) noexcept {
        there = now;
        return true;
      };
      const Changed outcome = index_.erase_if(me_, raw_of<Raw>(key), wanted);
      return removed(outcome, there);
    } else {
      Removed answer;
      erase({&key, 1}, {&answer.done, 1}, BatchOrder::kInTurn);
      return answer;
    }
  }
  void prefetch(std::span<const ErasedKey> keys, Hint hint) final {
    if constexpr (kPrefetches<Index>) {
      in_batches(keys, [&](std::span<const Raw> raws, std::size_t) {
        for (; !raws.empty(); raws = raws.subspan(std::min<std::size_t>(raws.size(), kMostInAttempt))) {
          const auto some = raws.first(std::min<std::size_t>(raws.size(), kMostInAttempt));
          index_.prefetch(me_, some, hint);
          if constexpr (kPrefetchesFurther<Index>) index_.prefetch_further(me_, some);
        }
      });
    }
  }
  std::size_t scan(ErasedKey from, std::size_t limit, const Erased::Visit& visit) final {
    if constexpr (Index::kOrdered) {
      return index_.scan(me_, raw_of<Raw>(from), limit, visit);
    } else {
      return 0;
    }
  }
  void for_each(const Erased::Visit& visit) final {
    if constexpr (keeps_pairs<Index>()) index_.for_each(me_, visit);
  }
  void for_each_at_rest(const Erased::Visit& visit) final {
    if constexpr (requires { index_.for_each_at_rest(me_, visit); }) {
      if constexpr (keeps_pairs<Index>()) index_.for_each_at_rest(me_, visit);
    } else {
      for_each(visit);
    }
  }
  [[nodiscard]] u64 visits(ErasedKey key) final {
    if constexpr (kCountsVisits<Index>) return index_.visits(me_, raw_of<Raw>(key));
    return 0;
  }
  [[nodiscard]] std::string inconsistency() const final {
    if constexpr (requires { me_.counters.inconsistency(); }) return me_.counters.inconsistency();
    return {};
  }

 protected:
  Index& index_;
  ThreadState me_;

 private:
  static Removed removed(Changed outcome, u64 there) {
    return outcome == Changed::kChanged ? Removed{true, there} : Removed{};
  }
  template <class Run>
  static void in_batches(std::span<const ErasedKey> keys, const Run& run) {
    for (std::size_t first = 0; first < keys.size(); first += kMostInCall) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInCall);
      const BatchRoom<Raw, kMostInCall> room(count);
      const std::span<Raw> raws = room.all();
      for (std::size_t i = 0; i < count; ++i) raws[i] = raw_of<Raw>(keys[first + i]);
      run(std::span<const Raw>(raws), first);
    }
  }
};

/// A type-erased index whose sessions a derived class makes. Base is Erased or a class derived from that.
template <SharedIndex Index, std::derived_from<Erased> Base>
class ErasedWithoutSessions : public Base {
 public:
  /// Makes the index; `index` holds its options, if it takes any.
  ErasedWithoutSessions(const Spec& sync, const MemoryConfig& memory, const Spec& index)
      : index_(made(sync, memory, index)) {}

  [[nodiscard]] bool ordered() const final { return Index::kOrdered; }
  [[nodiscard]] bool numbers() const final { return std::is_same_v<typename Index::Raw, u64>; }
  [[nodiscard]] bool keeps() const final {
    if constexpr (requires { index_.keeps(); }) return index_.keeps();
    return keeps_pairs<Index>();
  }
  [[nodiscard]] bool modifies() const final { return kModifies<Index>; }
  [[nodiscard]] bool walks_beside_writers() const final { return kWalksBesideWriters<Index>; }
  [[nodiscard]] bool counts_visits() const final { return kCountsVisits<Index>; }
  [[nodiscard]] Footprint bytes() const final { return index_.bytes(); }
  [[nodiscard]] std::size_t own_bytes() const final { return sizeof(Index); }

 protected:
  Index index_;

 private:
  static Index made(const Spec& sync, const MemoryConfig& memory, const Spec& index) {
    if constexpr (std::constructible_from<Index, const Spec&, const MemoryConfig&, const Spec&>) {
      return Index(sync, memory, index);
    } else {
      return Index(sync, memory);
    }
  }
};

/// A type-erased index.
template <SharedIndex Index>
class ErasedOf final : public ErasedWithoutSessions<Index, Erased> {
 public:
  using ErasedWithoutSessions<Index, Erased>::ErasedWithoutSessions;

  [[nodiscard]] std::unique_ptr<Erased::Session> join() override {
    return std::make_unique<ErasedSession<Index>>(this->index_);
  }
};

}  // namespace latchlab
