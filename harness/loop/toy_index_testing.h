// A shared index for the harness's own tests: std::map under a mutex, which makes mistakes on request.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/host/virtual_team_testing.h"
#include "harness/loop/runner_of.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"

namespace latchlab::toy {

/// The mistake that all toy indexes make. A test sets it by Plant before a run; Plant's destructor resets it.
enum class Mistake {
  kNone,
  kWrongValue,    ///< a find or a modify in a thousand returns the value of another key
  kLostInsert,    ///< an insert in a thousand says true and does nothing
  kDoubleErase,   ///< an erase in a hundred says true and leaves the key
  kMissedKey,     ///< a find or a modify in a thousand misses
  kPhantom,       ///< a find of an absent key returns a value
  kSwappedKeys,   ///< an insert in a thousand inserts another key
  kBadScan,       ///< a scan in ten delivers its first pair twice
  kUncounted,     ///< a lookup in a thousand is not counted, if the toy counts operations
  kNoMemory,      ///< every insert after the 5000th throws std::bad_alloc
  kLateThrow,     ///< every insert after the 5000th inserts and then throws std::bad_alloc
  kLostUpdate,    ///< an update or an upsert of a present key in a thousand says so and stores nothing
  kStaleRead,     ///< a find in a thousand returns the value that the key had before the last change
  kFull,          ///< inserts throw IndexFull once 5000 keys are in the index
  kWrongRemoved,  ///< a put or an erase in a hundred says that it removed the value before the last change
  kShortVersion,  ///< a modify validates by a version of three bits: eight modifies in the meantime go unnoticed
};
inline Mistake mistake = Mistake::kNone;
inline std::atomic<u64> occasions{0};

struct Plant {
  explicit Plant(Mistake m) {
    mistake = m;
    occasions = 0;
  }
  ~Plant() { mistake = Mistake::kNone; }
  Plant(const Plant&) = delete;
  Plant& operator=(const Plant&) = delete;
};

/// Returns true on every `period`-th occasion for mistake `m`.
inline bool strikes(Mistake m, u64 period) { return mistake == m && occasions.fetch_add(1) % period == period - 1; }

/// The virtual time that an operation takes, ns.
inline constexpr u64 kOperationNs = 500;

template <class RawKey>
class Toy {
 public:
  using Raw = RawKey;
  using Owned = OwnedKey<Raw>;
  static constexpr bool kOrdered = true;
  struct ThreadState {};

  Toy(const Spec&, const MemoryConfig&) {}
  Toy(const Toy&) = delete;
  Toy& operator=(const Toy&) = delete;

  ThreadState join() { return {}; }

