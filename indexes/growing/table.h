#pragma once
// A table of growing buckets (buckets.h): how a key finds its bucket, how keys are counted, and how the table grows.
//
// A doubling is a large number of splits, done by threads that insert. One of kAskOneIn new keys makes its thread claim
// a run of buckets and split them, each split an operation of its own. So no single operation is proportional to the
// size of the table. (A key that finds no room at all may have to claim run after run.) Concurrent claims get different
// runs. Nobody waits for a slow claimant: a thread that needs a bucket split splits it.
//
// Some tables have buckets to settle after a doubling. When all buckets have been split, they are claimed once more for
// that. The claimant reports each finished run, so the table knows when a level is settled. Then every bucket has been
// settled, all of them while they had the bits of that level.
//
// The table counts keys with one of kCountOneIn hashes only, so that the line of the counter is rarely written.
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
  static constexpr u32 kMostBits = Buckets::kMostBits - 1;  ///< limit of the number of buckets: 2^kMostBits

  Table() = default;
  /// Makes a table of at most 2^most_bits buckets. most_bits is from kFirstBits to kMostBits.
  explicit Table(u32 most_bits) : most_bits_(most_bits) {}

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
    /// Allocates what the next step lacks, outside attempts. Returns false when memory is out.
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      return level_.make(pool) && piece_.make(pool);
    }
    /// Frees blocks that are no longer needed, since other threads have linked theirs.
    template <class Pool>
    void release(Pool& pool) {
      level_.release(pool);
      piece_.release(pool);
    }

    /// Counts one bucket of the run as done.
    void one_done() {
      if (++next_ == end_) step_ = reports_ ? Step::kReport : Step::kDone;
    }

   private:
    friend Table;
    enum class Step : u8 { kClaim, kSplit, kSettle, kReport, kDone };

    /// A block that a step lacks. Once allocated, the task keeps it until it links it.
    template <class Block>
    struct Lacking {
      u64 lacking = 0;  // number of entries of the block to allocate
      u64 entries = 0;  // number of entries of the allocated block, which the table may have outgrown
      u64 first = 0;    // number of its first bucket
      u64 bytes = 0;    // taken from the pool
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
    // True if the task must get a run at any number of keys, unless the table has grown since seen_.
    bool forced_ = false;
    Seen seen_;               // the size of the table that forced() was given
    u32 bits_ = 0;            // of the run's buckets; a split adds one
    u64 next_ = 0, end_ = 0;  // the buckets of the run that are left
    // Number of buckets to report as done: those of the run, or 0 if one lacked the bits to be settled.
    u64 reported_ = 0;
    bool reports_ = false;  // true if the task must report when it is done
    bool settles_ = false;  // true if the run is settled, false if it is split
    Lacking<Level> level_;
    Lacking<Piece> piece_;
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

  /// Returns the bucket that should be responsible for the hash: a hint.
  [[gnu::always_inline]] u64 guess(u64 hash) const {
    const u64 mask = shape_.mask.load(), b = hash & mask;
    if (b < shape_.claimed.load()) return hash & (2 * mask + 1);
    return b;
  }
  /// Returns true if the table may grow further: a hint.
  bool may_grow() const { return Buckets::level_of(shape_.mask.load() + 1) < most_bits_; }
  /// Returns the number of buckets, claimed ones included: a hint.
  u64 buckets() const { return shape_.mask.load() + 1 + shape_.claimed.load(); }
  /// Returns true if all buckets with `bits` bits have been settled.
  ///
  /// It stays true as long as a bucket has these bits, so a caller that validates the bucket afterwards need not check
  /// again. Memory order: a settling thread stores the marks of a bucket before it reports, and the last report stores
  /// these bits. The load here acquires them (Racy, src/machine/cells.h). So a bucket version that is read afterwards
  /// covers the marks.
  [[gnu::always_inline]] bool settled(u32 bits) const { return shape_.settled_bits.load() == bits; }
  /// Returns bucket b, or null while it has no memory.
  [[gnu::always_inline]] Bucket* at(u64 b) const { return buckets_.at(b); }

  /// Goes to the bucket that is responsible for the hash, starting at bucket b. `word` becomes the content of its word.
  /// Returns false if the words that were read contradict each other.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, u64& b, ReaderOf<Tx>& at, u64& word) const {
    for (u32 hops = 0; hops < kMostHops; ++hops) {
      if (Bucket* const bucket = buckets_.at(b)) [[likely]] {
        at = tx.enter(bucket);
        word = at->word.load();
        const u64 own = low_bits(hash, bits_of(word));
        if (own == b) [[likely]]
          return true;  // and it is born: for an unborn bucket own is 0
        b = bits_of(word) != 0 ? own : parent_of(b);
      } else {
        b = parent_of(b);
      }
    }
    return false;
  }

  /// Upgrades the readers for a change that adds a key or removes one (`change` is 1 or -1). Counts a key of the
  /// sample.
  template <class Tx, class... Readers>
  [[nodiscard]] bool upgrade(Tx& tx, u64 hash, i64 change, const Readers&... readers) {
    if ((hash >> 32) % kCountOneIn != 0) [[likely]]
      return tx.upgrade(readers...);
    auto meter = tx.enter(&meter_);
    if (!tx.upgrade(readers..., meter)) return false;
    meter->counted.store(meter->counted.load() + static_cast<u64>(change));
    return true;
  }

  /// Performs one step of the task. A table's rules are:
  ///     crowded(keys, bits)            returns true if 2^bits buckets are too few for the keys
  ///     hopeless(keys, bits)           optional; returns true if the keys are so few that more buckets do not help a
  ///                                    key without room
  ///     split(old, born, word, b)      splits an upgraded bucket with this word into itself and a new one, and stores
  ///                                    the words of both
  ///     settle_in(tx, b, bits)         optional; a body that finishes bucket b after a doubling. Returns false if the
  ///                                    bucket no longer has these bits: then the results of its split are not settled
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

  /// Returns the bytes of all buckets except those of the beginning. Exact while no operation runs.
  u64 room() const { return meter_.room.load(); }
  /// Visits every bucket that has memory, unborn ones too, with its number. No thread may change the table meanwhile.
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

  static constexpr u32 kCountOneIn = kTiny ? 1 : 64;  // keys are sampled by hash
  static constexpr u32 kAskOneIn = kTiny ? 1 : 16;    // sampled by hash too; every counted key is among these
  // Buckets of a claim: four for each new key, so that a doubling ends well before the next.
  static constexpr u64 kRun = kTiny ? 2 : 64;
  static_assert(Buckets::kPiece % kRun == 0, "a run lies in one piece");
  // An upper bound in a consistent table: each hop changes at least one bit.
  static constexpr u32 kMostHops = 2 * Buckets::kMostBits;

  /// The size of the table. Of mask + 1 buckets the first `claimed` are split, or claimed for a split. These two are a
  /// hint about where to look first, which needs no proof. All buckets with settled_bits bits are settled; this is no
  /// hint, see settled(). The fields are stored under the latch of meter_.
  struct Shape {
    typename Layout::template Cell<u64> mask{(u64{1} << kFirstBits) - 1};
    typename Layout::template Cell<u64> claimed;
    typename Layout::template Cell<u64> settled_bits;
  };

  /// The counters of the table: a sample of its keys, and the progress of its growth.
  struct Meter {
    u8 tag() const { return 0; }
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> counted;
    typename Layout::template Cell<u64> room;       // bytes
    typename Layout::template Cell<u64> splitting;  // buckets claimed to be split and not reported yet
    typename Layout::template Cell<u64> settling;   // buckets claimed to be settled since the last doubling
    typename Layout::template Cell<u64> settled;    // those of them that were reported
  };

  /// Claims the next run of buckets to split, if the table must grow or grows already. Otherwise claims the next run to
  /// settle, if all claimed splits are reported and some buckets are not claimed to be settled yet.
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

  /// Reports the run as done. A run that settled buckets of an earlier level has nothing to report.
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

  /// Splits the next bucket of the run. If the claimant of an ancestor is slow, it splits that ancestor first.
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
    if (born == nullptr) return kRestart;  // read at different moments: a piece is linked before it is claimed
    auto sibling = tx.enter(born);
    if (!tx.upgrade(at, sibling)) return kRestart;
    rules.split(*at.node(), *born, word, b);
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
