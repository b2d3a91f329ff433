// The part of the result that comes from a policy's options and from its counters, summed over all sessions. It depends
// on the policy alone, so it is compiled once for all kinds of keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/loop/trial.h"
#include "src/arch/rtm_status.h"
#include "src/base/spec.h"
#include "src/stats/counters.h"
#include "sync/own.h"

namespace latchlab {

/// The policy of an index; Own if the index names none.
template <class Index>
struct PolicyOfIndex {
  using Type = Own;
};
template <class Index>
  requires requires { typename Index::Policy; }
struct PolicyOfIndex<Index> {
  using Type = typename Index::Policy;
};
template <class Index>
using PolicyOf = typename PolicyOfIndex<Index>::Type;

/// The type of the counters that a thread keeps; NoCounters if it keeps none.
template <class ThreadState>
struct CountersOfThread {
  using Type = NoCounters;
};
template <class ThreadState>
  requires requires(ThreadState& me) { me.counters; }
struct CountersOfThread<ThreadState> {
  using Type = std::remove_cvref_t<decltype(std::declval<ThreadState&>().counters)>;
};
template <class ThreadState>
using CountersOf = typename CountersOfThread<ThreadState>::Type;

/// Returns true for a count of aborts by cause. The result has those in a section of their own only, where they can be
/// missing with a reason.
template <class Counters>
constexpr bool counts_aborts(const CounterField<Counters>& field) {
  if constexpr (requires { Counters::abort_fields(); }) {
    for (const auto member : Counters::abort_fields()) {
      if (member == field.member) return true;
    }
  }
  return false;
}

/// Returns true for a time that was not measured. Times belong to operations whose transaction aborted: if no
/// transaction was begun, locks were held all the same, but nothing timed them.
template <class Counters>
bool not_timed(const CounterField<Counters>& field, const Counters& all) {
  if constexpr (requires { all.begins; }) return field.name.ends_with("_ns") && all.begins == 0;
  return false;
}

/// Fills in the counters and rates. `sums` has each field of Counters, then its histogram if there is one, summed over
/// sessions that did `operations`.
template <class Counters>
void report_counters(const std::vector<u64>& sums, u64 operations, SyncReport& out) {
  constexpr auto kFields = Counters::fields();
  if constexpr (kFields.size() > 0) {
    Counters all{};
    u64 restarts = 0;
    bool restarts_counted = false;
    for (std::size_t i = 0; i < kFields.size() && i < sums.size(); ++i) {
      all.*kFields[i].member = sums[i];
      const std::string_view name = kFields[i].name;
      // The policy's own count of operations replaces the workload's. A scan is one operation of the workload and
      // several of the policy; fallbacks and restarts are a share of the latter.
      if (name == "ops") operations = sums[i];
      if (name == "restarts" || name.ends_with("_restarts")) {
        restarts += sums[i];
        restarts_counted = true;
      }
    }
    SyncStats::Counts counters;
    for (const auto& field : kFields) {
      if (!counts_aborts(field) && !not_timed(field, all)) {
        counters.push_back({std::string(field.name), all.*field.member});
      }
    }
    out.stats.counters = std::move(counters);
    const auto rate = [&](u64 events) {
      return operations > 0 ? OrReason<double>(static_cast<double>(events) / static_cast<double>(operations))
                            : OrReason<double>::missing("no operation was counted");
    };
    if (restarts_counted) out.stats.restart_rate = rate(restarts);
    if constexpr (requires { Counters::abort_fields(); }) {
      std::vector<NamedCount> aborts;
      constexpr auto kAborts = Counters::abort_fields();
      for (std::size_t i = 0; i < kAborts.size(); ++i) {
        aborts.push_back({std::string(kWords<AbortCause>[i]), all.*kAborts[i]});
      }
      SyncStats::Counts statuses;
      for (std::size_t i = 0; i < all.histogram.size() && kFields.size() + i < sums.size(); ++i) {
        all.histogram[i] = sums[kFields.size() + i];
        if (all.histogram[i] != 0) statuses.push_back({bits_of(static_cast<u32>(i)), all.histogram[i]});
      }
      if (all.begins != 0) {
        out.stats.aborts = std::move(aborts);
        out.stats.abort_statuses = std::move(statuses);
      } else {
        out.stats.aborts = OrReason<SyncStats::Counts>::missing(
            all.elided() != 0 ? "the processor does not tell of aborts under its prefixes"
                              : "no transaction was begun");
      }
    } else if constexpr (requires { all.commits; }) {
      out.stats.aborts = OrReason<SyncStats::Counts>::missing("the policy does not see its aborts");
    }
    if constexpr (requires { all.elided(); }) {
      if (const u64 could = all.elided() + by_choice(all) + all.fallbacks; could != 0) {
        out.elided = all.elided() + by_choice(all);
        out.stats.fallback_rate = static_cast<double>(by_choice(all) + all.fallbacks) / static_cast<double>(could);
      } else {
        out.stats.fallback_rate = OrReason<double>::missing("there was nothing to elide");
      }
    }
    if constexpr (requires { all.inconsistency(); }) out.contradiction = all.inconsistency();
  }
}

/// Returns what the policy's options and counters say. Throws InputError for a spec that the policy does not
/// understand.
template <class Policy, class Counters>
SyncReport sync_report_of(const Spec& sync, const std::vector<u64>& sums, u64 operations) {
  SyncReport out;
  const auto options = Policy::Options::parse(sync);
  out.stats.options = options.resolved();
  out.degraded = Policy::degraded(options);
  out.stats.counters = OrReason<SyncStats::Counts>::missing("the policy counts nothing");
  out.stats.aborts = OrReason<SyncStats::Counts>::missing("the policy has no transactions");
  out.stats.fallback_rate = OrReason<double>::missing("the policy has no fallback");
  out.stats.restart_rate = OrReason<double>::missing("the policy has no optimistic runs to restart");
  report_counters<Counters>(sums, operations, out);
  if (!out.stats.aborts) out.stats.abort_statuses = OrReason<SyncStats::Counts>::missing(out.stats.aborts.reason);
  return out;
}

}  // namespace latchlab
