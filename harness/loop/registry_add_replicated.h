#pragma once

// The bridge from an index under node replication to its entry in the registry (registry_add.h), for generated units of
// pairs.

#include <string>
#include <utility>

#include "harness/loop/registry_add.h"
#include "sync/replicated.h"

namespace latchlab {

/// Registers replicas of an index as one index (sync/replicated.h). Does nothing for an index that learns from
/// lookups, or that does not allow the policy.
template <template <class, class> class Index, class Policy>
void add_pair_replicated_if_admitted(Registry& registry, std::string index, std::string policy) {
  using Body = Index<typename Policy::Layout, U64Key>;
  if constexpr (Admits<Body, typename Policy::Replica> && !requires { typename Body::Watch; }) {
    add_pair<Replicated<Index, Policy>>(registry, std::move(index), std::move(policy), KeyKind::kU64);
  }
}

}  // namespace latchlab
