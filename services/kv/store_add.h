#pragma once

// The bridge from an index and a policy to a kind of store. Only generated units include it: it compiles the index.

#include <memory>
#include <string_view>

#include "services/kv/store_kinds.h"
#include "services/kv/store_of.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "sync/concepts.h"
#include "sync/synchronized.h"

namespace latchlab::kv {

/// Throws InputError for options of an index with which it cannot hold words under hashes of 64 bits, or which this
/// processor cannot carry out.
template <class Body>
void check_index(const Spec& spec) {
  if constexpr (!requires { typename Body::Options; }) {
    SpecReader(spec, "index " + spec.name).finish();
  } else {
    const auto options = Body::Options::parse(spec);
    if constexpr (requires { options.widths(); }) {
      if (options.widths().key != 64 || options.widths().value != 64)
        throw InputError("--index=" + spec.str() + ": a store needs keys and values of 64 bits");
    }
    if constexpr (requires { options.degraded(); }) {
      if (const auto why = options.degraded()) throw InputError("--index=" + spec.str() + ": " + *why);
    }
  }
}

/// Adds the pair, or the reason why it cannot be a store.
template <template <class, class> class Index, class Policy>
void add_store(StoreKinds& kinds, std::string_view index, std::string_view policy) {
  if constexpr (!Admits<Index<typename Policy::Layout, U64Key>, Policy>) {
    kinds.add_unfit(index, policy, "the index does not allow the policy");
  } else {
    using Map = Synchronized<Index, Policy, U64Key>;
    kinds.add({.index = std::string(index),
               .policy = std::string(policy),
               .many_writers = Policy::kManyWriters,
               .walks = Map::kWalksBesideWriters,
               .make = [](const StoreOptions& options, u64 seed) -> std::unique_ptr<Store> {
                 check_index<typename Map::Body>(options.index);
                 return std::make_unique<StoreOf<Map>>(options, seed);
               }});
  }
}

}  // namespace latchlab::kv
