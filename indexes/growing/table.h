#pragma once
// A table of growing buckets (buckets.h): how a key finds its bucket, how keys are counted, and how the table grows.
//
// A doubling is a large number of splits, done by threads that insert. One of kAskOneIn new keys makes its thread claim
// a run of buckets and split them, each split an operation of its own. So no single operation is proportional to the
// size of the table. (A key that finds no room at all may have to claim run after run.) Concurrent claims get different
// runs. Nobody waits for a slow claimant: a thread that needs a bucket split splits it.
//
// The table counts keys with one of kCountOneIn hashes only, so that the line of the counter is rarely written.
#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "indexes/growing/buckets.h"
#include "indexes/growing/hand.h"
#include "indexes/growing/seeded_bugs.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::growing {

template <class Layout, BucketOf Bucket>
class Table {
  using Buckets = growing::Buckets<Layout, Bucket>;
  using Bugs = BugFlags<typename Layout::Bugs::Flag>;
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  template <class Tx>
  using ReaderOf = decltype(std::declval<Tx&>().enter(std::declval<Bucket*>()));

  static constexpr u32 kFirstBits = Buckets::kFirstBits;
  static constexpr u32 kMostBits = Buckets::kMostBits;  ///< limit of the number of buckets: 2^kMostBits

  Table() = default;
  /// Makes a table of at most 2^most_bits buckets. most_bits is from kFirstBits to kMostBits.
  explicit Table(u32 most_bits) : most_bits_(std::max(most_bits, kFirstBits)) {}

  /// The size of the table at some moment.
  struct Seen {
    u64 mask = 0, claimed = 0;
  };

  /// The maintenance task of an operation that inserted: a claim, then a split for each bucket of its run. The caller
  /// keeps it from one step to the next.
  class Growth {
   public:
    bool done() const { return step_ == Step::kDone; }
    /// Ends the task.
    void finish() { step_ = Step::kDone; }
    /// Gets the memory that the next step lacks, outside attempts. Returns false when memory is out.
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      if (lacking_ <= usable_) return true;
      usable_ = pool.extend(*range_, lacking_, Buckets::most_bytes());
      if (lacking_ > usable_) return false;
      start_ = reinterpret_cast<u64>(range_->space.start);  // fixed once there are usable bytes
      return true;
    }
    template <class Pool>
    void release(Pool&) {}

    /// Counts one bucket of the run as done.
    void one_done() {
      if (++next_ == end_) step_ = Step::kDone;
    }

   private:
    friend Table;
    enum class Step : u8 { kClaim, kSplit, kDone };

