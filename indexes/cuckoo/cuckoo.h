#pragma once
// `cuckoo`: a bucketized cuckoo hash table with two buckets for each key (SimdHT-Bench, IISWC 2019; Pagh and Rodler,
// 2001; paths as in MemC3 and libcuckoo). Keys are u64. A bucket is one line, of four pairs or three; or two lines, of
// seven (bucket.h).
//
// A key is in its home bucket if there was room, otherwise in its other one, as a stray. The word of its home knows of
// it (hashes.h). So a lookup reads one line, unless the key is a stray or shares the tag of one. It writes nothing.
//
// An insert that finds both buckets full moves one of their keys to that key's other bucket, within the same attempt.
// Mostly one of them can move. Otherwise the insert searches for a path: keys that can each move to their other bucket,
// the last one into a free slot. The search is breadth-first (kMostSpots buckets, kMostMoves moves). It is an attempt
// of its own, and its result is a hint. Another attempt enters the buckets of the path and checks that each key is
// still in its place. Then it moves all of them, or reports a stale path. So no key is ever absent from the table. If
// there is no path, or eight were stale, the table splits runs of buckets, which begins a doubling, until there is one.
//
// The table grows by doubling (indexes/growing/table.h). During a doubling one of sixteen inserts splits a run of
// buckets. The split of a bucket brings its strays home, where there is room. A table with a limit
// (cuckoo:most_slots=N) fills until a key finds no path: then it is full.
//
// A key moves, comes or goes only while both its home and the bucket that it is in are upgraded. So a lookup that finds
// it needs to validate that bucket alone, and a miss the home, or both.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "indexes/cuckoo/bucket.h"
#include "indexes/cuckoo/four.h"
#include "indexes/cuckoo/options.h"
#include "indexes/cuckoo/seeded_bugs.h"
#include "indexes/cuckoo/split.h"
#include "indexes/growing/home_walk.h"
#include "indexes/growing/path_growth.h"
#include "indexes/growing/table.h"
#include "indexes/path_search.h"
#include "indexes/walked_pairs.h"
#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/base/scale.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab {

/// A table of these buckets.
template <class Layout, class KeyType, class Bucket>
class CuckooTable {
  using Hashes = cuckoo::Hashes;
  using Id = typename Bucket::Id;
  using Word = typename Bucket::Word;
  using Bugs = cuckoo::BugFlags<typename Layout::Bugs::Flag>;
  using Table = growing::Table<Layout, Bucket>;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;
  static constexpr u32 kSlots = Bucket::kSlots;
  static constexpr u32 kMostMoves = 5, kMostSpots = 256;
  /// One key in kDisplacedOneIn may be displaced by an insert. If every key might be, programs of a few operations
  /// would never reach a search.
  static constexpr u64 kDisplacedOneIn = Layout::kScale == Scale::kTiny ? 2 : 1;
  using Search = PathSearch<Id, kMostSpots>;  // moves are named by ids; the attempt that moves them proves the path

 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "cuckoo";
  static constexpr bool kOrdered = false;
  static constexpr bool kNodesFillLines = true;
  static constexpr bool kKeysAreNumbers = true;  // its slots hold parts of a mixed number
  static constexpr bool kBearsScouts = true;     // every loop over unvalidated data is bounded
  using Hand = growing::Hand;
  using Walked = WalkedPairs<Key>;
  using Options = std::conditional_t<kSlots == 4, cuckoo::Options<kSlots>, cuckoo::OtherOptions<kSlots>>;

