#include "workloads/workload.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "workloads/phased_stream.h"
#include "workloads/trace_stream.h"
#include "workloads/wiscer_stream.h"

namespace latchlab {

namespace {

std::optional<WiscerFile> wiscer_of(const Spec& spec) {
  if (spec.name != "wiscer") return std::nullopt;
  if (!spec.arg) throw InputError("workload wiscer: needs a file, as in wiscer:high-churn or wiscer:./mine.txt");
  return WiscerFile::read(*spec.arg);
}

std::shared_ptr<const Trace> trace_of(const Spec& spec) {
  if (spec.name != "trace") return nullptr;
  if (!spec.arg)
    throw InputError("workload trace: needs a file, as in trace:cluster37.trace, which harness trace convert makes");
  return Trace::at(*spec.arg);
}

std::vector<WorkloadPhase> phases_of(const Spec& spec) {
  if (spec.name != "phases") return {};
  if (!spec.arg)
    throw InputError("workload phases: needs a file, as in phases:./shift.txt, with lines NAME OPERATIONS WORKLOAD");
  return read_phases(*spec.arg);
}

}  // namespace

Workload::Workload(const Spec& spec, double negative)
    : wiscer_(wiscer_of(spec)), trace_(trace_of(spec)), phases_(phases_of(spec)), mix_(mix_of(spec, negative)) {}

Mix Workload::mix_of(const Spec& spec, double negative) const {
  if (wiscer_) return wiscer_->mix(negative);
  if (!phases_.empty()) return mix_of_phases();
  if (trace_) return Mix::of(trace_->counts());
  if (!Mix::knows(spec.name)) throw Mix::unknown(spec.name, {"wiscer", "trace", "phases"});
  return Mix(spec, negative);
}

/// Returns the kinds of all phases, weighted by their operations.
Mix Workload::mix_of_phases() const {
  std::array<u64, kOpKinds> counts{};
  for (const WorkloadPhase& phase : phases_) {
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
      const double share = phase.mix.ppm(static_cast<OpKind>(kind)) / static_cast<double>(Mix::kMillion);
      if (share > 0) counts[kind] += std::max<u64>(1, static_cast<u64>(share * static_cast<double>(phase.operations)));
    }
  }
  return Mix::of(counts);  // with the default number of keys a multi-get; the stream uses each phase's own
}

u64 Workload::least_records(u64 records, u64 capacity) const {
  return std::ranges::min(windows_of(phases_, records, capacity), {}, &MixStream::Window::records).records;
}

std::unique_ptr<Stream> Workload::stream(u64 seed, u64 phase, const KeySet& keys, u32 threads,
                                         const Distribution& distribution, u64 records, const Churn& churn) const {
  if (wiscer_) return std::make_unique<WiscerStream>(*wiscer_, seed, keys);
  if (trace_) return std::make_unique<TraceStream>(trace_, threads, keys);
  if (!phases_.empty()) return std::make_unique<PhasedStream>(seed, phase, keys, phases_, records);
  return std::make_unique<MixStream>(seed, phase, keys, distribution, mix_, records, churn);
}

}  // namespace latchlab
