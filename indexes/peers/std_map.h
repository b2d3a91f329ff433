#pragma once
// Peer: std::map under a coarse policy (map_body.h): libstdc++'s red-black tree with its default order. Byte strings
// are compared as unsigned bytes, as in all indexes. It uses its default allocator, so --alloc and --hugepages=thp have
// no effect on it.
//
// A scan collects one batch of pairs in each attempt of its body, starting after the previous batch.
#include <functional>
#include <map>
#include <string_view>
#include <type_traits>

#include "indexes/scan_batch.h"
#include "indexes/peers/map_body.h"
#include "src/memory/memory_config.h"

namespace latchlab {

/// The map. Lookups by a view need a transparent order for strings; integers have the default order.
template <class Key>
using OrderedMap = std::map<Stored<typename Key::Raw>, u64,
                            std::conditional_t<std::is_same_v<Key, U64Key>, std::less<u64>, std::less<>>>;

template <class Layout, class KeyType>
class StdMap : public MapBody<KeyType, OrderedMap<KeyType>> {
 public:
  using Key = KeyType;
  using Batch = ScanBatch<Key>;
  static constexpr std::string_view kName = "std_map";
  static constexpr std::string_view kLibrary = "libstdc++";
  static constexpr std::string_view kOwnMemory = "std::map allocates its nodes with operator new";
  static constexpr bool kOrdered = true;

  /// Collects the next pairs of a scan into `batch`: the smallest keys from `from` on, or after it. Collects as many as
  /// are wanted and fit. Returns true.
  template <class Tx>
  Attempt<bool> gather_in(Tx&, const Key& from, bool after, std::size_t wanted, Batch& batch) const {
    batch.clear(wanted);
    const auto view = view_of(from);
    for (auto at = after ? map_.upper_bound(view) : map_.lower_bound(view); at != map_.end() && !batch.full(); ++at) {
      if (!batch.push(key_of(at->first), at->second, batch.size())) break;
    }
    return true;
  }
  /// Returns the smallest key of all, where a whole scan begins.
  static Key first_key() { return Key(); }

  /// O(1), or O(n) for strings.
  Footprint bytes() const {
    const u64 bytes = map_.size() * kNodeBytes + heap_bytes_of_keys(map_);
    return {.live = bytes, .reserved = bytes};
  }

  /// The bytes of a node: the colour and three pointers, then the pair.
  static constexpr u64 kNodeBytes = 32 + sizeof(typename OrderedMap<Key>::value_type);

 private:
  using MapBody<Key, OrderedMap<Key>>::map_;
};

}  // namespace latchlab
