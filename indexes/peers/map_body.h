#pragma once
// A map written for one thread, as the bodies of an index (IndexBody, sync/concepts.h): the common part of the peers
// under coarse policies.
//
// The map's fields are not cells, and its memory comes from operator new. So only exclusion protects it
// (kNeedsExclusion): a lock, or a hardware transaction, which undoes all stores of the map and its allocator. In a
// transaction an erase may free at once. A system call aborts it, and an operation that keeps aborting ends on the
// lock. A map stores its own size with every insertion and erasure, so concurrent ones conflict: the comparison
// includes that cost.
//
// A counting allocator would add one more such word. So a peer's bytes() counts the parts of the map: nodes, buckets,
// and the heap part of long strings, without the overhead of the allocator.
#include <new>
#include <string>
#include <type_traits>

#include "indexes/peers/stored_key.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

template <class KeyType, class Map>
class MapBody {
 public:
  using Key = KeyType;
  static constexpr bool kOrdered = false;
  static constexpr bool kNeedsExclusion = true;

  static std::size_t extra_bytes(const Key&) { return 0; }  // no memory comes from a pool

  template <class Tx>
  Attempt<Found> find_in(Tx&, const Key& key) const {
    const auto at = map_.find(view_of(key));
    return at == map_.end() ? Found() : Found(at->second);
  }

  /// Inserts or updates the pair. Returns kNoMemory, with nothing changed, if the allocator throws; for maps that
  /// guarantee this.
  template <class Tx>
  Attempt<bool> put_in(Tx&, const Key& key, const auto value, Put how) {
    try {
      return put(key, value, how);
    } catch (const std::bad_alloc&) {
      return kNoMemory;
    }
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx&, const Key& key, const auto& wanted) {
    const auto at = map_.find(view_of(key));
    if (at == map_.end() || !wanted.fits(PlainCell(at->second))) return false;
    map_.erase(at);
    return true;
  }

  /// Visits every pair. No thread may change the map meanwhile.
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

  /// Does nothing: the map frees its memory itself.
  template <class Pool>
  void free_all(Pool&) {}

 protected:
  bool put(const Key& key, const auto value, Put how) {
    const auto view = view_of(key);
    if (how == Put::kUpdate) {
      const auto at = map_.find(view);
      if (at == map_.end()) return false;
      value.change(PlainCell(at->second));
      return true;
    }
    const auto [at, fresh] = put_if_absent(view, value.first());
    if (!fresh && how == Put::kUpsert) value.change(PlainCell(at->second));
    return fresh;
  }

  Map map_;

 private:
  /// Inserts the pair with one descent or probe, if the key is absent. A map that takes no view here gets a string,
  /// which is wasted if the key is present.
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
