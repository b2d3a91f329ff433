#pragma once
// `hybrid:N`: readers and descents are those of `olc`; what an operation changes, it changes in one small hardware
// transaction instead of under latches.
//
//     enter epoch -> descend, validating -> upgrade: begin -> versions as read? -> change them -> stores -> commit
//          ^                                   |              | no: abort 0xff
//          '------- tries left: N + 1 --- abort -------------'
//                   else: the same with latches, on the nodes that upgrade names
//
// The invariant: a transaction commits only if every version that it was given still stood when it committed, and it
// leaves each of them changed. So for readers it is a latch that was taken and released in no time: whoever reads a
// node before and after the commit validates against two versions, and nobody waits. A latch that is held, or taken
// later, is a version that differs, or a conflict.
//
// A transaction is a few lines long and has no misses but those of its stores: the descent, which is what a transaction
// of `rtm` spends its time on, is outside. Blocks are made before it, so it never calls the kernel for memory.
//
// An abort begins the operation anew, as a restart does: what aborted it has most likely changed what was read. Every
// status costs one of the N restarts. Where transactions do not work, everything is latched: `olc`.
//
// suspend=1 begins before the body, where the processor can suspend the tracking of loads (TSXLDTRK):
//
//     enter epoch -> begin, suspend -> descend, validating -> upgrade: resume -> versions still as read? -> as above
//
// The transaction is long, but what the descent reads is neither watched nor counted: nobody's store to a node that was
// only passed aborts it, and no capacity bounds it. Nor does it prove anything, so the versions are loaded again after
// the resume and watched from there to the commit: the invariant is the same. (It needs versions: the nodes of `rtm`
// have none, which is why this is an option here and not there.) Blocks are made inside, the only thing that a descent
// stores to: the pool is topped up before, and what needs more aborts and gets it outside (up to 1 MiB a block). A body
// that ends without an upgrade has nothing to commit; its transaction is ended all the same, and counted apart. Where
// loads cannot be suspended, it is as without suspend.
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/layout.h"
#include "sync/optimistic.h"
#include "sync/rtm_counters.h"

namespace latchlab {

struct HybridOptions {
  u64 restarts = 3;      ///< tries by transaction after the first, 0 to 1,000,000; the number after the colon
  bool suspend = false;  ///< begin before the descent, whose loads are not tracked

  /// Throws InputError for a number out of range, or a word that is none of these.
  static HybridOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// The meaning of one, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

struct HybridCounters : TransactionCounters {
  u64 fallbacks = 0;       ///< changes that were made under latches: all of them where transactions do not work
  u64 read_restarts = 0;   ///< runs of a reading body that were given up
  u64 write_restarts = 0;  ///< of a writing one, aborted ones included
  u64 unused = 0;  ///< transactions that ended without a change, neither begins nor commits; none without suspend

  static constexpr auto fields() {
    using C = HybridCounters;
    return fields_beside(
        std::array{CounterField{"fallbacks", &C::fallbacks}, CounterField{"read_restarts", &C::read_restarts},
                   CounterField{"write_restarts", &C::write_restarts}, CounterField{"unused", &C::unused}});
  }
};

/// A transaction whose upgrade begins one of the hardware, or goes on with one that was begun before, or locks as any
/// other.
template <class M, class Bugs = NoBugs>
class HybridTx : public VersionedTx<M, Bugs> {
  using Base = VersionedTx<M, Bugs>;
  using Lock = typename Base::Lock;

 public:
  HybridTx(Pool<M>& pool, bool speculates) : Base(pool), speculates_(speculates) {}

  /// For the policy, before a body that shall descend with suspended loads. False where the transaction has aborted.
  [[nodiscard]] bool begin_suspended() {
    if (!begun()) [[unlikely]]
      return false;
    M::suspend_loads();
    return suspended_ = true;
  }
  /// For the policy, after a body that has not upgraded: ends what was begun before it, if anything was.
  void end_unused() {
    if (!suspended_) return;
    resume();  // before it an end would abort
    M::end();
    unused_ = true;
  }

  template <class... Readers>
  [[nodiscard]] bool upgrade(const Readers&... readers) {
    if (!speculates_) return changes_ = Base::upgrade(readers...);
    return (note(this->lock_of(readers)) && ...) && speculate();
  }
  template <class N>
  [[nodiscard]] bool upgrade(std::span<const typename Base::template Reader<N>> readers) {
    if (!speculates_) return changes_ = Base::upgrade(readers);
    for (const auto& reader : readers) {
      if (!note(this->lock_of(reader))) return false;
    }
    return speculate();
  }

  void commit() {
    if (!speculates_) return Base::commit();
    if (changes_) {
      M::end();
    } else {
      end_unused();
    }
  }

  /// For the policy: whether an upgrade has succeeded, whether a transaction has ended without one, and the status of
  /// one that has aborted.
  bool changes() const { return changes_; }
  bool unused() const { return unused_; }
  u32 status() const { return status_; }