  std::optional<u64> find(ThreadState&, Raw key) {
    testing::VirtualTeam::spend(kOperationNs);
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(Owned(key));
    if (found == map_.end()) {
      return mistake == Mistake::kPhantom ? std::optional<u64>(value_of(key, 0)) : std::nullopt;
    }
    if (strikes(Mistake::kMissedKey, 1000)) return std::nullopt;
    if (strikes(Mistake::kWrongValue, 1000)) return ~found->second;
    if (mistake == Mistake::kStaleRead) {
      const auto old = old_.find(Owned(key));
      if (old != old_.end() && strikes(Mistake::kStaleRead, 1000)) return old->second;
    }
    return found->second;
  }
  bool insert(ThreadState&, Raw key, u64 value) {
    testing::VirtualTeam::spend(kOperationNs);
    const std::lock_guard lock(mutex_);
    if (mistake == Mistake::kFull && map_.size() >= 5000 && !map_.contains(Owned(key))) throw IndexFull();
    if (mistake == Mistake::kNoMemory && occasions.fetch_add(1) >= 5000) throw std::bad_alloc();
    if (strikes(Mistake::kLostInsert, 1000)) return true;
    if (strikes(Mistake::kSwappedKeys, 1000)) {
      return map_.emplace(another(key), value_of(Raw(another(key)), 7)).second;
    }
    const bool inserted = map_.emplace(Owned(key), value).second;
    if (mistake == Mistake::kLateThrow && occasions.fetch_add(1) >= 5000) throw std::bad_alloc();
    return inserted;
  }
  bool update(ThreadState& me, Raw key, u64 value) { return replace(me, Put::kUpdate, key, value).done; }
  bool upsert(ThreadState& me, Raw key, u64 value) { return replace(me, Put::kUpsert, key, value).done; }
  Removed replace(ThreadState& me, Put how, Raw key, u64 value) {
    if (how == Put::kInsert) return {insert(me, key, value), {}};
    testing::VirtualTeam::spend(kOperationNs);
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(Owned(key));
    if (found == map_.end()) {
      if (how == Put::kUpsert) map_.emplace(Owned(key), value);
      return {how == Put::kUpsert, {}};
    }
    const Removed answer{how == Put::kUpdate, removed_from(*found)};
    if (strikes(Mistake::kLostUpdate, 1000)) return answer;
    if (how == Put::kUpdate) old_[found->first] = found->second;
    found->second = value;
    return answer;
  }
  bool erase(ThreadState& me, Raw key) { return remove(me, key).done; }
  Removed remove(ThreadState&, Raw key) {
    testing::VirtualTeam::spend(kOperationNs);
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(Owned(key));
    const bool stays = strikes(Mistake::kDoubleErase, 100);
    if (found == map_.end()) return {};
    const Removed answer{true, removed_from(*found)};
    if (stays) return answer;
    old_[found->first] = found->second;
    map_.erase(found);
    return answer;
  }
  template <class F>
  Modified modify(ThreadState&, Raw key, const F& f) {
    testing::VirtualTeam::spend(kOperationNs);
    if (mistake == Mistake::kShortVersion) return modify_by_version(key, f);
    const std::lock_guard lock(mutex_);
    const auto at = map_.find(Owned(key));
    const Found before = at == map_.end() ? Found() : Found(at->second);
    if (before && strikes(Mistake::kMissedKey, 1000)) return {};
    const Found after = f(before);
    if (after) {
      map_.insert_or_assign(Owned(key), *after);
    } else {
      map_.erase(Owned(key));
    }
    if (before && strikes(Mistake::kWrongValue, 1000)) return {~*before, after};
    return {before, after};
  }
  std::size_t scan(ThreadState&, Raw from, std::size_t limit, auto&& visit) {
    testing::VirtualTeam::spend(kOperationNs);
    const std::lock_guard lock(mutex_);
    std::size_t seen = 0;
    for (auto at = map_.lower_bound(Owned(from)); at != map_.end() && seen < limit; ++at, ++seen) {
      visit(Raw(at->first), at->second);
      if (seen == 0 && strikes(Mistake::kBadScan, 10)) visit(Raw(at->first), at->second);
    }
    return seen;
  }
  void for_each(ThreadState&, auto&& visit) {
    for (const auto& [key, value] : map_) visit(Raw(key), value);
  }
  Footprint bytes() const { return {.live = map_.size() * 64, .reserved = map_.size() * 96}; }

 private:
  /// Returns the value that a call is about to remove, as its answer says.
  u64 removed_from(const std::pair<const Owned, u64>& pair) {
    const auto old = old_.find(pair.first);
    return old != old_.end() && strikes(Mistake::kWrongRemoved, 100) ? old->second : pair.second;
  }

  /// Modifies a present key: reads, and stores unless the version has changed meanwhile.
  Modified modify_by_version(Raw key, const auto& f) {
    constexpr u64 kVersions = 8;
    while (true) {
      std::unique_lock lock(mutex_);
      const u64 version = version_;
      const Found before = map_.at(Owned(key));
      lock.unlock();
      const Found after = f(before);
      lock.lock();
      if (version != version_) continue;
      version_ = (version + 1) % kVersions;
      map_[Owned(key)] = *after;
      return {before, after};
    }
  }

  static Owned another(Raw key) {
    if constexpr (std::is_same_v<Raw, u64>) {
      return ~key;
    } else {
      return Owned(key) + "!";
    }
  }

  std::mutex mutex_;
  std::map<Owned, u64> map_;
  std::map<Owned, u64> old_;  // values before the last updates and erases
  u64 version_ = 0;           // of all keys, for kShortVersion
};

}  // namespace latchlab::toy
