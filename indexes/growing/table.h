#pragma once
// A table of growing buckets (buckets.h): how keys find theirs, how many keys there are, and how it grows.
//
// A doubling is a great number of splits, done by those who insert: one of kAskOneIn fresh keys claims a run of buckets
// and splits them, each as an operation of its own. So nobody waits for the whole table (but who finds no room at all
// may have to claim run after run), and where two claim at once each has its own run. Who is late with his is not
// waited for: whoever needs a bucket split splits it. Where there is something to settle when all have been split, the
// buckets are claimed once more for that; who has done a run says so, and so the table knows when a level is settled:
// every bucket of it has been, all of them while they had its bits.
//
// How many keys there are is counted by those of one of kCountOneIn hashes, so that the counter is a line that is
// hardly ever written.
#include <algorithm>
#include <new>
#include <utility>

#include "indexes/growing/buckets.h"
#include "indexes/growing/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::growing {

template <class Layout, BucketOf Bucket>
class Table {
  using Buckets = growing::Buckets<Layout, Bucket>;
  using Piece = typename Buckets::Piece;
  using Level = typename Buckets::Level;
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  template <class Tx>
  using ReaderOf = decltype(std::declval<Tx&>().enter(std::declval<Bucket*>()));

  static constexpr u32 kFirstBits = Buckets::kFirstBits;
  static constexpr u32 kMostBits = Buckets::kMostBits - 1;  ///< it never has more than 2^kMostBits buckets

  Table() = default;
  /// Never more than 2^most_bits buckets: from kFirstBits to kMostBits.
  explicit Table(u32 most_bits) : most_bits_(most_bits) {}

  /// How far the table has grown, at some moment.
  struct Seen {
    u64 mask = 0, claimed = 0;
  };

  /// What an operation that inserted does for the table: a claim, then a split for each bucket of its run. Kept by the
  /// caller from one step to the next.
  class Growth {
   public:
    bool done() const { return step_ == Step::kDone; }
    /// Nothing is left to be done.
    void finish() { step_ = Step::kDone; }
    /// Makes what the next step lacks, outside attempts. False when memory is out.
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      return level_.make(pool) && piece_.make(pool);
    }
    /// Gives back what others have made in the meantime.
    template <class Pool>
    void release(Pool& pool) {
      level_.release(pool);
      piece_.release(pool);
    }

    /// A bucket of the run.
    void one_done() {
      if (++next_ == end_) step_ = reports_ ? Step::kReport : Step::kDone;
    }

   private:
    friend Table;
    enum class Step : u8 { kClaim, kSplit, kSettle, kReport, kDone };

    /// A block that a step lacks, and then has until it links it.
    template <class Block>
    struct Lacking {
      u64 lacking = 0;  // its entries
      u64 entries = 0;  // of the block: the table may have outgrown it
      u64 first = 0;    // number of its first bucket
      u64 bytes = 0;    // of the pool
      Block* block = nullptr;

      bool has(u64 wanted, u64 from) const { return block != nullptr && entries == wanted && first == from; }
      void lack(u64 wanted, u64 from) {
        lacking = wanted;
        first = from;
      }

      template <class Pool>
      [[nodiscard]] bool make(Pool& pool) {
        if (lacking == 0) return true;
        release(pool);
        const u64 before = pool.live();
        void* const at = pool.allocate(Block::bytes_for(lacking));
        if (at == nullptr) return false;
        block = new (at) Block(lacking, first);
        bytes = pool.live() - before;
        entries = std::exchange(lacking, 0);
        return true;
      }
      template <class Pool>
      void release(Pool& pool) {
        if (block != nullptr) pool.free(std::exchange(block, nullptr), Block::bytes_for(entries));
      }
    };

