#pragma once
// `kvdirect`: the frugal hash table of KV-Direct (Li et al., SOSP 2017), where a NIC reads it by DMA and each access of
// 64 bytes counts. No code of the authors is public, so it was written from the paper. Keys are u64.
//
//     bucket | pair | pair | pair |   | chain |  ->  | pair | pair |   | 0 |        pairs up to the inline threshold
//
//     bucket | p | p | p | p | ...     | chain |  ->  | p | ...          | 0 |       larger pairs
//              |   |                                                                image.h draws a line,
//              |   +-> record                                                       space.h the memory
//              +-> record
//
// The number of buckets is fixed, as in the paper. A key's bucket is the first line of a chain. A pair up to the inline
// threshold is in a line itself. Of a larger one the line has a pointer slot, with the address of its record and nine
// bits of the key's hash. So the lookup of an inline pair reads one line, unless the chain is longer, and that of a
// record one more. (For another key's record it takes the same nine bits, one in 512.)
//
// A pair of two u64 has 16 bytes, and the paper's threshold is 15. But a bucket's number tells the first eight bits of
// the mixed key if there are 256 buckets or more. So an inline key has seven bytes, and the pair fits: three slots of
// five bytes, three pairs a line. With fewer buckets it takes four slots, if the threshold is 16 or more. (This is not
// in the paper, which has keys and values of any size. image.h packs those too; the index needs one size.)
//
//   1. A bucket guards its chain: its lines, and the records to which they point. They change only while the bucket is
//      upgraded. So an answer is confirmed by the bucket alone.
//   2. A new pair goes to the first line of the chain with room. A line that becomes empty leaves the chain, unless it
//      is the bucket.
//   3. The lines and records of a chain come from the shard of its bucket, and go back to it. An operation that takes
//      one or gives one back upgrades the shard, too.
//   4. A chain is followed by validated steps, so it is one that was there. A scout validates nothing; for it, a number
//      without memory ends the attempt, and so do more lines than the memory has.
//
// A bucket has no bit to spare, so it cannot have a version of its own: the table runs under policies that have theirs
// elsewhere. Those are the locks, elided or not, and `seq` and `striped`. Counts of lines do not include a version's.
#include <bit>
#include <string_view>
#include <type_traits>
#include <utility>

#include "indexes/kvdirect/options.h"
#include "indexes/kvdirect/seeded_bugs.h"
#include "indexes/kvdirect/space.h"
#include "indexes/walked_pairs.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

template <class Layout, class KeyType>
class KvDirect {
  static_assert(std::is_empty_v<typename Layout::Latch>, "kvdirect: a bucket has no room for a version or a latch");
  using Space = kvdirect::Space<Layout>;
  using Line = typename Space::Line;
  using Record = typename Space::Record;
  using Shard = typename Space::Shard;
  using Image = kvdirect::Image;
  using Entry = kvdirect::Entry;
  using Bugs = kvdirect::BugFlags<typename Layout::Bugs::Flag>;
  template <class Tx>
  using ReaderOf = decltype(std::declval<Tx&>().enter(std::declval<Line*>()));
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  using Key = KeyType;
  using Options = kvdirect::Options;
  using Growth = typename Space::Growth;
  using Walked = WalkedPairs<Key>;
  static constexpr std::string_view kName = "kvdirect";
  static constexpr bool kOrdered = false;
  static constexpr bool kKeysAreNumbers = true;
  static constexpr bool kBearsScouts = true;  // by point 4

  /// The place of a walk: a bucket.
  class Hand {
   public:
    bool begun() const { return next_ != 0; }

   private:
    friend KvDirect;
    u64 next_ = 0;
  };

