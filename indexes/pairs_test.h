#pragma once
// Data that tests of every pair share. It is made only once, since Catch reruns a test case for each of its sections.
#include <vector>

#include "harness/config/registry.h"
#include "indexes/erased_testing.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"

namespace latchlab::testing {

/// Returns the pairs of this build with an index that keeps what it is given, and needs nothing but this process.
inline const std::vector<Pair>& kept_pairs() {
  static const std::vector<Pair> kept = [] {
    Registry registry;
    register_all(registry);
    std::vector<Pair> out;
    for (const Pair& pair : registry.pairs()) {
      if (!pair.needs.empty()) continue;
      if (pair.make_index(Spec::parse(pair.policy), {}, Spec::parse(pair.index))->keeps()) out.push_back(pair);
    }
    return out;
  }();
  return kept;
}

inline const std::vector<KeyPattern>& patterns_of(KeyKind keys) {
  static const std::vector<KeyPattern> numbers = number_patterns(test_seed()), strings = string_patterns(test_seed());
  return keys == KeyKind::kU64 ? numbers : strings;
}

}  // namespace latchlab::testing
