#pragma once
// `memc3`: the table with which SimdHT-Bench compares, after MemC3 (Fan, Andersen, Kaminsky, NSDI 2013), written anew.
// A key has two buckets of four slots (indexes/growing/two_hashes.h). A slot is a one-byte tag and the address of the
// pair (bucket.h). Slots are compared one by one. The bucket and the tag of a key determine its other bucket, so the
// search for a path reads no pair.
//
// A hit reads the first bucket or both, and one pair. A miss reads both buckets, and a pair for each key with its tag.
//
//   1. A pair comes to a bucket, moves or goes only while the bucket is upgraded. So a hit validates one bucket.
//   2. A key comes to its other bucket only while its home is upgraded: an insert there upgrades both, and a move both
//      ends. (The split of a bucket only divides the keys that are there.)
//   3. So a key that was in neither bucket is still absent while its home has not changed. A miss validates both
//      buckets, and an insert at home upgrades that alone.
//
// An insert that finds both buckets full searches for a path (indexes/growing/path_growth.h). The search is
// breadth-first. The attempt that moves the keys enters the path's buckets, checks that each slot still has a key that
// may go to the next bucket, and moves the last key first. So no key is ever absent from the table. The key itself is
// put by another attempt, as if there had always been room.
//
// The paper has one writer at a time, and 8192 versions that keys share. Here that is left to the policy: the versions
// are those of `striped:N`, in which a bucket has a version instead of a key, or of `olc`, with a version in every
// bucket. Writers lock the versions that they change, so there may be several. A coarse policy needs no versions.
//
// A walk beside writers visits a key when its hand is at the key's home (indexes/growing/home_walk.h), which points 1
// and 2 allow. A home knows nothing of the keys in their other buckets, so the walk looks for them in up to 255
// buckets. That makes a walk slow, and costs no other operation anything.
//
// Beyond the paper the table grows by doubling, a run of buckets at a time (indexes/growing/table.h). During a doubling
// a pair may have to be read to know to which half of a split bucket it can go.
#include <array>
#include <span>
#include <string_view>

