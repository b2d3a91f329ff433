#pragma once
// The inner nodes of ART (Leis, Kemper, Neumann, ICDE 2013): 4, 16, 48 or 256 slots, by the number of children.
//
//   every node  | latch 8 (coarse: 0) | path and kind 8, fixed | state 4 |
//   Node4       | header | keys 4 in a word | slot x 4                         one line
//   Node16      | header | keys 16 in a row | slot x 16
//   Node48      | header | index 256: 0 or slot + 1 | slot x 48
//   Node256     | header | present 256 bits | slot x 256                       one line of header, then slots
//
// A slot holds the word of a Child. In a node at the last byte of fixed-size keys, the path and the byte spell the
// whole key. So a slot there holds the value itself, without a leaf (8.3 bytes a dense key). Any 64-bit value is legal,
// so presence is recorded outside the slots. An empty slot of a Node256 is 0. So a find in a Node256 of values reads
// the present bits only if the slot is 0.
//
// Readers without a latch (rowex) rely on four rules, and every other reader may:
//   1. A slot serves one byte in the life of its node: adding appends, and erasing frees no slot.
//   2. A child is stored before the live bit or the index that leads to it.
//   3. So one store adds or removes a byte: of the state (Node4, Node16), of its index (Node48), of its slot (Node256).
//   4. Slots are packed only in a copy, a new node.
// There is one exception to rule 3. In a Node256 of values two cells together express the value 0: the slot and the
// present bit. A reader without a latch that sees the slot 0 and the bit set reads both again, between two equal
// versions of the node. Only there may it wait for a writer. For every other value the slot alone decides, in a find
// and in a scan alike. Otherwise one of them could miss a key that the other has found. The order of the stores, and
// the store that makes the key come or go:
//
//   insert v   slot v (there), bit        insert 0   bit (there)            update v to 0, 0 to v   slot
//   erase v    slot 0 (gone), bit         erase 0    bit (gone)
//
// Between the two stores of an erase the slot is 0 and the bit is set, so the reader waits. Suppose the bit were
// cleared first. A reader that had read the slot as 0 earlier, and reads the bit now, would call the key absent. But
// the slot still holds its value.
#include <bit>

#include "indexes/art/child.h"
#include "indexes/art/path.h"
#include "indexes/art/seeded_bugs.h"
#include "src/arch/simd.h"
#include "src/machine/machine.h"

namespace latchlab::art {

constexpr u32 capacity(Kind kind) {
  return kind == Kind::k4 ? 4 : kind == Kind::k16 ? 16 : kind == Kind::k48 ? 48 : 256;
}

/// Returns the smallest kind with room for `children`.
constexpr Kind kind_for(u32 children) {
  return children <= 4 ? Kind::k4 : children <= 16 ? Kind::k16 : children <= 48 ? Kind::k48 : Kind::k256;
}

/// A byte and the word in its slot.
struct Entry {
  u8 byte;
  u64 word;
};

template <class Layout, class Key>
class Node4;
template <class Layout, class Key>
class Node16;
template <class Layout, class Key>
class Node48;
template <class Layout, class Key>
class Node256;

/// The header of a node, and every operation, dispatched on the node's kind.
template <class Layout, class Key>
class Node {
 protected:
  using Cell32 = typename Layout::template Cell<u32>;
  using Cell64 = typename Layout::template Cell<u64>;

 public:
  [[no_unique_address]] typename Layout::Latch latch;

  Kind kind() const { return path_.kind(); }
  const Path<Key>& path() const { return path_; }
  u32 level() const { return path_.level(); }
  u8 tag() const { return path_.tag(); }
  /// Returns true if the byte at the level completes the key, so that slots hold values.
  bool holds_values() const { return holds_values(level()); }
  static bool holds_values(u32 level) { return Key::kFixedSize != 0 && level + 1 == Key::kFixedSize; }

