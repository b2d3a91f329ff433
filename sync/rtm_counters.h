#pragma once
// What policies that run hardware transactions count, per thread and outside of them. Sums that must hold at any time
// between operations:
//
//     begins = commits + aborts of all classes        of an elided lock: ops = commits + fallbacks
//     aborts of all classes = aborts of all statuses
//
// What only an abort brings about is counted, and timed, behind it: an operation that commits at once reads no clock.
#include <array>
#include <numeric>
#include <string>

#include "src/arch/rtm_status.h"
#include "src/stats/counters.h"

namespace latchlab {

/// Of every policy that runs transactions.
struct TransactionCounters {
  u64 begins = 0;                                    ///< transactions begun
  u64 commits = 0;                                   ///< transactions committed
  u64 lock_busy = 0, arena = 0, explicit_other = 0;  ///< aborts by class, see AbortCause
  u64 nested = 0, debug = 0, capacity = 0, conflict = 0, retry_only = 0, zero = 0;
  /// Commits by the number of the try, from the second on; what is missing to `commits` are first ones.
  u64 commits_at_2 = 0, commits_at_3 = 0, commits_at_4_to_7 = 0, commits_at_8_to_15 = 0, commits_at_16_on = 0;
  std::array<u64, kAbortBits + 1> histogram{};  ///< aborts by the bits of their status

  /// The counter of each class, in the order of AbortCause. Their names are those of kWords<AbortCause>.
  static constexpr auto abort_fields() {
    using C = TransactionCounters;
    return std::array{&C::lock_busy, &C::arena,    &C::explicit_other, &C::nested, &C::debug,
                      &C::capacity,  &C::conflict, &C::retry_only,     &C::zero};
  }

  /// The counters of later commits, and their names.
  static constexpr auto later_commit_fields() {
    using C = TransactionCounters;
    return std::array{CounterField{"commits_at_2", &C::commits_at_2}, CounterField{"commits_at_3", &C::commits_at_3},
                      CounterField{"commits_at_4_to_7", &C::commits_at_4_to_7},
                      CounterField{"commits_at_8_to_15", &C::commits_at_8_to_15},
                      CounterField{"commits_at_16_on", &C::commits_at_16_on}};
  }

  /// All fields of a struct C that has these and its `own`.
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

  /// Counts a commit with the number of its try, from 1 on.
  constexpr void commit(u64 at) {
    ++commits;
    if (at < 2) return;
    ++(this->*later_commit_fields()[at >= 16 ? 4 : at >= 8 ? 3 : at >= 4 ? 2 : at - 2].member);
  }

  /// Operations that needed no lock.
  constexpr u64 elided() const { return commits; }

  /// Of all classes.
  constexpr u64 aborts() const {
    u64 sum = 0;
    for (const auto member : abort_fields()) sum += this->*member;
    return sum;
  }

  /// What contradicts what, in one line; empty when the sum holds.
  std::string inconsistency() const {
    if (begins != commits + aborts()) {
      return "begins " + std::to_string(begins) + " are not commits " + std::to_string(commits) + " + aborts " +
             std::to_string(aborts());
    }
    if (const u64 all = std::accumulate(histogram.begin(), histogram.end(), u64{0}); all != aborts()) {
      return "aborts by cause " + std::to_string(aborts()) + " are not those by status " + std::to_string(all);
    }
    u64 later = 0;
    for (const auto& field : later_commit_fields()) later += this->*field.member;
    if (later <= commits && later <= aborts()) return "";
    return "commits at a later try " + std::to_string(later) + " are more than commits " + std::to_string(commits) +
           " or aborts " + std::to_string(aborts());
  }
};

static_assert(TransactionCounters::abort_fields().size() == kWords<AbortCause>.size());

/// What contradicts what, in one line; empty when each of `ops` operations was elided, as counted by `name`, or fell
/// back.
inline std::string unaccounted(u64 ops, const char* name, u64 elided, u64 fallbacks) {
  if (ops == elided + fallbacks) return "";
  return "ops " + std::to_string(ops) + " are not " + name + " " + std::to_string(elided) + " + fallbacks " +
         std::to_string(fallbacks);
}

/// Of an elided lock.
struct RtmCounters : TransactionCounters {
  u64 ops = 0;             ///< operations begun
  u64 fallbacks = 0;       ///< operations that took the lock: all of them where transactions do not work
  u64 respeculations = 0;  ///< new budgets because the lock was held when the old one was used up
  u64 wait_ns = 0;         ///< until the lock was free
  u64 retry_ns = 0;  ///< from the first abort of an operation to its commit, or until it had the lock; waits included
  u64 hold_ns = 0;   ///< with the lock after that

  /// All fields of a struct C that has these and its `own`.
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
