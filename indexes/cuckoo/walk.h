#pragma once
// A walk over a cuckoo table, beside threads that move keys. A key in either of two buckets could move from one that
// the hand has not reached to one behind it. So the walk visits a key when the hand is at the key's home, wherever the
// key is then. The hand moves over the hashes of homes (indexes/growing/hand.h).
//
//     home b    | tags t, u |  at home: k, l |      visited at b: k and l,
//                   |  `--> bucket b ^ jump(u)      the keys there with tag u and home b,
//                   `-----> bucket b ^ jump(t)      the keys there with tag t and home b
//
// Lemma: the keys that a walk visits at a home are those which had this home at one moment of the attempt.
//   1. The word of a home has the tag of every stray, or `many`. With `many` the walk looks in the buckets of all 255
//      tags. A key has one tag, so the walk visits it once.
//   2. A key moves, comes or goes only while its home is upgraded. The home is confirmed last, under the version that
//   it
//      had when its word was read. So no key of this home moved, came or went while the walk looked in other buckets.
//   3. A split of another bucket moves strays without their homes. But the other hash of a stray stays, and one bucket
//      is responsible for it. If the buckets there have more bits than the home, the walk takes them one by one, in the
//      order of a hand of its own. It confirms each, so it reads a state of the bucket that held in the attempt.
// Hence a key that stays is visited exactly once, whatever moves. No mover does anything for that.
//
// Cost: one bucket more for each tag of a home; 255 for a home with `many`, which a table may have if it must not grow.
#include "indexes/cuckoo/hashes.h"
#include "indexes/cuckoo/seeded_bugs.h"
#include "indexes/growing/hand.h"
#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab::cuckoo {

/// The part of an attempt that collects the keys of the home at the hand.
template <class Table>
class HomeWalk {
  using Bugs = typename Table::Bugs;
  template <class Tx>
  using Place = typename Table::template Place<Tx>;

 public:
  HomeWalk(const Table& table, const growing::Hand& hand, typename Table::Walked& pairs)
      : table_(table), hand_(hand), pairs_(pairs) {}

  /// Returns the bits of the home.
  template <class Tx>
  Attempt<u32> take_in(Tx& tx) {
    Place<Tx> home;
    if (!table_.arrive(tx, hand_.hash(), home)) return kRestart;
    const u32 bits = home.word.bits();
    if (Bugs::kMovedBehindHand) {
      take(home, [&](Hashes hashes) { return hand_.covers(hash_here(hashes, home.number, bits)); });
      return tx.confirm(bits, home.at);
    }
    take(home, [&](Hashes hashes) { return is_at_hand(hashes, home); });
    if (home.word.many()) {
      for (u64 tag = 1; tag <= Hashes::kMostTag; ++tag) {
        if (!take_strays(tx, home, tag)) return kRestart;
      }
    } else if (home.word.has_tags()) {
      for (u32 i = 0; i < Table::Word::kTags; ++i) {
        const u64 tag = home.word.tag(i);
        if (tag != 0 && !told_before(home.word, i) && !take_strays(tx, home, tag)) return kRestart;
      }
    }
    return tx.confirm(bits, home.at);
  }

 private:
  template <class Word>
  static bool told_before(Word word, u32 i) {
    for (u32 j = 0; j < i; ++j) {
      if (word.tag(j) == word.tag(i)) return true;
    }
    return false;
  }

  template <class Tx>
  bool is_at_hand(Hashes hashes, const Place<Tx>& home) const {
    return home.is_home_of(hashes) && hand_.covers(hashes.home());
  }

  /// Collects the strays of the home with this tag. Returns false to restart.
  template <class Tx>
  [[nodiscard]] bool take_strays(Tx& tx, const Place<Tx>& home, u64 tag) {
    const u32 bits = home.word.bits();
    const u64 number = growing::low_bits(home.number ^ Hashes::jump(tag), bits);
    if (number == home.number) return true;  // its own slots have been read
    for (growing::Hand at(number, bits); at.begun() && at.number() == number;) {
      Place<Tx> other;
      if (!table_.arrive(tx, at.hash(), other)) return false;
      take(other, [&](Hashes hashes) { return hashes.tag() == tag && is_at_hand(hashes, home); });
      at = at.behind(other.word.bits());
      if (!tx.confirm(true, other.at)) return false;
    }
    return true;
  }

  /// Collects the pairs of the bucket with hashes that are wanted.
  template <class Tx, class Wanted>
  void take(const Place<Tx>& place, const Wanted& wanted) {
    for (u32 slot = 0; slot < Table::kSlots; ++slot) {
      const auto id = place.id_at(slot);
      if (!id || !wanted(id->hashes())) continue;
      if (!pairs_.push(table_.key_of(*id), place.at->value[slot].load())) return;
    }
  }

  const Table& table_;
  const growing::Hand hand_;
  typename Table::Walked& pairs_;
};

}  // namespace latchlab::cuckoo