  /// Returns the slot of `byte`, and stores its word in `word`; null if there is none.
  const Cell64* find(u8 byte, u64& word) const {
    return visit([&](auto& node) { return node.find(byte, word); });
  }
  /// Does the same as find() in a node that is known to be at `level`, which saves reading the level. Always inlined,
  /// as are the finds of the kinds: a call would keep `word`, and what else a descent holds, out of registers.
  [[gnu::always_inline]] const Cell64* find_at(u32 level, u8 byte, u64& word) const {
    if (kind() == Kind::k256) [[likely]]
      return static_cast<const Node256<Layout, Key>&>(*this).find_at(level, byte, word);
    switch (kind()) {
      case Kind::k4: return static_cast<const Node4<Layout, Key>&>(*this).find(byte, word);
      case Kind::k16: return static_cast<const Node16<Layout, Key>&>(*this).find(byte, word);
      default: return static_cast<const Node48<Layout, Key>&>(*this).find(byte, word);
    }
  }
  /// Returns the slot of `byte` in a node that is known to be a Node256 of children. The slot's word is 0 if there is
  /// no child.
  const Cell64* slot_in_256(u8 byte) const { return static_cast<const Node256<Layout, Key>&>(*this).slot(byte); }
  /// Stores the first entry from `byte` on; returns false if there is none.
  bool next(u32 byte, Entry& entry) const {
    return visit([&](auto& node) { return node.next(byte, entry); });
  }
  /// Prefetches the children side by side, for a caller that will visit all of them. Prefetches nothing for a Node256:
  /// its children are large, and few of them are visited soon.
  [[gnu::always_inline]] void prefetch_children() const {
    switch (kind()) {
      case Kind::k4: return static_cast<const Node4<Layout, Key>&>(*this).prefetch_children();
      case Kind::k16: return static_cast<const Node16<Layout, Key>&>(*this).prefetch_children();
      case Kind::k48: return static_cast<const Node48<Layout, Key>&>(*this).prefetch_children();
      default: return;
    }
  }
  /// Prefetches a leaf or the first lines of a node: as many as a Node16 has, the commonest kind below a Node256.
  [[gnu::always_inline]] static void prefetch_start(Child child) {
    prefetch_object<typename Layout::Machine>(static_cast<const Node16<Layout, Key>*>(child.line()), Access::kRead);
  }
  u32 children() const {
    return visit([&](auto& node) { return node.children(); });
  }
  /// Returns the number of children that remain without that of `byte`. A Node256 of children counts them only if that
  /// child is the last in its line of slots, or the node is too large; otherwise it returns a large number.
  u32 left_without(u8 byte) const {
    return visit([&](auto& node) { return node.left_without(byte); });
  }
  /// Says whether the node has more room than its children need, because there was no memory for a smaller one. Every
  /// later erase then looks again, so that the node is replaced before its last child goes.
  void set_too_large(bool too_large) {
    if (kind() == Kind::k256 && (state_.load() != 0) != too_large) state_.store(too_large);
  }
  void add(u8 byte, u64 word) {
    visit([&](auto& node) { node.add(byte, word); });
  }
  void replace(u8 byte, u64 word) {
    visit([&](auto& node) { node.replace(byte, word); });
  }
  /// Returns a slot that find() returned, to store to it after an upgrade.
  static Cell64& writable(const Cell64* slot) { return const_cast<Cell64&>(*slot); }
  /// Replaces the word of a slot that find() returned.
  static void replace(const Cell64* slot, u64 word) { writable(slot).store(word); }
  void remove(u8 byte) {
    visit([&](auto& node) { node.remove(byte); });
  }

  /// Calls `f(byte, word)` for each entry, in no particular order.
  template <class F>
  void for_each(F&& f) const {
    visit([&](auto& node) { node.for_each(f); });
  }
  /// Adds the entries of `from`, packed, except that of `but` (256: none is left out). `from` may change meanwhile, so
  /// the copy stops when this node is full. A later upgrade of `from` proves the copy.
  void copy(const Node& from, u32 but) {
    visit([&](auto& to) {
      from.for_each([&](u8 byte, u64 word) {
        if (byte != but && !to.full()) to.add(byte, word);
      });
    });
  }

  static constexpr std::size_t bytes_of(Kind kind);

  /// Calls `f` with the node as its own kind.
  template <class F>
  [[gnu::always_inline]] decltype(auto) visit(F&& f) const {
    // Most levels of a large tree are Node256, and a lookup needs the kind on every level.
    if (kind() == Kind::k256) [[likely]]
      return f(static_cast<const Node256<Layout, Key>&>(*this));
    switch (kind()) {
      case Kind::k4: return f(static_cast<const Node4<Layout, Key>&>(*this));
      case Kind::k16: return f(static_cast<const Node16<Layout, Key>&>(*this));
      default: return f(static_cast<const Node48<Layout, Key>&>(*this));
    }
  }
  template <class F>
  [[gnu::always_inline]] decltype(auto) visit(F&& f) {
    switch (kind()) {
      case Kind::k4: return f(static_cast<Node4<Layout, Key>&>(*this));
      case Kind::k16: return f(static_cast<Node16<Layout, Key>&>(*this));
      case Kind::k48: return f(static_cast<Node48<Layout, Key>&>(*this));
      default: return f(static_cast<Node256<Layout, Key>&>(*this));
    }
  }

