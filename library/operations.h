#pragma once
// The operations of a map, once for both ways to call them: by the map itself, as this thread, or by a Session.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "indexes/sized_evict.h"
#include "library/keys.h"
#include "library/values.h"
#include "library/vectors.h"
#include "src/base/batching.h"
#include "src/base/types.h"

namespace latchlab {

/// The clock hand of a cache over a map with this index (Operations::evict). It holds no part of the map. One thread at
/// a time may turn it.
template <class Index>
class ClockHand {
 public:
  ClockHand() = default;  ///< Throws std::bad_alloc.
  /// Returns true if the hand has not begun a round.
  bool at_start() const { return walk_.at_start(); }

 private:
  template <class, class, class, class>
  friend class Operations;
  typename Index::Walk walk_;
};

/// The operations over `Index`, which keeps values of `Kind`. `Caller` derives from this and has two members:
///     index()   the index
///     member()  the calling thread's member, with its state `me`
template <class Caller, class Index, class Key, class Kind>
class Operations : public VectorOperations<Caller, Index, Key, Kind> {
  using Forms = KeyForms<Key>;
  using Raw = typename Forms::Raw;

 public:
  using KeyView = typename Forms::View;   ///< a key as callers pass and see it
  using ValueView = typename Kind::View;  ///< a value as callers pass and see it
  using Value = typename Kind::Value;     ///< a copy of a value
  using Modified = ModifiedValue<Value>;
  using Hand = ClockHand<Index>;  ///< of a cache
  /// True if the map can be a cache: its values lie in the store, and its index walks beside changes.
  static constexpr bool kEvicts = Kind::kInStore && Index::kWalksBesideWriters;

  /// Returns a copy of the value of the key, or nothing if it is absent.
  [[nodiscard]] std::optional<Value> find(KeyView key) const {
    return Kind::find(index(), member().me, Forms::raw(key));
  }
  /// Returns true if the key is present.
  [[nodiscard]] bool contains(KeyView key) const {
    return visit(key, [](const auto&) {});
  }
  /// Calls f(value) once if the key is present, and returns true then. The value is a view, which is valid during the
  /// call. f runs outside locks and transactions. It may throw, and must not use the map.
  template <std::invocable<const ValueView&> F>
  bool visit(KeyView key, F&& f) const {
    return Kind::visit(index(), member().me, Forms::raw(key), f);
  }
  /// Does what visit does, and marks the value as used, for evict.
  template <std::invocable<const ValueView&> F>
    requires(kEvicts)
  bool use(KeyView key, F&& f) const {
    return Kind::use(index(), member().me, Forms::raw(key), f);
  }
  /// Turns the hand of a cache by one step of about `most` pairs. It erases at most 16 of them: those whose value was
  /// not used since the hand last came by, or since it was stored. Calls f(key, value) once for each, after it was
  /// erased; views are valid during the call. Values of up to seven bytes count as not used. f must not use the map. If
  /// it throws, evict throws the same at the end of the step. A pair stays if its erase lacks memory.
  /// Throws std::bad_alloc, with nothing done, if another thread holds up too much of what was erased. Several threads
  /// may each turn a hand of their own.
  template <std::invocable<KeyView, const ValueView&> F>
    requires(kEvicts)
  Eviction evict(Hand& hand, std::size_t most, F&& f) {
    auto& mine = member();
    return Kind::evict(index(), mine.me, hand.walk_, most, [&](Raw key, const ValueView& value) {
      mine.counted(-1, true);
      f(Forms::view(key), value);
    });
  }

  /// Sets found[i] to what find(keys[i]) would return at some moment of the call; these moments may differ. The lookups
  /// overlap their cache misses if the index can. `found` must have an element for each key.
  void find_batch(std::span<const KeyView> keys, std::span<std::optional<Value>> found) const {
    auto& me = member().me;
    if constexpr (std::is_same_v<KeyView, Raw>) {
      Kind::find_batch(index(), me, keys, found);
    } else {
      in_groups(keys, [&](std::span<const Raw> raws, std::size_t first) {
        Kind::find_batch(index(), me, raws, found.subspan(first, raws.size()));
      });
    }
  }

  /// Inserts the pair if the key is absent. Returns true if it was absent; otherwise its value is unchanged.
  bool insert(KeyView key, const ValueView& value) {
    auto& mine = member();
    return mine.counted(+1, index().insert(mine.me, Forms::raw(key), Kind::stored(value)));
  }
  /// Changes the value if the key is present. Returns true if it was present.
  bool update(KeyView key, const ValueView& value) {
    return index().update(member().me, Forms::raw(key), Kind::stored(value));
  }
  /// Sets the value of the key. Returns true if the key was absent.
  bool upsert(KeyView key, const ValueView& value) {
    auto& mine = member();
    return mine.counted(+1, index().upsert(mine.me, Forms::raw(key), Kind::stored(value)));
  }
  /// Erases the key. Returns true if it was present.
  bool erase(KeyView key) {
    auto& mine = member();
    return mine.counted(-1, index().erase(mine.me, Forms::raw(key)));
  }

