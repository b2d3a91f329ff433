#pragma once
// A map that was written for one thread, as the bodies of an index (IndexBody, sync/concepts.h): what the peers under
// coarse policies have in common.
//
// Their fields are no cells and their memory is from operator new, so nothing but exclusion protects them
// (kNeedsExclusion): a lock, or a hardware transaction, which takes back whatever the map and its allocator stored.
// There an erase may free at once, a call of the kernel is one more abort, and whoever keeps aborting ends on the lock.
// A map writes its own size with every insertion and erasure, which is a conflict with everybody who does the same:
// that is part of what is compared.
//
// A counting allocator would be one more such word, so a peer's bytes() counts what the map is made of: nodes, buckets,
// and the heap part of long strings, without what the allocator adds.
#include <new>
#include <string>
#include <type_traits>

#include "indexes/peers/stored_key.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab {

template <class KeyType, class Map>
class MapBody {
 public:
  using Key = KeyType;
  static constexpr bool kOrdered = false;
  static constexpr bool kNeedsExclusion = true;

  static std::size_t extra_bytes(const Key&) { return 0; }  // nothing is from a pool

  template <class Tx>
  Attempt<Found> find_in(Tx&, const Key& key) const {
    const auto at = map_.find(view_of(key));
    return at == map_.end() ? Found() : Found(at->second);
  }

  /// kNoMemory, with nothing changed, if the map's allocator throws: for maps that promise so.
  template <class Tx>
  Attempt<bool> put_in(Tx&, const Key& key, u64 value, Put how) {
    try {
      return put(key, value, how);
    } catch (const std::bad_alloc&) {
      return kNoMemory;
    }
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx&, const Key& key) {
    const auto at = map_.find(view_of(key));
    if (at == map_.end()) return false;
    map_.erase(at);
    return true;
  }

  /// Every pair, while nobody changes the map.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [stored, value] : map_) {
      if constexpr (std::is_same_v<Key, U64Key>) {
        visit(stored, value);
      } else {
        std::string raw;
        key_of(stored).append_raw(raw);
        visit(std::string_view(raw), value);
      }
    }
  }

  /// The map gives its memory back by itself.
  template <class Pool>
  void free_all(Pool&) {}

 protected:
  bool put(const Key& key, u64 value, Put how) {
    const auto view = view_of(key);
    if (how == Put::kUpdate) {
      const auto at = map_.find(view);
      if (at == map_.end()) return false;
      at->second = value;
      return true;
    }
    const auto [at, fresh] = put_if_absent(view, value);
    if (!fresh && how == Put::kUpsert) at->second = value;
    return fresh;
  }

  Map map_;

 private:
  /// One descent or probe. A map that takes no view for this is given a string, which is in vain if the key is there.
  template <class View>
  auto put_if_absent(View view, u64 value) {
    if constexpr (requires { map_.try_emplace(view, value); }) {
      return map_.try_emplace(view, value);
    } else {
      return map_.try_emplace(typename Map::key_type(view), value);
    }
  }
};

}  // namespace latchlab
