#pragma once

// The bridge from an index in partitions to its entry in the registry (registry_add.h), for generated units of pairs.

#include <string>
#include <utility>

#include "harness/loop/registry_add.h"
#include "indexes/partitions.h"

namespace latchlab {

/// Registers N indexes, each joined to a policy, as one index (indexes/partitions.h).
template <template <class, class> class Index, class Policy, class Key>
void add_pair_in_parts_if_admitted(Registry& registry, std::string index, std::string policy, KeyKind keys) {
  if constexpr (Admits<Index<typename Policy::Layout, Key>, Policy>) {
    add_pair<Partitions<Synchronized<Index, Policy, Key>>>(registry, std::move(index), std::move(policy), keys);
  }
}

}  // namespace latchlab
