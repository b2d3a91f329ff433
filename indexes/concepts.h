#pragma once
// What an index is to callers, to the harness and to the tests: a SharedIndex. Synchronized<Index, Policy, Key> makes
// one of what somebody has written (IndexBody, sync/concepts.h); a peer that synchronizes itself implements it
// directly.
//
// Operations: find, insert (false if present), update (false if absent), upsert (true if it was absent), erase (false
// if absent); ordered ones scan; some find batches. Keys are u64 or byte strings, values any u64.
#include <concepts>
#include <optional>
#include <span>

#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"

namespace latchlab {

template <class S>
concept SharedIndex = std::constructible_from<S, const Spec&, const MemoryConfig&> &&
                      requires(S& index, const S& constant, typename S::ThreadState& me, typename S::Raw key,
                               void (*visit)(typename S::Raw, u64)) {
                        { index.join() } -> std::same_as<typename S::ThreadState>;  // by the thread that uses it
                        { S::kOrdered } -> std::convertible_to<bool>;
                        { index.find(me, key) } -> std::same_as<std::optional<u64>>;
                        { index.insert(me, key, u64{}) } -> std::same_as<bool>;
                        { index.update(me, key, u64{}) } -> std::same_as<bool>;
                        { index.upsert(me, key, u64{}) } -> std::same_as<bool>;
                        { index.erase(me, key) } -> std::same_as<bool>;
                        index.for_each(me, visit);  // while nobody changes it
                        { constant.bytes() } -> std::same_as<Footprint>;
                        requires !S::kOrdered || requires {
                          { index.scan(me, key, std::size_t{}, visit) } -> std::same_as<std::size_t>;
                        };
                      };

/// What somebody has written and what says of itself what it is: a shared index, or the bodies that a policy was joined
/// to.
template <class S>
struct WrittenAs {
  using Type = S;
};
template <class S>
  requires requires { typename S::Body; }
struct WrittenAs<S> {
  using Type = typename S::Body;
};

/// Whether an index learns from lookups.
template <class Index>
inline constexpr bool kLearns = false;
template <class Index>
  requires requires { Index::kLearns; }
inline constexpr bool kLearns<Index> = Index::kLearns;

/// Whether an index takes lookups by the batch.
template <class Index>
inline constexpr bool kFindsBatches =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys,
             std::span<std::optional<u64>> found) { index.find_batch(me, keys, found, BatchOrder::kInTurn); };

/// Whether it takes changes by the batch.
template <class Index>
inline constexpr bool kChangesBatches =
    requires(Index& index, typename Index::ThreadState& me, std::span<const typename Index::Raw> keys,
             std::span<const u64> values, std::span<bool> changed, BatchOrder order) {
      index.insert_batch(me, keys, values, changed, order);
      index.update_batch(me, keys, values, changed, order);
      index.erase_batch(me, keys, changed, order);
    };

}  // namespace latchlab
