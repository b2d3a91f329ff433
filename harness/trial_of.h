// The typed half of a trial (trial.h): builds the index, hands out its sessions (session_of.h), and turns what the index, its
// policy and their counters say into the words of the result. Compiled once for each pair of index and policy.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/session_of.h"
#include "harness/trial.h"
#include "indexes/any_index.h"
#include "indexes/concepts.h"
#include "src/arch/rtm_status.h"
#include "src/memory/memory_config.h"
#include "src/reclaim/immediate.h"
#include "src/stats/counters.h"

namespace latchlab {

/// A key for an error message: a number, or text with everything unprintable escaped.
[[nodiscard]] std::string shown(u64 key);
[[nodiscard]] std::string shown(std::string_view key);

/// What --alloc and --hugepages mean to an index; its limit is what payloads leave.
[[nodiscard]] MemoryConfig memory_config_of(const Config& config);

/// Null where the index keeps the values.
[[nodiscard]] std::unique_ptr<Payloads> payloads_of(const Config& config);

template <SharedIndex Index>
class TrialOf final : public Trial {
  using Raw = typename Index::Raw;

 public:
  explicit TrialOf(const Config& config)
      : spec_(config.sync),
        batch_(config.batch),
        value_bits_(config.widths.value),
        payloads_(payloads_of(config)),
        index_(made(config)) {}

  [[nodiscard]] std::unique_ptr<Session> join() override {
    return std::make_unique<SessionOf<Index>>(index_, batch_, value_bits_, payloads_.get());
  }
  [[nodiscard]] Payloads* payloads() override { return payloads_.get(); }
  [[nodiscard]] KeyKind key_kind() const override {
    return std::is_same_v<Raw, u64> ? KeyKind::kU64 : KeyKind::kBytes;
  }
  [[nodiscard]] bool loads_in_turns() const override {
    if constexpr (requires { Index::Policy::kManyWriters; }) return !Index::Policy::kManyWriters;
    if constexpr (requires { Index::Policy::kWritersTakeTurns; }) return Index::Policy::kWritersTakeTurns;
    return false;
  }
  [[nodiscard]] bool elides() const override {
    if constexpr (requires { Index::Policy::kElides; }) return Index::Policy::kElides;
    return false;
  }
  [[nodiscard]] bool finds_batches() const override { return kFindsBatches<Index>; }
  [[nodiscard]] bool keeps() const override { return keeps_pairs<Index>(); }

  [[nodiscard]] SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const override {
    SyncReport out;
    if constexpr (requires { Index::Policy::Options::parse(spec_).resolved(); }) {
      out.stats.options = Index::Policy::Options::parse(spec_).resolved();
    }
    if constexpr (requires { Index::Policy::degraded(Index::Policy::Options::parse(spec_)); }) {
      out.degraded = Index::Policy::degraded(Index::Policy::Options::parse(spec_));
    }
    out.stats.counters = Measured<SyncStats::Counts>::missing("the policy counts nothing");
    out.stats.aborts = Measured<SyncStats::Counts>::missing("the policy has no transactions");
    out.stats.fallback_rate = Measured<double>::missing("the policy has no fallback");
    out.stats.restart_rate = Measured<double>::missing("the policy has no optimistic runs to restart");
    if constexpr (requires { std::declval<SessionThread&>().counters; }) report_counters(sums, operations, out);
    if (!out.stats.aborts) out.stats.abort_statuses = Measured<SyncStats::Counts>::missing(out.stats.aborts.reason);
    return out;
  }

  [[nodiscard]] Measured<ReclaimCounters> reclaim() const override {
    if constexpr (requires { typename Index::Policy::Reclaimer; }) {
      using Machine = typename Index::Policy::Machine;
      if constexpr (!std::is_same_v<typename Index::Policy::Reclaimer, Immediate<Machine>>) {
        return index_.reclaim_counters();
      }
      return Measured<ReclaimCounters>::missing("the policy frees at once: it needs no grace period");
    }
    return Measured<ReclaimCounters>::missing("the index reclaims by itself and does not say how");
  }

  [[nodiscard]] IndexBytes bytes() const override {
    const auto bytes = index_.bytes();
    return {.live = sizeof(Index) + bytes.live, .reserved = sizeof(Index) + bytes.reserved};
  }

  [[nodiscard]] std::vector<ChunkSource::Chunk> chunks() const override {
    if constexpr (requires { index_.chunks(); }) return index_.chunks();
    return {};
  }

  [[nodiscard]] bool counts_nodes() const override { return kCountsNodes; }
  [[nodiscard]] Measured<double> nodes_per_fetch(const Slice& slice) override {
    u64 nodes = 0, fetches = 0;
    if constexpr (kCountsNodes) {
      SessionThread me = index_.join();
      const auto visit = [&](const Step& read) {
        nodes += index_.visits(me, key_of<Raw>(read));
        ++fetches;
      };
      for (const Step& step : std::span(slice.steps, slice.count)) {
        if (step.kind == OpKind::kRead) visit(step);
        if (step.kind == OpKind::kMultiGet) std::for_each_n(slice.gets + step.number, step.limit, visit);
      }
    }
    if (fetches == 0) return Measured<double>::missing(fmt::format("none of the {} operations looked at is a lookup", slice.count));
    return static_cast<double>(nodes) / static_cast<double>(fetches);
  }