#include "indexes/growing/home_walk.h"
#include "indexes/growing/path_growth.h"
#include "indexes/growing/table.h"
#include "indexes/memc3/bucket.h"
#include "indexes/memc3/seeded_bugs.h"
#include "indexes/path_search.h"
#include "indexes/walked_pairs.h"
#include "src/base/key.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class MemC3 {
  using Bucket = memc3::Bucket<Layout>;
  using Pair = typename Bucket::Pair;
  using Slot = typename Bucket::Slot;
  using Hashes = memc3::Hashes;
  using Bugs = memc3::BugFlags<typename Layout::Bugs::Flag>;
  using Table = growing::Table<Layout, Bucket>;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;
  static constexpr u32 kSlots = Bucket::kSlots;
  static constexpr u32 kMostMoves = 5, kMostSpots = 512;
  using Search = PathSearch<u32, kMostSpots>;  // moves are named by slots

 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "memc3";
  static constexpr bool kOrdered = false;
  static constexpr bool kKeysAreNumbers = true;
  static constexpr bool kBearsScouts = true;  // every loop over unvalidated data is bounded, and slots are whole words
  using Hand = growing::Hand;
  using Walked = WalkedPairs<Key>;

  MemC3() = default;
  MemC3(const MemC3&) = delete;
  MemC3& operator=(const MemC3&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const Hashes hashes = hashes_of(key);
    Place<Tx> first, second;
    if (!look(tx, key, hashes, hashes.home(), first)) return kRestart;
    if (first.pair != nullptr) return tx.confirm(Found(first.pair->value.load()), first.at);
    if (!look(tx, key, hashes, hashes.other(), second)) return kRestart;
    if (second.pair != nullptr) return tx.confirm(Found(second.pair->value.load()), second.at);
    if (Bugs::kForgetFirst) return tx.confirm(Found(), second.at);
    return tx.confirm(Found(), first.at, second.at);
  }

  /// Prefetches the first bucket of the key, and for an insert its other one.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx&, const Key& key, Hint hint) const {
    const Hashes hashes = hashes_of(key);
    table_.prefetch(hashes.home(), hint);
    if (hint == Hint::kInsert) table_.prefetch(hashes.other(), hint);
  }
  /// Prefetches the pairs in the first bucket of the key that have its tag.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx&, const Key& key) const {
    const Hashes hashes = hashes_of(key);
    const Bucket* const bucket = table_.at(table_.guess(hashes.home()).number);
    for (u32 i = 0; i < kSlots; ++i) {
      const Slot slot = bucket->slot(i);
      if (slot.tag() == hashes.tag()) Layout::Machine::prefetch(slot.pair(), Access::kRead);
    }
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<PutResult> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    const Hashes hashes = hashes_of(key);
    Place<Tx> first, second;
    if (!look(tx, key, hashes, hashes.home(), first)) return kRestart;
    if (first.pair != nullptr) return change(tx, first, value, how);
    if (!look(tx, key, hashes, hashes.other(), second)) return kRestart;
    if (second.pair != nullptr) return change(tx, second, value, how);
    if (how == Put::kUpdate) return tx.confirm(PutResult::kNo, first.at, second.at);
    if (const u32 slot = first.at->free_slot(); slot != kSlots) {
      if (!Bugs::kForgetOther && !second.at.follow(nullptr)) return kRestart;
      Pair* const pair = tx.template make<Pair>(key.raw(), value.first());
      if (pair == nullptr) return kNoMemory;
      if (!table_.upgrade(tx, hashes.home(), +1, first.at)) return kRestart;
      first.at->set(slot, Slot(hashes.tag(), pair));
      return PutResult::kYes;
    }
    const u32 slot = second.at->free_slot();
    if (slot == kSlots) return tx.confirm(PutResult::kNoRoom, first.at, second.at);
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      Pair* const pair = tx.template make<Pair>(key.raw(), value.first());
      if (pair == nullptr) return kNoMemory;
      if (!table_.upgrade(tx, hashes.home(), +1, first.at, second.at)) return kRestart;
      second.at->set(slot, Slot(hashes.tag(), pair));
      return PutResult::kYes;
    }
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    const Hashes hashes = hashes_of(key);
    Place<Tx> first, second;
    if (!look(tx, key, hashes, hashes.home(), first)) return kRestart;
    if (first.pair != nullptr) return remove(tx, hashes, first, wanted);
    if (!look(tx, key, hashes, hashes.other(), second)) return kRestart;
    if (second.pair != nullptr) return remove(tx, hashes, second, wanted);
    return tx.confirm(false, first.at, second.at);
  }

  /// The maintenance task of an insert.
  using Growth = growing::PathGrowth<Table, u32, kMostMoves>;
  static bool asks_to_grow(const Key& key) { return Table::asks_to_grow(hashes_of(key).home()); }
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    switch (growth.step()) {
      case Growth::Step::kSearch: return search_in(tx, key, growth, after);
      case Growth::Step::kMove:
        if constexpr (kSmall<Tx>) {
          return tx.ask_for_more();
        } else {
          return move_in(tx, growth, after);
        }
      case Growth::Step::kTable: break;
    }
    return growth.grow_in(tx, table_, after, Rules());
  }
  u64 room() const { return table_.room(); }

  /// Returns the number of buckets that find_in reads.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    const Hashes hashes = hashes_of(key);
    Place<Tx> first;
    if (!look(tx, key, hashes, hashes.home(), first)) return kRestart;
    return tx.confirm(u64{first.pair != nullptr ? 1u : 2u}, first.at);
  }

  /// Collects the next pairs of a walk, those of one home after the other, wherever they are. A home is up to 256
  /// buckets to read, so an attempt has a few homes.
  template <class Tx>
  Attempt<Hand> walk_in(Tx& tx, const Hand& hand, std::size_t most, Walked& pairs) const {
    return table_.template walk_in<2>(hand, most, pairs, [&](const Hand& at, Walked& out) {
      return growing::HomeWalk<MemC3>(*this, at, out).take_in(tx);
    });
  }
  /// Visits every pair, in no particular order. No thread may change the table meanwhile. A walk reads up to 256
  /// buckets for each of them.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_pair([&](Pair* pair) { visit(pair->key, pair->value.load()); });
  }
  /// Frees every block, for memory that is not released in bulk (--alloc=malloc).
  template <class Pool>
  void free_all(Pool& pool) {
    for_each_pair([&](Pair* pair) { pool.free(pair, sizeof(Pair)); });
    table_.free_all(pool);
  }

 private:
  template <class Visit>
  void for_each_pair(const Visit& visit) const {
    table_.for_each([&](const Bucket& bucket, u64) {
      for (u32 i = 0; i < kSlots; ++i) {
        if (const Slot slot = bucket.slot(i); !slot.empty()) visit(slot.pair());
      }
    });
  }
  template <class Any>
  friend class growing::HomeWalk;
  static Hashes hashes_of(const Key& key) { return Hashes(mix64(key.raw())); }

  /// A bucket that was entered to look for a key.
  template <class Tx>
  struct Place {
    ReaderOf<Tx> at;
    u32 slot = 0;          // that of the key, if its pair is there
    Pair* pair = nullptr;  // null: the key is not in this bucket
  };

  /// Looks for the key in the bucket that is responsible for `hash`, one of its two. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool look(Tx& tx, const Key& key, Hashes hashes, u64 hash, Place<Tx>& place) const {
    u64 number, word;
    if (!table_.arrive_by_guess(tx, hash, number, place.at, word)) [[unlikely]]
      return false;
    for (u32 i = 0; i < kSlots; ++i) {
      const Slot slot = place.at->slot(i);
      if (slot.tag() != hashes.tag()) continue;
      if (!place.at.follow(slot.pair())) [[unlikely]]
        return false;
      if (slot.pair()->key != key.raw()) continue;
      place.slot = i;
      place.pair = slot.pair();
      break;
    }
    return true;
  }

  /// Completes an insert, update or upsert of a key that is present.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<PutResult> change(Tx& tx, const Place<Tx>& place, const auto& value, Put how) {
    if (how == Put::kInsert) return tx.confirm(PutResult::kNo, place.at);
    if (!tx.upgrade(place.at)) return kRestart;
    value.change(place.pair->value);
    return how == Put::kUpdate ? PutResult::kYes : PutResult::kNo;
  }
  /// Removes the pair, unless it must stay.
  template <class Tx>
  [[gnu::always_inline]] Attempt<bool> remove(Tx& tx, Hashes hashes, const Place<Tx>& place, const auto& wanted) {
    if (!wanted.fits(place.pair->value)) return tx.confirm(false, place.at);
    if (!table_.upgrade(tx, hashes.home(), -1, place.at)) return kRestart;
    place.at->set(place.slot, Slot());
    tx.retire(place.pair, sizeof(Pair));
    return true;
  }

  /// The growth rules of this table (indexes/growing/table.h).
  struct Rules {
    static constexpr u64 kMostLoad = 95;  // per cent; a little more, and searches find no path

    static bool crowded(u64 keys, u32 bits) { return 100 * keys > kMostLoad * kSlots << bits; }
    /// Returns true if a key without a path indicates keys that were chosen to collide.
    static bool hopeless(u64 keys, u32 bits) { return bits >= 16 && 16 * keys < u64{kSlots} << bits; }
    /// Prefetches the pairs of the bucket.
    [[gnu::always_inline]] static void prefetch_for_split(const Bucket& bucket, u64, u32) {
      for (u32 i = 0; i < kSlots; ++i) Layout::Machine::prefetch(bucket.slot(i).pair(), Access::kRead);
    }
    /// Splits a bucket. The new one is not locked: while it is unborn, no attempt finds a pair there, and only an
    /// attempt that has locked the old bucket stores to it. When it is found, it is complete.
    template <class Tx, class Reader>
    static Attempt<bool> split_in(Tx& tx, const Reader& old, const Reader& born, u64 number) {
      if (!tx.upgrade(old)) return kRestart;
      old->split_to(*born.node(), number);
      return true;
    }
  };

  /// Finds the hash of the bucket to which a pair can go, in at least its lowest `wanted` bits. The pair is in the
  /// bucket with this number, which has `bits` bits and tells as many. If more are wanted, the pair is read. Returns
  /// false to restart.
  template <class Tx>
  [[nodiscard]] static bool destination(const ReaderOf<Tx>& at, u64 number, u32 bits, Slot slot, u32 wanted,
                                        u64& hash) {
    hash = number ^ Hashes::jump(slot.tag());
    if (wanted <= bits) return true;
    if (!at.follow(slot.pair())) return false;
    const Hashes hashes = slot.pair()->hashes();
    hash = growing::answers(hashes.home(), number, bits) ? hashes.other() : hashes.home();
    return true;
  }

  /// Searches for a path. The attempt that moves the keys proves it.
  template <class Tx>
  Attempt<StepResult> search_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) const {
    const auto seen = table_.seen();
    u64 unborn = 0;  // number of an unborn bucket that the search met, or 0
    Search search;
    const Hashes wanted = hashes_of(key);
    for (const u64 hash : {wanted.home(), wanted.other()}) {
      ReaderOf<Tx> at;
      u64 number, word;
      if (!table_.arrive_by_guess(tx, hash, number, at, word)) return kRestart;
      search.begin(number);
    }
    for (u32 spot = 0; spot < search.size(); ++spot) {
      const u64 number = search.bucket(spot);
      const auto at = tx.enter(table_.at(number));
      const u32 bits = Bucket::bits_of(at.word());
      if (bits == 0) {
        unborn = number;
        continue;
      }
      const bool leaf = search.moves(spot) == kMostMoves || search.full();
      std::array<u64, kSlots> others;  // the buckets to which the keys would go, prefetched together
      for (u32 i = 0; i < kSlots; ++i) {
        const Slot slot = at->slot(i);
        if (slot.empty()) return growth.found(search, spot, seen, after);  // another thread has made room
        if (leaf) continue;
        const u32 wanted_bits = table_.guess(number ^ Hashes::jump(slot.tag())).bits();
        u64 hash;
        if (!destination<Tx>(at, number, bits, slot, wanted_bits, hash)) return kRestart;
        others[i] = table_.guess(hash).number;
        Layout::Machine::prefetch(table_.at(others[i]), Access::kRead);
      }
      for (u32 i = 0; i < kSlots && !leaf && !search.full(); ++i) {
        if (!search.come_to(others[i], i, spot)) continue;
        if (has_room(*table_.at(others[i]))) return growth.found(search, search.size() - 1, seen, after);
      }
    }
    return growth.no_path(unborn, seen, after);
  }
  /// Returns true if a bucket that was not entered seems to have a free slot.
  static bool has_room(const Bucket& bucket) {
    return Bucket::bits_of(bucket.word.load()) != 0 && bucket.free_slot() != kSlots;
  }

  /// Moves the key of every slot of the path, the last one first, or reports a stale path. It need not be the key that
  /// the search saw, if it may go to the same bucket.
  template <class Tx>
  Attempt<StepResult> move_in(Tx& tx, const Growth& growth, Growth& after) {
    const u32 moves = growth.moves();
    if (moves == 0) return growth.has_room(after);
    std::array<ReaderOf<Tx>, kMostMoves + 1> at;
    std::array<u32, kMostMoves + 1> bits;
    for (u32 i = 0; i <= moves; ++i) {
      at[i] = tx.enter(table_.at(growth.bucket(i)));
      bits[i] = Bucket::bits_of(at[i].word());
    }
    for (u32 i = 0; i < moves && !Bugs::kTrustPath; ++i) {
      const Slot slot = at[i]->slot(growth.moved(i));
      if (bits[i] == 0 || slot.empty()) return growth.stale(table_, after);
      u64 hash;
      if (!destination<Tx>(at[i], growth.bucket(i), bits[i], slot, bits[i + 1], hash)) return kRestart;
      if (!growing::answers(hash, growth.bucket(i + 1), bits[i + 1])) return growth.stale(table_, after);
    }
    const u32 room = at[moves]->free_slot();
    if (room == kSlots) return growth.stale(table_, after);
    if (!tx.upgrade(std::span<const ReaderOf<Tx>>(at.data(), moves + 1))) return kRestart;
    for (u32 n = 0; n < moves; ++n) {
      const u32 i = Bugs::kRootFirst ? n : moves - 1 - n;
      at[i + 1]->set(i + 1 == moves ? room : growth.moved(i + 1), at[i]->slot(growth.moved(i)));
      at[i]->set(growth.moved(i), Slot());
    }
    return growth.has_room(after);
  }

  // The rest is for walks (indexes/growing/home_walk.h).

  /// A bucket that a walk has entered.
  template <class Tx>
  struct WalkPlace {
    u64 number = 0;
    memc3::Home word;
    ReaderOf<Tx> at;

    bool is_home_of(Hashes hashes) const { return growing::answers(hashes.home(), number, word.bits()); }
  };
  template <class Tx>
  [[nodiscard]] bool arrive(Tx& tx, u64 hash, WalkPlace<Tx>& place) const {
    u64 word;
    if (!table_.arrive_by_guess(tx, hash, place.number, place.at, word)) return false;
    place.word = memc3::Home(Bucket::bits_of(word));
    return true;
  }
  template <class Tx>
  [[nodiscard]] bool collect(const WalkPlace<Tx>& place, u32 i, u64 tag, const auto& wanted, Walked& pairs) const {
    const Slot slot = place.at->slot(i);
    if (slot.empty() || (tag != 0 && slot.tag() != tag)) return true;
    if (!place.at.follow(slot.pair())) return false;
    const Pair& pair = *slot.pair();
    if (wanted(pair.hashes())) (void)pairs.push(Key(pair.key), pair.value.load());  // `pairs` says if it had no room
    return true;
  }
  void prefetch_hash(u64 hash) const { table_.prefetch(hash, Hint::kFind); }

  Table table_;
};

}  // namespace latchlab
