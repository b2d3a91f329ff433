#pragma once

// The bridge from an index and a policy to a kind of store. Only generated units include it: it compiles the index.

#include <memory>
#include <string_view>

#include "services/kv/store_kinds.h"
#include "services/kv/store_of.h"
#include "src/base/key.h"
#include "sync/concepts.h"
#include "sync/synchronized.h"

namespace latchlab::kv {

/// Adds the pair, or the reason why it cannot be a store.
template <template <class, class> class Index, class Policy>
void add_store(StoreKinds& kinds, std::string_view index, std::string_view policy) {
  if constexpr (!Admits<Index<typename Policy::Layout, U64Key>, Policy>) {
    kinds.add_unfit(index, policy, "the index does not allow the policy");
  } else {
    using Map = Synchronized<Index, Policy, U64Key>;
    if constexpr (!Map::kWalksBesideWriters) {
      kinds.add_unfit(index, policy, "it cannot be walked beside changes, as eviction and expiry need");
    } else {
      kinds.add({.index = std::string(index),
                 .policy = std::string(policy),
                 .many_writers = Policy::kManyWriters,
                 .make = [](const StoreOptions& options, u64 seed) -> std::unique_ptr<Store> {
                   return std::make_unique<StoreOf<Map>>(options, seed);
                 }});
    }
  }
}

}  // namespace latchlab::kv
