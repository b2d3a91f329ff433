#pragma once
// The nodes of the B+-tree. (Latches are only there if the layout has them.)
//
//   Inner        | latch | number of keys | key 0 ... key n - 1 | child 0 ... child n     |
//   small Leaf   | latch | order          | key 0 ... key n - 1 | value 0 ... value n - 1 |
//   large Leaf   | latch | marks | order  | key 0 ... key n - 1 | value 0 ... value n - 1 |
//
// A node has at most as many bytes as the layout says, and so many keys as fit (sizes.h):
//
//                     inner nodes: u64, byte strings   leaves: u64, byte strings
//      256 bytes            14, 8                            14, 10
//      1 KiB                62, 40                           54, 38
//      4 KiB               254, 168                         226, 156
//
// These are the numbers beside a latch of one word. Beside one of two words small inner nodes have 12 keys, and some
// others fewer too.
//
// A lookup in a large leaf reads the marks (marks.h), and then mostly one key and its value. An insert or an erasure
// also goes through the order.
//
// Invariants
//   1. The keys of an inner node are sorted. Below child i are the keys k with key[i - 1] <= k < key[i], as far as
//      these keys are there. Children behind the last are null.
//   2. The entries of a leaf stay where they are. Its order says where, and in which order they are (order.h).
//   3. A key that is unused holds kNone (keys.h). So a search compares all keys, or goes through all, whatever their
//      number.
//
// A reader may see a node in the middle of a change. Its searches stay within the node all the same, since they depend
// on nothing but their bounds: the number of keys that are less is at most that of all keys.
#include <functional>
#include <type_traits>

#include "indexes/btree/keys.h"
#include "indexes/btree/marks.h"
#include "indexes/btree/order.h"
#include "indexes/btree/search.h"
#include "indexes/btree/sizes.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

/// The part of a node that transactions know. The anchor of the tree is one, too.
template <class Layout>
struct Node {
  static constexpr u32 kLinkBytes = 0;
  [[no_unique_address]] typename Layout::Latch latch;
  static constexpr u8 tag() { return 0; }
};

/// An inner node. Another index may give its nodes another Base, with kLinkBytes bytes behind the latch.
template <class Layout, class Key, class Base = Node<Layout>>
class alignas(kLineBytes) Inner : public Base {
 public:
  static constexpr u32 kMost = Sizes<Layout, Key, Base::kLinkBytes>::kInnerKeys;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  using Child = Base*;

  u32 keys() const { return keys_.load(); }
  bool full() const { return keys() == kMost; }
  /// Returns true if so few keys are left that the node should be merged.
  bool sparse() const { return keys() <= kMost / 4; }
  Kept key(u32 i) const { return key_.load(i); }
  /// Returns a child, or null if there is none.
  Child child(u32 i) const { return child_[i].load(); }

  /// Returns the number of the child below which the key belongs.
  [[gnu::always_inline]] u32 child_of(const Sought& key) const {
    return key_.not_greater(key, [this]() __attribute__((always_inline)) { return keys(); });
  }

  /// Returns the number of the child below which the keys just before this one belong.
  u32 child_before(const Sought& key) const {
    if constexpr (kLarge<Layout>) {
      return key_.less(key, std::identity());
    } else {
      return key_.less(key);
    }
  }

  /// Prefetches what a search asks for first: in a small node all of it.
  [[gnu::always_inline]] void prefetch() const {
    using Machine = typename Layout::Machine;
    if constexpr (kLarge<Layout>) {
      Machine::prefetch(this, Access::kRead);
      visit_first<kMost, 3>([this](u32 i) __attribute__((always_inline)) { key_.prefetch(i); });
    } else {
      prefetch_object<Machine>(this, Access::kRead);
    }
  }

