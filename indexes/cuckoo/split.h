#pragma once
// How a cuckoo table splits a bucket: when it does, and how the strays of the bucket come home.
//
//     bucket b with k bits, tags t, u     -> b and b + 2^k, with k + 1 bits each
//     bucket b ^ jump(t), or its halves   -> its strays with tag t move to the side of b that is their home
//
//   1. A split divides the keys that are in the bucket by the hash through which each is there. Strays of other homes
//      go with the rest, and their homes need not know.
//   2. The strays of the bucket are where its tags say (indexes/cuckoo/hashes.h). One attempt upgrades those buckets
//      and the one that is split.
//   3. A stray for which its home has no slot stays where it is. Its home keeps the tag.
#include <algorithm>
#include <array>
#include <span>

#include "indexes/cuckoo/hashes.h"
#include "indexes/cuckoo/seeded_bugs.h"
#include "indexes/growing/buckets.h"
#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::cuckoo {

/// The strays of a bucket that is split.
template <class Table, class Bucket, class Tx>
class Homecoming {
  using Bugs = typename Table::Bugs;
  using Word = typename Bucket::Word;
  using Reader = typename Table::template ReaderOf<Tx>;
  using Place = typename Table::template Place<Tx>;
  static constexpr u32 kSlots = Bucket::kSlots;

 public:
  Homecoming(const Table& cuckoo, u64 number, Word word) : cuckoo_(cuckoo), number_(number), word_(word) {}

  /// Enters the buckets where the strays may be, as their tags say. Returns false to restart.
  [[nodiscard]] bool find(Tx& tx) {
    const u32 bits = word_.bits();
    for (u32 i = 0; i < Word::kTags; ++i) {
      const u64 tag = word_.tag(i);
      if (tag == 0 || told_before(i)) continue;
      const u64 hash = number_ ^ Hashes::jump(tag);
      // With the bits of this bucket, the strays of the tag are in one bucket. If that has been split already, they
      // are in two.
      if (growing::low_bits(hash, bits) == number_) continue;
      for (u64 half = 0; half < 2; ++half) {
        const u64 wanted = growing::low_bits(hash, bits) | half << bits;
        Place place;
        if (!cuckoo_.arrive(tx, wanted, place)) return false;
        if (place.word.bits() > bits + 1) {  // split twice: rare, and the strays stay
          leave(tag);
          break;
        }
        if (!entered_before(place)) places_[count_++] = place;
        if (place.word.bits() <= bits) break;
      }
    }
    return true;
  }
  [[nodiscard]] bool upgrade(Tx& tx, const Reader& old, const Reader& born) {
    std::array<Reader, 2 * Word::kTags + 2> readers{old};
    u32 count = 1;
    if (!Bucket::kWordHasSlots) readers[count++] = born;
    for (u32 i = 0; i < count_; ++i) readers[count++] = places_[i].at;
    return tx.upgrade(std::span<const Reader>(readers.data(), count));
  }
  /// Brings the strays home to the two sides of the split, whose words it completes.
  void bring(Tx& tx, std::array<Place, 2>& side) {
    const u32 bits = word_.bits();
    for (u32 i = 0; i < Word::kTags; ++i) {
      if ((left_ >> i & 1) == 0) continue;
      for (Place& home : side) home.word = home.word.with(word_.tag(i));  // either may be their home
    }
    for (u32 i = 0; i < count_; ++i) {
      Place& place = places_[i];
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const auto id = place.id_at(slot);
        if (!id || !answers(id->hashes().home(), number_, bits)) continue;
        Place& home = side[id->hashes().home() >> bits & 1];
        if (const u32 to = home.free_slot(); to != kSlots) {
          home.put(to, *id, place.at->value[slot].load(), false);
          place.clear(slot);
        } else if (!Bugs::kForgetStrays) {
          home.word = home.word.with(id->hashes().tag());
        }
      }
      place.finish(tx);
    }
  }

 private:
  /// Lets the strays of this tag stay, each of which has a tag of its own.
  void leave(u64 tag) {
    for (u32 i = 0; i < Word::kTags; ++i) left_ |= (word_.tag(i) == tag ? 1u : 0u) << i;
  }
  /// Returns true if an earlier tag is the same.
  bool told_before(u32 i) const {
    for (u32 j = 0; j < i; ++j) {
      if (word_.tag(j) == word_.tag(i)) return true;
    }
    return false;
  }
  bool entered_before(const Place& place) const {
    return std::any_of(places_.begin(), places_.begin() + count_,
                       [&](const Place& before) { return before.number == place.number; });
  }

  const Table& cuckoo_;
  const u64 number_;
  const Word word_;
  u32 left_ = 0;  // bit i: the strays of tag i stay
  u32 count_ = 0;
  std::array<Place, 2 * Word::kTags> places_;
};

