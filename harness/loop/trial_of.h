// The typed half of a trial (trial.h), compiled once for each pair of index and policy. It builds the index, makes its
// runners (runner_of.h), and describes the index for the result; sync_report.h describes the policy.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/host/clock.h"
#include "harness/loop/runner_of.h"
#include "harness/loop/sync_report.h"
#include "harness/loop/trial.h"
#include "indexes/concepts.h"
#include "indexes/erased.h"
#include "src/memory/memory_config.h"
#include "src/reclaim/immediate.h"

namespace latchlab {

/// True if an index can have its leaves in another memory than its inner nodes.
template <class Index>
inline constexpr bool kFarLeaves = false;
template <class Index>
  requires requires(const Index& index) {
    index.memory().leaves();
    requires Index::Body::kFarLeaves;
  }
inline constexpr bool kFarLeaves<Index> = true;

template <SharedIndex Index>
class TrialOf final : public ErasedWithoutSessions<Index, Trial> {
  using Base = ErasedWithoutSessions<Index, Trial>;
  using Base::index_;

 public:
  TrialOf(const Spec& sync, const MemoryConfig& memory, const Spec& index) : Base(sync, memory, index), spec_(sync) {}
  /// Builds and prepares the index of a run.
  TrialOf(const Plan& plan, const MemoryConfig& memory) : TrialOf(sync_of(plan), memory, plan.config.index) {
    this->prepare(plan);
  }
  explicit TrialOf(const Plan& plan) : TrialOf(plan, memory_config_of(plan)) {}

  /// A runner, because a class of its own for sessions that run no requests would take a tenth more to compile.
  [[nodiscard]] std::unique_ptr<Erased::Session> join() override { return runner(wall_clock()); }
  [[nodiscard]] std::unique_ptr<Runner> runner(Clock& clock) override {
    return std::make_unique<RunnerOf<Index>>(index_, this->batch_, this->value_bits_, clock);
  }
  [[nodiscard]] bool loads_in_turns() const override {
    return !PolicyOf<Index>::kManyWriters || PolicyOf<Index>::kWritersTakeTurns;
  }
  [[nodiscard]] bool elides() const override { return PolicyOf<Index>::kElides; }
  [[nodiscard]] bool finds_batches() const override { return kFindsBatches<Index>; }

  [[nodiscard]] SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const override {
    return sync_report_of<PolicyOf<Index>, CountersOf<SessionThread>>(spec_, sums, operations);
  }

  [[nodiscard]] OrReason<ReclaimCounters> reclaim() const override {
    if constexpr (requires { typename Index::Policy::Reclaimer; }) {
      using Machine = typename Index::Policy::Machine;
      if constexpr (!std::is_same_v<typename Index::Policy::Reclaimer, Immediate<Machine>>) {
        return index_.reclaim_counters();
      }
      return OrReason<ReclaimCounters>::missing("the policy frees at once: it needs no grace period");
    }
    return OrReason<ReclaimCounters>::missing("the index reclaims by itself and counts nothing of it");
  }

  [[nodiscard]] OrReason<Footprint> value_bytes() const override {
    return OrReason<Footprint>::missing("values are in the index: --value-size=8");
  }

  [[nodiscard]] OrReason<FarUse> far() const override {
    if constexpr (kFarLeaves<Index>) {
      if (const auto* const leaves = index_.memory().leaves()) {
        const auto& near = index_.memory().config().limit;
        return FarUse{.memory = {.memory = leaves->config(), .rule = {.kind = PlacementKind::kLeaves, .promote = 0}},
                      .bytes = leaves->bytes(),
                      .near_free = near.bytes() - near.charged(),
                      .counts = {},
                      .file_system = OrReason<std::string>::missing("it is not asked of leaves"),
                      .chunks = leaves->chunks()};
      }
    }
    return OrReason<FarUse>::missing("values are in the index: --value-size=8");
  }

  void read_no_values() override {}

  [[nodiscard]] std::vector<ChunkSource::Chunk> chunks() const override {
    if constexpr (requires { index_.chunks(); }) return index_.chunks();
    return {};
  }

 private:
  /// Returns the policy's spec. Some options depend on the nodes of the run if they are left out.
  static Spec sync_of(const Plan& plan) {
    using Options = typename PolicyOf<Index>::Options;
    if constexpr (requires { Options::on_nodes(plan.config.sync, plan.nodes); }) {
      return Options::on_nodes(plan.config.sync, plan.nodes);
    }
    return plan.config.sync;
  }

  using SessionThread = decltype(std::declval<Index&>().join());

  const Spec spec_;
};

}  // namespace latchlab
