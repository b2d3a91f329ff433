#pragma once
// `three-path:N`: transactions first, and olc as the path that needs none; both may run at once (Brown, PODC 2017).
//
//     fast     a transaction around the body, without versions; only while no operation is on the slow path
//        | N + 1 tries, or an operation is on the slow path
//     middle   a transaction around the body that looks at latches and changes versions
//        | M + 1 tries
//     slow     olc, counted in `slow_`
//
// A global lock that is elided lets one fallback stop everybody. Here a fallback latches its few nodes, and others go
// on in the middle.
//
// The lemmas that make it safe:
//   1. fast and fast, fast and middle, middle and middle: both are transactions, so the machine keeps them apart.
//   2. fast and slow: a fast transaction reads `slow_`, aborts unless it is 0, and has it in its read set until it
//      commits. A slow operation counts itself first. So no fast one commits while a slow one runs: neither changes,
//      nor reads what is half changed. Operations that only read count themselves on the slow path, too, because a fast
//      transaction changes no versions by which they could notice it.
//   3. middle and slow: a middle transaction aborts at a node that is latched, and has the latch of each node that it
//      enters in its read set. It changes the versions of the nodes that it changes, at its commit at once. So for slow
//      readers it is a writer that takes latches and releases them in an instant; for slow writers it is a reader that
//      they abort.
//   4. A value that readers load at once may change beside them, but not beside another change: the middle path aborts
//      at a word that is being updated.
//
// All paths run inside epochs, because the slow one follows links of nodes that others retire.
//
// Paper: T. Brown. A template for implementing fast lock-free trees using HTM. PODC 2017. There the slow path is
// lock-free and helps others, and only operations that change the tree count themselves: its readers need no versions.
#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/optimistic.h"
#include "sync/rtm_counters.h"

namespace latchlab {

struct ThreePathOptions {
  u64 restarts = 10;  ///< tries on the fast path after the first, 0 to 1,000,000; the number after the colon
  u64 middle = 10;    ///< tries on the middle path after its first, 0 to 1,000,000

  /// Parses a spec. Throws InputError for a number out of range, or for an unknown option.
  static ThreePathOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

struct ThreePathCounters : TransactionCounters {
  u64 ops = 0;             ///< operations begun
  u64 middle_commits = 0;  ///< of `commits`, those on the middle path
  u64 fallbacks = 0;       ///< operations on the slow path: all of them if transactions do not work
  u64 read_restarts = 0;   ///< attempts of reading bodies on the slow path that restarted
  u64 write_restarts = 0;  ///< attempts of writing bodies on the slow path that restarted

  u64 conflicts() const { return conflict + write_restarts; }
  static constexpr auto fields() {
    using C = ThreePathCounters;
    return fields_beside(std::array{CounterField{"ops", &C::ops}, CounterField{"middle_commits", &C::middle_commits},
                                    CounterField{"fallbacks", &C::fallbacks},
                                    CounterField{"read_restarts", &C::read_restarts},
                                    CounterField{"write_restarts", &C::write_restarts}});
  }
  std::string inconsistency() const {
    if (std::string what = TransactionCounters::inconsistency(); !what.empty()) return what;
    return unaccounted(ops, "commits", commits, fallbacks);
  }
};

/// A transaction of the fast path: it validates nothing. Nodes have latches, but nobody uses them.
template <class M>
class FastTx : public DirectTx<M> {
 public:
  using DirectTx<M>::DirectTx;

  template <class N>
  void set_word(const typename DirectTx<M>::template Reader<N>& reader, u64 word) {
    reader->word.set(WordLatch<M>::changed(reader->word.load(), word));
  }
};

/// A transaction of the middle path: it aborts at a latched node, and changes the versions of nodes that it changes.
template <class M, class Bugs>
class MiddleTx : public FastTx<M> {
  using Latches = LatchInNode<M>;
  using Direct = DirectTx<M>;

 public:
  using FastTx<M>::FastTx;

  template <class N>
  class Reader : public Direct::template Reader<N> {
    using Base = typename Direct::template Reader<N>;

   public:
    Reader() = default;
    explicit Reader(N* node) : Base(node) { look(node); }
    [[nodiscard]] bool step_to(N* child) {
      look(child);
      return Base::step_to(child);
    }
    [[nodiscard]] GuessResult step_to(N* child, u8 guess) {
      look(child);
      return Base::step_to(child, guess);
    }

   private:
    static void look(const N* node) {
      if (Bugs::kPassLatches) return;
      // Relaxed is enough in a transaction, whose reads are of one moment.
      if (LatchBase<M>::locked(Latches::of(node).word())) M::template abort<kBusyCode>();
    }
  };

  template <class N>
  Reader<N> enter(N* node) {
    return Reader<N>(node);
  }
  template <class... Readers>
  [[nodiscard]] bool upgrade(const Readers&... readers) {
    (change(readers.node()), ...);
    return true;
  }
  template <class N>
  [[nodiscard]] bool upgrade(std::span<const Reader<N>> readers) {
    for (const Reader<N>& reader : readers) change(reader.node());
    return true;
  }
  template <class N>
  [[nodiscard]] bool upgrade_value(const Reader<N>& reader) {
    change(reader.node());
    return true;
  }

