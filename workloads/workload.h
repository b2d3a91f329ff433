#pragma once

// A workload, as `--workload` names it: a mix over a distribution (mix.h, mix_stream.h), or a file that says more:
//
//   wiscer:FILE    Wiscer's (wiscer.h): also the keys, their number, the number of operations, and the popularity
//   trace:FILE     a trace (trace.h): every operation
//   phases:FILE    several mixes, one after the other (phases_file.h): also the popularity of keys

#include <memory>
#include <optional>
#include <vector>

#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/phases_file.h"
#include "workloads/stream.h"
#include "workloads/trace.h"
#include "workloads/wiscer.h"

namespace latchlab {

class Workload {
 public:
  /// Parses the spec and reads its file. Throws InputError as Mix, WiscerFile and Trace do.
  Workload(const Spec& spec, double negative);

  [[nodiscard]] const Mix& mix() const { return mix_; }

  /// Returns what a file says of keys, records, operations and popularity; none for a mix, which gets these from
  /// options.
  [[nodiscard]] const std::optional<WiscerFile>& wiscer() const { return wiscer_; }

  [[nodiscard]] const std::shared_ptr<const Trace>& trace() const { return trace_; }
  /// Returns the phases of a file with phases; empty for all other workloads.
  [[nodiscard]] const std::vector<WorkloadPhase>& phases() const { return phases_; }

  /// Returns the fewest records present before, between and after phases, if `records` are loaded; `records` for other
  /// workloads. Throws InputError as windows_of does.
  [[nodiscard]] u64 least_records(u64 records, u64 capacity) const;

  /// Returns true if a Wiscer file or a trace decides, also about the keys; likewise for a word of --workload.
  [[nodiscard]] bool by_file() const { return wiscer_ || trace_; }
  [[nodiscard]] static bool by_file(std::string_view name) { return name == "wiscer" || name == "trace"; }

  /// Returns the operations of a phase, for `threads` threads. The parameters after `threads` are for mixes. `keys`
  /// must outlive the stream. Throws InputError as MixStream does.
  [[nodiscard]] std::unique_ptr<Stream> stream(u64 seed, u64 phase, const KeySet& keys, u32 threads,
                                               const Distribution& distribution, u64 records, const Churn& churn) const;

 private:
  [[nodiscard]] Mix mix_of(const Spec& spec, double negative) const;
  [[nodiscard]] Mix mix_of_phases() const;

  std::optional<WiscerFile> wiscer_;
  std::shared_ptr<const Trace> trace_;
  std::vector<WorkloadPhase> phases_;
  Mix mix_;
};

}  // namespace latchlab