 protected:
  Node(Kind kind, const Path<Key>& path) : latch(Path<Key>(path, kind).tag()), path_(path, kind) {}

  static const Cell64* loaded(const Cell64& slot, u64& word) {
    word = slot.load();
    return &slot;
  }
  [[gnu::always_inline]] static void prefetch_words(const Cell64* slots, u32 used) {
    for (u32 i = 0; i < used; ++i) Layout::Machine::prefetch(Child(slots[i].load()).line(), Access::kRead);
  }

 private:
  const Path<Key> path_;

 protected:
  // Node4, Node16: live bits and number of used slots; Node48: numbers of children and of used slots; Node256: 1 if it
  // is too large
  Cell32 state_{0};
};

/// The state of a Node4 or Node16: live bits in the low half, the number of used slots above.
struct Occupancy {
  u32 live = 0, used = 0;
  static Occupancy of(u32 state) { return {state & 0xffff, state >> 16}; }
  u32 state() const { return used << 16 | live; }
  u32 children() const { return static_cast<u32>(std::popcount(live)); }
  Occupancy added() const { return {live | 1u << used, used + 1}; }
  Occupancy removed(u32 slot) const { return {live & ~(1u << slot), used}; }
};

template <class Layout, class Key>
class alignas(kLineBytes) Node4 : public Node<Layout, Key> {
 public:
  explicit Node4(const Path<Key>& path) : Node<Layout, Key>(Kind::k4, path) {}

  [[gnu::always_inline]] const auto* find(u8 byte, u64& word) const {
    const u32 found = live_slot(byte);
    return found == 0 ? nullptr : this->loaded(slot_[std::countr_zero(found)], word);
  }
  bool next(u32 byte, Entry& entry) const {
    if (byte > 255) return false;
    const u32 live = occupancy().live, keys = keys_.load();
    const u32 candidates = at_least_bytes4(keys, static_cast<u8>(byte)) & live;
    if (candidates == 0) return false;
    u32 best = ~0u;  // the key byte, above its slot's number; computed without branches, which would be mispredicted
#pragma GCC unroll 4
    for (u32 slot = 0; slot < 4; ++slot) {
      const u32 none = (candidates >> slot & 1) - 1;
      best = std::min(best, (keys >> (8 * slot) & 0xff) << 2 | slot | none);
    }
    entry = {static_cast<u8>(best >> 2), slot_[best & 3].load()};
    return true;
  }
  [[gnu::always_inline]] void prefetch_children() const { this->prefetch_words(slot_, occupancy().used); }
  template <class F>
  void for_each(F&& f) const {
    u32 live = occupancy().live;  // read first, since it was stored last
    const u32 keys = keys_.load();
    for (; live != 0; live &= live - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(live));
      f(static_cast<u8>(keys >> (8 * slot)), slot_[slot].load());
    }
  }
  u32 children() const { return occupancy().children(); }
  u32 left_without(u8) const { return children() - 1; }
  /// Returns true if no slot is left, though some of the used ones may have been erased.
  bool full() const { return occupancy().used == 4; }
  void add(u8 byte, u64 word) {
    const Occupancy now = occupancy();
    slot_[now.used].store(word);
    keys_.store(keys_.load() | u32{byte} << (8 * now.used));
    this->state_.store(now.added().state());
  }
  void replace(u8 byte, u64 word) { slot_[std::countr_zero(live_slot(byte))].store(word); }
  void remove(u8 byte) {
    const u32 slot = static_cast<u32>(std::countr_zero(live_slot(byte)));
    this->state_.store(occupancy().removed(slot).state());
  }

 private:
  Occupancy occupancy() const { return Occupancy::of(this->state_.load()); }
  // The state is read first, since it was stored last.
  u32 live_slot(u8 byte) const {
    const u32 live = occupancy().live;
    return equal_bytes4(keys_.load(), byte) & live;
  }

  typename Node<Layout, Key>::Cell32 keys_{0};
  typename Node<Layout, Key>::Cell64 slot_[4]{};
};

template <class Layout, class Key>
class alignas(kLineBytes) Node16 : public Node<Layout, Key> {
 public:
  explicit Node16(const Path<Key>& path) : Node<Layout, Key>(Kind::k16, path) {}