 private:
  /// A latch that is named twice is changed once. Not inlined, for the reason of VersionedTx::lock.
  [[nodiscard, gnu::noinline]] bool note(Lock lock) {
    for (u32 i = 0; i < noted_; ++i) {
      if (note_[i].latch == lock.latch) return note_[i].version == lock.version;
    }
    if (noted_ == Base::kMaxLocks) [[unlikely]]
      Base::overflow();
    note_[noted_++] = lock;
    return true;
  }
  /// What is stored from here on is undone by an abort, suspended_ and changes_ too.
  [[nodiscard]] bool begun() {
    const u32 status = M::begin();
    if (status == kCommitted) [[likely]]
      return true;
    status_ = status;
    return false;
  }
  void resume() {
    M::resume_loads();
    suspended_ = false;
  }
  [[nodiscard]] bool speculate() {
    if (suspended_) [[unlikely]] {
      resume();
    } else if (!begun()) [[unlikely]] {
      return false;
    }
    for (u32 i = 0; i < noted_; ++i) {
      if (!Bugs::kDropUpgrade) {
        if (!note_[i].latch->unchanged(note_[i].version)) M::template abort<kBusyCode>();
      }
      if (!Bugs::kDropChange) note_[i].latch->change(note_[i].version);
    }
    return changes_ = true;
  }

  const bool speculates_;
  bool suspended_ = false, unused_ = false;
  bool changes_ = false;
  u32 status_ = kCommitted;
  u32 noted_ = 0;
  Lock note_[Base::kMaxLocks];
};

template <class M, class Bugs = NoBugs>
class Hybrid : public Optimistic<VersionedLayout<M, Bugs>> {
 public:
  static constexpr std::string_view kName = "hybrid";
  static constexpr std::string_view kAbout = "olc whose changes are small hardware transactions";
  static constexpr bool kElides = true;
  static constexpr bool kElidesReads = false;
  using Tx = HybridTx<M, Bugs>;
  using ReadTx = VersionedTx<M, Bugs>;
  using Options = HybridOptions;
  using Counters = HybridCounters;

  explicit Hybrid(const Options& options)
      : tries_(M::transactions_work() ? options.restarts + 1 : 0), suspends_(options.suspend && M::suspends_loads()) {}

  /// Why this process latches what it changes, or does not suspend what it should; nothing where it does as asked.
  static std::optional<std::string> degraded(const Options& options) {
    if (!M::transactions_work()) {
      return "hybrid latches what it changes: " + why_no_rtm().value_or("this machine has no transactions");
    }
    if (!options.suspend || M::suspends_loads()) return std::nullopt;
    return "hybrid begins after its descent: " + why_no_suspended_loads().value_or("this machine suspends no loads");
  }

  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    me.reclaim.enter();
    u64 tries_left = tries_;  // each abort costs one
    for (u32 restarts = 0;; ++restarts) {
      Tx tx(*me.pool, tries_left > 0);
      std::optional<std::invoke_result_t<const Body&, Tx&>> attempt;
      u32 status = M::contain([&] {
        if (tries_left > 0 && suspends_) {
          (void)me.pool->top_up();  // the body makes its blocks inside
          if (!tx.begin_suspended()) return;
        }
        attempt.emplace(body(tx));
        if (*attempt) tx.commit();
      });
      if (status == kCommitted) status = tx.status();
      // Of a body that failed. Here, because beside the commit it would cost the way of those that do not.
      if (tries_left > 0 && status == kCommitted && !*attempt) status = M::contain([&] { tx.end_unused(); });
      if (tries_left > 0) {
        if (tx.changes() || status != kCommitted) ++me.counters.begins;
        if (tx.unused()) ++me.counters.unused;
      }
      if (status != kCommitted) {
        me.counters.abort(status);
        --tries_left;
        tx.blocks().abandon();
        // Of what is made inside, with suspend.
        if (classify(status) == AbortCause::kArena) [[unlikely]]
          (void)me.pool->top_up(Pool<M>::kLargestCarved);
        this->give_up(me, kRestart, me.counters.write_restarts, restarts);
      } else if (*attempt) [[likely]] {
        if (!tx.changes()) {
          // Nothing to elide.
        } else if (tries_left > 0) {
          me.counters.commit(tries_ - tries_left + 1);
        } else {
          ++me.counters.fallbacks;
        }
        this->settle(me, tx.blocks());
        me.reclaim.leave();
        return **std::move(attempt);
      } else {
        tx.release();
        tx.blocks().abandon();
        this->give_up(me, attempt->failure(), me.counters.write_restarts, restarts);
      }
    }
  }

 private:
  const u64 tries_;
  const bool suspends_;
  [[no_unique_address]] typename M::Elision elision_;
};

}  // namespace latchlab