  CuckooTable() : CuckooTable(Options()) {}
  explicit CuckooTable(const Options& options)
      : seed_(options.seed),
        avx512_(options.avx512()),
        table_(options.most_slots == 0 ? Table::kMostBits : options.most_bits()) {}
  CuckooTable(const CuckooTable&) = delete;
  CuckooTable& operator=(const CuckooTable&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  /// Finds the key. A hit need not check whether the bucket is responsible for the key's hash: its number has all bits
  /// that a slot may leave out.
  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const Id id = id_of(key);
    return find_at_home(tx, id, [&] { return find_by_hops(tx, id); });
  }

  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx&, const Key& key, Hint hint) const {
    table_.prefetch(id_of(key).hashes().home(), hint);
  }

  /// Finds several keys: found[i] answers keys[i]. kGroup keys advance together.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool prefetched) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(keys.size() - first, kGroup);
      for (std::size_t i = 0; i < count && !prefetched; ++i) prefetch_in(tx, keys[first + i], Hint::kFind);
      u32 strays = 0;  // bit i: the other bucket of key i must be read
      for (u32 i = 0; i < count; ++i) {
        const Id id = id_of(keys[first + i]);
        const auto one = find_at_home(tx, id, [&] {
          table_.prefetch(id.hashes().other(), Hint::kFind);
          strays |= u32{1} << i;
          return Attempt<Found>(Found());
        });
        if (!one) [[unlikely]]
          return kRestart;
        found[first + i] = *one;
      }
      for (; strays != 0; strays &= strays - 1) {
        const u32 i = static_cast<u32>(std::countr_zero(strays));
        const auto one = find_in(tx, keys[first + i]);
        if (!one) [[unlikely]]
          return kRestart;
        found[first + i] = *one;
      }
    }
    return true;
  }

  /// The usual case is written out: the key is at home, or there is room for it and the home has no strays.
  template <class Tx>
  [[gnu::always_inline]] Attempt<PutResult> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    const Id id = id_of(key);
    const Hashes hashes = id.hashes();
    const auto guess = table_.guess(hashes.home());
    if (!guess.has_bits(Id::kImplicit)) [[unlikely]]
      return put_anywhere(tx, id, value, how);
    const auto home = tx.enter(table_.at(guess.number));
    const Word word(home.word());
    if (const u64 slot = home->slot_at_home(guess.number, id, word); slot != kSlots)
      return change(tx, home, slot, value, how);
    const auto room = home->room(word);
    if (how == Put::kUpdate || !room || !word.is_plain(guess.bits())) [[unlikely]]
      return put_anywhere(tx, id, value, how);
    if (!table_.upgrade(tx, hashes.home(), +1, home)) return kRestart;
    const Word after = home->fill(room, guess.number, id, value.first(), word);
    if constexpr (Bucket::kWordHasSlots) tx.set_word(home, after.word());
    return PutResult::kYes;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    const Id id = id_of(key);
    const Hashes hashes = id.hashes();
    Place<Tx> home, other;
    if (!arrive(tx, hashes.home(), home)) return kRestart;
    if (const u32 slot = home.slot_of(id, false); slot != kSlots) {
      const Attempt<bool> goes = upgrade_to_erase(tx, hashes, home, slot, wanted, home.at);
      if (!goes || !*goes) return goes;
      home.clear(slot);
      home.finish(tx);
      return true;
    }
    if (!home.word.may_stray(hashes.tag())) return tx.confirm(false, home.at);
    if (!arrive(tx, hashes.other(), other)) return kRestart;
    const u32 slot = other.slot_of(id, true);
    if (slot == kSlots) return tx.confirm(false, home.at, other.at);
    const Attempt<bool> goes = upgrade_to_erase(tx, hashes, other, slot, wanted, home.at, other.at);
    if (!goes || !*goes) return goes;
    other.clear(slot);
    other.finish(tx);
    home.word = home.word.without(hashes.tag());
    home.finish_always(tx);
    return true;
  }

  /// The maintenance task of an insert.
  using Growth = growing::PathGrowth<Table, Id, kMostMoves>;
  bool asks_to_grow(const Key& key) const { return Table::asks_to_grow(key.raw() * kGoldenFactor >> 28); }
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
    return growth.grow_in(tx, table_, after, Rules(*this));
  }
  u64 room() const { return table_.room(); }

  /// Returns the number of buckets that find_in reads.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    const Id id = id_of(key);
    const Hashes hashes = id.hashes();
    Place<Tx> home;
    if (!arrive(tx, hashes.home(), home)) return kRestart;
    const bool one = home.slot_of(id, false) != kSlots || !home.word.may_stray(hashes.tag());
    return tx.confirm(u64{one ? 1u : 2u}, home.at);
  }

  /// Collects the next pairs of a walk, those of one home after the other, wherever they are
  /// (indexes/growing/home_walk.h).
  template <class Tx>
  Attempt<Hand> walk_in(Tx& tx, const Hand& hand, std::size_t most, Walked& pairs) const {
    return table_.walk_in(hand, most, pairs, [&](const Hand& at, Walked& out) {
      return growing::HomeWalk<CuckooTable>(*this, at, out).take_in(tx);
    });
  }
  template <class Pool>
  void free_all(Pool& pool) {
    table_.free_all(pool);
  }

 private:
  using Rules = cuckoo::Rules<CuckooTable, Layout, Bucket>;
  template <class Any>
  friend class growing::HomeWalk;
  template <class Any, class, class>
  friend class cuckoo::Rules;
  template <class Any, class, class>
  friend class cuckoo::Homecoming;
  static constexpr std::size_t kGroup = 16;

  /// Returns the id of a key. The seed decides which keys share their buckets, and may be kept secret.
  Id id_of(const Key& key) const { return Id(key.raw() ^ seed_); }
  Key key_of(Id id) const { return Key(id.key() ^ seed_); }

  /// A bucket that was entered, with its word. After an upgrade, the word is that which the bucket must get.
  template <class Tx>
  struct Place {
    u64 number = 0;
    Word word;
    ReaderOf<Tx> at;

    u32 slot_of(Id id, bool stray) const { return at->slot_of(number, id, word, stray); }
    u32 free_slot() const { return at->free_slot(word); }
    std::optional<Id> id_at(u32 slot) const { return at->id_at(slot, number, word); }
    /// Returns true if a key with these hashes is at home in this bucket.
    bool is_home_of(Hashes hashes) const { return cuckoo::answers(hashes.home(), number, word.bits()); }

    void put(u32 slot, Id id, u64 value, bool stray) { word = at->put(slot, number, id, value, stray, word); }
    void clear(u32 slot) { word = at->clear(slot, word); }
    /// Gives the bucket its word after put and clear.
    void finish(Tx& tx) const {
      if constexpr (Bucket::kWordHasSlots) finish_always(tx);
    }
    void finish_always(Tx& tx) const { tx.set_word(at, word.word()); }
  };

  /// Goes to the bucket that is responsible for the hash. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, Place<Tx>& place) const {
    place.number = table_.guess(hash).number;
    u64 word = 0;
    if (!table_.arrive(tx, hash, place.number, place.at, word)) return false;
    place.word = Word(word);
    return true;
  }

  // The next three are for walks (indexes/growing/home_walk.h).
  template <class Tx>
  using WalkPlace = Place<Tx>;
  template <class Tx>
  [[nodiscard]] bool collect(const Place<Tx>& place, u32 slot, u64 tag, const auto& wanted, Walked& pairs) const {
    const auto id = place.id_at(slot);
    if (!id || (tag != 0 && id->hashes().tag() != tag) || !wanted(id->hashes())) return true;
    (void)pairs.push(key_of(*id), place.at->value[slot].load());  // `pairs` says if there was no room
    return true;
  }
  void prefetch_hash(u64 hash) const { table_.prefetch(hash, Hint::kFind); }

  /// Continues a lookup after a miss in the home bucket, which had this word.
  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_elsewhere(Tx& tx, Id id, Hashes hashes, const ReaderOf<Tx>& home,
                                                       Word word) const {
    if (!word.may_stray(hashes.tag())) return tx.confirm(Found(), home);
    Place<Tx> other;
    if (!arrive(tx, hashes.other(), other)) [[unlikely]]
      return kRestart;
    if (const u32 slot = other.slot_of(id, true); slot != kSlots) {
      return tx.confirm(Found(other.at->value[slot].load()), other.at);
    }
    return tx.confirm(Found(), home, other.at);
  }

  /// Looks for the key in its home alone, where nearly every lookup of a large table ends. Calls elsewhere() if it may
  /// be in another bucket.
  template <class Tx, class Elsewhere>
  [[gnu::always_inline]] Attempt<Found> find_at_home(Tx& tx, Id id, const Elsewhere& elsewhere) const {
    const Hashes hashes = id.hashes();
    const auto guess = table_.guess(hashes.home());
    if (!guess.has_bits(Id::kImplicit)) [[unlikely]]
      return elsewhere();
    const auto home = tx.enter(table_.at(guess.number));
    const Word word(home.word());
    const cuckoo::Look look = home->find_at_home(guess.number, id, word, avx512_);
    if (look.at_home != 0) [[likely]] {
      if (look.at_home != look.alike) [[unlikely]]
        return elsewhere();
      return tx.confirm(Found(look.value), home);
    }
    if (look.alike != 0) [[unlikely]]
      return elsewhere();
    if (!word.is_plain(guess.bits())) [[unlikely]] {
      if (!word.is_usual(guess.bits()) || word.has_tag(hashes.tag())) return elsewhere();
    }
    return tx.confirm(Found(), home);
  }
  /// Finds the key when guess() did not give its home bucket: the bucket is unborn, or has been split further.
  template <class Tx>
  [[gnu::noinline, gnu::cold]] Attempt<Found> find_by_hops(Tx& tx, Id id) const {
    const Hashes hashes = id.hashes();
    Place<Tx> home;
    if (!arrive(tx, hashes.home(), home)) return kRestart;
    if (const u32 slot = home.slot_of(id, false); slot != kSlots)
      return tx.confirm(Found(home.at->value[slot].load()), home.at);
    return find_elsewhere(tx, id, hashes, home.at, home.word);
  }

  /// Upgrades the readers to erase the pair in the slot of `place`. Returns false if the pair must stay. Its value is
  /// read after the upgrade: an update leaves no trace in a version, so the upgrade would not prove it.
  template <class Tx, class... Readers>
  [[nodiscard]] Attempt<bool> upgrade_to_erase(Tx& tx, Hashes hashes, const Place<Tx>& place, u32 slot,
                                               const auto& wanted, const Readers&... readers) {
    if (Bugs::kTrustFirstLook && !wanted.fits(place.at->value[slot])) return tx.confirm(false, place.at);
    if (!table_.upgrade(tx, hashes.home(), -1, readers...)) return kRestart;
    if (Bugs::kTrustFirstLook || wanted.fits(place.at->value[slot])) return true;
    table_.count(hashes.home(), +1);  // the key stays
    return false;
  }

  /// Completes an insert, update or upsert of a key that is present.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<PutResult> change(Tx& tx, const ReaderOf<Tx>& at, u64 slot, const auto& value,
                                                          Put how) {
    if (how == Put::kInsert) return tx.confirm(PutResult::kNo, at);
    if (!tx.upgrade_value(at)) return kRestart;
    value.change(at->value[slot]);
    return how == Put::kUpdate ? PutResult::kYes : PutResult::kNo;
  }
  /// Puts a pair wherever its key is or there is room.
  template <class Tx>
  [[gnu::always_inline]] Attempt<PutResult> put_anywhere(Tx& tx, Id id, const auto& value, Put how) {
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      return put_slowly(tx, id, value, how);
    }
  }
  template <class Tx>
  [[gnu::noinline]] Attempt<PutResult> put_slowly(Tx& tx, Id id, const auto value, Put how) {
    const Hashes hashes = id.hashes();
    Place<Tx> home, other;
    if (!arrive(tx, hashes.home(), home)) return kRestart;
    if (const u32 slot = home.slot_of(id, false); slot != kSlots) return change(tx, home.at, slot, value, how);
    const bool asks_other = home.word.may_stray(hashes.tag());
    if (asks_other) {
      if (!arrive(tx, hashes.other(), other)) return kRestart;
      if (const u32 slot = other.slot_of(id, true); slot != kSlots) return change(tx, other.at, slot, value, how);
    }
    if (how == Put::kUpdate)
      return asks_other ? tx.confirm(PutResult::kNo, home.at, other.at) : tx.confirm(PutResult::kNo, home.at);
    if (const u32 slot = home.free_slot(); slot != kSlots) {
      const bool upgraded = asks_other ? table_.upgrade(tx, hashes.home(), +1, home.at, other.at)
                                       : table_.upgrade(tx, hashes.home(), +1, home.at);
      if (!upgraded) return kRestart;
      home.put(slot, id, value.first(), false);
      home.finish(tx);
      return PutResult::kYes;
    }
    if (!asks_other && !arrive(tx, hashes.other(), other)) return kRestart;
    const u32 slot = other.free_slot();
    if (slot == kSlots) return put_by_move(tx, id, value.first(), home, other);
    if (!table_.upgrade(tx, hashes.home(), +1, home.at, other.at)) return kRestart;
    other.put(slot, id, value.first(), true);
    other.finish(tx);
    home.word = noted(home.word, hashes);
    home.finish_always(tx);
    return PutResult::kYes;
  }
  /// Returns the word of a home bucket after one of its keys has become a stray.
  static Word noted(Word word, Hashes stray) { return Bugs::kDropTag ? word : word.with(stray.tag()); }

  /// Inserts a key whose two buckets are full, by moving one of their keys to that key's other bucket. It prefers a key
  /// of the home bucket, so that the new key is no stray.
  template <class Tx>
  [[gnu::noinline]] Attempt<PutResult> put_by_move(Tx& tx, Id own, u64 value, Place<Tx> home, Place<Tx> other) {
    const Hashes hashes = own.hashes();
    for (Place<Tx>* const from : {&home, &other}) {
      if (from == &other && other.number == home.number) break;
      struct Mover {
        std::optional<Id> id;
        const Bucket* at;  // its other bucket, as a hint
      };
      std::array<Mover, kSlots> movers;  // prefetched together
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const auto id = from->id_at(slot);
        movers[slot] = {id, table_.at(id ? table_.guess(destination(id->hashes(), *from)).number : 0)};
        Layout::Machine::prefetch(movers[slot].at, Access::kRead);
      }
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const auto& [id, at] = movers[slot];
        if (!id || id->hashes().home() % kDisplacedOneIn != 0) continue;
        if (!has_room(*at)) continue;
        const Hashes moved = id->hashes();
        Place<Tx> to;
        if (!arrive(tx, destination(moved, *from), to)) return kRestart;
        const u32 free = to.free_slot();
        if (free == kSlots) continue;  // so `to` is neither of the two
        if (!table_.upgrade(tx, hashes.home(), +1, home.at, other.at, to.at)) return kRestart;
        const bool leaves_home = from->is_home_of(moved);
        to.put(free, *id, from->at->value[slot].load(), leaves_home);
        from->clear(slot);
        from->put(slot, own, value, from == &other);
        (leaves_home ? *from : to).word = leaves_home ? noted(from->word, moved) : to.word.without(moved.tag());
        if (from == &other) home.word = noted(home.word, hashes);
        for (const Place<Tx>* const place : {&home, &other, &to}) {
          if (place != &other || other.number != home.number) place->finish_always(tx);
        }
        return PutResult::kYes;
      }
    }
    return tx.confirm(PutResult::kNoRoom, home.at, other.at);  // the table may be full
  }
  /// Returns the hash of the bucket to which a key of this bucket can go.
  template <class Tx>
  static u64 destination(Hashes hashes, const Place<Tx>& from) {
    return from.is_home_of(hashes) ? hashes.other() : hashes.home();
  }

  /// Searches for a path. It reads one line of most buckets, at the place where guess() expects them. The attempt that
  /// moves the keys proves the path.
  template <class Tx>
  Attempt<StepResult> search_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    const auto seen = table_.seen();
    u64 unborn = 0;  // number of an unborn bucket that the search met, or 0
    Search search;
    const Hashes wanted = id_of(key).hashes();
    for (const u64 hash : {wanted.home(), wanted.other()}) {
      Place<Tx> place;
      if (!arrive(tx, hash, place)) return kRestart;
      search.begin(place.number);
    }
    for (u32 spot = 0; spot < search.size(); ++spot) {
      const u64 number = search.bucket(spot);
      const Bucket* const bucket = table_.at(number);
      const Word word(bucket->word.load());
      if (word.bits() == 0) {
        unborn = number;
        continue;
      }
      const bool leaf = search.moves(spot) == kMostMoves || search.full();
      std::array<std::optional<Id>, kSlots> ids;
      std::array<u64, kSlots> others;  // the buckets to which the keys would go, prefetched together
      for (u32 slot = 0; slot < kSlots; ++slot) {
        if (slot == bucket->free_slot(word))
          return growth.found(search, spot, seen, after);  // another thread has made room
        ids[slot] = bucket->id_at(slot, number, word);
        if (leaf || !ids[slot]) continue;
        const Hashes both = ids[slot]->hashes();
        const u64 home = table_.guess(both.home()).number;
        others[slot] = home == number ? table_.guess(both.other()).number : home;
        Layout::Machine::prefetch(table_.at(others[slot]), Access::kRead);
      }
      for (u32 slot = 0; slot < kSlots && !leaf && !search.full(); ++slot) {
        if (!ids[slot] || !search.come_to(others[slot], *ids[slot], spot)) continue;
        if (has_room(*table_.at(others[slot]))) return growth.found(search, search.size() - 1, seen, after);
      }
    }
    return growth.no_path(unborn, seen, after);
  }
  /// Returns true if a bucket that was not entered seems to have a free slot.
  static bool has_room(const Bucket& bucket) {
    const Word word(bucket.word.load());
    return word.bits() != 0 && bucket.free_slot(word) != kSlots;
  }

  /// Moves every key of the path, the last one first, or reports a stale path.
  template <class Tx>
  Attempt<StepResult> move_in(Tx& tx, const Growth& growth, Growth& after) {
    const u32 moves = growth.moves();
    if (moves == 0) return growth.has_room(after);
    std::array<Place<Tx>, kMostMoves + 1> places;
    std::array<u32, kMostMoves> from;
    for (u32 i = 0; i <= moves; ++i) {
      Place<Tx>& place = places[i];
      place.at = tx.enter(table_.at(growth.bucket(i)));
      place.number = growth.bucket(i);
      place.word = Word(place.at.word());
      const u32 bits = place.word.bits();
      // A slot tells its pair only in a bucket that is responsible for it.
      bool sound = bits != 0;
      if (i != 0) {
        const Hashes arriving = growth.moved(i - 1).hashes();
        sound = cuckoo::answers(arriving.home(), place.number, bits) ||
                cuckoo::answers(arriving.other(), place.number, bits);
      }
      if (i < moves) {
        const Hashes leaving = growth.moved(i).hashes();
        const bool stray = !place.is_home_of(leaving);
        sound = sound && (!stray || cuckoo::answers(leaving.other(), place.number, bits));
        from[i] = place.slot_of(growth.moved(i), stray);
      }
      if (Bugs::kTrustPath && i < moves && from[i] == kSlots) from[i] = 0;
      if (!Bugs::kTrustPath && (!sound || (i < moves && from[i] == kSlots))) return growth.stale(table_, after);
    }
    u32 to = places[moves].free_slot();
    if (to == kSlots) return growth.stale(table_, after);
    std::array<ReaderOf<Tx>, kMostMoves + 1> readers;
    for (u32 i = 0; i <= moves; ++i) readers[i] = places[i].at;
    if (!tx.upgrade(std::span<const ReaderOf<Tx>>(readers.data(), moves + 1))) return kRestart;
    for (u32 i = moves; i-- > 0; to = from[i]) {
      const Hashes moved = growth.moved(i).hashes();
      const bool leaves_home = places[i].is_home_of(moved);
      places[i + 1].put(to, growth.moved(i), places[i].at->value[from[i]].load(), leaves_home);
      places[i].clear(from[i]);
      Word& home = (leaves_home ? places[i] : places[i + 1]).word;
      home = leaves_home ? noted(home, moved) : home.without(moved.tag());
    }
    for (u32 i = 0; i <= moves; ++i) places[i].finish_always(tx);
    return growth.has_room(after);
  }

  const u64 seed_;
  const bool avx512_;
  Table table_;
};

template <class Layout, class KeyType>
using Cuckoo = CuckooTable<Layout, KeyType, cuckoo::FourBucket<Layout>>;
template <class Layout, class KeyType>
using Cuckoo3 = CuckooTable<Layout, KeyType, cuckoo::PairsBucket<Layout, 3>>;
template <class Layout, class KeyType>
using Cuckoo7 = CuckooTable<Layout, KeyType, cuckoo::PairsBucket<Layout, 7>>;

}  // namespace latchlab