  [[gnu::always_inline]] const auto* find(u8 byte, u64& word) const {
    const u32 found = live_slot(byte);
    return found == 0 ? nullptr : this->loaded(slot_[std::countr_zero(found)], word);
  }
  bool next(u32 byte, Entry& entry) const {
    if (byte > 255) return false;
    u32 candidates = occupancy().live;  // read first, since it was stored last
    candidates &= keys_.load_all().at_least(static_cast<u8>(byte));
    if (candidates == 0) return false;
    u32 best = ~0u;  // the key byte, above its slot's number
    for (; candidates != 0; candidates &= candidates - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(candidates));
      best = std::min(best, u32{keys_.load(slot)} << 4 | slot);
    }
    entry = {static_cast<u8>(best >> 4), slot_[best & 15].load()};
    return true;
  }
  [[gnu::always_inline]] void prefetch_children() const { this->prefetch_words(slot_, occupancy().used); }
  template <class F>
  void for_each(F&& f) const {
    u32 live = occupancy().live;  // read first, since it was stored last
    for (; live != 0; live &= live - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(live));
      f(keys_.load(slot), slot_[slot].load());
    }
  }
  u32 children() const { return occupancy().children(); }
  u32 left_without(u8) const { return children() - 1; }
  bool full() const { return occupancy().used == 16; }
  void add(u8 byte, u64 word) {
    const Occupancy now = occupancy();
    slot_[now.used].store(word);
    keys_.store(now.used, byte);
    this->state_.store(now.added().state());
  }
  void replace(u8 byte, u64 word) { slot_[std::countr_zero(live_slot(byte))].store(word); }
  void remove(u8 byte) {
    const u32 slot = static_cast<u32>(std::countr_zero(live_slot(byte)));
    this->state_.store(occupancy().removed(slot).state());
  }

 private:
  Occupancy occupancy() const { return Occupancy::of(this->state_.load()); }
  u32 live_slot(u8 byte) const {
    const u32 live = occupancy().live;  // read first, since it was stored last
    return keys_.load_all().equal_to(byte) & live;
  }

  typename Layout::template Row<u8, 16> keys_;
  typename Node<Layout, Key>::Cell64 slot_[16]{};
};

template <class Layout, class Key>
class alignas(kLineBytes) Node48 : public Node<Layout, Key> {
 public:
  explicit Node48(const Path<Key>& path) : Node<Layout, Key>(Kind::k48, path) {}

  [[gnu::always_inline]] const auto* find(u8 byte, u64& word) const {
    const u8 slot = index_[byte].load();
    return slot == 0 ? nullptr : this->loaded(slot_[slot - 1], word);
  }
  bool next(u32 byte, Entry& entry) const {
    for (; byte < 256; ++byte) {
      const u8 slot = index_[byte].load();
      if (slot == 0) continue;
      entry = {static_cast<u8>(byte), slot_[slot - 1].load()};
      return true;
    }
    return false;
  }
  [[gnu::always_inline]] void prefetch_children() const { this->prefetch_words(slot_, used()); }
  template <class F>
  void for_each(F&& f) const {
    u8 bytes[256];  // bytes that have slots, gathered without a branch, since about every fifth would be mispredicted
    u32 found = 0;
    for (u32 byte = 0; byte < 256; ++byte) {
      bytes[found] = static_cast<u8>(byte);
      found += index_[byte].load() != 0;
    }
    for (u32 i = 0; i < found; ++i) {
      u64 word;
      if (find(bytes[i], word)) f(bytes[i], word);
    }
  }
  u32 children() const { return this->state_.load() & 0xffff; }
  u32 left_without(u8) const { return children() - 1; }
  bool full() const { return used() == 48; }
  void add(u8 byte, u64 word) {
    const u32 slot = used();
    if (BugFlags<typename Layout::Bugs::Flag>::kChildAfterIndex) index_[byte].store(static_cast<u8>(slot + 1));
    slot_[slot].store(word);
    index_[byte].store(static_cast<u8>(slot + 1));
    this->state_.store((slot + 1) << 16 | (children() + 1));
  }
  void replace(u8 byte, u64 word) { slot_[index_[byte].load() - 1].store(word); }
  void remove(u8 byte) {
    index_[byte].store(0);
    this->state_.store(used() << 16 | (children() - 1));
  }

 private:
  u32 used() const { return this->state_.load() >> 16; }

  typename Layout::template Cell<u8> index_[256]{};
  typename Node<Layout, Key>::Cell64 slot_[48]{};
};

template <class Layout, class Key>
class alignas(kLineBytes) Node256 : public Node<Layout, Key> {
  using Bugs = BugFlags<typename Layout::Bugs::Flag>;

 public:
  explicit Node256(const Path<Key>& path) : Node<Layout, Key>(Kind::k256, path) {}