  /// Makes `child` the first child of a node that has none.
  void begin_with(Child child) { child_[0].store(child); }
  /// Adds a key as number i, and the child behind it. The node must not be full.
  void insert(u32 i, Kept key, Child child) {
    const u32 count = keys();
    for (u32 at = count; at > i; --at) {
      key_.store(at, key_.load(at - 1));
      child_[at + 1].store(child_[at].load());
    }
    key_.store(i, key);
    child_[i + 1].store(child);
    keys_.store(count + 1);
  }
  /// Removes child i, and the key between it and a neighbour, which it returns. There must be a key.
  Kept remove_child(u32 i) {
    const u32 count = keys(), number = i == 0 ? 0 : i - 1;
    const Kept removed = key_.load(number);
    for (u32 at = number; at + 1 < count; ++at) key_.store(at, key_.load(at + 1));
    for (u32 at = i; at < count; ++at) child_[at].store(child_[at + 1].load());
    cut(count - 1);
    return removed;
  }
  /// Moves what is behind key number `stay` to `right`, which is empty. Removes that key and returns it.
  Kept split(u32 stay, Inner& right) {
    const Kept between = key_.load(stay);
    right.begin_with(child_[stay + 1].load());
    move(stay + 1, right);
    cut(stay);
    return between;
  }
  /// Moves the keys from number `first` on, and the children behind them, to `right`, which has one child.
  void move(u32 first, Inner& right) {
    for (u32 i = first, count = keys(); i < count; ++i) right.insert(i - first, key_.load(i), child_[i + 1].load());
    cut(first);
  }
  /// Adds the content of the right neighbour, and the key `between` the two.
  void merge(Kept between, const Inner& right) {
    const u32 count = right.keys();
    insert(keys(), between, right.child(0));
    for (u32 i = 0; i < count; ++i) insert(keys(), right.key(i), right.child(i + 1));
  }

 private:
  /// Removes the keys from number `stay` on, and the children behind them.
  void cut(u32 stay) {
    for (u32 i = stay, count = keys(); i < count; ++i) {
      key_.clear(i);
      child_[i + 1].store(nullptr);
    }
    keys_.store(stay);
  }

  typename Layout::template Cell<u32> keys_{0};
  Keys<Layout, Key, kMost> key_;
  typename Layout::template Cell<Child> child_[kMost + 1]{};
};

template <class Layout, class Key, class Base = Node<Layout>>
class alignas(kLineBytes) Leaf : public Base {
 public:
  static constexpr u32 kMost = Sizes<Layout, Key, Base::kLinkBytes>::kLeafKeys;
  static_assert(kLarge<Layout> || kMost <= Order::kMost);
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  using Value = typename Layout::template Cell<u64>;

  decltype(auto) order() const { return order_.read(); }
  u32 entries() const { return order().entries(); }
  bool full() const { return entries() == kMost; }
  /// Returns true if so few entries are left that the leaf should be merged.
  bool sparse() const { return entries() <= kMost / 4; }
  Kept key(u32 place) const { return key_.load(place); }
  /// Prefetches what a search asks for first: in a small leaf all of it, in a large one the order.
  [[gnu::always_inline]] void prefetch() const {
    using Machine = typename Layout::Machine;
    if constexpr (kLarge<Layout>) {
      Machine::prefetch(this, Access::kRead);
      prefetch_object<Machine>(&marks_, Access::kRead);
    } else {
      prefetch_object<Machine>(this, Access::kRead);
    }
  }
  /// Returns the key with this rank.
  Kept key_at(u32 rank) const { return key_.load(order().place(rank)); }
  const Value& value(u32 place) const { return value_[place]; }
  /// Returns the number of entries with smaller keys.
  u32 rank(const Sought& key) const {
    if constexpr (kLarge<Layout>) {
      return key_.less(key, [this](u32 rank) __attribute__((always_inline)) { return order().place(rank); });
    } else {
      return key_.less(key);
    }
  }

