#pragma once
// Peer: oneTBB's concurrent_hash_map, with the interface of a shared index (indexes/concepts.h).
//
// The map synchronizes itself, so its policy word is `own`. Every bucket has a reader-writer spin lock, and every pair
// has another. It is used as its documentation shows, with its default hash (std::hash, the identity on integers) and
// its default allocator. So --alloc and --hugepages=thp have no effect on it. It has no order and no scan.
//
// The map does not report its memory, so bytes() counts its parts. These are the nodes, the buckets, and the heap part
// of long strings, without the overhead of the allocator.
#include <oneapi/tbb/concurrent_hash_map.h>

#include <optional>
#include <string_view>
#include <type_traits>

#include "indexes/peers/stored_key.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class Tbb {
 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  static constexpr std::string_view kName = "tbb";
  static constexpr std::string_view kLibrary = "oneTBB";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "oneTBB's map uses its own allocator";

  /// The state of a thread: nothing but counters.
  struct ThreadState {
    Policy::Counters counters;
  };

  /// Makes an empty map. Throws InputError if `policy` has options, since it takes none.
  Tbb(const Spec& policy, const MemoryConfig&) { Policy::Options::parse(policy); }
  Tbb(const Tbb&) = delete;
  Tbb& operator=(const Tbb&) = delete;

  ThreadState join() { return {}; }

  std::optional<u64> find(ThreadState&, Raw key) {  // not const, since oneTBB's lookup by string_view is not const
    typename Map::const_accessor at;
    if (!map_.find(at, key)) return std::nullopt;
    return at->second;
  }
  bool insert(ThreadState&, Raw key, u64 value) { return map_.insert(typename Map::value_type(key, value)); }
  bool update(ThreadState&, Raw key, u64 value) {
    typename Map::accessor at;
    if (!map_.find(at, key)) return false;
    at->second = value;
    return true;
  }
  bool upsert(ThreadState&, Raw key, u64 value) {
    typename Map::accessor at;
    const bool fresh = map_.insert(at, typename Map::value_type(key, value));
    if (!fresh) at->second = value;
    return fresh;
  }
  bool erase(ThreadState&, Raw key) { return map_.erase(key); }
  /// Changes the key in one step from what is there to f(what is there). An accessor holds the lock of a present pair.
  /// But an erase by another thread unlinks the pair before it waits for that lock, so the erase here may come too
  /// late.
  template <class F>
  Modified modify(ThreadState&, Raw key, const F& f) {
    for (typename Map::accessor at;; at.release()) {
      if (!map_.find(at, key)) {
        const Found first = f(Found());
        // If the insert fails, another thread has put the key since.
        if (!first || map_.insert(typename Map::value_type(key, *first))) return {Found(), first};
        continue;
      }
      const Found before = at->second, after = f(before);
      if (after) at->second = *after;
      if (after || map_.erase(at)) return {before, after};
    }
  }

  template <class Visit>
  void for_each(ThreadState&, Visit&& visit) const {
    for (const auto& [key, value] : map_) visit(Raw(key), value);
  }

  Footprint bytes() const {
    const u64 bytes = map_.size() * kNodeBytes + map_.bucket_count() * kBucketBytes + heap_bytes_of_keys(map_);
    return {.live = bytes, .reserved = bytes};
  }

 private:
  /// The default hash and comparison, with lookups by string_view for strings.
  struct HashAndCompare : StringHash {
    std::size_t hash(std::string_view key) const { return (*this)(key); }
    bool equal(std::string_view a, std::string_view b) const { return a == b; }
  };
  using Hash = std::conditional_t<std::is_same_v<Raw, u64>, tbb::tbb_hash_compare<u64>, HashAndCompare>;
  using Map = tbb::concurrent_hash_map<Stored<Raw>, u64, Hash>;

  static constexpr u64 kNodeBytes = 16 + sizeof(typename Map::value_type);  // a pointer and a lock before the pair
  static constexpr u64 kBucketBytes = 16;                                   // a pointer and a lock

  Map map_;
};

}  // namespace latchlab