/// The growth rules of this table (indexes/growing/table.h).
template <class Table, class Layout, class Bucket>
class Rules {
  using Word = typename Bucket::Word;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;
  template <class Tx>
  using Place = typename Table::template Place<Tx>;
  static constexpr u32 kSlots = Bucket::kSlots;

 public:
  explicit Rules(const Table& cuckoo) : cuckoo_(cuckoo) {}

  static bool crowded(u64 keys, u32 bits) { return 100 * keys > kMostLoad * Bucket::slots(bits) << bits; }
  /// Returns true if a key without a path indicates keys that were chosen to collide, by somebody with knowledge of
  /// the seed.
  static bool hopeless(u64 keys, u32 bits) { return bits >= 16 && 16 * keys < u64{kSlots} << bits; }

  /// Prefetches the buckets where the strays of the bucket may be.
  [[gnu::always_inline]] void prefetch_for_split(const Bucket& bucket, u64 number, u32 bits) const {
    const Word word(bucket.word.load());
    if (!word.has_tags()) return;
    for (u32 i = 0; i < Word::kTags; ++i) {
      if (word.tag(i) == 0) continue;
      const u64 other = growing::low_bits(number ^ Hashes::jump(word.tag(i)), bits);
      Layout::Machine::prefetch(cuckoo_.table_.at(other), Access::kWrite);
    }
  }
  /// Splits a bucket, and brings its strays home. The new bucket is not locked if its word says which slots hold
  /// pairs: while it is unborn, no attempt finds any, and only an attempt that has locked the old bucket stores to
  /// it.
  template <class Tx>
  Attempt<bool> split_in(Tx& tx, const ReaderOf<Tx>& old, const ReaderOf<Tx>& born, u64 number) const {
    const Word word(old.word());
    if (word.has_tags()) [[unlikely]]
      return split_with_strays_in(tx, old, born, number);
    if (!upgrade(tx, old, born)) return kRestart;
    const auto [here, there] = old->split_to(*born.node(), number, word);
    begin(tx, born, there);
    tx.set_word(old, here.word());
    return true;
  }

 private:
  /// Per cent of the slots beyond which the table grows. Seven pairs find a path at .95, four up to .94, three up to
  /// .91. But strays cost a line, and the operation that meets one loses what the processor has read ahead. At .5, 4 %
  /// of the keys in buckets of four are strays; at .65, 8 %, and inserts from empty take a tenth longer.
  static constexpr u64 kMostLoad = kSlots == 7 || Layout::kScale == Scale::kTiny ? 95 : kSlots == 4 ? 50 : 65;

  template <class Tx>
  [[nodiscard]] static bool upgrade(Tx& tx, const ReaderOf<Tx>& old, const ReaderOf<Tx>& born) {
    if constexpr (Bucket::kWordHasSlots) return tx.upgrade(old);
    return tx.upgrade(old, born);
  }
  /// Gives the new bucket its first word.
  template <class Tx>
  static void begin(Tx& tx, const ReaderOf<Tx>& born, Word word) {
    if constexpr (Bucket::kWordHasSlots) {
      born->word.begin_with(word.word());
    } else {
      tx.set_word(born, word.word());
    }
  }
  template <class Tx>
  Attempt<bool> split_with_strays_in(Tx& tx, const ReaderOf<Tx>& old, const ReaderOf<Tx>& born, u64 number) const {
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      const Word word(old.word());
      Homecoming<Table, Bucket, Tx> strays(cuckoo_, number, word);
      if (!strays.find(tx) || !strays.upgrade(tx, old, born)) return kRestart;
      const auto [here, there] = old->split_to(*born.node(), number, word);
      std::array<Place<Tx>, 2> side{Place<Tx>{number, here, old},
                                    Place<Tx>{number + (u64{1} << word.bits()), there, born}};
      strays.bring(tx, side);
      begin(tx, born, side[1].word);
      side[0].finish_always(tx);
      return true;
    }
  }

  const Table& cuckoo_;
};

}  // namespace latchlab::cuckoo