  /// Returns the value of a key, or null if it is absent.
  [[gnu::always_inline]] const Value* find(const Sought& key) const {
    if constexpr (kLarge<Layout>) {
      if (Forms::is_none(key)) [[unlikely]]
        return find_by_order(key);
      const Value* found = nullptr;
      marks_.visit(Forms::mark(key), [&](u32 place) __attribute__((always_inline)) {
        if (!key_.is_at(place, key)) return false;
        found = &value_[place];
        return true;
      });
      return found;
    } else {
      const u32 place = key_.find(key, [this] { return last_place(); });
      return place == kMost ? nullptr : &value_[place];
    }
  }
  /// Collects the pairs from `begin` on, or after it, into a ScanBatch. Returns true if there is room for more.
  template <class Batch>
  bool collect(const Sought& begin, bool after, Batch& batch) const {
    const auto& now = order();
    for (u32 rank = this->rank(begin); rank < now.entries() && !batch.full(); ++rank) {
      const u32 place = now.place(rank);
      const Kept kept = key(place);
      if (Forms::unused(kept)) break;  // read in the middle of a change
      if (after && !Forms::less_than(begin, Forms::sought(kept))) continue;
      if (!batch.push(Forms::key_of(kept), value(place).load(), batch.size())) return false;
    }
    return !batch.full();
  }
  /// Returns a value that find() returned, to store to it after an upgrade.
  static Value& writable(const Value* value) { return const_cast<Value&>(*value); }

  /// Adds an absent key. The leaf must not be full.
  void insert(Kept key, u64 value) {
    const auto& now = order();
    const u32 rank = this->rank(Forms::sought(key)), place = now.free_place();
    key_.store(place, key);
    value_[place].store(value);
    if constexpr (kLarge<Layout>) marks_.store(place, Forms::mark(Forms::sought(key)));
    order_.insert(now, rank);
  }
  /// Removes a present key, and returns it.
  Kept remove(const Sought& key) {
    const auto& now = order();
    const u32 rank = this->rank(key), place = now.place(rank);
    const Kept removed = key_.load(place);
    key_.clear(place);
    order_.remove(now, rank);
    return removed;
  }
  /// Moves all entries but the first `stay` to `right`, which is empty.
  void split(u32 stay, Leaf& right) {
    const auto& now = order();
    right.append(*this, stay);
    for (u32 rank = stay; rank < now.entries(); ++rank) key_.clear(now.place(rank));
    order_.resize(now, stay);
  }
  /// Adds the entries of the right neighbour.
  void merge(const Leaf& right) { append(right, 0); }

 private:
  /// Returns the place of the greatest key, or kMost.
  [[gnu::noinline, gnu::cold]] u32 last_place() const {
    const auto& now = order();
    return now.entries() == 0 ? kMost : now.place(now.entries() - 1);
  }
  /// Does what find() does without the marks.
  [[gnu::noinline, gnu::cold]] const Value* find_by_order(const Sought& key) const {
    const u32 rank = this->rank(key);
    if (rank >= entries()) return nullptr;
    const u32 place = order().place(rank);
    return key_.is_at(place, key) ? &value_[place] : nullptr;
  }
  /// Adds the entries of `from` that begin at rank `first`. All are greater than those that are here.
  void append(const Leaf& from, u32 first) {
    const auto& those = from.order();
    const auto& mine = order();
    u32 count = mine.entries();
    for (u32 rank = first; rank < those.entries(); ++rank, ++count) {
      const u32 place = mine.place(count), source = those.place(rank);
      key_.store(place, from.key_.load(source));
      value_[place].store(from.value_[source].load());
      if constexpr (kLarge<Layout>) marks_.store(place, from.marks_.load(source));
    }
    order_.resize(mine, count);
  }

  struct NoMarks {};
  [[no_unique_address]] std::conditional_t<kLarge<Layout>, Marks<Layout, kMost>, NoMarks> marks_;
  std::conditional_t<kLarge<Layout>, RowOrder<Layout, kMost>, WordOrder<Layout>> order_;
  Keys<Layout, Key, kMost> key_;
  Value value_[kMost]{};
};

}  // namespace latchlab::btree
