#pragma once
// SharedIndex: the interface of an index towards callers, the harness and the tests. Synchronized<Index, Policy, Key>
// makes a SharedIndex of an index that is written as bodies (IndexBody, sync/concepts.h). A peer that synchronizes
// itself implements it directly.
//
// Operations: find, insert (false if present), update (false if absent), upsert (true if it was absent), erase (false
// if absent). Ordered indexes also scan, and some modify or take batches. Keys are u64 or byte strings; a value is any
// u64.
#include <concepts>
#include <optional>
#include <span>

#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

/// The operations of an index that is there.
template <class S>
concept IndexFace = requires(S& index, const S& constant, typename S::ThreadState& me, typename S::Raw key,
                             void (*visit)(typename S::Raw, u64)) {
  // Called by the thread that will use the state.
  { index.join() } -> std::same_as<typename S::ThreadState>;
  { S::kOrdered } -> std::convertible_to<bool>;
  { index.find(me, key) } -> std::same_as<std::optional<u64>>;
  { index.insert(me, key, u64{}) } -> std::same_as<bool>;
  { index.update(me, key, u64{}) } -> std::same_as<bool>;
  { index.upsert(me, key, u64{}) } -> std::same_as<bool>;
  { index.erase(me, key) } -> std::same_as<bool>;
  // Beside changes if kWalksBesideWriters.
  index.for_each(me, visit);
  { constant.bytes() } -> std::same_as<Footprint>;
  requires !S::kOrdered || requires {
    { index.scan(me, key, std::size_t{}, visit) } -> std::same_as<std::size_t>;
  };
};

template <class S>
concept SharedIndex = std::constructible_from<S, const Spec&, const MemoryConfig&> && IndexFace<S>;

/// The class that describes an index: the shared index itself, or the bodies that a policy was joined to.
template <class S>
struct WrittenAs {
  using Type = S;
};
template <class S>
  requires requires { typename S::Body; }
struct WrittenAs<S> {
  using Type = typename S::Body;
};

/// True if an index learns from lookups.
template <class Index>
inline constexpr bool kLearns = false;
template <class Index>
  requires requires { Index::kLearns; }
inline constexpr bool kLearns<Index> = Index::kLearns;

/// True if for_each may run beside changes: it visits a key that stays at least once. Then the index also has walks
/// (Synchronized::walk_on).
template <class Index>
inline constexpr bool kWalksBesideWriters = false;
template <class Index>
  requires requires { Index::kWalksBesideWriters; }
inline constexpr bool kWalksBesideWriters<Index> = Index::kWalksBesideWriters;

/// True if an index takes batches of lookups.
template <class Index>
inline constexpr bool kFindsBatches =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys,
             std::span<std::optional<u64>> found) { index.find_batch(me, keys, found, BatchOrder::kInTurn); };

/// True if each call of an index waits for another process. So the harness loads and verifies it in batches, which it
/// takes.
template <class Index>
inline constexpr bool kWaits = false;
template <class Index>
  requires requires { Index::kWaits; }
inline constexpr bool kWaits<Index> = Index::kWaits && kFindsBatches<Index>;

/// True if an index can prefetch for operations to come: the first lines, and what they lead to.
template <class Index>
inline constexpr bool kPrefetches = requires(Index& index, typename Index::ThreadState& me,
                                             std::span<const typename Index::Raw> keys, std::span<const Hint> hints) {
  index.prefetch(me, keys, hints);
  index.prefetch(me, keys, Hint::kFind);
};
template <class Index>
inline constexpr bool kPrefetchesFurther =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys) {
      index.prefetch_further(me, keys);
    };

/// True if an index takes batches of changes.
template <class Index>
inline constexpr bool kChangesBatches =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys,
             std::span<const u64> values, std::span<bool> changed, BatchOrder order) {
      index.insert_batch(me, keys, values, changed, order);
      index.update_batch(me, keys, values, changed, order);
      index.erase_batch(me, keys, changed, order);
    };

/// True if an index can change a key in one step from what is there to a function of it.
template <class Index>
inline constexpr bool kModifies =
    requires(Index& index, typename Index::ThreadState& me, typename Index::Raw key, Found (*f)(Found) noexcept) {
      { index.modify(me, key, f) } -> std::same_as<Modified>;
    };
/// True if it also takes batches of such changes, each with a function of its own.
template <class Index>
inline constexpr bool kModifiesBatches =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys,
             std::span<Modified> modified, Found (*f)(std::size_t, Found) noexcept,
             BatchOrder order) { index.modify_batch(me, keys, modified, f, order); };

/// True if an index has an operation of its own that adds one to a value: it returns what the value became, or nothing
/// for an absent key. For all others an increment is a modify.
template <class Index>
inline constexpr bool kIncrementsByItself =
    requires(Index& index, typename Index::ThreadState& me, typename Index::Raw key,
             std::span<const typename Index::Raw> keys, std::span<Found> after, BatchOrder order) {
      { index.increment(me, key) } -> std::same_as<Found>;
      index.increment_batch(me, keys, after, order);
    };

}  // namespace latchlab