  [[nodiscard]] Contents contents() override {
    Contents out;
    if constexpr (keeps_pairs<Index>()) walk(out);
    return out;
  }

 private:
  using SessionThread = decltype(std::declval<Index&>().join());
  static constexpr bool kHasOptions = std::constructible_from<Index, const Spec&, const MemoryConfig&, const Spec&>;
  static Index made(const Config& config) {
    if constexpr (kHasOptions) {
      return Index(config.sync, memory_config_of(config), config.index);
    } else {
      return Index(config.sync, memory_config_of(config));
    }
  }
  static constexpr bool kCountsNodes = requires(Index& index, SessionThread& me, Raw key) { index.visits(me, key); };

  void walk(Contents& out) {
    OwnedKey<Raw> last{};
    auto me = index_.join();
    index_.for_each(me, [&](Raw key, u64 value) {
      if (!tag_matches(key, value, value_bits_)) {
        if (out.example.empty()) {
          out.example = fmt::format("key {} holds {:#x}, which is not its value", shown(key), value);
        }
        ++out.wrong_values;
      }
      if constexpr (Index::kOrdered) {
        if (out.keys > 0 && !(Raw(last) < key)) {
          if (out.example.empty()) {
            out.example = fmt::format("key {} comes after key {}", shown(key), shown(Raw(last)));
          }
          ++out.disorder;
        }
        last = key;
      }
      ++out.keys;
      out.checksum += TagOf<Index>(value_bits_)(value);
    });
  }

  /// Aborts by cause stand in a section of their own, and nowhere else: there they can be missing.
  template <class Counters>
  static constexpr bool counts_aborts(const CounterField<Counters>& field) {
    if constexpr (requires { Counters::abort_fields(); }) {
      for (const auto member : Counters::abort_fields()) {
        if (member == field.member) return true;
      }
    }
    return false;
  }

  /// Times belong to operations whose transaction aborted: where none was begun, locks were held all the same.
  template <class Counters>
  static bool not_timed(const CounterField<Counters>& field, const Counters& all) {
    if constexpr (requires { all.begins; }) return field.name.ends_with("_ns") && all.begins == 0;
    return false;
  }

  static void report_counters(const std::vector<u64>& sums, u64 operations, SyncReport& out) {
    using Counters = std::remove_cvref_t<decltype(std::declval<SessionThread&>().counters)>;
    constexpr auto kFields = Counters::fields();
    if constexpr (kFields.size() > 0) {
      Counters all{};
      u64 restarts = 0;
      bool restarts_counted = false;
      for (std::size_t i = 0; i < kFields.size() && i < sums.size(); ++i) {
        all.*kFields[i].member = sums[i];
        const std::string_view name = kFields[i].name;
        // A policy's own count wins: a scan is one operation of the workload and several of the policy, and
        // what it counted of fallbacks and restarts is a share of those.
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
        return operations > 0
                   ? Measured<double>(static_cast<double>(events) / static_cast<double>(operations))
                   : Measured<double>::missing("no operation was counted");
      };
      if (restarts_counted) out.stats.restart_rate = rate(restarts);
      if constexpr (requires { Counters::abort_fields(); }) {
        std::vector<NamedCount> aborts;
        constexpr auto kAborts = Counters::abort_fields();
        for (std::size_t i = 0; i < kAborts.size(); ++i) {
          aborts.push_back({std::string(kAbortCauseNames[i]), all.*kAborts[i]});
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
          out.stats.aborts = Measured<SyncStats::Counts>::missing(
              all.elided() != 0 ? "the processor does not tell of aborts under its prefixes" : "no transaction was begun");
        }
      } else if constexpr (requires { all.commits; }) {
        out.stats.aborts = Measured<SyncStats::Counts>::missing("the policy does not see its aborts");
      }
      if constexpr (requires { all.elided(); }) {
        if (const u64 could = all.elided() + by_choice(all) + all.fallbacks; could != 0) {
          out.elided = all.elided() + by_choice(all);
          out.stats.fallback_rate = static_cast<double>(by_choice(all) + all.fallbacks) / static_cast<double>(could);
        } else {
          out.stats.fallback_rate = Measured<double>::missing("there was nothing to elide");
        }
      }
      if constexpr (requires { all.inconsistency(); }) out.contradiction = all.inconsistency();
    }
  }

  const Spec spec_;
  const Batching batch_;
  const u32 value_bits_;
  const std::unique_ptr<Payloads> payloads_;
  Index index_;
};

}  // namespace latchlab
