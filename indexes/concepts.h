#pragma once
// What an index is to the rest of the house, from both sides.
//
//   IndexBody     what somebody writes: bodies for a transaction, once, for every policy (see sync/concepts.h for the
//                 protocol). Synchronized<Body, Policy, Key> makes a SharedIndex of it.
//   SharedIndex   what callers, the harness and the tests use. A peer that synchronizes itself implements it directly.
//
// Operations, of both: find, insert (false if present), update (false if absent), upsert (true if it was absent), erase
// (false if absent); ordered ones scan. Keys are u64 or byte strings, values any u64.
#include <concepts>
#include <optional>

#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Index, class Tx>
concept IndexBody = requires(Index& index, const Index& constant, Tx& tx, const typename Index::Key& key) {
  { Index::kOrdered } -> std::convertible_to<bool>;
  { constant.find_in(tx, key) } -> std::same_as<Attempt<std::optional<u64>>>;
  { index.put_in(tx, key, u64{}, Index::Put::kUpsert) } -> std::same_as<Attempt<bool>>;
  { index.erase_in(tx, key) } -> std::same_as<Attempt<bool>>;
  { Index::extra_bytes(key) } -> std::same_as<std::size_t>;   // of one attempt, beyond what a pool has ready (16 KiB)
};

template <class S>
concept SharedIndex = std::constructible_from<S, const Spec&, const MemoryConfig&> &&
                      requires(S& index, const S& constant, typename S::Thread& me, typename S::Raw key) {
                        { index.join() } -> std::same_as<typename S::Thread>;   // by the thread that uses it
                        { S::kOrdered } -> std::convertible_to<bool>;
                        { index.find(me, key) } -> std::same_as<std::optional<u64>>;
                        { index.insert(me, key, u64{}) } -> std::same_as<bool>;
                        { index.update(me, key, u64{}) } -> std::same_as<bool>;
                        { index.upsert(me, key, u64{}) } -> std::same_as<bool>;
                        { index.erase(me, key) } -> std::same_as<bool>;
                        index.for_each(me, [](typename S::Raw, u64) {});        // while nobody changes it
                        { constant.bytes() } -> std::same_as<Footprint>;
                      };

}  // namespace latchlab
