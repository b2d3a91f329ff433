#pragma once

// What `--workload` says: a mix over a distribution (mix.h, mix_stream.h), or a file that says more than that:
//
//   wiscer:FILE    Wiscer's (wiscer.h): also which keys, how many, how many operations and how popular each is
//   trace:FILE     a trace (trace.h): every operation
//   phases:FILE    several mixes one after the other (phases_file.h): also how popular each key is

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
  /// Throws InputError as Mix, WiscerFile and Trace do.
  Workload(const Spec& spec, double negative);

  [[nodiscard]] const Mix& mix() const { return mix_; }

  /// What a file says of keys, records, operations and popularity; none for a mix, where options say it.
  [[nodiscard]] const std::optional<WiscerFile>& wiscer() const { return wiscer_; }

  [[nodiscard]] const std::shared_ptr<const Trace>& trace() const { return trace_; }
  /// Those of a file with phases; empty for all others.
  [[nodiscard]] const std::vector<WorkloadPhase>& phases() const { return phases_; }

  /// The fewest records that there are before, between and after phases, where so many are loaded; all of them for all
  /// others. Throws InputError as windows_of does.
  [[nodiscard]] u64 least_records(u64 records, u64 capacity) const;

  /// Whether one of the first two says it, also which keys there are; the same of a word of --workload.
  [[nodiscard]] bool by_file() const { return wiscer_ || trace_; }
  [[nodiscard]] static bool by_file(std::string_view name) { return name == "wiscer" || name == "trace"; }

  /// The operations of a phase, for `threads` threads; what follows `threads` is of a mix. `keys` must outlive them.
  /// Throws InputError as MixStream does.
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
