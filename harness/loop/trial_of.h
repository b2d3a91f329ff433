// The typed half of a trial (trial.h): builds the index, hands out its sessions (session_of.h), and turns what the index says into
// the words of the result; what its policy says is in sync_report.h. Compiled once for each pair of index and policy.
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

#include "harness/loop/session_of.h"
#include "harness/loop/sync_report.h"
#include "harness/loop/trial.h"
#include "indexes/any_index.h"
#include "indexes/concepts.h"
#include "src/memory/memory_config.h"
#include "src/reclaim/immediate.h"

namespace latchlab {

/// A key for an error message: a number, or text with everything unprintable escaped.
[[nodiscard]] std::string shown(u64 key);
[[nodiscard]] std::string shown(std::string_view key);

/// Counts a value that is not its key's, or a key that is not greater than the one before; the first of them is the example.
void note_wrong_value(Contents& contents, u64 key, u64 value);
void note_wrong_value(Contents& contents, std::string_view key, u64 value);
void note_disorder(Contents& contents, u64 before, u64 key);
void note_disorder(Contents& contents, std::string_view before, std::string_view key);

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
    return sync_report_of<PolicyOf<Index>, CountersOf<SessionThread>>(spec_, sums, operations);
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
      if (!tag_matches(key, value, value_bits_)) note_wrong_value(out, key, value);
      if constexpr (Index::kOrdered) {
        if (out.keys > 0 && !(Raw(last) < key)) note_disorder(out, Raw(last), key);
        last = key;
      }
      ++out.keys;
      out.checksum += TagOf<Index>(value_bits_)(value);
    });
  }

  const Spec spec_;
  const Batching batch_;
  const u32 value_bits_;
  const std::unique_ptr<Payloads> payloads_;
  Index index_;
};

}  // namespace latchlab