  KvDirect() : KvDirect(Options()) {}
  explicit KvDirect(const Options& options)
      : options_(scaled(options)), space_(options_.buckets, options_.more_units(), is_inline_ ? 1 : 2) {}
  KvDirect(const KvDirect&) = delete;
  KvDirect& operator=(const KvDirect&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    if (!space_.begun()) [[unlikely]]
      return before_begin(tx, Found());
    // The usual case is written out, without a copy of the line.
    if (is_inline_) {
      const u64 hash = hash_of(key);
      const auto home = tx.enter(bucket_of(hash));
      const Entry entry = find_inline(*home.node(), hash);
      if (entry.slots != 0) return tx.confirm(Found(home->number(entry.value_at(), kValueBytes)), home);
      if (home->chain() == 0) return tx.confirm(Found(), home);
    }
    Place<Tx> place;
    if (!search(tx, key, place)) [[unlikely]]
      return kRestart;
    return tx.confirm(place.found() ? Found(value_of(place)) : Found(), place.home);
  }

  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx&, const Key& key, Hint hint) const {
    if (!space_.begun()) return;
    Layout::Machine::prefetch(bucket_of(hash_of(key)), hint == Hint::kFind ? Access::kRead : Access::kWrite);
  }
  /// Prefetches the records in the bucket of the key that may be its own, or the next line of the chain.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx&, const Key& key) const {
    if (!space_.begun()) return;
    const u64 hash = hash_of(key);
    const Image image = bucket_of(hash)->load();
    u32 alike = is_inline_ ? 0 : image.pointers_with(tag_of(hash));
    if (alike == 0 && image.chain() != 0) return prefetch_unit(image.chain());
    for (; alike != 0; alike &= alike - 1) {
      prefetch_unit(image.address_at(static_cast<u32>(std::countr_zero(alike))));
    }
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<PutResult> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    if (!space_.begun()) [[unlikely]]
      return before_begin(tx, how == Put::kUpdate ? PutResult::kNo : PutResult::kNoRoom);
    Place<Tx> place;
    if (!search(tx, key, place)) [[unlikely]]
      return kRestart;
    if (place.found()) {
      if (how == Put::kInsert) return tx.confirm(PutResult::kNo, place.home);
      if (!tx.upgrade(place.home)) return kRestart;
      change(place, value);
      return how == Put::kUpdate ? PutResult::kYes : PutResult::kNo;
    }
    if (how == Put::kUpdate) return tx.confirm(PutResult::kNo, place.home);
    const u64 hash = hash_of(key);
    if (is_inline_ && place.room != nullptr) [[likely]] {
      if (!tx.upgrade(place.home)) return kRestart;
      append(*place.room, hash, 0, value.first());
      return PutResult::kYes;
    }
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      const auto shard = tx.enter(&space_.shard_of(number_of(hash)));
      if (!space_.has(*shard.node(), is_inline_ ? 0 : 1, place.room == nullptr ? 1 : 0)) {
        return tx.confirm(PutResult::kNoRoom, place.home, shard);
      }
      if (!upgrade(tx, place.home, shard)) return kRestart;
      put_new(*shard.node(), place, key, value.first());
      return PutResult::kYes;
    }
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    if (!space_.begun()) return before_begin(tx, false);
    Place<Tx> place;
    if (!search(tx, key, place)) return kRestart;
    if (!place.found()) return tx.confirm(false, place.home);
    const bool goes = place.record != nullptr ? wanted.fits(place.record->value) : fits(place, wanted);
    if (!goes) return tx.confirm(false, place.home);
    Image after = place.image;
    after.erase(place.entry);
    const bool unlinks = after.empty() && place.before != nullptr;
    if (place.record == nullptr && !unlinks) {
      if (!tx.upgrade(place.home)) return kRestart;
      place.line->store_change(place.image, after);
      return true;
    }
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      const auto shard = tx.enter(&space_.shard_of(number_of(hash_of(key))));
      if (!upgrade(tx, place.home, shard)) return kRestart;
      if (unlinks) {
        const Image before = place.before->load();
        Image relinked = before;
        relinked.set_chain(after.chain());
        place.before->store_change(before, relinked);
        space_.give_line(*shard.node(), place.unit);
      } else {
        place.line->store_change(place.image, after);
      }
      if (place.record != nullptr) space_.give_record(*shard.node(), place.record_unit);
      return true;
    }
  }

  /// Nothing follows an insert: only a put that lacks room runs the task.
  static bool asks_to_grow(const Key&) { return false; }
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key& key, const Growth& growth, Growth& after) {
    return space_.grow_in(tx, number_of(hash_of(key)), growth, after);
  }
  u64 room() const { return space_.usable_bytes(); }

  /// Returns the number of accesses of 64 bytes or less by find_in: lines of the chain, and records.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    if (!space_.begun()) return before_begin(tx, u64{0});
    Place<Tx> place;
    if (!search(tx, key, place)) return kRestart;
    return tx.confirm(u64{place.accesses}, place.home);
  }

  /// Collects the next pairs of a walk, bucket by bucket. A key never leaves its bucket's chain.
  template <class Tx>
  Attempt<Hand> walk_in(Tx& tx, const Hand& hand, std::size_t most, Walked& pairs) const {
    constexpr u32 kMostBuckets = kTiny ? 2 : 32;
    pairs.clear();
    if (!space_.begun()) return before_begin(tx, Hand());
    Hand at = hand;
    for (u32 buckets = 0; buckets < kMostBuckets; ++buckets) {
      const u32 proven = pairs.size();
      const Attempt<bool> taken = take_in(tx, at.next_, pairs);
      if (!taken && buckets == 0) return taken.failure();
      if (!taken || pairs.lacks_room()) {  // what the attempt has of the others holds
        pairs.cut(proven);
        break;
      }
      if (++at.next_ == space_.buckets()) return Hand();
      if (pairs.size() >= most) break;
    }
    return at;
  }
  /// Visits every pair, in no particular order. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!space_.begun()) return;
    for (u64 number = 0; number < space_.buckets(); ++number) {
      const Line* line = space_.bucket(number);
      for (;;) {
        const Image image = line->load();
        image.for_each([&](const Entry& entry) { visit_entry(image, entry, number, visit); });
        if (image.chain() == 0) break;
        line = space_.line(image.chain());
      }
    }
  }
  /// Frees the memory, if it is not released in bulk (--alloc=malloc).
  template <class Pool>
  void free_all(Pool& pool) {
    space_.free_all(pool);
  }

 private:
  static constexpr u32 kValueBytes = Options::kValueBytes;

  static Options scaled(Options options) {
    if (kTiny) options.buckets = 2;
    return options;
  }

  static u64 hash_of(const Key& key) { return mix64(key.raw()); }
  static u32 tag_of(u64 hash) { return static_cast<u32>(hash) & ((1u << kvdirect::kTagBits) - 1); }
  /// Returns the number of a hash's bucket: its highest bits, scaled to the number of buckets.
  [[gnu::always_inline]] u64 number_of(u64 hash) const { return multiply_high(hash, space_.buckets()); }
  [[gnu::always_inline]] Line* bucket_of(u64 hash) const { return space_.bucket(number_of(hash)); }
  /// Returns the part of a hash that an inline pair has.
  u64 inline_key(u64 hash) const { return key_bytes_ == 8 ? hash : hash << 8 >> 8; }
  /// Returns the inline pair with this hash in a line or in its copy.
  [[gnu::always_inline]] Entry find_inline(const auto& line, u64 hash) const {
    if (key_bytes_ == 7) [[likely]]
      return line.template find_alike<7, kValueBytes>(inline_key(hash));
    return line.template find_alike<8, kValueBytes>(hash);
  }
  /// Returns the key of an inline pair. The hashes of bucket b begin with b * hashes_of_bucket_, or up to b behind it.
  /// They are fewer than 2^56 from there on (2^56 with 256 buckets), so the part tells one of them.
  Key key_of(u64 part, u64 number) const {
    const u64 least = number * hashes_of_bucket_;
    return Key(unmix64(key_bytes_ == 8 ? part : least + ((part - least) << 8 >> 8)));
  }

  /// The place of a key in its chain, or the end of the chain.
  template <class Tx>
  struct Place {
    ReaderOf<Tx> home;
    Line* line = nullptr;    // the last one that was read
    u64 unit = 0;            // of this line, unless it is the bucket
    Line* before = nullptr;  // the line before it in the chain; null: it is the bucket
    Line* room = nullptr;    // the first line in which a new pair has room
    Image image;             // of the line
    Entry entry;             // the pair or its pointer
    Record* record = nullptr;
    u64 record_unit = 0;
    u32 accesses = 0;  // lines and records that were read

    bool found() const { return entry.slots != 0; }
  };

  /// Searches for the key. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool search(Tx& tx, const Key& key, Place<Tx>& place) const {
    const u64 hash = hash_of(key);
    place.home = tx.enter(bucket_of(hash));
    place.line = place.home.node();
    for (u64 hops = 0;; ++hops) {
      place.image = place.line->load();
      ++place.accesses;
      if (is_inline_) {
        place.entry = find_inline(place.image, hash);
      } else if (!search_records(key, tag_of(hash), place)) {
        return false;
      }
      if (place.found()) return true;
      if (place.room == nullptr && place.image.has_room_for(slots_)) place.room = place.line;
      const u64 next = place.image.chain();
      if (next == 0) return true;
      place.before = place.line;
      place.unit = next;
      place.line = space_.line(next);
      if (!place.home.follow(place.line) || !space_.has_memory(next) || hops > space_.most_lines()) return false;
    }
  }
  /// Searches the records to which the line points.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool search_records(const Key& key, u32 tag, Place<Tx>& place) const {
    place.entry = {};
    for (u32 alike = place.image.pointers_with(tag); alike != 0; alike &= alike - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(alike));
      const u64 unit = place.image.address_at(slot);
      Record* const record = space_.record(unit);
      if (!place.home.follow(record) || !space_.has_memory(unit)) return false;
      ++place.accesses;
      if (record->key.load() != key.raw()) continue;
      place.entry = {.slot = slot, .slots = 1};
      place.record = record;
      place.record_unit = unit;
      return true;
    }
    return true;
  }
  /// Answers an operation that came before the first put.
  template <class Tx, class T>
  Attempt<T> before_begin(Tx& tx, T answer) const {
    const auto meter = space_.enter_meter(tx);
    if (space_.begun()) return kRestart;
    return tx.confirm(answer, meter);
  }
  template <class Tx, class Home, class OfShard>
  [[nodiscard]] static bool upgrade(Tx& tx, const Home& home, const OfShard& shard) {
    return Bugs::kForgetShard ? tx.upgrade(home) : Bugs::kForgetHome ? tx.upgrade(shard) : tx.upgrade(home, shard);
  }

  template <class Tx>
  [[gnu::always_inline]] static u64 value_of(const Place<Tx>& place) {
    if (place.record != nullptr) return place.record->value.load();
    return place.line->number(place.entry.value_at(), kValueBytes);
  }
  template <class Tx>
  static bool fits(const Place<Tx>& place, const auto& wanted) {
    u64 value = value_of(place);
    return wanted.fits(PlainCell(value));
  }
  /// Changes the value of a pair that was found, after the upgrade.
  template <class Tx>
  [[gnu::always_inline]] static void change(const Place<Tx>& place, const auto& value) {
    if (place.record != nullptr) return value.change(place.record->value);
    u64 changed = value_of(place);
    value.change(PlainCell(changed));
    Image after = place.image;
    after.set_number(place.entry.value_at(), kValueBytes, changed);
    place.line->store_change(place.image, after);
  }
  /// Appends an inline pair to an image, or a pointer to a record.
  void append_to(Image& image, u64 hash, u64 record_unit, u64 value) const {
    if (is_inline_) {
      image.append_inline(inline_key(hash), key_bytes_, value, kValueBytes);
    } else {
      image.append_pointer(tag_of(hash), static_cast<u32>(record_unit), Record::kClass);
    }
  }
  void append(Line& line, u64 hash, u64 record_unit, u64 value) const {
    const Image before = line.load();
    Image after = before;
    append_to(after, hash, record_unit, value);
    line.store_change(before, after);
  }
  /// Puts a new pair with blocks of the shard. Both its bucket and the shard are upgraded.
  template <class Tx>
  void put_new(Shard& shard, const Place<Tx>& place, const Key& key, u64 value) {
    const u64 hash = hash_of(key);
    u64 record_unit = 0;
    if (!is_inline_) {
      record_unit = space_.take_record(shard);
      Record& record = *space_.record(record_unit);
      record.key.store(key.raw());
      record.value.store(value);
      record.head.store(Record::kHead);
    }
    if (place.room != nullptr) return append(*place.room, hash, record_unit, value);
    Image fresh;
    append_to(fresh, hash, record_unit, value);
    const u64 unit = space_.take_line(shard);
    space_.line(unit)->store(fresh);
    Image last = place.image;
    last.set_chain(static_cast<u32>(unit));
    place.line->store_change(place.image, last);
  }

  /// Collects the pairs of a bucket's chain. Confirms them, unless they lack room.
  template <class Tx>
  Attempt<bool> take_in(Tx& tx, u64 number, Walked& pairs) const {
    const auto home = tx.enter(space_.bucket(number));
    const Line* line = home.node();
    for (u64 hops = 0;; ++hops) {
      const Image image = line->load();
      for (Entry entry = image.entry_at(0); entry.slots != 0; entry = image.entry_at(entry.end())) {
        if (entry.is_pointer()) {
          const u64 unit = image.address_at(entry.slot);
          if (!home.follow(nullptr) || !space_.has_memory(unit)) return kRestart;
        }
        bool pushed = false;
        visit_entry(image, entry, number, [&](u64 key, u64 value) { pushed = pairs.push(Key(key), value); });
        if (!pushed) return tx.confirm(true, home);
      }
      if (image.chain() == 0) return tx.confirm(true, home);
      if (!home.follow(nullptr) || !space_.has_memory(image.chain()) || hops > space_.most_lines()) return kRestart;
      line = space_.line(image.chain());
    }
  }
  template <class Visit>
  void visit_entry(const Image& image, const Entry& entry, u64 number, Visit&& visit) const {
    if (entry.is_pointer()) {
      const Record& record = *space_.record(image.address_at(entry.slot));
      visit(record.key.load(), record.value.load());
    } else {
      const u64 part = image.number(entry.key_at(), key_bytes_);
      visit(key_of(part, number).raw(), image.number(entry.value_at(), kValueBytes));
    }
  }
  void prefetch_unit(u64 unit) const {
    if (space_.has_memory(unit)) Layout::Machine::prefetch(space_.record(unit), Access::kRead);
  }

  const Options options_;
  const u32 key_bytes_ = options_.key_bytes();
  const bool is_inline_ = options_.is_inline();
  const u32 slots_ = is_inline_ ? kvdirect::slots_for(key_bytes_ + kValueBytes) : 1;  // of a pair
  // The least number of hashes that a bucket has: 2^64 / buckets, rounded down. It is not used with one bucket.
  const u64 hashes_of_bucket_ = (~u64{0} - options_.buckets + 1) / options_.buckets + 1;
  Space space_;
};

}  // namespace latchlab