    Step step_ = Step::kClaim;
    bool forced_ = false;     // a run is wanted however many keys there are, unless the table has grown
    Seen seen_;               // since then
    u32 bits_ = 0;            // of the run's buckets; each that is split gets one more
    u64 next_ = 0, end_ = 0;  // of the run, what is left
    u64 reported_ = 0;  // buckets that the report says are done: the run, or none if one had not the bits to be settled
    bool reports_ = false;  // when it is done
    bool settles_ = false;  // rather than splits
    Lacking<Level> level_;
    Lacking<Piece> piece_;
  };

  Seen seen() const { return {.mask = shape_.mask.load(), .claimed = shape_.claimed.load()}; }

  /// A run of splits, unless others have grown the table since it was seen so.
  static Growth forced(Seen seen) {
    Growth growth;
    growth.forced_ = true;
    growth.seen_ = seen;
    return growth;
  }
  /// The split that bucket b is to come from, which whoever has claimed it is late with. It has memory.
  static Growth birth_of(u64 b) {
    Growth growth;
    growth.step_ = Growth::Step::kSplit;
    growth.bits_ = Buckets::level_of(b);
    growth.next_ = parent_of(b);
    growth.end_ = growth.next_ + 1;
    return growth;
  }
  /// Whether who has just inserted a key of this hash is to help.
  static bool asks_to_grow(u64 hash) { return (hash >> 32) % kAskOneIn == 0; }

  /// The bucket that should answer for the hash: a hint.
  [[gnu::always_inline]] u64 guess(u64 hash) const {
    const u64 mask = shape_.mask.load(), b = hash & mask;
    if (b < shape_.claimed.load()) return hash & (2 * mask + 1);
    return b;
  }
  /// Whether it may have more buckets: a hint.
  bool may_grow() const { return Buckets::level_of(shape_.mask.load() + 1) < most_bits_; }
  /// How many there are, claims included: a hint.
  u64 buckets() const { return shape_.mask.load() + 1 + shape_.claimed.load(); }
  /// Whether all buckets with so many bits have been settled. It stays so while a bucket has them: a caller who proves
  /// the bucket after this has to prove no more. Whoever settled has stored the marks of the bucket before he reported,
  /// and the last report stored these bits: a load acquires them (Racy, src/machine/cells.h), so a version read after
  /// it knows of the marks.
  [[gnu::always_inline]] bool settled(u32 bits) const { return shape_.settled_bits.load() == bits; }
  /// Null where it has no memory yet.
  [[gnu::always_inline]] Bucket* at(u64 b) const { return buckets_.at(b); }

  /// Goes to the bucket that answers for the hash, from bucket b on; `word` is what it said there. False where what was
  /// read makes no sense.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, u64& b, ReaderOf<Tx>& at, u64& word) const {
    for (u32 hops = 0; hops < kMostHops; ++hops) {
      if (Bucket* const bucket = buckets_.at(b)) [[likely]] {
        at = tx.enter(bucket);
        word = at->word.load();
        const u64 own = low_bits(hash, bits_of(word));
        if (own == b) [[likely]]
          return true;  // and it is born: of the unborn, own is 0
        b = bits_of(word) != 0 ? own : parent_of(b);
      } else {
        b = parent_of(b);
      }
    }
    return false;
  }

  /// tx.upgrade of the readers, for a change by which there is a key more, or one less (`change` is 1 or -1).
  template <class Tx, class... Readers>
  [[nodiscard]] bool upgrade(Tx& tx, u64 hash, i64 change, const Readers&... readers) {
    if ((hash >> 32) % kCountOneIn != 0) [[likely]]
      return tx.upgrade(readers...);
    auto meter = tx.enter(&meter_);
    if (!tx.upgrade(readers..., meter)) return false;
    meter->counted.store(meter->counted.load() + static_cast<u64>(change));
    return true;
  }

  /// One step. Of the rules of a table
  ///     crowded(keys, bits)            whether so many keys are too many for 2^bits buckets
  ///     hopeless(keys, bits)           if it is there: whether they are so few that more buckets are no help to one
  ///                                    without room
  ///     split(old, born, word, b)      splits an upgraded bucket, whose word it was, and a new one, and stores the
  ///                                    words of both
  ///     settle_in(tx, b, bits)         what is left to do for a bucket after a doubling, as a body; if anything is.
  ///                                    False if the bucket no longer has these bits: what came of its split is not
  ///                                    settled
  template <class Tx, class Rules>
  Attempt<StepResult> grow_in(Tx& tx, const Growth& growth, Growth& after, const Rules& rules) {
    if (growth.step_ == Growth::Step::kClaim) return claim_in(tx, growth, after, rules);
    if constexpr (kSettles<Tx, Rules>) {
      if (growth.step_ == Growth::Step::kSettle) {
        const Attempt<bool> settled = rules.settle_in(tx, growth.next_, growth.bits_);
        if (!settled) return settled.failure();
        if (*settled) return StepResult::kOneDone;
        after = growth;
        after.one_done();
        after.reported_ = 0;
        return StepResult::kChanged;
      }
      if (growth.step_ == Growth::Step::kReport) return report_in(tx, growth, after);
    }
    return split_in(tx, growth, after, rules);
  }

  /// Bytes of the buckets but for the first. Exact while no operation runs.
  u64 room() const { return meter_.room.load(); }
  /// Every bucket that has memory, unborn ones too, and its number, while nobody changes the table.
  template <class Visit>
  void for_each(const Visit& visit) const {
    buckets_.for_each(visit);
  }
  template <class Pool>
  void free_all(Pool& pool) {
    buckets_.free_all(pool);
  }

 private:
  template <class Tx, class Rules>
  static constexpr bool kSettles = requires(const Rules& rules, Tx& tx) { rules.settle_in(tx, u64{}, u32{}); };

  static constexpr u32 kCountOneIn = kTiny ? 1 : 64;  // by hash, and all that are counted
  static constexpr u32 kAskOneIn = kTiny ? 1 : 16;    // ask
  // Buckets of a claim: four for each key, so that a doubling ends well before the next.
  static constexpr u64 kRun = kTiny ? 2 : 64;
  static_assert(Buckets::kPiece % kRun == 0, "a run lies in one piece");
  static constexpr u32 kMostHops = 2 * Buckets::kMostBits;  // of what makes sense: each hop changes at least one bit

  /// How far the table has grown: of mask + 1 buckets the first `claimed` are split, or about to be: where to look
  /// first, for everybody, who never proves it. All buckets with settled_bits bits are settled: no hint, see settled().
  /// Stored under the latch of meter_.
  struct Shape {
    typename Layout::template Cell<u64> mask{(u64{1} << kFirstBits) - 1};
    typename Layout::template Cell<u64> claimed;
    typename Layout::template Cell<u64> settled_bits;
  };

  /// How many keys there are, in part.
  struct Meter {
    u8 tag() const { return 0; }
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> counted;
    typename Layout::template Cell<u64> room;       // bytes
    typename Layout::template Cell<u64> splitting;  // buckets of runs that are not done
    typename Layout::template Cell<u64> settling;   // buckets claimed for it since the last doubling,
    typename Layout::template Cell<u64> settled;    // and of those who were
  };

  /// Takes the next run of buckets, if the table grows or has to.
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
      const u64 settling = meter->settling.load();
      const bool may_settle = meter->splitting.load() == 0 || BugFlags<typename Layout::Bugs::Flag>::kSettleEarly;
      if (!kSettles<Tx, Rules> || settling >= buckets || !may_settle) {
        after.step_ = Growth::Step::kDone;
        return tx.confirm(StepResult::kChanged, meter);
      }
      after.step_ = Growth::Step::kSettle;
      after.bits_ = bits;
      after.next_ = settling;
      after.end_ = std::min(settling + kRun, buckets);
      after.reported_ = after.end_ - settling;
      after.reports_ = after.settles_ = true;
      if (!tx.upgrade(meter)) return kRestart;
      meter->settling.store(after.end_);
      return StepResult::kChanged;
    }
    auto& level_link = buckets_.level(bits);
    const bool has_level = level_link.load() != 0;
    if (const u64 entries = Buckets::pieces_in(bits); !has_level && !growth.level_.has(entries, 0)) {
      after.level_.lack(entries, 0);
      return tx.confirm(StepResult::kChanged, meter);
    }
    const u64 level = has_level ? level_link.load() : Buckets::address(growth.level_.block, bits);
    auto& piece_link = Buckets::link_in(level, buckets + claimed);
    const bool has_piece = piece_link.load() != 0;
    const u64 entries = Buckets::buckets_in_piece(bits), first = buckets + claimed / entries * entries;
    if (!has_piece && !growth.piece_.has(entries, first)) {
      after.piece_.lack(entries, first);
      return tx.confirm(StepResult::kChanged, meter);
    }
    after.step_ = Growth::Step::kSplit;
    after.bits_ = bits;
    after.next_ = claimed;
    after.end_ = std::min(claimed + kRun, buckets);
    after.reported_ = after.end_ - claimed;
    after.reports_ = kSettles<Tx, Rules>;
    if (!tx.upgrade(meter)) return kRestart;
    if (after.reports_) meter->splitting.store(meter->splitting.load() + after.reported_);
    if (!has_piece) link(piece_link, after.piece_, bits);
    if (!has_level) link(level_link, after.level_, bits);
    if (after.end_ == buckets) {
      shape_.claimed.store(0);
      shape_.mask.store(2 * buckets - 1);
      meter->settling.store(0);
      meter->settled.store(0);
    } else {
      shape_.claimed.store(after.end_);
    }
    return StepResult::kChanged;
  }
  template <class Block>
  void link(typename Buckets::Link& link, typename Growth::template Lacking<Block>& made, u32 bits) {
    meter_.room.store(meter_.room.load() + made.bytes);
    link.store(Buckets::address(made.block, bits));
    made = {};
  }

  /// The run is done. Of one that settled another level than the last there is nothing to say.
  template <class Tx>
  Attempt<StepResult> report_in(Tx& tx, const Growth& growth, Growth& after) {
    auto meter = tx.enter(&meter_);
    const u64 buckets = shape_.mask.load() + 1;
    after = growth;
    after.finish();
    if (growth.settles_ && Buckets::level_of(buckets) != growth.bits_) return tx.confirm(StepResult::kChanged, meter);
    if (!tx.upgrade(meter)) return kRestart;
    if (!growth.settles_) {
      meter->splitting.store(meter->splitting.load() - growth.reported_);
      return StepResult::kChanged;
    }
    const u64 settled = meter->settled.load() + growth.reported_;
    meter->settled.store(settled);
    if (settled == buckets) shape_.settled_bits.store(growth.bits_);
    return StepResult::kChanged;
  }

  /// Splits the next bucket of the run, or first the one that it is to come from: others may be late.
  template <class Tx, class Rules>
  Attempt<StepResult> split_in(Tx& tx, const Growth& growth, Growth& after, const Rules& rules) {
    ReaderOf<Tx> at;
    u64 b = growth.next_, word = 0;
    for (;; b = parent_of(b)) {
      Bucket* const bucket = buckets_.at(b);
      if (bucket == nullptr) continue;
      at = tx.enter(bucket);
      word = at->word.load();
      if (bits_of(word) != 0) break;
    }
    const u32 bits = bits_of(word);
    if (b == growth.next_ && bits > growth.bits_) return tx.confirm(StepResult::kOneDone, at);
    Bucket* const born = buckets_.at(b + (u64{1} << bits));
    if (born == nullptr)
      return kRestart;  // only who read of two moments comes here: a piece is linked before it is claimed
    auto sibling = tx.enter(born);
    if (!tx.upgrade(at, sibling)) return kRestart;
    rules.split(*at.node(), *born, word, b);
    if (b == growth.next_ && bits == growth.bits_) return StepResult::kOneDone;
    after = growth;  // there is more to split before
    return StepResult::kChanged;
  }

  mutable Buckets buckets_;
  const u32 most_bits_ = kMostBits;
  alignas(kFalseSharingBytes) Shape shape_;
  alignas(kFalseSharingBytes) mutable Meter meter_;
};

}  // namespace latchlab::growing
