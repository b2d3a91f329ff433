#pragma once
// An ordered index beside a map, for tests by one thread that look at the index's nodes.
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/testing/catch.h"
#include "sync/synchronized.h"

namespace latchlab::testing {

/// An ordered index beside a map, with which it must agree after each operation. After each change its nodes must be
/// sound.
///
/// Of is a policy and a class template Tree of the index; shape<Key>() checks the nodes of the one that was made last,
/// and returns their number of pairs and a complaint. RawKey is u64 or std::string.
template <class Of, class RawKey = u64>
class Compared {
 public:
  using Policy = typename Of::Policy;
  using Key = std::conditional_t<std::is_same_v<RawKey, u64>, U64Key, BytesKey>;
  using Index = Synchronized<Of::template Tree, Policy, Key>;

  ~Compared() { CHECK(complaint == ""); }
  void insert(const RawKey& key) {
    ++value_;
    answer("insert", key, index.insert(me, key, value_), model.emplace(key, value_).second);
  }
  void upsert(const RawKey& key) {
    ++value_;
    answer("upsert", key, index.upsert(me, key, value_), model.insert_or_assign(key, value_).second);
  }
  void update(const RawKey& key) {
    const auto at = model.find(key);
    if (at != model.end()) at->second = value_ + 1;
    answer("update", key, index.update(me, key, ++value_), at != model.end());
  }
  void erase(const RawKey& key) { answer("erase", key, index.erase(me, key), model.erase(key) != 0); }
  void find(const RawKey& key) {
    const auto at = model.find(key);
    const std::optional<u64> found = index.find(me, key);
    if (found != (at == model.end() ? std::nullopt : std::optional(at->second))) complain("find", key);
  }
  void scan(const RawKey& from, std::size_t limit) {
    auto at = model.lower_bound(from);
    const std::size_t seen = index.scan(me, from, limit, [&](typename Key::Raw key, u64 value) {
      if (at == model.end() || at->first != key || at->second != value) return complain("scan", RawKey(key));
      ++at;
    });
    if (seen != limit && at != model.end()) complain("scan", from);
  }
  /// Runs a random operation, an erasure in `erasures` of ten times.
  void random_operation(Rng& rng, const RawKey& key, u64 erasures) {
    const u64 chance = rng.below(10);
    if (chance < erasures) {
      erase(key);
    } else if (chance == 7) {
      scan(key, 1 + rng.below(100));
    } else if (chance == 8) {
      update(key);
    } else if (chance == 9) {
      upsert(key);
    } else {
      insert(key);
    }
  }
  auto shape() const { return Of::template shape<Key>(); }

  Index index{Spec::parse(Policy::kName), MemoryConfig{}};
  typename Index::ThreadState me = index.join();
  std::map<RawKey, u64> model;
  std::string complaint;

 private:
  void answer(const char* operation, const RawKey& key, bool got, bool wanted) {
    if (got != wanted) complain(operation, key);
    find(key);
    const auto now = shape();
    if (!now.complaint.empty()) complain((std::string(operation) + ", " + now.complaint).c_str(), key);
    if (now.pairs != model.size()) complain("the number of pairs", key);
  }
  void complain(const char* what, const RawKey& key) {
    if (!complaint.empty()) return;
    if constexpr (std::is_same_v<RawKey, u64>) {
      complaint = std::string(what) + ": " + std::to_string(key);
    } else {
      complaint = std::string(what) + ": '" + key + "'";
    }
  }
  u64 value_ = 0;
};

/// Returns `count` multiples of `step`, from 0 on.
inline std::vector<u64> spread(u32 count, u64 step) {
  std::vector<u64> keys;
  for (u64 i = 0; i < count; ++i) keys.push_back(i * step);
  return keys;
}

/// Returns a string of which many have the same first eight bytes, or are beginnings of others.
inline std::string few_strings(Rng& rng) {
  static const std::string parts[] = {
      "", std::string("\0", 1), "\1", "a", "b", "\xff", "abcdefgh", "abcdefghabcd", "\xff\xff\xff\xff\xff\xff\xff\xff"};
  std::string key;
  for (u64 i = rng.below(4); i > 0; --i) key += parts[rng.below(std::size(parts))];
  return key;
}

}  // namespace latchlab::testing
