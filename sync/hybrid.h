#pragma once
// `hybrid:N`: readers and descents are those of `olc`; what an operation changes, it changes in one small hardware
// transaction instead of under latches.
//
//     enter epoch -> descend, validating -> upgrade: begin -> versions still as read? -> change them -> stores -> commit
//          ^                                   |                    | no: abort 0xff
//          '------- tries left: N + 1 --- abort -------------------'
//                   else: the same with latches, on the nodes that upgrade names
//
// The invariant: a transaction commits only if every version that it was given still stood when it committed, and it
// leaves each of them changed. So for readers it is a latch that was taken and released in no time: whoever reads a node
// before and after the commit validates against two versions, and nobody waits. A latch that is held, or taken later, is a
// version that differs, or a conflict.
//
// A transaction is a few lines long and has no misses but those of its stores: the descent, which is what a transaction of
// `rtm` spends its time on, is outside. Blocks are made before it, so it never calls the kernel for memory.
//
// An abort begins the operation anew, as a restart does: what aborted it has most likely changed what was read. Every
// status costs one of the N restarts. Where transactions do not work, everything is latched: `olc`.
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
  u64 restarts = 3;   ///< tries by transaction after the first, 0 to 1,000,000; the number after the colon

  /// Throws InputError for a number out of range, or an option.
  static HybridOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// The meaning of one, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

struct HybridCounters : TransactionCounters {
  u64 fallbacks = 0;        ///< changes that were made under latches: all of them where transactions do not work
  u64 read_restarts = 0;    ///< runs of a reading body that were given up
  u64 write_restarts = 0;   ///< of a writing one, aborted ones included

  static constexpr auto fields() {
    using C = HybridCounters;
    return fields_beside(std::array{CounterField{"fallbacks", &C::fallbacks},
                                    CounterField{"read_restarts", &C::read_restarts},
                                    CounterField{"write_restarts", &C::write_restarts}});
  }
};

/// A transaction whose upgrade begins one of the hardware, or locks as any other.
template <class M, class Bugs = NoBugs>
class HybridTx : public VersionedTx<M, Bugs> {
  using Base = VersionedTx<M, Bugs>;
  using Lock = typename Base::Lock;

 public:
  HybridTx(Pool<M>& pool, bool speculates) : Base(pool), speculates_(speculates) {}

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
    if (changes_ && speculates_) {
      M::end();
    } else {
      Base::commit();
    }
  }

  /// For the policy: whether an upgrade has succeeded, and the status of one that did not because its transaction aborted.
  bool changes() const { return changes_; }
  u32 status() const { return status_; }

 private:
  /// A latch that is named twice is changed once. Not inlined, for the reason of VersionedTx::lock.
  [[nodiscard, gnu::noinline]] bool note(Lock lock) {
    for (u32 i = 0; i < noted_; ++i) {
      if (note_[i].latch == lock.latch) return note_[i].version == lock.version;
    }
    if (noted_ == Base::kMaxLocks) [[unlikely]] Base::overflow();
    note_[noted_++] = lock;
    return true;
  }
  /// What is stored from the begin on is undone by an abort, changes_ too.
  [[nodiscard]] bool speculate() {
    if (const u32 status = M::begin(); status != kCommitted) [[unlikely]] {
      status_ = status;
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

  explicit Hybrid(const Options& options) : tries_(M::transactions_work() ? options.restarts + 1 : 0) {}

  /// Why this process latches what it changes; nothing where transactions work.
  static std::optional<std::string> degraded(const Options&) {
    if (M::transactions_work()) return std::nullopt;
    return "hybrid latches what it changes: " + why_no_rtm().value_or("this machine has no transactions");
  }

  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    me.reclaim.enter();
    u64 tries_left = tries_;   // each abort costs one
    for (u32 restarts = 0;; ++restarts) {
      Tx tx(*me.pool, tries_left > 0);
      std::optional<std::invoke_result_t<const Body&, Tx&>> attempt;
      u32 status = M::contain([&] {
        attempt.emplace(body(tx));
        if (*attempt) tx.commit();
      });
      if (status == kCommitted) status = tx.status();
      if (tries_left > 0 && (tx.changes() || status != kCommitted)) ++me.counters.begins;
      if (status != kCommitted) {
        me.counters.abort(status);
        --tries_left;
        tx.blocks().abandon();
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
  [[no_unique_address]] typename M::Elision elision_;
};

}  // namespace latchlab