  const auto* slot(u8 byte) const {
    // G++ spends an instruction on adding a member's offset to the index of an atomic load.
    const auto* const slots = slot_;
    return &slots[byte];
  }
  const auto* find(u8 byte, u64& word) const { return find_at(this->level(), byte, word); }
  [[gnu::always_inline]] const typename Node<Layout, Key>::Cell64* find_at(u32 level, u8 byte, u64& word) const {
    const auto* const at = slot(byte);
    word = at->load();
    if (word != 0) [[likely]]
      return at;
    if (!this->holds_values(level) || !present(byte)) return nullptr;
    if constexpr (Layout::kLatchFreeReaders) {
      if (!Bugs::kDropProofOfZero) {
        u64 proof = 0;  // not `word`, whose address would keep it out of registers
        const auto* const there = proved(byte, proof);
        word = proof;
        return there;
      }
    }
    return this->loaded(*at, word);  // read again: the value was stored before its bit, and may be 0
  }
  bool next(u32 byte, Entry& entry) const {
    const u32 level = this->level();
    if (!Layout::kLatchFreeReaders && this->holds_values(level)) {
      for (; byte < 256; byte = (byte / 64 + 1) * 64) {
        const u64 from_here = present_[byte / 64].load() >> (byte % 64);
        if (from_here == 0) continue;
        byte += static_cast<u32>(std::countr_zero(from_here));
        entry = {static_cast<u8>(byte), slot_[byte].load()};
        return true;
      }
      return false;
    }
    for (u64 word; byte < 256; ++byte) {
      if (find_at(level, static_cast<u8>(byte), word) == nullptr) continue;
      entry = {static_cast<u8>(byte), word};
      return true;
    }
    return false;
  }
  template <class F>
  void for_each(F&& f) const {
    for (u32 byte = 0; byte < 256; ++byte) {
      u64 word;
      if (find(static_cast<u8>(byte), word)) f(static_cast<u8>(byte), word);
    }
  }
  // Counted, not kept: adding and erasing a child write its slot, but not the header, which every lookup reads. (A
  // policy with a latch in every node does write there.)
  u32 children() const {
    u32 children = 0;
    if (this->holds_values()) {
      for (const auto& word : present_) children += static_cast<u32>(std::popcount(word.load()));
    } else {
      for (const auto& slot : slot_) children += slot.load() != 0;
    }
    return children;
  }
  u32 left_without(u8 byte) const {
    constexpr u32 kMany = 255;
    constexpr u32 kSlotsALine = kLineBytes / sizeof(u64);
    const u32 first = byte / kSlotsALine * kSlotsALine;
    const bool counts = this->holds_values() || this->state_.load() != 0;
    for (u32 i = first; !counts && i < first + kSlotsALine; ++i) {
      if (i != byte && slot_[i].load() != 0) return kMany;
    }
    return children() - 1;
  }
  bool full() const { return false; }  // callers add only an absent byte
  void add(u8 byte, u64 word) {
    slot_[byte].store(word);
    if (this->holds_values()) flip_present(byte);
  }
  void replace(u8 byte, u64 word) { slot_[byte].store(word); }
  void remove(u8 byte) {
    const bool has_bit = this->holds_values();
    if (has_bit && Bugs::kBitBeforeSlot) flip_present(byte);
    slot_[byte].store(0);
    if (has_bit && !Bugs::kBitBeforeSlot) flip_present(byte);
  }

 private:
  /// Returns the slot of a byte, or null, when its slot was read as 0 and its present bit as set, perhaps at two
  /// moments. Reads both again at one moment, at which no writer was changing the node. The caller must not hold the
  /// node's latch.
  [[gnu::noinline, gnu::cold]] const typename Node<Layout, Key>::Cell64* proved(u8 byte, u64& word) const {
    for (;;) {  // one turn for each writer that interferes
      const u64 version = this->latch.version();
      word = slot_[byte].load();
      const bool there = word != 0 || present(byte);
      if (this->latch.unchanged(version)) return there ? &slot_[byte] : nullptr;
    }
  }
  bool present(u8 byte) const { return (present_[byte / 64].load() >> (byte % 64) & 1) != 0; }
  void flip_present(u8 byte) { present_[byte / 64].store(present_[byte / 64].load() ^ u64{1} << (byte % 64)); }

  typename Node<Layout, Key>::Cell64 present_[4]{};
  alignas(kLineBytes) typename Node<Layout, Key>::Cell64 slot_[256]{};
};

template <class Layout, class Key>
constexpr std::size_t Node<Layout, Key>::bytes_of(Kind kind) {
  switch (kind) {
    case Kind::k4: return sizeof(Node4<Layout, Key>);
    case Kind::k16: return sizeof(Node16<Layout, Key>);
    case Kind::k48: return sizeof(Node48<Layout, Key>);
    default: return sizeof(Node256<Layout, Key>);
  }
}

}  // namespace latchlab::art
