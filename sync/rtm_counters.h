#pragma once
// The counters of policies that run hardware transactions, per thread; they are updated outside transactions. Between
// operations these sums hold:
//
//     1. begins = commits + aborts of all classes
//     2. aborts of all classes = aborts of all statuses
//     3. of an elided lock: ops = commits + fallbacks. `hle` adds its prefix_elided, `adaptive` its direct_lock
//
// The costs of an abort are counted and timed after it, so an operation that commits at once reads no clock.
#include <array>
#include <numeric>
#include <string>

#include "src/arch/rtm_status.h"
#include "src/stats/counters.h"

namespace latchlab {

/// The counters of every policy that runs transactions.
struct TransactionCounters {
  u64 begins = 0;                                    ///< transactions begun
  u64 commits = 0;                                   ///< transactions committed
  u64 lock_busy = 0, arena = 0, explicit_other = 0;  ///< aborts by class, see AbortCause
  u64 nested = 0, debug = 0, capacity = 0, conflict = 0, retry_only = 0, zero = 0;
  /// Commits by the number of their try, from the second on. The other `commits` are commits of first tries.
  u64 commits_at_2 = 0, commits_at_3 = 0, commits_at_4_to_7 = 0, commits_at_8_to_15 = 0, commits_at_16_on = 0;
  std::array<u64, kAbortBits + 1> histogram{};  ///< aborts by the bits of their status

  u64 conflicts() const { return conflict; }
  /// Returns the counter of each class, in the order of AbortCause. Their names are those of kWords<AbortCause>.
  static constexpr auto abort_fields() {
    using C = TransactionCounters;
    return std::array{&C::lock_busy, &C::arena,    &C::explicit_other, &C::nested, &C::debug,
                      &C::capacity,  &C::conflict, &C::retry_only,     &C::zero};
  }

  /// Returns the counters of later commits with their names.
  static constexpr auto later_commit_fields() {
    using C = TransactionCounters;
    return std::array{CounterField{"commits_at_2", &C::commits_at_2}, CounterField{"commits_at_3", &C::commits_at_3},
                      CounterField{"commits_at_4_to_7", &C::commits_at_4_to_7},
                      CounterField{"commits_at_8_to_15", &C::commits_at_8_to_15},
                      CounterField{"commits_at_16_on", &C::commits_at_16_on}};
  }

  /// Returns all fields of a struct C that has these and its `own`.
  template <class C, std::size_t kOwn>
  static constexpr auto fields_beside(const std::array<CounterField<C>, kOwn>& own) {
    constexpr auto kCauses = abort_fields();
    constexpr auto kLater = later_commit_fields();
    std::array<CounterField<C>, kOwn + 2 + kLater.size() + kCauses.size()> all{};
    std::size_t i = 0;
    for (const auto& field : own) all[i++] = field;
    all[i++] = {"begins", &C::begins};
    all[i++] = {"commits", &C::commits};
    for (const auto& field : kLater) all[i++] = {field.name, field.member};
    for (std::size_t cause = 0; cause < kCauses.size(); ++cause) all[i++] = {kWords<AbortCause>[cause], kCauses[cause]};
    return all;
  }

  /// Counts one abort with its status.
  constexpr void abort(u32 status) {
    constexpr auto kByCause = abort_fields();
    ++(this->*kByCause[static_cast<std::size_t>(classify(status))]);
    ++histogram[status & kAbortBits];
  }

  /// Counts a commit of try number `at`, from 1 on.
  constexpr void commit(u64 at) {
    ++commits;
    if (at < 2) return;
    ++(this->*later_commit_fields()[at >= 16 ? 4 : at >= 8 ? 3 : at >= 4 ? 2 : at - 2].member);
  }

  /// Returns the number of operations that needed no lock.
  constexpr u64 elided() const { return commits; }

  /// Returns the aborts of all classes.
  constexpr u64 aborts() const {
    u64 sum = 0;
    for (const auto member : abort_fields()) sum += this->*member;
    return sum;
  }

  /// Returns the contradiction between these counters in one line; empty if all sums hold.
  std::string inconsistency() const {
    if (begins != commits + aborts()) {
      return "begins " + std::to_string(begins) + " != commits " + std::to_string(commits) + " + aborts " +
             std::to_string(aborts());
    }
    if (const u64 all = std::accumulate(histogram.begin(), histogram.end(), u64{0}); all != aborts()) {
      return "aborts by cause " + std::to_string(aborts()) + " != aborts by status " + std::to_string(all);
    }
    u64 later = 0;
    for (const auto& field : later_commit_fields()) later += this->*field.member;
    if (later <= commits && later <= aborts()) return "";
    return "commits after the first try " + std::to_string(later) + " exceed commits " + std::to_string(commits) +
           " or aborts " + std::to_string(aborts());
  }
};

static_assert(TransactionCounters::abort_fields().size() == kWords<AbortCause>.size());

/// Returns the contradiction in one line; empty if each of `ops` operations was elided, as counted by `name`, or fell
/// back.
inline std::string unaccounted(u64 ops, const char* name, u64 elided, u64 fallbacks) {
  if (ops == elided + fallbacks) return "";
  return "ops " + std::to_string(ops) + " != " + name + " " + std::to_string(elided) + " + fallbacks " +
         std::to_string(fallbacks);
}

/// The counters of an elided lock.
struct RtmCounters : TransactionCounters {
  u64 ops = 0;             ///< operations begun
  u64 fallbacks = 0;       ///< operations that took the lock: all of them if transactions do not work
  u64 respeculations = 0;  ///< new budgets, because the lock was held when the old one was used up
  u64 wait_ns = 0;         ///< time spent waiting until the lock was free
  u64 retry_ns = 0;        ///< time from an operation's first abort until it committed or had the lock, waits included
  u64 hold_ns = 0;         ///< time with the lock after that

  /// Returns all fields of a struct C that has these and its `own`.
  template <class C, std::size_t kOwn>
  static constexpr auto fields_of_elision(const std::array<CounterField<C>, kOwn>& own) {
    std::array<CounterField<C>, kOwn + 6> all{{{"ops", &C::ops},
                                               {"fallbacks", &C::fallbacks},
                                               {"respeculations", &C::respeculations},
                                               {"wait_ns", &C::wait_ns},
                                               {"retry_ns", &C::retry_ns},
                                               {"hold_ns", &C::hold_ns}}};
    for (std::size_t i = 0; i < kOwn; ++i) all[6 + i] = own[i];
    return fields_beside(all);
  }
  static constexpr auto fields() { return fields_of_elision(std::array<CounterField<RtmCounters>, 0>{}); }

  std::string inconsistency() const {
    if (std::string what = TransactionCounters::inconsistency(); !what.empty()) return what;
    return unaccounted(ops, "commits", commits, fallbacks);
  }
};

}  // namespace latchlab
