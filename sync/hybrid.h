#pragma once
// `hybrid:N`: readers and descents work as in `olc`, but an operation makes its changes in one small hardware
// transaction instead of under latches.
//
//     enter epoch -> descend, validating -> upgrade: begin -> versions as read? -> change them -> stores -> commit
//          ^                                   |              | no: abort 0xff
//          '------- tries left: N + 1 --- abort -------------'
//                   else: the same with latches, on the nodes that upgrade names
//
// The invariant: a transaction commits only if every version that it was given is still current at its commit, and it
// changes each of them. For readers the commit looks like a latch that was taken and released in an instant. No thread
// waits. A reader that reads a node before and after the commit validates against two versions, and fails. A latch that
// is held shows as another version; a latch that is taken later is a conflict.
//
// A transaction is a few lines long and misses only on its stores. The descent, where a transaction of `rtm` spends its
// time, is outside. Blocks are made before it, so it never calls the kernel for memory.
//
// After an abort the operation starts over, as after a restart, because the cause of the abort has probably changed the
// data that was read. Every status costs one of the N + 1 tries. If transactions do not work, all changes are made
// under latches, as in `olc`.
//
// With suspend=1 the transaction begins before the body, if the processor can suspend the tracking of loads (TSXLDTRK):
//
//     enter epoch -> begin, suspend -> descend, validating -> upgrade: resume -> versions still as read? -> as above
//
//   1. The transaction is long, but its suspended loads are not tracked. A store of another thread to a node that was
//      only passed does not abort it, and the descent takes no capacity.
//   2. Suspended loads prove nothing. So the versions are loaded again after the resume, and tracked from there to the
//      commit: the invariant is the same. (That needs versions, which nodes under `rtm` do not have; so `rtm` has no
//      such option.)
//   3. Blocks are made inside; they are the only memory that a descent stores to. The pool is topped up before. An
//      operation that needs more aborts and gets it outside (up to 1 MiB a block).
//   4. A body that ends without an upgrade has nothing to commit. Its transaction is ended all the same, and counted as
//      unused.
// If loads cannot be suspended, the policy works as without suspend.
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
  bool suspend = false;  ///< begin before the descent and do not track its loads

  /// Parses a spec. Throws InputError for a number out of range, or for an unknown option.
  static HybridOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

struct HybridCounters : TransactionCounters {
  u64 fallbacks = 0;       ///< changes that were made under latches: all of them if transactions do not work
  u64 read_restarts = 0;   ///< attempts of reading bodies that restarted
  u64 write_restarts = 0;  ///< attempts of writing bodies that restarted, aborted ones included
  u64 unused = 0;  ///< transactions that ended without a change, not counted as begins or commits; 0 without suspend

  u64 conflicts() const { return write_restarts; }
  static constexpr auto fields() {
    using C = HybridCounters;
    return fields_beside(
        std::array{CounterField{"fallbacks", &C::fallbacks}, CounterField{"read_restarts", &C::read_restarts},
                   CounterField{"write_restarts", &C::write_restarts}, CounterField{"unused", &C::unused}});
  }
};

/// A transaction whose upgrade begins a hardware transaction, or continues one that was begun before the body, or locks
/// as VersionedTx does.
template <class M, class Bugs = NoBugs>
class HybridTx : public VersionedTx<M, Bugs> {
  using Base = VersionedTx<M, Bugs>;
  using Lock = typename Base::Lock;

 public:
  HybridTx(Pool<M>& pool, bool speculates) : Base(pool), speculates_(speculates) {}

  /// Begins a hardware transaction with suspended loads; the policy calls it before the body. Returns false if the
  /// transaction has aborted.
  [[nodiscard]] bool begin_suspended() {
    if (!begun()) [[unlikely]]
      return false;
    M::suspend_loads();
    return suspended_ = true;
  }
  /// Ends a transaction that was begun before a body that has not upgraded, if there is one. The policy calls it.
  void end_unused() {
    if (!suspended_) return;
    resume();  // an end with suspended loads would abort
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
  template <class N>
  [[nodiscard]] bool upgrade_value(const typename Base::template Reader<N>& reader) {
    if (!speculates_) return changes_ = Base::upgrade_value(reader);
    return upgrade(reader);
  }
  template <class N>
  void set_word(const typename Base::template Reader<N>& reader, u64 word) {
    if (!speculates_) return Base::set_word(reader, word);
    reader->word.set(WordLatch<M>::changed(reader.word(), word));
  }

  void commit() {
    if (!speculates_) return Base::commit();
    if (changes_) {
      M::end();
    } else {
      end_unused();
    }
  }

  /// The next three are for the policy. changes: an upgrade has succeeded. unused: a transaction has ended without one.
  /// status: the status of a transaction that has aborted.
  bool changes() const { return changes_; }
  bool unused() const { return unused_; }
  u32 status() const { return status_; }

 private:
  /// Notes a latch to change; one that is named twice is noted once. Not inlined, for the reason of VersionedTx::lock.
  [[nodiscard, gnu::noinline]] bool note(Lock lock) {
    for (u32 i = 0; i < noted_; ++i) {
      if (note_[i].latch == lock.latch) return note_[i].version == lock.version;
    }
    if (noted_ == Base::kMaxLocks) [[unlikely]]
      Base::overflow();
    note_[noted_++] = lock;
    return true;
  }
  /// Begins a transaction. An abort undoes all stores from here on, also those to suspended_ and changes_.
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
        if (!note_[i].latch->has(note_[i].version)) M::template abort<kBusyCode>();
      }
      if (!Bugs::kDropChange) note_[i].latch->set(note_[i].next);
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

  /// Returns the reason why this process makes changes under latches, or does not suspend loads although it should; or
  /// nothing.
  static std::optional<std::string> degraded(const Options& options) {
    if (!M::transactions_work()) {
      return "hybrid makes all changes under latches: " + why_no_rtm().value_or("this machine has no transactions");
    }
    if (!options.suspend || M::suspends_loads()) return std::nullopt;
    return "hybrid begins its transactions after the descent: " +
           why_no_suspended_loads().value_or("this machine suspends no loads");
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
          me.pool->balance();
          (void)me.pool->top_up();  // the body makes its blocks inside
          if (!tx.begin_suspended()) return;
        }
        attempt.emplace(body(tx));
        if (*attempt) tx.commit();
      });
      if (status == kCommitted) status = tx.status();
      // A body that failed leaves its transaction open. Ending it here rather than beside the commit keeps the common
      // path short.
      if (tries_left > 0 && status == kCommitted && !*attempt) status = M::contain([&] { tx.end_unused(); });
      if (tries_left > 0) {
        if (tx.changes() || status != kCommitted) ++me.counters.begins;
        if (tx.unused()) ++me.counters.unused;
      }
      if (status != kCommitted) {
        me.counters.abort(status);
        --tries_left;
        tx.blocks().abandon();
        // With suspend, the blocks that are made inside may be too large for the pool.
        if (classify(status) == AbortCause::kArena) [[unlikely]]
          (void)me.pool->top_up(Pool<M>::kLargestCarved);
        this->give_up(me, kRestart, me.counters.write_restarts, restarts);
      } else if (*attempt) [[likely]] {
        if (!tx.changes()) {
          // There was no change, so nothing to count.
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