  // The forms with `before` return what the plain ones do, and call before(value) once if the key had a value, with a
  // view of it that is valid during the call:
  //   1. An update, upsert or erase shows the value that it has replaced or erased. So each value is shown once.
  //   2. An insert shows the value for which it has left the key as it was.
  //   3. `before` runs outside locks and transactions, when the operation is done. If it throws, the operation is done
  //      all the same, and throws the same.
  //   4. `before` must not use the map.

  /// Inserts the pair if the key is absent. Otherwise `before` gets its value.
  template <std::invocable<const ValueView&> Before>
  bool insert(KeyView key, const ValueView& value, Before&& before) {
    auto& mine = member();
    return mine.counted(+1, Kind::insert(index(), mine.me, Forms::raw(key), Kind::stored(value), before));
  }
  /// Changes the value if the key is present. `before` gets the old one.
  template <std::invocable<const ValueView&> Before>
  bool update(KeyView key, const ValueView& value, Before&& before) {
    return Kind::update(index(), member().me, Forms::raw(key), Kind::stored(value), before);
  }
  /// Sets the value of the key. `before` gets the old one, if there was one.
  template <std::invocable<const ValueView&> Before>
  bool upsert(KeyView key, const ValueView& value, Before&& before) {
    auto& mine = member();
    return mine.counted(+1, Kind::upsert(index(), mine.me, Forms::raw(key), Kind::stored(value), before));
  }
  /// Erases the key. `before` gets its value.
  template <std::invocable<const ValueView&> Before>
  bool erase(KeyView key, Before&& before) {
    auto& mine = member();
    return Kind::erase(index(), mine.me, Forms::raw(key), [&](const ValueView& value) {
      mine.counted(-1, true);  // first, since `before` may throw
      before(value);
    });
  }

  /// Replaces the value of the key by f(value), in one step. The argument and the result of f are
  /// std::optional<Value>; nothing stands for an absent key. Returns the values before and after.
  ///   1. f may run several times, and the last run counts. So its only effect is its result.
  ///   2. f may throw. Then nothing has changed, and modify throws the same.
  ///   3. f must not use the map, and should be short: a lock may be held meanwhile.
  template <std::invocable<const std::optional<Value>&> F>
    requires std::convertible_to<std::invoke_result_t<F&, const std::optional<Value>&>, std::optional<Value>>
  Modified modify(KeyView key, F&& f) {
    auto& mine = member();
    Modified modified = Kind::modify(index(), mine.me, Forms::raw(key), f);
    mine.counted(modified.after ? +1 : -1, modified.before.has_value() != modified.after.has_value());
    return modified;
  }

  // The batches of changes are one operation after the other, for keys[i] in turn; the cache misses of some keys
  // overlap before them. If an operation throws, the earlier ones stay done. All spans have an element for each key.

  /// Sets inserted[i] to what insert(keys[i], values[i]) returns, or to false if it does not come to that.
  void insert_batch(std::span<const KeyView> keys, std::span<const ValueView> values, std::span<bool> inserted) {
    change_batch(+1, keys, inserted, [&](auto& me, const auto& raws, std::size_t first, std::span<bool> done) {
      const StoredValues stored(values.subspan(first, raws.size()));
      index().insert_batch(me, raws, stored.all(), done);
    });
  }
  /// Sets added[i] to what upsert(keys[i], values[i]) returns, or to false if it does not come to that.
  void upsert_batch(std::span<const KeyView> keys, std::span<const ValueView> values, std::span<bool> added) {
    change_batch(+1, keys, added, [&](auto& me, const auto& raws, std::size_t first, std::span<bool> done) {
      const StoredValues stored(values.subspan(first, raws.size()));
      Kind::upsert_batch(index(), me, raws, stored.all(), done);
    });
  }
  /// Sets erased[i] to what erase(keys[i]) returns, or to false if it does not come to that.
  void erase_batch(std::span<const KeyView> keys, std::span<bool> erased) {
    change_batch(-1, keys, erased, [&](auto& me, const auto& raws, std::size_t, std::span<bool> done) {
      index().erase_batch(me, raws, done);
    });
  }
  /// Sets modified[i] to what modify(keys[i], g) returns, where g(value) is f(i, value).
  template <std::invocable<std::size_t, const std::optional<Value>&> F>
    requires std::convertible_to<std::invoke_result_t<F&, std::size_t, const std::optional<Value>&>,
                                 std::optional<Value>>
  void modify_batch(std::span<const KeyView> keys, std::span<Modified> modified, F&& f) {
    in_groups(keys, [&](std::span<const Raw> raws, std::size_t first) {
      Kind::prefetch(index(), member().me, raws);
      for (std::size_t i = first; i < first + raws.size(); ++i)
        modified[i] = modify(keys[i], [&f, i](const std::optional<Value>& value) { return f(i, value); });
    });
  }

