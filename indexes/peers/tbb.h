#pragma once
// Peer: oneTBB's concurrent_hash_map, behind the surface of every shared index (indexes/concepts.h).
//
// It synchronizes itself, so its policy word is `own`: a reader-writer spin lock in every bucket and another in every
// pair. It is used as its documentation shows, with its default hash (std::hash, the identity on integers) and its default
// allocator, so --alloc and --hugepages=thp do not reach it. It has no order and no scan.
//
// Its memory cannot be asked for, so bytes() counts what it is made of: the nodes, the buckets, and the heap part of long
// strings, without what the allocator adds.
#include <oneapi/tbb/concurrent_hash_map.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class Tbb {
 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  static constexpr std::string_view kName = "tbb";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "oneTBB's map uses its own allocator";

  /// Threads need nothing of their own.
  struct Thread {
    Policy::Counters counters;
  };

  /// Throws InputError if `policy` has options: there are none.
  Tbb(const Spec& policy, const MemoryConfig&) { Policy::Options::parse(policy); }
  Tbb(const Tbb&) = delete;
  Tbb& operator=(const Tbb&) = delete;

  Thread join() { return {}; }

  std::optional<u64> find(Thread&, Raw key) {   // not const, as oneTBB's lookup by string_view is not
    typename Map::const_accessor at;
    if (!map_.find(at, key)) return std::nullopt;
    return at->second;
  }
  bool insert(Thread&, Raw key, u64 value) { return map_.insert(typename Map::value_type(key, value)); }
  bool update(Thread&, Raw key, u64 value) {
    typename Map::accessor at;
    if (!map_.find(at, key)) return false;
    at->second = value;
    return true;
  }
  bool upsert(Thread&, Raw key, u64 value) {
    typename Map::accessor at;
    const bool fresh = map_.insert(at, typename Map::value_type(key, value));
    if (!fresh) at->second = value;
    return fresh;
  }
  bool erase(Thread&, Raw key) { return map_.erase(key); }

  template <class Visit>
  void for_each(Thread&, Visit&& visit) const {
    for (const auto& [key, value] : map_) visit(Raw(key), value);
  }

  Footprint bytes() const {
    u64 bytes = map_.size() * kNodeBytes + map_.bucket_count() * kBucketBytes;
    if constexpr (kStrings) {
      for (const auto& pair : map_) bytes += pair.first.capacity() > kInlineString ? pair.first.capacity() + 1 : 0;
    }
    return {.live = bytes, .reserved = bytes};
  }

 private:
  static constexpr bool kStrings = std::is_same_v<Raw, std::string_view>;
  using Stored = std::conditional_t<kStrings, std::string, u64>;

  /// The default, and lookups by string_view for strings.
  struct StringHash {
    using is_transparent = void;
    std::size_t hash(std::string_view key) const { return std::hash<std::string_view>{}(key); }
    bool equal(std::string_view a, std::string_view b) const { return a == b; }
  };
  using Hash = std::conditional_t<kStrings, StringHash, tbb::tbb_hash_compare<u64>>;
  using Map = tbb::concurrent_hash_map<Stored, u64, Hash>;

  static constexpr u64 kNodeBytes = 16 + sizeof(typename Map::value_type);   // a pointer and a lock before the pair
  static constexpr u64 kBucketBytes = 16;                                    // a pointer and a lock
  static constexpr std::size_t kInlineString = 15;                           // libstdc++ keeps shorter ones in the object

  Map map_;
};

}  // namespace latchlab