 private:
  /// Gives a node a new version. One that is named twice gets two.
  template <class N>
  static void change(N* node) {
    auto& latch = Latches::of(node);
    using Latch = std::remove_reference_t<decltype(latch)>;
    const u64 word = latch.word();
    if constexpr (std::same_as<Latch, WordLatch<M>>) {
      if ((word & WordLatch<M>::kUpdating) != 0) M::template abort<kBusyCode>();  // lemma 4
    }
    if (!Bugs::kDropChange) latch.set(Latch::changed(word));
  }
};

template <class M, class Bugs = NoBugs>
class ThreePath : public Optimistic<VersionedLayout<M, Bugs>> {
  using Base = Optimistic<VersionedLayout<M, Bugs>>;

 public:
  static constexpr std::string_view kName = "three-path";
  static constexpr std::string_view kAbout = "transactions, transactions that change versions, or olc";
  static constexpr bool kElides = true;
  using Options = ThreePathOptions;
  using Counters = ThreePathCounters;

  explicit ThreePath(const Options& options) : works_(M::transactions_work()), options_(options) {}

  /// Returns the reason why this process runs everything on the slow path, or nothing if transactions work.
  static std::optional<std::string> degraded(const Options&) {
    if (M::transactions_work()) return std::nullopt;
    return "three-path runs everything on its slow path: " + why_no_rtm().value_or("this machine has no transactions");
  }

  template <class Me, class Body>
  auto read(Me& me, const Body& body) {
    if constexpr (std::invocable<const Body&, FastTx<M>&>) {
      if (auto done = speculate<kReads>(me, body)) return *std::move(done);
    }
    const Counted counted(*this);
    return Base::read(me, body);
  }
  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    if constexpr (std::invocable<const Body&, FastTx<M>&>) {
      if (auto done = speculate<kChanges>(me, body)) return *std::move(done);
    }
    const Counted counted(*this);
    return Base::write(me, body);
  }

 private:
  enum Kind : bool { kReads, kChanges };

  /// An operation on the slow path while it lives. Without transactions there is no other path, and nothing to count.
  class Counted {
   public:
    // Sequentially consistent: a locked instruction, before which the processor makes no later read. Otherwise a fast
    // transaction could commit between such a read and the count. Pairs with the load in once.
    explicit Counted(ThreePath& policy) : policy_(policy), counts_(policy.works_ && !Bugs::kDropSlowCount) {
      if (counts_) policy_.slow_.fetch_add(1, kSeqCst);
    }
    ~Counted() {
      if (counts_) policy_.slow_.fetch_add(~u64{0}, kRelease);  // pairs with the load in once
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    ThreePath& policy_;
    const bool counts_;
  };

  /// Tries the fast path, and then the middle one. Returns nothing if the operation must take the slow path, which it
  /// does if memory is out, too.
  template <Kind kKind, class Me, class Body>
  auto speculate(Me& me, const Body& body) {
    using Value = typename std::invoke_result_t<const Body&, FastTx<M>&>::Value;
    ++me.counters.ops;
    std::optional<Value> done;
    if (works_) {
      const u64 begins = me.counters.begins;
      me.reclaim.enter();
      for (u64 i = 0; i <= options_.restarts && slow_.load(kRelaxed) == 0 && !done; ++i) {  // relaxed: once decides
        once<kKind, FastTx<M>>(me, body, done, true);
      }
      if (!done) {
        for (u64 i = 0; i <= options_.middle && !done; ++i) once<kKind, MiddleTx<M, Bugs>>(me, body, done, false);
        me.counters.middle_commits += done.has_value();
      }
      me.reclaim.leave();
      if (done) me.counters.commit(me.counters.begins - begins);
    }
    me.counters.fallbacks += !done;
    return done;
  }

  template <Kind kKind, class Tx, class Me, class Body, class Value>
  void once(Me& me, const Body& body, std::optional<Value>& done, bool alone) {
    (void)me.pool->top_up();  // a failure is ignored: only an operation that needs memory must fail
    Tx tx(*me.pool);
    std::optional<Attempt<Value>> attempt;
    ++me.counters.begins;
    const u32 status = M::transact([&] {
      if (alone && !Bugs::kDropSubscription) {
        if (slow_.load(kSeqCst) != 0) M::template abort<kBusyCode>();  // pairs with Counted
      }
      attempt.emplace(body(tx));
      // No verb of these transactions fails, so memory is out. An abort undoes and counts the try. The slow path finds
      // that memory is out, too, and throws.
      if (!*attempt) M::template abort<kArenaCode>();
    });
    if (status != kCommitted) {
      me.counters.abort(status);
      tx.blocks().abandon();
      if (classify(status) == AbortCause::kArena) (void)me.pool->top_up(Pool<M>::kLargestCarved);
    } else {
      // A body that only reads retires nothing. Retired blocks are left to the epochs.
      if constexpr (kKind == kChanges) Base::settle(me, tx.blocks());
      done.emplace(**std::move(attempt));
    }
  }

  const bool works_;
  const Options options_;
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> slow_{0};
  [[no_unique_address]] typename M::Elision elision_;
};

}  // namespace latchlab
