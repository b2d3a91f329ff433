#pragma once
// `hle`: the global lock of `spin` with the prefixes of hardware lock elision. `hle:emulated` takes the same decisions
// with transactions, and so does `hle` on a modelled machine.
//
//     XACQUIRE exchange -> body -> XRELEASE store                  elided: other threads see no exchange
//           ^                       |
//           |                  abort: the exchange again, for real --- was free ---> body, store: a fallback
//           |                       | was held
//           '------ spin until free-'
//
// The software decides little. The processor runs the exchange for real after every abort, so one abort makes one
// holder, which aborts all elided operations. That is why this elision does not scale, and why `rtm` exists.
//
// Current processors ignore the prefixes. Then every operation takes the lock, and degraded() says so. With the
// prefixes the processor reports neither transactions nor aborts. An operation counts as prefix_elided if XTEST is true
// after its last exchange, and as a fallback otherwise. `emulated` needs working transactions and counts like `rtm`.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/elided_lock.h"

namespace latchlab {

struct HleOptions {
  bool emulated = false;  ///< true if the word after the colon is emulated: elides by transactions

  /// Parses a spec. Throws InputError for any other word.
  static HleOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

struct HleCounters : RtmCounters {
  u64 prefix_elided = 0;  ///< operations that the prefixes elided; the number of their aborts is unknown

  static constexpr auto fields() {
    using C = HleCounters;
    return fields_of_elision(std::array{CounterField{"prefix_elided", &C::prefix_elided}});
  }
  u64 elided() const { return commits + prefix_elided; }
  std::string inconsistency() const {
    if (std::string what = TransactionCounters::inconsistency(); !what.empty()) return what;
    return unaccounted(ops, "commits + prefix_elided", elided(), fallbacks);
  }
};

template <class M, class Bugs = NoBugs>
class Hle : public ElidedLock<Hle<M, Bugs>, M, Bugs> {
  using Base = ElidedLock<Hle, M, Bugs>;
  friend Base;

 public:
  static constexpr std::string_view kName = "hle";
  static constexpr std::string_view kAbout = "one global lock, elided by its prefixes (XACQUIRE, XRELEASE)";
  using Options = HleOptions;
  using Counters = HleCounters;

  explicit Hle(const Options& options) : Base(elides(options)), by_transactions_(by_transactions(options)) {}

  /// Returns the reason why this process runs `hle` under its lock, or nothing if it elides.
  static std::optional<std::string> degraded(const Options& options) {
    if (elides(options)) return std::nullopt;
    const std::optional<std::string> why = options.emulated ? why_no_rtm() : why_no_hle();
    return "hle runs under its lock: " + why.value_or("this machine does not elide");
  }

 private:
  static bool by_transactions(const Options& options) { return options.emulated || M::kPrefixesAreTransactions; }
  static bool elides(const Options& options) {
    return by_transactions(options) ? M::transactions_work() : M::prefixes_elide();
  }

  template <class Me, class Run>
  [[gnu::always_inline]] inline void run_elided(Me& me, DirectTx<M>& tx, const Run& run) {
    if (by_transactions_) return Base::run_elided(me, tx, run);
    (void)me.pool->top_up();  // the code that follows may run as a transaction
    this->lock_.lock_by_prefix();
    const bool elided = this->elides_ && M::in_elision();
    run();
    this->lock_.unlock_by_prefix();
    ++(elided ? me.counters.prefix_elided : me.counters.fallbacks);
  }

  template <class Me, class Run>
  [[nodiscard, gnu::always_inline]] inline u32 try_once(Me& me, DirectTx<M>& tx, const Run& run) {
    (void)me.pool->top_up();  // a failure is ignored: only an operation that needs memory must fall back and fail
    return this->transact(me.counters, tx.blocks(), run);
  }

  template <class Me, class Run>
  [[nodiscard]] bool speculate(Me& me, DirectTx<M>& tx, const Run& run, u32 status) {
    while (status != kCommitted) {
      if (Bugs::kDropFallbackLock) return false;
      if (this->lock_.exchange()) return false;
      this->await_free(me.counters);
      ++me.counters.respeculations;
      status = try_once(me, tx, run);
    }
    return true;
  }

  const bool by_transactions_;
};

}  // namespace latchlab
