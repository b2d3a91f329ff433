#pragma once
// A walk over a cuckoo table that grows, beside threads that move keys. A key in either of two buckets could move from
// one that the hand has not reached to one behind it. So the walk visits a key when the hand is at the key's home,
// wherever the key is then. The hand moves over the hashes of homes (indexes/growing/hand.h).
//
//     home b    | at home: k, l |      visited at b: k and l, and for each tag t that strays of b may have,
//         `-----> bucket b ^ jump(t)   the keys there with tag t and home b
//
// The word of a home says which tags its strays may have (`many`: all 255). In `cuckoo` it lists them, in `memc3` a
// home knows nothing of its strays.
//
// Lemma: the keys that a walk visits at a home are those which had this home at one moment of the attempt.
//   1. The walk looks in the buckets of all tags that the strays may have. A key has one tag, so the walk visits it
//      once.
//   2. A key comes to its home or leaves it, and comes to its other bucket, only while its home is upgraded. The walk
//      confirms the home last, under the version that it had when its word was read. So no key of this home changed its
//      bucket while the walk looked in other buckets.
//   3. A split of another bucket moves strays without their homes. But the other hash of a stray stays, and one bucket
//      is responsible for it. If the buckets there have more bits than the home, the walk takes them one by one, in the
//      order of a hand of its own. It confirms each, so it reads a state of the bucket that held in the attempt.
//   4. A stray may be erased without its home (memc3). Such a key does not stay.
// Hence a key that stays is visited exactly once, whatever moves. No mover does anything for that.
//
// Cost: one bucket more for each tag of a home. With `many` it is all other buckets, and 255 at most. They are
// prefetched.
#include "indexes/growing/hand.h"
#include "indexes/growing/two_hashes.h"
#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab::growing {

/// The part of an attempt that collects the keys of the home at the hand. The index, `Owner`, has:
///     WalkPlace<Tx>     a bucket that was entered: number; at, its reader; is_home_of(hashes); and word
///     its word          bits(), many(), has_tags(), kTags and tag(i)
///     arrive(tx, hash, place)                     goes to the bucket of a hash; returns false to restart
///     collect(place, slot, tag, wanted, pairs)    collects the pair of a slot, if it has the tag (0: any) and
///                                                 wanted(hashes) is true; returns false to restart
///     prefetch_hash(hash)                         prefetches the bucket of a hash
///     Bugs::kMovedBehindHand
template <class Owner>
class HomeWalk {
  using Bugs = typename Owner::Bugs;
  template <class Tx>
  using Place = typename Owner::template WalkPlace<Tx>;
  static constexpr u64 kAnyTag = 0;

 public:
  HomeWalk(const Owner& owner, const Hand& hand, typename Owner::Walked& pairs)
      : owner_(owner), hand_(hand), pairs_(pairs) {}

  /// Returns the bits of the home.
  template <class Tx>
  Attempt<u32> take_in(Tx& tx) {
    Place<Tx> home;
    if (!owner_.arrive(tx, hand_.hash(), home)) return kRestart;
    const u32 bits = home.word.bits();
    if (Bugs::kMovedBehindHand) {
      const auto here = [&](TwoHashes hashes) { return hand_.covers(hash_here(hashes, home.number, bits)); };
      if (!take(home, kAnyTag, here)) return kRestart;
      return tx.confirm(bits, home.at);
    }
    if (!take(home, kAnyTag, [&](TwoHashes hashes) { return is_at_hand(hashes, home); })) return kRestart;
    if (home.word.many()) {
      if (!take_all_strays(tx, home)) return kRestart;
    } else if (home.word.has_tags()) {
      for (u32 i = 0; i < home.word.kTags; ++i) {
        const u64 tag = home.word.tag(i);
        if (tag == 0 || told_before(home.word, i)) continue;
        if (!take_strays(tx, home, low_bits(home.number ^ TwoHashes::jump(tag), bits), tag)) return kRestart;
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
  bool is_at_hand(TwoHashes hashes, const Place<Tx>& home) const {
    return home.is_home_of(hashes) && hand_.covers(hashes.home());
  }

  /// Collects the strays of a home that does not know their tags. If there are fewer buckets than tags, it looks once
  /// in each bucket. Returns false to restart.
  template <class Tx>
  [[nodiscard]] bool take_all_strays(Tx& tx, const Place<Tx>& home) {
    constexpr u64 kAhead = 16;  // tags between a prefetch and its use
    const u32 bits = home.word.bits();
    if (u64{1} << bits <= TwoHashes::kMostTag) {
      for (u64 number = 0; number < u64{1} << bits; ++number) {
        if (!take_strays(tx, home, number, kAnyTag)) return false;
      }
      return true;
    }
    for (u64 tag = 1; tag <= TwoHashes::kMostTag; ++tag) {
      owner_.prefetch_hash(home.number ^ TwoHashes::jump(tag + kAhead));
      if (!take_strays(tx, home, low_bits(home.number ^ TwoHashes::jump(tag), bits), tag)) return false;
    }
    return true;
  }

  /// Collects the strays of the home that are in the buckets with this number, in as many bits as the home has. Returns
  /// false to restart.
  template <class Tx>
  [[nodiscard]] bool take_strays(Tx& tx, const Place<Tx>& home, u64 number, u64 tag) {
    if (number == home.number) return true;  // its own slots have been read
    const u32 bits = home.word.bits();
    // A bucket with fewer bits has the keys of several numbers.
    const auto wanted = [&](TwoHashes hashes) {
      return is_at_hand(hashes, home) && low_bits(hashes.other(), bits) == number;
    };
    for (Hand at(number, bits); at.begun() && at.number() == number;) {
      Place<Tx> other;
      if (!owner_.arrive(tx, at.hash(), other)) return false;
      if (!take(other, tag, wanted)) return false;
      at = at.behind(other.word.bits());
      if (!tx.confirm(true, other.at)) return false;
    }
    return true;
  }

  /// Collects the pairs of the bucket with this tag and hashes that are wanted. Returns false to restart.
  template <class Tx, class Wanted>
  [[nodiscard]] bool take(const Place<Tx>& place, u64 tag, const Wanted& wanted) {
    for (u32 slot = 0; slot < Owner::kSlots; ++slot) {
      if (!owner_.collect(place, slot, tag, wanted, pairs_)) return false;
    }
    return true;
  }

  const Owner& owner_;
  const Hand hand_;
  typename Owner::Walked& pairs_;
};

}  // namespace latchlab::growing
