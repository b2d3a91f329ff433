#pragma once
// `cuckoo`: a bucketized cuckoo hash table, two buckets of seven pairs for each key (SimdHT-Bench, IISWC 2019; Pagh and
// Rodler, 2001; paths as in MemC3 and libcuckoo). Keys are u64.
//
// A key is in its primary bucket if there was room, else in its secondary one. A lookup reads the first, asks its
// marks, and reads the second if it must; it writes nothing. Who finds both full moves one of their keys to its other
// bucket, in the attempt that inserts: of fourteen there mostly is one that can. Else he looks for a path: keys that
// can each move on to their other bucket, the last into a free slot. The search (breadth first, kMostSpots buckets,
// kMostMoves moves) is an attempt of its own, and what it finds is a hint: another attempt enters the buckets of the
// path, sees whether each key is still where it was, and moves them all, or says that the path is stale. So no key is
// ever out of the table. Where there is no path, or eight were stale, the table splits a run of buckets, which begins a
// doubling, until there is one.
//
// It grows by doubling (indexes/growing/table.h) at load .95, which leaves .475, a run of buckets for one of sixteen
// inserts. One that may have only so many slots (cuckoo:most_slots=N) is filled beyond that, until a key finds no path:
// it is full. Then keys that are in their secondary buckets go back to their primary ones: a key in the second costs a
// lookup a mispredicted branch, behind which the misses of the next lookups wait.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "indexes/cuckoo/bucket.h"
#include "indexes/cuckoo/options.h"
#include "indexes/cuckoo/seeded_bugs.h"
#include "indexes/growing/table.h"
#include "indexes/path_search.h"
#include "src/base/key.h"
#include "src/base/scale.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class Cuckoo {
  using Hashes = cuckoo::Hashes;
  using Bucket = cuckoo::Bucket<Layout>;
  using Bugs = cuckoo::BugFlags<typename Layout::Bugs::Flag>;
  using Table = growing::Table<Layout, Bucket>;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;
  static constexpr u32 kSlots = Bucket::kSlots;
  static constexpr u32 kMostMoves = 5, kMostSpots = 256;
  /// Keys that an insert may displace: where each may, a program of a few operations never comes to a search.
  static constexpr u64 kDisplacedOneIn = Layout::kScale == Scale::kTiny ? 2 : 1;
  using Search = PathSearch<u64, kMostSpots>;  // by keys: what they are worth is proved by who moves

 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "cuckoo";
  static constexpr bool kOrdered = false;
  static constexpr bool kBearsScouts = true;  // every loop over what is read is bounded
  using Options = cuckoo::Options;

  Cuckoo() : Cuckoo(Options()) {}
  explicit Cuckoo(const Options& options)
      : seed_(options.seed), table_(options.most_slots == 0 ? Table::kMostBits : options.most_bits()) {}
  Cuckoo(const Cuckoo&) = delete;
  Cuckoo& operator=(const Cuckoo&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  /// Whoever has found the key need not ask whether the bucket answers for its hash.
  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const u64 own = seeded(key);
    const Hashes hashes(own);
    const u64 b = table_.guess(hashes.primary());
    Bucket* const bucket = table_.at(b);
    if (bucket == nullptr) [[unlikely]]
      return find_by_hops(tx, own);
    const auto first = tx.enter(bucket);
    if (const u32 slot = first->slot_of(own); slot != kSlots) [[likely]] {
      return tx.confirm(Found(first->value[slot].load()), first);
    }
    const u64 word = first->word.load();
    if (!is_primary(hashes, b, growing::bits_of(word))) [[unlikely]]
      return find_by_hops(tx, own);
    return find_in_second(tx, own, hashes, first, word);
  }

  [[gnu::always_inline]] void prefetch(const Key& key, Hint hint) const {
    const Hashes hashes(seeded(key));
    prefetch_to_change(hashes.primary());
    if (hint == Hint::kInsert) prefetch_bucket(hashes.secondary());
  }

  /// The same for as many keys: found[i] is of keys[i]. kGroup go side by side.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(keys.size() - first, kGroup);
      for (std::size_t i = 0; i < count; ++i) prefetch_bucket(Hashes(seeded(keys[first + i])).primary());
      u32 seconds = 0;  // keys whose secondary bucket has to be read
      for (u32 i = 0; i < count; ++i) {
        const u64 key = seeded(keys[first + i]);
        const Hashes hashes(key);
        Place<Tx> place;
        if (!arrive(tx, hashes.primary(), place)) [[unlikely]]
          return kRestart;
        const u32 slot = place.at->slot_of(key);
        if (slot == kSlots && may_stray(hashes, place.word)) {
          prefetch_bucket(hashes.secondary());
          seconds |= u32{1} << i;
          continue;
        }
        const auto one = tx.confirm(slot != kSlots ? Found(place.at->value[slot].load()) : Found(), place.at);
        if (!one) [[unlikely]]
          return kRestart;
        found[first + i] = *one;
      }
      for (; seconds != 0; seconds &= seconds - 1) {
        const u32 i = static_cast<u32>(std::countr_zero(seconds));
        const auto one = find_in(tx, keys[first + i]);
        if (!one) [[unlikely]]
          return kRestart;
        found[first + i] = *one;
      }
    }
    return true;
  }

  template <class Tx>
  Attempt<PutResult> put_in(Tx& tx, const Key& key, u64 value, Put how) {
    const u64 own = seeded(key);
    const Hashes hashes(own);
    Place<Tx> first, second;
    prefetch_to_change(hashes.primary());
    // Of no use to most of them, but those who need it would wait for a second miss.
    if (how == Put::kInsert) prefetch_bucket(hashes.secondary());
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    if (const u32 slot = first.at->slot_of(own); slot != kSlots) return change(tx, first, slot, value, how);
    const bool asks_second = may_stray(hashes, first.word);
    if (asks_second) {
      if (!arrive(tx, hashes.secondary(), second)) return kRestart;
      if (const u32 slot = second.at->slot_of(own); slot != kSlots) return change(tx, second, slot, value, how);
    }
    if (how == Put::kUpdate)
      return asks_second ? tx.confirm(PutResult::kNo, first.at, second.at) : tx.confirm(PutResult::kNo, first.at);
    if (const u32 slot = first.free_slot(); slot != kSlots) {
      const bool upgraded = asks_second ? table_.upgrade(tx, hashes.all(), +1, first.at, second.at)
                                        : table_.upgrade(tx, hashes.all(), +1, first.at);
      if (!upgraded) return kRestart;
      first.at->put(slot, own, value);
      return PutResult::kYes;
    }
    if (!asks_second) {
      prefetch_to_change(hashes.secondary());
      if (!arrive(tx, hashes.secondary(), second)) return kRestart;
    }
    const u32 slot = second.free_slot();
    if (slot == kSlots) return put_by_move(tx, own, value, first, second);
    if (!table_.upgrade(tx, hashes.all(), +1, first.at, second.at)) return kRestart;
    second.at->put(slot, own, value);
    first.at->word.store(first.word | hashes.mark());
    return PutResult::kYes;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key) {
    const u64 own = seeded(key);
    const Hashes hashes(own);
    Place<Tx> first, second;
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    if (const u32 slot = first.at->slot_of(own); slot != kSlots) return clear(tx, hashes, first, slot);
    if (!may_stray(hashes, first.word)) return tx.confirm(false, first.at);
    if (!arrive(tx, hashes.secondary(), second)) return kRestart;
    if (const u32 slot = second.at->slot_of(own); slot != kSlots) return clear(tx, hashes, second, slot);
    return tx.confirm(false, first.at, second.at);
  }

  /// What is done for a key that found no room: search, move, and where there is no path a run of splits. Or, for one
  /// that found it, what the table asks for.
  class Growth {
   public:
    Growth() = default;
    static Growth for_room() {
      Growth growth;
      growth.step_ = Step::kSearch;
      return growth;
    }
    bool done() const { return step_ == Step::kTable && table_.done(); }
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      return table_.prepare(pool);
    }
    void one_done() { table_.one_done(); }
    template <class Pool>
    void release(Pool& pool) {
      table_.release(pool);
    }

   private:
    friend Cuckoo;
    enum class Step : u8 { kTable, kSearch, kMove };

    Step step_ = Step::kTable;
    typename Table::Growth table_;
    typename Table::Seen seen_;  // before the search
    u32 stale_ = 0;              // paths so far
    u32 moves_ = 0;
    std::array<u64, kMostMoves + 1> bucket_{};  // key i moves from bucket i to bucket i + 1
    std::array<u64, kMostMoves> moved_{};
  };

  bool asks_to_grow(const Key& key) const { return Table::asks_to_grow(Hashes(seeded(key)).all()); }
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    switch (growth.step_) {
      case Growth::Step::kSearch: return search_in(tx, key, growth, after);
      case Growth::Step::kMove: return move_in(tx, growth, after);
      case Growth::Step::kTable: break;
    }
    after.step_ = Growth::Step::kTable;
    return table_.grow_in(tx, growth.table_, after.table_, Rules{*this});
  }
  u64 room() const { return table_.room(); }

  /// Buckets that find_in reads.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    const u64 own = seeded(key);
    const Hashes hashes(own);
    Place<Tx> first;
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    const bool one = first.at->slot_of(own) != kSlots || !may_stray(hashes, first.word);
    return tx.confirm(u64{one ? 1u : 2u}, first.at);
  }

  /// Every pair, in no order, while nobody changes the table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    table_.for_each([&](const Bucket& bucket, u64 number) {
      for (u32 i = 0; i < kSlots; ++i) {
        const u64 key = bucket.key[i].load();
        if (key != cuckoo::free_key(number)) visit(key ^ seed_, bucket.value[i].load());
      }
    });
  }
  template <class Pool>
  void free_all(Pool& pool) {
    table_.free_all(pool);
  }

 private:
  static constexpr std::size_t kGroup = 16;

  /// A key as the table knows it: which keys share their buckets is a secret of the seed.
  u64 seeded(const Key& key) const { return key.raw() ^ seed_; }

  /// One of a key's two buckets.
  template <class Tx>
  struct Place {
    u64 number = 0;
    u64 word = 0;
    ReaderOf<Tx> at;

    u32 free_slot() const { return at->slot_of(cuckoo::free_key(number)); }
  };

  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, Place<Tx>& place) const {
    place.number = table_.guess(hash);
    return table_.arrive(tx, hash, place.number, place.at, place.word);
  }
  /// By the word of the primary bucket, which the caller has to prove.
  [[gnu::always_inline]] bool may_stray(Hashes hashes, u64 word) const {
    return hashes.may_stray(word, [&] { return table_.settled(growing::bits_of(word)); });
  }
  /// Inlined: g++ takes a function that only prefetches for one without effect.
  [[gnu::always_inline]] void prefetch_bucket(u64 hash, Access access = Access::kRead) const {
    prefetch_object<typename Layout::Machine>(table_.at(table_.guess(hash)), access);
  }
  /// Both lines together: a latch that is taken waits for the stores before it, and the loads behind it wait for it.
  [[gnu::always_inline]] void prefetch_to_change(u64 hash) const { prefetch_bucket(hash, Access::kWrite); }

  /// Of the keys of a bucket that are in their secondary one.
  [[gnu::always_inline]] void prefetch_homes(u64 number) const {
    const Bucket* const bucket = table_.at(number);
    if (bucket == nullptr) return;
    const u32 bits = growing::bits_of(bucket->word.load());
    for (u32 slot = 0; slot < kSlots; ++slot) {
      const u64 key = bucket->key[slot].load();
      if (key == cuckoo::free_key(number)) continue;
      const u64 home = Hashes(key).primary();
      if (growing::low_bits(home, bits) != number) prefetch_to_change(home);
    }
  }

  /// After a miss in the primary bucket, whose word it was.
  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in_second(Tx& tx, u64 key, Hashes hashes, const ReaderOf<Tx>& first,
                                                       u64 word) const {
    if (!may_stray(hashes, word)) return tx.confirm(Found(), first);
    Place<Tx> second;
    if (!arrive(tx, hashes.secondary(), second)) [[unlikely]]
      return kRestart;
    if (const u32 slot = second.at->slot_of(key); slot != kSlots) {
      return tx.confirm(Found(second.at->value[slot].load()), second.at);
    }
    return tx.confirm(Found(), first, second.at);
  }
  /// Where the table has grown further than was guessed.
  template <class Tx>
  [[gnu::noinline, gnu::cold]] Attempt<Found> find_by_hops(Tx& tx, u64 key) const {
    const Hashes hashes(key);
    Place<Tx> first;
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    if (const u32 slot = first.at->slot_of(key); slot != kSlots)
      return tx.confirm(Found(first.at->value[slot].load()), first.at);
    return find_in_second(tx, key, hashes, first.at, first.word);
  }

  /// An insert, update or upsert of a key that is there.
  template <class Tx>
  Attempt<PutResult> change(Tx& tx, const Place<Tx>& place, u32 slot, u64 value, Put how) {
    if (how == Put::kInsert) return tx.confirm(PutResult::kNo, place.at);
    if (!tx.upgrade(place.at)) return kRestart;
    place.at->value[slot].store(value);
    return how == Put::kUpdate ? PutResult::kYes : PutResult::kNo;
  }
  /// For a key that is in neither of its buckets, which are full: one that is there moves to its other bucket. One of
  /// the first if any can, so that the new key is no stray.
  template <class Tx>
  [[gnu::noinline]] Attempt<PutResult> put_by_move(Tx& tx, u64 own, u64 value, const Place<Tx>& first,
                                                   const Place<Tx>& second) {
    const Hashes hashes(own);
    for (const Place<Tx>* const from : {&first, &second}) {
      struct Mover {
        u64 key, hash;  // of its other bucket,
        u64 guess;      // and where that should be
        const Bucket* at;
      };
      std::array<Mover, kSlots> movers;  // their other buckets are asked for together
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const u64 key = from->at->key[slot].load();
        const Hashes both(key);
        const u64 hash =
            is_primary(both, from->number, growing::bits_of(from->word)) ? both.secondary() : both.primary();
        const u64 guess = table_.guess(hash);
        movers[slot] = {key, hash, guess, table_.at(guess)};
        Layout::Machine::prefetch(movers[slot].at, Access::kRead);
      }
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const auto& [key, hash, guess, at] = movers[slot];
        if (key % kDisplacedOneIn != 0) continue;
        if (at == nullptr || !has_room(*at, guess)) continue;
        Place<Tx> other;
        if (!arrive(tx, hash, other)) return kRestart;
        const u32 to = other.free_slot();
        if (to == kSlots) continue;
        if (!table_.upgrade(tx, hashes.all(), +1, first.at, second.at, other.at)) return kRestart;
        other.at->put(to, key, from->at->value[slot].load());
        mark_who_leaves(*from->at.node(), from->number, key);
        from->at->put(slot, own, value);
        if (from == &second) first.at->word.store(first.at->word.load() | hashes.mark());
        return PutResult::kYes;
      }
    }
    return tx.confirm(PutResult::kNoRoom, first.at, second.at);  // the table may be full
  }
  static bool is_primary(Hashes hashes, u64 number, u32 bits) {
    return growing::low_bits(hashes.primary(), bits) == number;
  }
  /// For a key that moves from bucket `number` to its other one: who leaves its primary bucket is looked for there
  /// first.
  static void mark_who_leaves(Bucket& bucket, u64 number, u64 key) {
    const Hashes hashes(key);
    const u64 word = bucket.word.load();
    if (!Bugs::kDropMark && is_primary(hashes, number, growing::bits_of(word))) bucket.word.store(word | hashes.mark());
  }
  template <class Tx>
  Attempt<bool> clear(Tx& tx, Hashes hashes, const Place<Tx>& place, u32 slot) {
    if (!table_.upgrade(tx, hashes.all(), -1, place.at)) return kRestart;
    place.at->key[slot].store(cuckoo::free_key(place.number));
    return true;
  }

  /// How the table grows (indexes/growing/table.h).
  struct Rules {
    const Cuckoo& cuckoo;

    static bool crowded(u64 keys, u32 bits) { return 20 * keys > 19 * u64{kSlots} << bits; }
    /// A key that finds no path here is of a crowd that somebody has made, from a seed that he knew.
    static bool hopeless(u64 keys, u32 bits) { return bits >= 16 && 16 * keys < u64{kSlots} << bits; }

    /// Splits the pairs of bucket `number` with a new one.
    void split(Bucket& old, Bucket& born, u64 word, u64 number) const {
      const u32 bits = growing::bits_of(word);
      const u64 free = cuckoo::free_key(number);
      for (u32 i = 0; i < kSlots; ++i) {
        const u64 key = old.key[i].load();
        if (key == free) continue;
        const Hashes hashes(key);
        const bool primary = is_primary(hashes, number, bits);
        if (((primary ? hashes.primary() : hashes.secondary()) >> bits & 1) == 0) continue;
        born.put(i, key, old.value[i].load());
        old.key[i].store(free);
      }
      const u64 more = Hashes::after_split(word, cuckoo.table_.settled(bits));
      born.word.store(more);
      old.word.store(more);
    }

    /// Strays go to their primary buckets, or where there is no room are marked there again.
    template <class Tx>
    Attempt<bool> settle_in(Tx& tx, u64 number, u32 bits) const {
      Bucket* const bucket = cuckoo.table_.at(number);
      if (bucket == nullptr) return false;  // only for a scout: who has claimed it sees it
      cuckoo.prefetch_homes(number + 4);    // whoever settles this one mostly settles that one soon
      std::array<ReaderOf<Tx>, kSlots + 1> readers{tx.enter(bucket)};
      if (growing::bits_of(bucket->word.load()) != bits) return false;
      std::array<u64, kSlots + 1> numbers{number};
      u32 entered = 1;
      struct Stray {
        u32 slot, home, to;  // `home` of the buckets entered; slot `to` of it, if there is one
      };
      std::array<Stray, kSlots> strays;
      u32 found = 0;
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const u64 key = bucket->key[slot].load();
        const Hashes hashes(key);
        if (key == cuckoo::free_key(number) || is_primary(hashes, number, bits)) continue;
        Place<Tx> primary;
        if (!cuckoo.arrive(tx, hashes.primary(), primary)) return kRestart;
        const u32 home =
            static_cast<u32>(std::find(numbers.begin(), numbers.begin() + entered, primary.number) - numbers.begin());
        strays[found++] = {slot, home, home == entered ? primary.free_slot() : kSlots};  // a free slot is for one
        if (home != entered) continue;
        readers[entered] = primary.at;
        numbers[entered++] = primary.number;
      }
      if (found == 0) return tx.confirm(true, readers[0]);
      if (!tx.upgrade(std::span<const ReaderOf<Tx>>(readers.data(), entered))) return kRestart;
      for (u32 i = 0; i < found; ++i) {
        const auto& [slot, home, to] = strays[i];
        const u64 key = bucket->key[slot].load();
        if (to != kSlots) {
          readers[home]->put(to, key, bucket->value[slot].load());
          bucket->key[slot].store(cuckoo::free_key(number));
        } else if (!Bugs::kForgetStrays) {
          readers[home]->word.store(readers[home]->word.load() | Hashes(key).mark());
        }
      }
      return true;
    }
  };

  /// Looks for a path: of most buckets by one line, and where they are guessed to be. What it finds is proved by who
  /// moves.
  template <class Tx>
  Attempt<StepResult> search_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    const auto seen = table_.seen();
    u64 unborn = 0;  // one that was come across, if not 0
    Search search;
    const Hashes wanted(seeded(key));
    for (const u64 hash : {wanted.primary(), wanted.secondary()}) {
      Place<Tx> place;
      if (!arrive(tx, hash, place)) return kRestart;
      search.begin(place.number);
    }
    for (u32 spot = 0; spot < search.size(); ++spot) {
      const u64 number = search.bucket(spot);
      const Bucket* const bucket = table_.at(number);
      if (bucket == nullptr) continue;
      if (!is_born(*bucket, number)) {
        unborn = number;
        continue;
      }
      const bool leaf = search.moves(spot) == kMostMoves || search.full();
      std::array<u64, kSlots> keys, others;  // and where they would go; asked for together
      for (u32 slot = 0; slot < kSlots; ++slot) {
        keys[slot] = bucket->key[slot].load();
        if (keys[slot] == cuckoo::free_key(number))
          return path(growth, search, spot, seen, after);  // somebody has made room
        if (leaf) continue;
        const Hashes both(keys[slot]);
        const u64 primary = table_.guess(both.primary());
        others[slot] = primary == number ? table_.guess(both.secondary()) : primary;
        Layout::Machine::prefetch(table_.at(others[slot]), Access::kRead);
      }
      for (u32 slot = 0; slot < kSlots && !leaf && !search.full(); ++slot) {
        const Bucket* const other = table_.at(others[slot]);
        if (other == nullptr || !search.come_to(others[slot], keys[slot], spot)) continue;
        if (has_room(*other, others[slot])) return path(growth, search, search.size() - 1, seen, after);
      }
    }
    if (unborn == 0) return no_path(growth, seen, after);
    after = growth;
    after.step_ = Growth::Step::kTable;
    after.table_ = Table::birth_of(unborn);
    return StepResult::kChanged;
  }
  /// By the word only where keys leave it open: of an unborn bucket every slot is free.
  static bool is_born(const Bucket& bucket, u64 number) {
    return bucket.key[0].load() != cuckoo::free_key(number) || growing::bits_of(bucket.word.load()) != 0;
  }
  static bool has_room(const Bucket& bucket, u64 number) {
    return bucket.slot_of(cuckoo::free_key(number)) != kSlots && is_born(bucket, number);
  }
  /// `seen`: what the table was like before the search.
  static StepResult no_path(const Growth& growth, typename Table::Seen seen, Growth& after) {
    after = growth;
    after.step_ = Growth::Step::kTable;
    after.table_ = Table::forced(seen);
    return StepResult::kChanged;
  }
  static StepResult path(const Growth& growth, const Search& search, u32 end, typename Table::Seen seen,
                         Growth& after) {
    after = growth;
    after.seen_ = seen;
    after.step_ = Growth::Step::kMove;
    u32 i = after.moves_ = search.moves(end);
    after.bucket_[i] = search.bucket(end);
    search.for_each_move(end, [&](u64 from, u64 key) {
      after.moved_[--i] = key;
      after.bucket_[i] = from;
    });
    return StepResult::kChanged;
  }

  /// Moves every key of the path, the last one first, or says that it is stale: a value, since another run would find
  /// the same.
  template <class Tx>
  Attempt<StepResult> move_in(Tx& tx, const Growth& growth, Growth& after) {
    after = growth;
    after.step_ = Growth::Step::kTable;
    after.table_.finish();
    const u32 moves = growth.moves_;
    if (moves == 0) return StepResult::kChanged;
    std::array<ReaderOf<Tx>, kMostMoves + 1> readers;
    std::array<u32, kMostMoves> from;
    for (u32 i = 0; i <= moves; ++i) {
      readers[i] = tx.enter(table_.at(growth.bucket_[i]));
      const u32 bits = growing::bits_of(readers[i]->word.load());
      const auto answers = [&](u64 hash) { return growing::low_bits(hash, bits) == growth.bucket_[i]; };
      const bool sound = bits != 0 && (i == 0 || answers(Hashes(growth.moved_[i - 1]).primary()) ||
                                       answers(Hashes(growth.moved_[i - 1]).secondary()));
      if (i < moves) from[i] = readers[i]->slot_of(growth.moved_[i]);
      if (Bugs::kTrustPath && i < moves && from[i] == kSlots) from[i] = 0;
      if (!Bugs::kTrustPath && (!sound || (i < moves && from[i] == kSlots))) return stale(growth, after);
    }
    const u32 last = readers[moves]->slot_of(cuckoo::free_key(growth.bucket_[moves]));
    if (last == kSlots) return stale(growth, after);
    if (!tx.upgrade(std::span<const ReaderOf<Tx>>(readers.data(), moves + 1))) return kRestart;
    u32 to = last;
    for (u32 i = moves; i-- > 0; to = from[i]) {
      readers[i + 1]->put(to, growth.moved_[i], readers[i]->value[from[i]].load());
      mark_who_leaves(*readers[i].node(), growth.bucket_[i], growth.moved_[i]);
    }
    readers[0]->key[to].store(cuckoo::free_key(growth.bucket_[0]));
    return StepResult::kChanged;
  }
  StepResult stale(const Growth& growth, Growth& after) const {
    constexpr u32 kMostStale = 8;
    if (growth.stale_ + 1 == kMostStale && table_.may_grow()) return no_path(growth, growth.seen_, after);
    after = growth;
    after.step_ = Growth::Step::kSearch;
    // Where there can be no more buckets it goes on looking.
    after.stale_ = std::min(growth.stale_ + 1, kMostStale - 1);
    return StepResult::kChanged;
  }

  const u64 seed_;
  Table table_;
};

}  // namespace latchlab
