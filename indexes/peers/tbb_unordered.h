#pragma once
// Peer: oneTBB's concurrent_unordered_map, with the interface of a shared index (indexes/concepts.h).
//
// The map synchronizes itself, so its policy word is `own`. It is one list of all pairs, in the order of their reversed
// hashes, with buckets that point into the list. Insertions extend the list by compare-and-swap. Lookups take no lock
// and store nothing. The map locks no pair either, so values are atomics. It uses its default hash (std::hash, the
// identity on integers) and its default allocator. So --alloc and --hugepages=thp have no effect on it. It has no order
// and no scan.
//
// A linked node stays: the map cannot erase while other threads use it (kNoErase).
//
// The map does not report its memory, so bytes() counts its parts. These are the nodes, the buckets as if all had been
// used, and the heap part of long strings, without the overhead of the allocator.
#include <oneapi/tbb/concurrent_unordered_map.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "indexes/peers/stored_key.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class TbbUnordered {
 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  static constexpr std::string_view kName = "tbb_unordered";
  static constexpr std::string_view kLibrary = "oneTBB";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "oneTBB's map uses its own allocator";
  static constexpr std::string_view kNoErase =
      "oneTBB's concurrent_unordered_map erases only while no other thread uses it";

  /// The state of a thread: nothing but counters.
  struct ThreadState {
    Policy::Counters counters;
  };

  /// Makes an empty map. Throws InputError if `policy` has options, since it takes none.
  TbbUnordered(const Spec& policy, const MemoryConfig&) { Policy::Options::parse(policy); }
  TbbUnordered(const TbbUnordered&) = delete;
  TbbUnordered& operator=(const TbbUnordered&) = delete;

  ThreadState join() { return {}; }

  // Relaxed: a reader of a value needs no other memory that its writer has stored.
  std::optional<u64> find(ThreadState&, Raw key) const {
    const auto at = map_.find(key);
    return at == map_.end() ? std::nullopt : std::optional(at->second.load(std::memory_order_relaxed));
  }
  bool insert(ThreadState&, Raw key, u64 value) { return map_.emplace(key, value).second; }
  bool update(ThreadState&, Raw key, u64 value) {
    const auto at = map_.find(key);
    if (at == map_.end()) return false;
    at->second.store(value, std::memory_order_relaxed);
    return true;
  }
  /// Sets the value of the key. Tries to update first, since emplace would allocate a node in vain.
  bool upsert(ThreadState& me, Raw key, u64 value) {
    if (update(me, key, value)) return false;
    const auto [at, fresh] = map_.emplace(key, value);
    if (!fresh) at->second.store(value, std::memory_order_relaxed);
    return fresh;
  }
  /// Throws std::logic_error. A caller that has read kNoErase does not call it.
  bool erase(ThreadState&, Raw) { throw std::logic_error(std::string(kNoErase)); }

  /// Changes the key in one step from what is there to f(what is there). Throws std::logic_error if a present key shall
  /// go (kNoErase).
  template <class F>
  Modified modify(ThreadState&, Raw key, const F& f) {
    auto at = map_.find(key);
    while (at == map_.end()) {
      const Found first = f(Found());
      if (!first) return {};
      const auto [there, fresh] = map_.emplace(key, *first);
      if (fresh) return {Found(), first};
      at = there;
    }
    u64 before = at->second.load(std::memory_order_relaxed);
    while (true) {
      const Found after = f(Found(before));
      if (!after) throw std::logic_error(std::string(kNoErase));
      if (at->second.compare_exchange_weak(before, *after, std::memory_order_relaxed)) return {Found(before), after};
    }
  }

  template <class Visit>
  void for_each(ThreadState&, Visit&& visit) const {
    for (const auto& [key, value] : map_) visit(Raw(key), value.load(std::memory_order_relaxed));
  }

  Footprint bytes() const {
    const u64 bytes = map_.size() * kNodeBytes + map_.unsafe_bucket_count() * kBucketBytes + heap_bytes_of_keys(map_);
    return {.live = bytes, .reserved = bytes};
  }

 private:
  /// The default hash, with lookups by string_view for strings.
  struct ViewHash : StringHash {
    using transparent_key_equal = std::equal_to<>;
  };
  using Hash = std::conditional_t<std::is_same_v<Raw, u64>, std::hash<u64>, ViewHash>;
  using Map = tbb::concurrent_unordered_map<Stored<Raw>, std::atomic<u64>, Hash>;

  // A pointer and the reversed hash before the pair.
  static constexpr u64 kNodeBytes = 16 + sizeof(typename Map::value_type);
  static constexpr u64 kBucketBytes = 8 + 16;  // a pointer, and a node without a pair

  Map map_;
};

}  // namespace latchlab
