#pragma once
// `cuckoo`: a bucketized cuckoo hash table with two buckets of seven pairs for each key (SimdHT-Bench, IISWC 2019; Pagh
// and Rodler, 2001; paths as in MemC3 and libcuckoo). Keys are u64.
//
// A key is in its primary bucket if there was room, otherwise in its secondary one. A lookup reads the first, checks
// its marks, and reads the second if it must. It writes nothing.
//
// An insert that finds both buckets full moves one of their fourteen keys to that key's other bucket, within the same
// attempt. Mostly one of them can move. Otherwise the insert searches for a path: keys that can each move to their
// other bucket, the last one into a free slot. The search is breadth-first (kMostSpots buckets, kMostMoves moves). It
// is an attempt of its own, and its result is a hint. Another attempt enters the buckets of the path and checks that
// each key is still in its place. Then it moves all of them, or reports a stale path. So no key is ever absent from the
// table. If there is no path, or eight were stale, the table splits runs of buckets, which begins a doubling, until
// there is one.
//
// The table grows by doubling (indexes/growing/table.h) at load .95, which leaves .475. During a doubling one of
// sixteen inserts splits a run of buckets. A table with a limit (cuckoo:most_slots=N) fills beyond .95 until a key
// finds no path: then it is full. After a doubling, keys in their secondary buckets move back to their primary ones. A
// key in its secondary bucket costs a lookup a mispredicted branch, which delays the cache misses of the next lookups.
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
  /// One key in kDisplacedOneIn may be displaced by an insert. If every key might be, programs of a few operations
  /// would never reach a search.
  static constexpr u64 kDisplacedOneIn = Layout::kScale == Scale::kTiny ? 2 : 1;
  using Search = PathSearch<u64, kMostSpots>;  // moves are named by keys; the attempt that moves them proves the path

 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "cuckoo";
  static constexpr bool kOrdered = false;
  static constexpr bool kBearsScouts = true;  // every loop over unvalidated data is bounded
  using Options = cuckoo::Options;

  Cuckoo() : Cuckoo(Options()) {}
  explicit Cuckoo(const Options& options)
      : seed_(options.seed), table_(options.most_slots == 0 ? Table::kMostBits : options.most_bits()) {}
  Cuckoo(const Cuckoo&) = delete;
  Cuckoo& operator=(const Cuckoo&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  /// Finds the key. A hit need not check whether the bucket is responsible for the key's hash.
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

  /// Finds several keys: found[i] answers keys[i]. kGroup keys advance together.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(keys.size() - first, kGroup);
      for (std::size_t i = 0; i < count; ++i) prefetch_bucket(Hashes(seeded(keys[first + i])).primary());
      u32 seconds = 0;  // bit i: the secondary bucket of key i must be read
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
    // Most inserts do not use the secondary bucket, but those that do would wait for a second miss.
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

  /// The maintenance task of an insert. For a key that found no room: search, move, and if there is no path a run of
  /// splits. For another key: the work that the table asks for.
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
    typename Table::Seen seen_;  // the size of the table before the search
    u32 stale_ = 0;              // number of stale paths so far
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

  /// Returns the number of buckets that find_in reads.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    const u64 own = seeded(key);
    const Hashes hashes(own);
    Place<Tx> first;
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    const bool one = first.at->slot_of(own) != kSlots || !may_stray(hashes, first.word);
    return tx.confirm(u64{one ? 1u : 2u}, first.at);
  }

  /// Visits every pair, in no particular order. No thread may change the table meanwhile.
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

  /// Returns the key as the table stores it. The seed decides which keys share their buckets, and may be kept secret.
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
  /// Returns true if the key may be in its secondary bucket, by the word of its primary one. The caller must validate
  /// that word.
  [[gnu::always_inline]] bool may_stray(Hashes hashes, u64 word) const {
    return hashes.may_stray(word, [&] { return table_.settled(growing::bits_of(word)); });
  }
  /// Prefetches a bucket. Always inlined, since g++ believes that a function which only prefetches has no effect.
  [[gnu::always_inline]] void prefetch_bucket(u64 hash, Access access = Access::kRead) const {
    prefetch_object<typename Layout::Machine>(table_.at(table_.guess(hash)), access);
  }
  /// Prefetches both lines of a bucket that will change, since later their misses would not overlap. Taking a latch
  /// waits for the stores before it, and the loads behind it wait for the latch.
  [[gnu::always_inline]] void prefetch_to_change(u64 hash) const { prefetch_bucket(hash, Access::kWrite); }

  /// Prefetches the primary buckets of the strays in a bucket.
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

  /// Continues a lookup after a miss in the primary bucket, which had this word.
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
  /// Finds the key when guess() did not give its primary bucket: the bucket is unborn, or has been split further.
  template <class Tx>
  [[gnu::noinline, gnu::cold]] Attempt<Found> find_by_hops(Tx& tx, u64 key) const {
    const Hashes hashes(key);
    Place<Tx> first;
    if (!arrive(tx, hashes.primary(), first)) return kRestart;
    if (const u32 slot = first.at->slot_of(key); slot != kSlots)
      return tx.confirm(Found(first.at->value[slot].load()), first.at);
    return find_in_second(tx, key, hashes, first.at, first.word);
  }

  /// Completes an insert, update or upsert of a key that is present.
  template <class Tx>
  Attempt<PutResult> change(Tx& tx, const Place<Tx>& place, u32 slot, u64 value, Put how) {
    if (how == Put::kInsert) return tx.confirm(PutResult::kNo, place.at);
    if (!tx.upgrade(place.at)) return kRestart;
    place.at->value[slot].store(value);
    return how == Put::kUpdate ? PutResult::kYes : PutResult::kNo;
  }
  /// Inserts a key whose two buckets are full, by moving one of their keys to that key's other bucket. It prefers a key
  /// of the primary bucket, so that the new key is no stray.
  template <class Tx>
  [[gnu::noinline]] Attempt<PutResult> put_by_move(Tx& tx, u64 own, u64 value, const Place<Tx>& first,
                                                   const Place<Tx>& second) {
    const Hashes hashes(own);
    for (const Place<Tx>* const from : {&first, &second}) {
      struct Mover {
        u64 key;
        u64 hash;   // of its other bucket
        u64 guess;  // the number of its other bucket, as a hint
        const Bucket* at;
      };
      std::array<Mover, kSlots> movers;  // prefetched together
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
        mark_leaving(*from->at.node(), from->number, key);
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
  /// Marks a key that moves from bucket `number` to its other one, if `number` is its primary bucket. A lookup begins
  /// there.
  static void mark_leaving(Bucket& bucket, u64 number, u64 key) {
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

  /// The growth rules of this table (indexes/growing/table.h).
  struct Rules {
    const Cuckoo& cuckoo;

    static bool crowded(u64 keys, u32 bits) { return 20 * keys > 19 * u64{kSlots} << bits; }
    /// Returns true if a key without a path indicates keys that were chosen to collide, by somebody with knowledge of
    /// the seed.
    static bool hopeless(u64 keys, u32 bits) { return bits >= 16 && 16 * keys < u64{kSlots} << bits; }

    /// Splits bucket `number` into itself and a new one.
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

    /// Moves the strays of a bucket to their primary buckets. A stray without room there is marked there again.
    template <class Tx>
    Attempt<bool> settle_in(Tx& tx, u64 number, u32 bits) const {
      Bucket* const bucket = cuckoo.table_.at(number);
      if (bucket == nullptr) return false;  // only a scout gets here: the claimant of a bucket sees its memory
      cuckoo.prefetch_homes(number + 4);    // the thread mostly settles that bucket soon
      std::array<ReaderOf<Tx>, kSlots + 1> readers{tx.enter(bucket)};
      if (growing::bits_of(bucket->word.load()) != bits) return false;
      std::array<u64, kSlots + 1> numbers{number};
      u32 entered = 1;
      struct Stray {
        u32 slot, home, to;  // home: index of the primary bucket in `readers`; to: the free slot there, or kSlots
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
        // Only one stray gets the free slot.
        strays[found++] = {slot, home, home == entered ? primary.free_slot() : kSlots};
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

  /// Searches for a path. It reads one line of most buckets, at the place where guess() expects them. The attempt that
  /// moves the keys proves the path.
  template <class Tx>
  Attempt<StepResult> search_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    const auto seen = table_.seen();
    u64 unborn = 0;  // number of an unborn bucket that the search met, or 0
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
      std::array<u64, kSlots> keys, others;  // others: the buckets to which the keys would go, prefetched together
      for (u32 slot = 0; slot < kSlots; ++slot) {
        keys[slot] = bucket->key[slot].load();
        if (keys[slot] == cuckoo::free_key(number))
          return path(growth, search, spot, seen, after);  // another thread has made room
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
  /// Returns true if the bucket is born. The word is read only if key 0 is free: every slot of an unborn bucket is
  /// free.
  static bool is_born(const Bucket& bucket, u64 number) {
    return bucket.key[0].load() != cuckoo::free_key(number) || growing::bits_of(bucket.word.load()) != 0;
  }
  static bool has_room(const Bucket& bucket, u64 number) {
    return bucket.slot_of(cuckoo::free_key(number)) != kSlots && is_born(bucket, number);
  }
  /// Lets the table split a run, unless it has grown since `seen`, its size before the search.
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

  /// Moves every key of the path, the last one first, or reports a stale path. A stale path is a value and not a
  /// restart, since another attempt would find the same.
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
      mark_leaving(*readers[i].node(), growth.bucket_[i], growth.moved_[i]);
    }
    readers[0]->key[to].store(cuckoo::free_key(growth.bucket_[0]));
    return StepResult::kChanged;
  }
  StepResult stale(const Growth& growth, Growth& after) const {
    constexpr u32 kMostStale = 8;
    if (growth.stale_ + 1 == kMostStale && table_.may_grow()) return no_path(growth, growth.seen_, after);
    after = growth;
    after.step_ = Growth::Step::kSearch;
    // If the table may not grow, stale paths never end the search.
    after.stale_ = std::min(growth.stale_ + 1, kMostStale - 1);
    return StepResult::kChanged;
  }

  const u64 seed_;
  Table table_;
};

}  // namespace latchlab