  /// Calls f(key, value) for the pairs with from <= key < to, in order. If f returns bool, false ends the range. f may
  /// throw, and may use the map if values lie in cells. Views are valid during the call. While other threads change the
  /// map:
  ///   1. the order is strict;
  ///   2. a key that is present throughout is not missed;
  ///   3. every pair was present at some moment of the call, but perhaps not all at the same moment.
  /// O(pairs), and O(depth) for each 64 of them.
  template <std::invocable<KeyView, const ValueView&> F>
    requires(Index::kOrdered)
  void range(KeyView from, KeyView to, F&& f) const {
    const Raw end = Forms::raw(to);
    walk(Forms::raw(from), &end, f);
  }
  /// Does the same for all pairs with from <= key.
  template <std::invocable<KeyView, const ValueView&> F>
    requires(Index::kOrdered)
  void range(KeyView from, F&& f) const {
    walk(Forms::raw(from), nullptr, f);
  }

  /// Calls f(key, value) for every pair. An ordered map does it as range does, from its first key on. In any other map
  /// the order is arbitrary. While other threads change the map, or f does:
  ///   1. a key that is present throughout is visited at least once (in the tables of this project exactly once);
  ///   2. every pair was present at some moment of the call, but perhaps not all at the same moment.
  /// f may throw, and may use the map if values lie in cells. An index without walks (Index::kWalksBesideWriters)
  /// allows neither changes nor such an f.
  template <std::invocable<KeyView, const ValueView&> F>
  void for_each(F&& f) const {
    if constexpr (Index::kOrdered) {
      walk(Raw{}, nullptr, f);
    } else {
      Kind::for_each(index(), member().me, [&f](Raw key, const ValueView& value) { f(Forms::view(key), value); });
    }
  }

 private:
  // The pairs of the first step of a walk, and the most of one step.
  static constexpr std::size_t kFirstStep = 16, kLargestStep = 64;

  /// The values of a group, as the index takes them.
  class StoredValues {
   public:
    explicit StoredValues(std::span<const ValueView> values) : count_(values.size()) {
      for (std::size_t i = 0; i < count_; ++i) stored_[i] = Kind::stored(values[i]);
    }
    auto all() const { return std::span(stored_).first(count_); }

   private:
    const std::size_t count_;
    std::array<decltype(Kind::stored(std::declval<const ValueView&>())), kMostInAttempt> stored_;
  };

  /// Calls run(raws, first) for up to kMostInAttempt keys at a time, from keys[first] on.
  template <class Run>
  static void in_groups(std::span<const KeyView> keys, const Run& run) {
    std::array<Raw, kMostInAttempt> raws;
    for (std::size_t first = 0; first < keys.size(); first += raws.size()) {
      const std::size_t count = std::min(keys.size() - first, raws.size());
      for (std::size_t i = 0; i < count; ++i) raws[i] = Forms::raw(keys[first + i]);
      run(std::span<const Raw>(raws).first(count), first);
    }
  }
  /// Changes groups of keys by change(me, raws, first, done), and counts `each` for every key that is done, also if it
  /// throws.
  template <class Change>
  void change_batch(i64 each, std::span<const KeyView> keys, std::span<bool> done, const Change& change) {
    auto& mine = member();
    std::ranges::fill(done, false);
    struct Count {
      ~Count() { owner.counted(each * std::ranges::count(done, true), true); }
      decltype(mine) owner;
      const i64 each;
      const std::span<bool> done;
    } const count{mine, each, done};
    in_groups(keys, [&](std::span<const Raw> raws, std::size_t first) {
      change(mine.me, raws, first, done.subspan(first, raws.size()));
    });
  }

  auto& index() const { return static_cast<const Caller&>(*this).index(); }
  auto& member() const { return static_cast<const Caller&>(*this).member(); }

  // A scan cannot be ended early. So a walk scans in steps. Each begins with the last key of the step before.
  template <class F>
  void walk(Raw first, const Raw* end, F& f) const {
    auto& me = member().me;
    typename Forms::Held from(first), last;
    bool inside = true, again = false;
    for (std::size_t most = kFirstStep; inside; most = kLargestStep) {
      std::size_t left = most;
      Kind::scan(index(), me, from, most, [&](Raw key, const ValueView& value) {
        if (--left == 0) last = key;
        if (!inside || (again && key == from)) return;
        inside = (end == nullptr || key < *end) && goes_on(f, Forms::view(key), value);
      });
      if (left != 0) return;
      std::swap(from, last);
      again = true;
    }
  }
  template <class F>
  static bool goes_on(F& f, KeyView key, const ValueView& value) {
    if constexpr (std::is_same_v<std::invoke_result_t<F&, KeyView, const ValueView&>, bool>) {
      return f(key, value);
    } else {
      f(key, value);
      return true;
    }
  }
};

}  // namespace latchlab
