// Trials of policies that elide their lock: the paths that operations took, and whether the policy kept its promise.
#include <optional>
#include <string>
#include <string_view>

#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "sync/adaptive.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/own.h"
#include "sync/rtm_counters.h"
#include "sync/tbb_elision.h"

namespace latchlab {
namespace {

using testing::phase_of;
using testing::phases_of;
using testing::plan_of;
using testing::run_of;
using testing::small;
using toy::Toy;

enum class Elision {
  kWorks,      ///< one abort and one commit a lookup
  kOtherwise,  ///< the same, but not in the way that was asked for
  kDegraded,   ///< every lookup takes the lock, and the policy says why
  kSilent      ///< every lookup takes the lock, although the policy says that it elides
};

template <Elision kElision>
struct ElidingPolicy : Own {
  static constexpr bool kElides = true;
  static std::optional<std::string> degraded(const Options&) {
    if (kElision == Elision::kOtherwise) return "it begins later";
    return kElision == Elision::kDegraded ? std::optional<std::string>("it runs on its lock") : std::nullopt;
  }
};

/// A toy with the counters of a policy; derived classes count their operations.
template <class P, class Counters>
struct Counting : Toy<u64> {
  using Toy<u64>::Toy;
  using Policy = P;
  struct ThreadState : Toy<u64>::ThreadState {
    Counters counters;
  };
  ThreadState join() { return {}; }
};

/// A toy that counts like a policy that elides.
template <Elision kElision>
struct Eliding : Counting<ElidingPolicy<kElision>, RtmCounters> {
  using Base = Counting<ElidingPolicy<kElision>, RtmCounters>;
  using Base::Base;
  using typename Base::ThreadState;
  std::optional<u64> find(ThreadState& me, u64 key) {
    ++me.counters.ops;
    if (kElision == Elision::kWorks || kElision == Elision::kOtherwise) {
      me.counters.begins += 2;
      me.counters.abort(kAbortConflict | kAbortRetry);
      ++me.counters.commits;
    } else {
      ++me.counters.fallbacks;
    }
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("aborts are in one section of the result, which is missing if no transaction was begun") {
  const auto count = [](const SyncStats::Counts& counts, std::string_view name) -> std::optional<u64> {
    for (const NamedCount& c : counts) {
      if (c.name == name) return c.count;
    }
    return std::nullopt;
  };
  const TrialResult works = run_of<Eliding<Elision::kWorks>>(small("lookup"));
  REQUIRE(works.sync.aborts);
  CHECK(count(*works.sync.aborts, "conflict") == count(*works.sync.counters, "commits"));
  CHECK(count(*works.sync.aborts, "zero") == 0);
  REQUIRE(works.sync.abort_statuses);
  REQUIRE(works.sync.abort_statuses->size() == 1);
  CHECK(count(*works.sync.abort_statuses, "retry+conflict") == count(*works.sync.aborts, "conflict"));
  CHECK(*works.sync.fallback_rate == 0);
  const TrialResult never = run_of<Eliding<Elision::kDegraded>>(small("lookup"));
  CHECK_FALSE(never.sync.aborts);
  CHECK(never.sync.aborts.reason == "no transaction was begun");
  CHECK_FALSE(never.sync.abort_statuses);
  CHECK(never.sync.abort_statuses.reason == "no transaction was begun");
  CHECK(count(*never.sync.counters, "begins") == 0);
  CHECK(count(*never.sync.counters, "fallbacks") == count(*never.sync.counters, "ops"));
  CHECK(*never.sync.fallback_rate == 1);
  CHECK(count(*works.sync.counters, "hold_ns") == 0);
  for (const char* time : {"wait_ns", "retry_ns", "hold_ns"}) CHECK_FALSE(count(*never.sync.counters, time));
  for (const std::string_view cause : kWords<AbortCause>) {
    INFO(cause);
    CHECK_FALSE(count(*works.sync.counters, cause));
    CHECK_FALSE(count(*never.sync.counters, cause));
  }
}

TEST_CASE("a policy that elided nothing, or otherwise than asked, is degraded if it says why, and else invalid") {
  const TrialResult works = run_of<Eliding<Elision::kWorks>>(small("lookup"));
  CHECK(works.status == Status::kOk);
  CHECK(works.reason.empty() == (works.status == Status::kOk));
  const TrialResult degraded = run_of<Eliding<Elision::kDegraded>>(small("lookup"));
  CHECK(degraded.status == Status::kDegraded);
  CHECK(degraded.reason == "it runs on its lock");
  const TrialResult otherwise = run_of<Eliding<Elision::kOtherwise>>(small("lookup"));
  CHECK(otherwise.status == Status::kDegraded);
  CHECK(otherwise.reason == "it begins later");
  const TrialResult silent = run_of<Eliding<Elision::kSilent>>(small("lookup"));
  CHECK(silent.status == Status::kInvalid);
  CHECK(silent.reason == "no operation was elided, although the probe says that elision works here");
}

TEST_CASE("a result that is degraded by its policy and by its index names both reasons") {
  Plan plan = plan_of(small("lookup"));
  plan.index_degraded = "no such instructions";
  const TrialResult both = run_of<Eliding<Elision::kDegraded>>(plan);
  CHECK(both.status == Status::kDegraded);
  CHECK(both.reason == "it runs on its lock; no such instructions");
  CHECK(run_of<Eliding<Elision::kWorks>>(plan).reason == "no such instructions");
  CHECK(run_of<Eliding<Elision::kSilent>>(plan).status == Status::kInvalid);
}

/// A toy under a policy whose lookups need no elision.
using Looking = Counting<ElidingPolicy<Elision::kDegraded>, HybridCounters>;

TEST_CASE("a policy that had nothing to elide is not degraded") {
  const TrialResult result = run_of<Looking>(small("lookup"));
  CHECK(result.status == Status::kOk);
  CHECK(result.sync.aborts.reason == "no transaction was begun");
  CHECK(result.sync.fallback_rate.reason == "there was nothing to elide");
}

/// A policy that elides, but knows only whether an operation took its lock. Here all operations did.
struct Unseen : Counting<ElidingPolicy<Elision::kDegraded>, TbbElisionCounters> {
  using Counting::Counting;
  std::optional<u64> find(ThreadState& me, u64 key) {
    ++me.counters.ops;
    ++me.counters.fallbacks;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("a policy that does not see its aborts reports none, and is degraded if all operations took its lock") {
  const TrialResult result = run_of<Unseen>(small("lookup"));
  CHECK_FALSE(result.sync.aborts);
  CHECK(result.sync.aborts.reason == "the policy does not see its aborts");
  REQUIRE(result.sync.fallback_rate);
  CHECK(*result.sync.fallback_rate == 1);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason, Catch::Contains("it runs on its lock"));
}

/// A policy whose processor elides by prefixes: one operation in four takes the lock after an unknown number of aborts.
struct Prefixed : Counting<ElidingPolicy<Elision::kWorks>, HleCounters> {
  using Counting::Counting;
  std::optional<u64> find(ThreadState& me, u64 key) {
    ++(++me.counters.ops % 4 == 0 ? me.counters.fallbacks : me.counters.prefix_elided);
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("counts that the processor hides under elision by prefixes are missing, not zero") {
  const TrialResult result = run_of<Prefixed>(small("lookup"));
  CHECK(result.status == Status::kOk);
  CHECK_FALSE(result.sync.aborts);
  CHECK(result.sync.aborts.reason == "the processor does not tell of aborts under its prefixes");
  CHECK(*result.sync.fallback_rate == Approx(0.25).margin(0.01));
}

/// A policy that finds the lock cheaper: nine operations in ten, or all, take it by choice. Half of the others fall
/// back.
template <bool kAll>
struct Chosen : Counting<ElidingPolicy<Elision::kWorks>, AdaptiveCounters> {
  using Counting<ElidingPolicy<Elision::kWorks>, AdaptiveCounters>::Counting;
  std::optional<u64> find(ThreadState& me, u64 key) {
    const u64 op = me.counters.ops++;
    if (kAll || op % 10 != 0) {
      ++me.counters.direct_lock;
    } else if (++me.counters.begins; op % 20 == 0) {
      ++me.counters.commits;
    } else {
      me.counters.abort(0);
      ++me.counters.fallbacks;
    }
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("operations that take the lock by choice count into the fallback rate, but do not degrade the run") {
  const TrialResult some = run_of<Chosen<false>>(small("lookup"));
  CHECK(some.status == Status::kOk);
  CHECK(*some.sync.fallback_rate == Approx(0.95).margin(0.01));
  const TrialResult all = run_of<Chosen<true>>(small("lookup"));
  CHECK(all.status == Status::kOk);
  CHECK(*all.sync.fallback_rate == 1);
}

TEST_CASE("an elided run begins with a walk over the whole index, unless it is empty") {
  const TrialResult looked_up = run_of<Eliding<Elision::kWorks>>(small("lookup"));
  REQUIRE(phases_of(looked_up) ==
          std::vector<std::string>{"load", "verify", "touch", "warmup", "measure", "validate", "limits"});
  CHECK(phase_of(looked_up, "touch").operations == 20'000);
  CHECK(phases_of(run_of<Eliding<Elision::kWorks>>(small("insert"))) ==
        std::vector<std::string>{"measure", "validate", "limits"});
}

}  // namespace
}  // namespace latchlab
