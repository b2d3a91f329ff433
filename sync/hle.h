#pragma once
// `hle`: the global lock of `spin` under the prefixes of hardware lock elision; `hle:emulated`: the same decisions, made with
// transactions.
//
//     XACQUIRE exchange -> body -> XRELEASE store                  elided: nobody's exchange is seen
//           ^                       |
//           |                  abort: the exchange again, for real --- was free ---> body, store: a fallback
//           |                       | was held
//           '------ spin until free-'
//
// What the software decides is little: the processor runs the exchange for real after every abort, so one abort makes one
// holder, which aborts everybody who elides. That is why this elision does not scale and `rtm` exists.
//
// Current processors ignore the prefixes. Then every operation takes the lock, and degraded() says so. Under the prefixes the
// processor does not tell of aborts: an operation counts as begun and committed if XTEST said, behind the exchange, that it was
// elided, and as a fallback otherwise. `emulated` needs working transactions and counts as `rtm` does.
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/coarse.h"
#include "sync/rtm_counters.h"
#include "sync/seeded_bugs.h"
#include "sync/spin_lock.h"

namespace latchlab {

struct HleOptions {
  bool emulated = false;   ///< by transactions; the word after the colon

  /// Throws InputError for any other word.
  static HleOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// For `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

template <class M, class Bugs = NoBugs>
class Hle : public CoarsePolicy<M, Bugs> {
 public:
  static constexpr std::string_view kName = "hle";
  static constexpr std::string_view kAbout = "one global lock, elided by its prefixes (XACQUIRE, XRELEASE)";
  static constexpr bool kElides = true;
  using Options = HleOptions;
  using Counters = RtmCounters;

  explicit Hle(const Options& options)
      : options_(options), elides_(options.emulated ? M::transactions_work() : M::prefixes_elide()) {}

  /// Why this process runs `hle` on its lock; nothing where it elides.
  static std::optional<std::string> degraded(const Options& options) {
    if (options.emulated ? M::transactions_work() : M::prefixes_elide()) return std::nullopt;
    const std::optional<std::string> why = options.emulated ? why_no_rtm() : why_no_hle();
    return "hle runs on its lock: " + why.value_or("this machine does not elide");
  }

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run(me, tx, body);
    return finish_reading(*attempt);
  }

  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run(me, tx, body);
    return finish_writing(tx, *attempt);
  }

 private:
  template <class Me, class Body>
  [[gnu::always_inline]] inline auto run(Me& me, DirectTx<M>& tx, Body& body) {
    RtmCounters& count = me.counters;
    std::optional<std::invoke_result_t<Body&, DirectTx<M>&>> attempt;
    const auto run_body = [&] { attempt.emplace(body(tx)); };
    ++count.ops;
    if (!options_.emulated) {
      run_under_prefixes(count, run_body);
    } else if (elides_ && speculate(me, tx, run_body)) {
      ++count.commits;
    } else {
      if (!elides_) lock_.lock();   // speculate comes back with it
      ++count.fallbacks;
      run_body();
      if constexpr (!Bugs::kDropFallbackLock) lock_.unlock();
    }
    return attempt;
  }

  template <class Run>
  [[gnu::always_inline]] inline void run_under_prefixes(RtmCounters& count, const Run& run_body) {
    lock_.lock_by_prefix();
    const bool elided = elides_ && M::in_elision();
    run_body();
    lock_.unlock_by_prefix();
    count.begins += elided;
    ++(elided ? count.commits : count.fallbacks);
  }

  /// True when `run_body` has committed in a transaction; false when this thread now holds the lock.
  template <class Me, class Run>
  [[nodiscard, gnu::always_inline]] inline bool speculate(Me& me, DirectTx<M>& tx, const Run& run_body) {
    RtmCounters& count = me.counters;
    for (;; ++count.respeculations) {
      (void)me.context.top_up();   // when memory is out this fails, and only who needs memory must fall back and fail
      ++count.begins;
      const u32 status = M::transact([&] {
        if constexpr (!Bugs::kDropSubscription) {
          if (lock_.busy()) M::template abort<kBusyCode>();
        }
        run_body();
      });
      if (status == kCommitted) [[likely]] return true;
      tx.blocks().abandon();
      count.abort(status);
      if constexpr (Bugs::kDropFallbackLock) return false;
      if (lock_.exchange()) return false;
      lock_.await_free();
    }
  }

  const Options options_;
  const bool elides_;
  [[no_unique_address]] typename M::Elision elision_;
  SpinLock<M> lock_;
};

}  // namespace latchlab