    Step step_ = Step::kClaim;
    // True if the task must get a run at any number of keys, unless the table has grown since seen_.
    bool forced_ = false;
    Seen seen_;               // the size of the table that forced() was given
    u32 bits_ = 0;            // of the run's buckets; a split adds one
    u64 next_ = 0, end_ = 0;  // the buckets of the run that are left
    typename Buckets::Range* range_ = nullptr;
    u64 lacking_ = 0;  // bytes of the range that the claim needs
    u64 usable_ = 0;   // bytes that the task knows to be usable
    u64 start_ = 0;    // address of the range, if it has usable bytes
  };

  Seen seen() const { return {.mask = shape_.mask.load(), .claimed = shape_.claimed.load()}; }

  /// Returns a task that splits a run, unless the table has grown since `seen`.
  static Growth forced(Seen seen) {
    Growth growth;
    growth.forced_ = true;
    growth.seen_ = seen;
    return growth;
  }
  /// Returns a task that makes bucket b by a split which its claimant has not done yet. The bucket has memory.
  static Growth birth_of(u64 b) {
    Growth growth;
    growth.step_ = Growth::Step::kSplit;
    growth.bits_ = Buckets::level_of(b);
    growth.next_ = parent_of(b);
    growth.end_ = growth.next_ + 1;
    return growth;
  }
  /// Returns true if a thread that has inserted a key with this hash must help to grow the table.
  static bool asks_to_grow(u64 hash) { return (hash >> 32) % kAskOneIn == 0; }

  /// A bucket that should be responsible for a hash: a hint.
  struct Guess {
    u64 number;
    u64 mask;  // of the hash bits that make the number

    /// Returns the number of bits that the bucket should have.
    u32 bits() const { return static_cast<u32>(std::popcount(mask)); }
    [[gnu::always_inline]] bool has_bits(u32 least) const { return mask >= (u64{1} << least) - 1; }
  };
  [[gnu::always_inline]] Guess guess(u64 hash) const {
    u64 mask = shape_.mask.load();
    if ((hash & mask) < shape_.claimed.load()) mask = 2 * mask + 1;
    return {hash & mask, mask};
  }
  /// Prefetches the bucket that guess() names, for an operation to come.
  [[gnu::always_inline]] void prefetch(u64 hash, Hint hint) const {
    prefetch_object<typename Layout::Machine>(at(guess(hash).number),
                                              hint == Hint::kFind ? Access::kRead : Access::kWrite);
  }
  /// Returns true if the table may grow further: a hint.
  bool may_grow() const { return Buckets::level_of(shape_.mask.load() + 1) < most_bits_; }
  /// Returns the number of buckets, claimed ones included: a hint, but all of them have memory.
  u64 buckets() const {
    const u64 mask = shape_.mask.load();
    return mask + 1 + shape_.claimed.load();
  }
  /// Returns bucket b. It must have memory, as all have below buckets(), and those that guess() names.
  [[gnu::always_inline]] Bucket* at(u64 b) const { return buckets_.at(b); }

  /// Goes to the bucket that is responsible for the hash, starting at bucket b. `word` becomes the content of its word.
  /// Returns false if the words that were read contradict each other.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, u64& b, ReaderOf<Tx>& at, u64& word) const {
    for (u32 hops = 0; hops < kMostHops; ++hops) {
      at = tx.enter(buckets_.at(b));
      word = at.word();
      const u32 bits = Bucket::bits_of(word);
      const u64 own = low_bits(hash, bits);
      if (own == b && bits != 0) [[likely]]
        return true;
      b = bits != 0 ? own : parent_of(b);
      // The word may be newer than the hint that led to it: then its bits may lead beyond the memory of the table.
      if (b >= buckets()) return false;
    }
    return false;
  }

  /// Does the same from the bucket that guess() names, whose number becomes b. If the guess was right, as mostly, only
  /// one comparison waits for the bucket's line.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive_by_guess(Tx& tx, u64 hash, u64& b, ReaderOf<Tx>& at, u64& word) const {
    const Guess first = guess(hash);
    b = first.number;
    at = tx.enter(buckets_.at(b));
    word = at.word();
    if (Bucket::bits_of(word) == first.bits()) [[likely]]
      return true;
    if (Bugs::kTrustGuess && Bucket::bits_of(word) != 0) return true;
    return arrive(tx, hash, b, at, word);
  }

  /// Performs one attempt of a walk from the hand on, or from the beginning if it has not begun. take(hand, pairs)
  /// collects the pairs of the bucket that is responsible for hand.hash(), confirms them, and returns its bits. It runs
  /// kMostBuckets times at most.
  template <u32 kMostBuckets = kTiny ? 2 : 32, class Pairs, class Take>
  Attempt<Hand> walk_in(const Hand& hand, std::size_t most, Pairs& pairs, const Take& take) const {
    const Hand from = hand.begun() ? hand : Hand(0, Buckets::level_of(shape_.mask.load() + 1));
    return growing::walk_in<kMostBuckets>(from, most, pairs, take);
  }

  /// Upgrades the readers for a change that adds a key or removes one (`change` is 1 or -1). Counts a key of the
  /// sample.
  template <class Tx, class... Readers>
  [[nodiscard]] bool upgrade(Tx& tx, u64 hash, i64 change, const Readers&... readers) {
    if ((hash >> 32) % kCountOneIn != 0) [[likely]]
      return tx.upgrade(readers...);
    auto meter = tx.enter(&meter_);
    if (!tx.upgrade(readers..., meter)) return false;
    count(hash, change);
    return true;
  }
  /// Counts a key of the sample after an upgrade for a change of its bucket.
  void count(u64 hash, i64 change) {
    if ((hash >> 32) % kCountOneIn == 0) meter_.counted.store(meter_.counted.load() + static_cast<u64>(change));
  }

  /// Performs one step of the task. A table's rules are:
  ///     crowded(keys, bits)            returns true if 2^bits buckets are too few for the keys
  ///     hopeless(keys, bits)           optional; returns true if the keys are so few that more buckets do not help a
  ///                                    key without room
  ///     prefetch_for_split(bucket, b, bits)   optional; prefetches what the split of the bucket will need besides it
  ///     prefetch_chain(bucket, n)      optional; prefetches the node behind the first n of the bucket's chain, which
  ///                                    have been prefetched long enough before to be here
  ///     split_in(tx, old, born, b)     a body that splits the bucket of reader `old`, whose number is b, into itself
  ///                                    and that of reader `born`; each gets one bit more. Returns true, or a failure
  template <class Tx, class Rules>
  Attempt<StepResult> grow_in(Tx& tx, const Growth& growth, Growth& after, const Rules& rules) {
    if (growth.step_ == Growth::Step::kClaim) return claim_in(tx, growth, after, rules);
    return split_in(tx, growth, after, rules);
  }

  /// Returns the bytes of all buckets except those of the beginning. The meter may know fewer: a thread that got them
  /// may find afterwards that the table need not grow.
  u64 room() const { return buckets_.usable_bytes(); }
  /// Visits every bucket that is born, with its number. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(const Visit& visit) const {
    buckets_.for_each(buckets(), [&](Bucket& bucket, u64 number) {
      if (Bucket::bits_of(bucket.word.load()) != 0) visit(bucket, number);
    });
  }
  template <class Pool>
  void free_all(Pool& pool) {
    buckets_.free_all(pool);
  }

 private:
  static constexpr u32 kCountOneIn = kTiny ? 1 : 64;  // keys are sampled by hash
  static constexpr u32 kAskOneIn = kTiny ? 1 : 16;    // sampled too, by the hash or otherwise
  // Buckets of a claim: four for each new key, so that a doubling ends well before the next.
  static constexpr u64 kRun = kTiny ? 2 : 64;
  // An upper bound in a consistent table: each hop changes at least one bit.
  static constexpr u32 kMostHops = 2 * Buckets::kMostBits;

  /// The size of the table. Of mask + 1 buckets the first `claimed` are split, or claimed for a split. Where to look
  /// first is a hint that needs no proof. But the buckets that it names must have memory, whatever moments the two
  /// fields are from. So `claimed` is 0 before the mask grows, and the mask is read first; the cells acquire and
  /// release. Both are stored under the latch of meter_.
  struct Shape {
    typename Layout::template Cell<u64> mask{(u64{1} << kFirstBits) - 1};
    typename Layout::template Cell<u64> claimed;
  };

  /// The counters of the table: a sample of its keys, and its bytes.
  struct Meter {
    u8 tag() const { return 0; }
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> counted;
    typename Layout::template Cell<u64> room;  // bytes
  };

  /// Claims the next run of buckets to split, if the table must grow or grows already.
  template <class Tx, class Rules>
  Attempt<StepResult> claim_in(Tx& tx, const Growth& growth, Growth& after, const Rules& rules) {
    auto meter = tx.enter(&meter_);
    const u64 claimed = shape_.claimed.load(), buckets = shape_.mask.load() + 1;
    const u32 bits = Buckets::level_of(buckets);
    const bool forced = growth.forced_ && growth.seen_.mask + 1 == buckets && growth.seen_.claimed == claimed;
    const u64 keys = kCountOneIn * meter->counted.load();
    const bool wanted = forced || claimed != 0 || rules.crowded(keys, bits);
    bool hopeless = false;
    if constexpr (requires { rules.hopeless(keys, bits); }) hopeless = rules.hopeless(keys, bits);
    after = growth;
    if (forced && (bits == most_bits_ || hopeless)) return tx.confirm(StepResult::kFull, meter);
    if (!wanted || bits == most_bits_) {
      after.step_ = Growth::Step::kDone;
      return tx.confirm(StepResult::kChanged, meter);
    }
    const u64 end = std::min(claimed + kRun, buckets);
    const u64 bytes = Buckets::bytes_for(buckets + end);
    const bool has_memory = meter->room.load() >= bytes;
    if (!has_memory && growth.usable_ < bytes) {
      after.range_ = &buckets_.range();
      after.lacking_ = bytes;
      return tx.confirm(StepResult::kChanged, meter);
    }
    after.step_ = Growth::Step::kSplit;
    after.bits_ = bits;
    after.next_ = claimed;
    after.end_ = end;
    if (!tx.upgrade(meter)) return kRestart;
    if (!has_memory) {
      buckets_.start_at(growth.start_);
      meter->room.store(growth.usable_);
    }
    if (after.end_ == buckets) {
      shape_.claimed.store(0);
      shape_.mask.store(2 * buckets - 1);
    } else {
      shape_.claimed.store(after.end_);
    }
    return StepResult::kChanged;
  }
  /// Prefetches the two buckets of a split that comes later in the run, and what the rules know of one that comes
  /// sooner.
  template <class Rules>
  [[gnu::always_inline]] void prefetch_splits(const Growth& growth, const Rules& rules) const {
    constexpr u64 kSooner = 8, kLater = 16;
    const u64 sooner = growth.next_ + kSooner, later = growth.next_ + kLater;
    if (later < growth.end_) {
      Layout::Machine::prefetch(at(later), Access::kWrite);
      Layout::Machine::prefetch(at(later + (u64{1} << growth.bits_)), Access::kWrite);
    }
    if constexpr (requires { rules.prefetch_for_split(*at(sooner), sooner, growth.bits_); }) {
      if (sooner < growth.end_) rules.prefetch_for_split(*at(sooner), sooner, growth.bits_);
    }
    if constexpr (requires { rules.prefetch_chain(*at(sooner), 0u); }) {
      constexpr u32 kNodes = 3, kSplitsANode = 3;
      if (growth.next_ % kRun == 0) {  // the run begins
        for (u64 b = growth.next_; b < std::min(sooner, growth.end_); ++b) rules.prefetch_chain(*at(b), 0);
      }
      for (u32 i = 0; i < kNodes; ++i) {
        const u64 b = sooner - i * kSplitsANode;
        if (b < growth.end_) rules.prefetch_chain(*at(b), i);
      }
    }
  }
  /// Splits the next bucket of the run. If the claimant of an ancestor is slow, it splits that ancestor first.
  template <class Tx, class Rules>
  Attempt<StepResult> split_in(Tx& tx, const Growth& growth, Growth& after, const Rules& rules) {
    prefetch_splits(growth, rules);
    ReaderOf<Tx> at;
    u64 b = growth.next_;
    u32 bits = 0;
    for (;; b = parent_of(b)) {
      at = tx.enter(buckets_.at(b));
      bits = Bucket::bits_of(at.word());
      if (bits != 0) break;
    }
    if (b == growth.next_ && bits > growth.bits_) return tx.confirm(StepResult::kOneDone, at);
    // Another thread has split the ancestor since the bucket was seen unborn: its next sibling may have no memory yet.
    if (low_bits(growth.next_, bits) != b) return kRestart;
    const Attempt<bool> split = rules.split_in(tx, at, tx.enter(buckets_.at(b + (u64{1} << bits))), b);
    if (!split) return split.failure();
    if (b == growth.next_ && bits == growth.bits_) return StepResult::kOneDone;
    after = growth;  // more splits must come first
    return StepResult::kChanged;
  }

  mutable Buckets buckets_;
  const u32 most_bits_ = kMostBits;
  alignas(kFalseSharingBytes) Shape shape_;
  alignas(kFalseSharingBytes) mutable Meter meter_;
};

}  // namespace latchlab::growing
