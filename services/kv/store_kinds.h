#pragma once

// The pairs of index and policy over which a server can have a store, by name. cmake/stores.cmake generates the calls
// that fill it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/store.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// A pair over which there can be a store.
struct StoreKind {
  std::string index, policy;
  bool many_writers = true;  ///< several threads may change the store at once
  bool walks = true;         ///< items can be visited beside changes, as eviction, the sweep and SCAN need
  std::unique_ptr<Store> (*make)(const StoreOptions& options, u64 seed) = nullptr;
};

class StoreKinds {
 public:
  void add(const StoreKind& kind) { kinds_.push_back(kind); }
  /// Adds a pair that the matrix has, and this build lacks.
  void add_lacking(std::string_view index, std::string_view policy) { lacking_.emplace_back(index, policy); }
  /// Adds a pair that cannot be a store, and why.
  void add_unfit(std::string_view index, std::string_view policy, std::string_view why) {
    unfit_.push_back({std::string(index), std::string(policy), std::string(why)});
  }

  /// Returns the pair of these options. Throws InputError if there is none, with those that exist.
  [[nodiscard]] const StoreKind& find(const StoreOptions& options) const;
  /// Returns true if the matrix has the pair, and this build lacks it.
  [[nodiscard]] bool lacks(const StoreOptions& options) const;

 private:
  struct Unfit {
    std::string index, policy, why;
  };
  std::vector<StoreKind> kinds_;
  std::vector<std::pair<std::string, std::string>> lacking_;
  std::vector<Unfit> unfit_;
};

/// Adds all pairs of this server. Generated.
void add_all(StoreKinds& kinds);

}  // namespace latchlab::kv
