#pragma once
// Peer: libcuckoo's cuckoohash_map, with the interface of a shared index (indexes/concepts.h).
//
// The map synchronizes itself, so its policy word is `own`. Every key has two buckets of four slots. 65,536 spin locks,
// one line each, guard the buckets in stripes, and an operation holds those of both buckets. The map has no order and
// no scan. The table doubles, has at least 262,144 slots, and never shrinks.
//
// It uses its default allocator, so --alloc and --hugepages=thp have no effect on it. Its hash of integers is ours. The
// default, std::hash, is the identity. With it, keys that agree in their low bits have too few buckets, and the map
// gives up (load_factor_too_low).
#include <libcuckoo/cuckoohash_map.hh>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "indexes/peers/stored_key.h"
#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class LibCuckoo {
 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  static constexpr std::string_view kName = "libcuckoo";
  static constexpr std::string_view kLibrary = "libcuckoo";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "libcuckoo's map allocates its table with operator new";

  /// The state of a thread: nothing but counters.
  struct ThreadState {
    Policy::Counters counters;
  };

  /// Makes an empty map. Throws InputError if `policy` has options, since it takes none.
  LibCuckoo(const Spec& policy, const MemoryConfig&) { Policy::Options::parse(policy); }
  LibCuckoo(const LibCuckoo&) = delete;
  LibCuckoo& operator=(const LibCuckoo&) = delete;

  ThreadState join() { return {}; }

  std::optional<u64> find(ThreadState&, Raw key) const {
    u64 value;
    return map_.find(key, value) ? std::optional(value) : std::nullopt;
  }
  bool insert(ThreadState&, Raw key, u64 value) { return map_.insert(key, value); }
  bool update(ThreadState&, Raw key, u64 value) { return map_.update(key, value); }
  bool upsert(ThreadState&, Raw key, u64 value) { return map_.insert_or_assign(key, value); }
  bool erase(ThreadState&, Raw key) { return map_.erase(key); }
  /// Changes the key in one step from what is there to f(what is there). A present pair is changed under its locks.
  template <class F>
  Modified modify(ThreadState&, Raw key, const F& f) {
    Modified modified;
    const auto change = [&](u64& value) {
      modified = {value, f(Found(value))};
      if (modified.after) value = *modified.after;
      return !modified.after;  // erases the pair
    };
    while (!map_.erase_fn(key, change)) {
      modified = {Found(), f(Found())};
      // If the insert fails, another thread has put the key since.
      if (!modified.after || map_.insert(key, *modified.after)) break;
    }
    return modified;
  }

  template <class Visit>
  void for_each(ThreadState&, Visit&& visit) const {
    for (const auto& [key, value] : map_.lock_table()) visit(Raw(key), value);
  }

  /// Returns the bytes of the buckets, the locks and the heap part of long strings, without the overhead of the
  /// allocator. O(slots). Taking all locks finishes a doubling, so there is one table to count.
  Footprint bytes() const {
    const auto all = map_.lock_table();
    const u64 bytes = all.bucket_count() * sizeof(Bucket) + kLockBytes + heap_bytes_of_keys(all);
    return {.live = bytes, .reserved = bytes};
  }

 private:
  struct IntegerHash {
    std::size_t operator()(u64 key) const { return mix64(key); }
  };
  using Hash = std::conditional_t<std::is_same_v<Raw, u64>, IntegerHash, StringHash>;
  using Pairs = std::allocator<std::pair<const Stored<Raw>, u64>>;
  using Map = libcuckoo::cuckoohash_map<Stored<Raw>, u64, Hash, std::equal_to<>, Pairs>;
  using Bucket =
      typename libcuckoo::bucket_container<Stored<Raw>, u64, Pairs, u8, libcuckoo::DEFAULT_SLOT_PER_BUCKET>::bucket;
  static constexpr u64 kLockBytes = 65'536 * 64;

  mutable Map map_;  // walking the map locks it
};

}  // namespace latchlab
