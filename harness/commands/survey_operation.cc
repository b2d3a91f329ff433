// Measures an operation of one random line by the loop of a run: a trial of an index that consists of lines only.
#include "harness/commands/survey.h"
#include "harness/trial/account.h"
#include "harness/trial/run_trial.h"

#include <optional>

#include "harness/host/native_team.h"
#include "harness/host/placement.h"
#include "harness/loop/trial_of.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

/// An index in which key k is line k. Its keys are dense, so a find touches one line and nothing else.
class Lines {
 public:
  using Raw = u64;
  static constexpr bool kOrdered = false;
  struct Body {
    static constexpr bool kKeeps = false;  // so the trial neither checks the index nor measures limits beside it
  };
  struct ThreadState {};

  /// Makes as many lines as `index.arg` says.
  Lines(const Spec&, const MemoryConfig& memory, const Spec& index)
      : buffer_(std::stoull(*index.arg) * sizeof(Line), memory.thp ? HugePages::kThp : HugePages::kNone, memory.pages) {
  }
  Lines(const Spec& sync, const MemoryConfig& memory)
      : Lines(sync, memory, Spec{.name = "lines", .arg = "1", .options = {}}) {}

  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState&, u64 key) {
    const Line& line = buffer_.lines()[key];
    return line.rest[0] != 0 ? std::optional(line.next) : std::nullopt;
  }
  bool insert(ThreadState&, u64 key, u64 value) {
    Line& line = buffer_.lines()[key];
    if (line.rest[0] != 0) return false;
    line.next = value;
    line.rest[0] = 1;
    return true;
  }
  // The trial below only looks up.
  bool update(ThreadState&, u64, u64) { return false; }
  bool upsert(ThreadState&, u64, u64) { return false; }
  bool erase(ThreadState&, u64) { return false; }
  void for_each(ThreadState&, auto&& visit) {
    for (u64 key = 0; key < buffer_.size(); ++key) {
      if (buffer_.lines()[key].rest[0] != 0) visit(key, buffer_.lines()[key].next);
    }
  }
  Footprint bytes() const { return {.live = buffer_.size() * sizeof(Line), .reserved = buffer_.size() * sizeof(Line)}; }

 private:
  LineBuffer buffer_;
};

}  // namespace

OperationCost measure_operation(const Config& config, const LimitsPlan& plan, const Topology& topology,
                                Progress& progress) {
  Config lookups = config;
  lookups.records = plan.footprint / sizeof(Line);
  lookups.index = {.name = "lines", .arg = std::to_string(lookups.records), .options = {}};
  lookups.sync = {.name = "none", .arg = {}, .options = {}};
  lookups.keys = {.name = "dense", .arg = {}, .options = {}};
  lookups.negative = 0;
  lookups.validate = Validate::kOff;
  lookups.pmu = "off";
  lookups.warmup_ns = plan.time_ns / 4;
  lookups.time_ns = 2 * plan.time_ns;
  Plan run = plan_of(lookups, topology);
  run.pages = plan.pages;  // placed as the buffer of the other limits, not near the thread that makes them
  TrialOf<Lines> trial(run);
  NativeTeam team;
  const TrialResult result = document(run, topology, run_trial(trial, run, topology, team, progress));
  OperationCost cost;
  if (result.status == Status::kNoisy) cost.note = "noisy: " + result.reason;
  if (!result.throughput) {
    cost.ns = OrReason<double>::missing(result.throughput.reason);
  } else if (result.status > Status::kNoisy) {
    cost.ns = OrReason<double>::missing(result.reason);
  } else {
    cost.ns = result.throughput->seconds * 1e9 * *result.placement.processors /
              static_cast<double>(result.throughput->operations);
  }
  return cost;
}

}  // namespace latchlab
