#include "workloads/workload.h"

#include "src/base/error.h"
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
  if (!spec.arg) throw InputError("workload trace: needs a file, as in trace:cluster37.trace, which harness trace convert makes");
  return Trace::at(*spec.arg);
}

}  // namespace

Workload::Workload(const Spec& spec, double negative) : wiscer_(wiscer_of(spec)), trace_(trace_of(spec)), mix_(mix_of(spec, negative)) {}

Mix Workload::mix_of(const Spec& spec, double negative) const {
  if (wiscer_) return wiscer_->mix(negative);
  return trace_ ? Mix::of(trace_->counts()) : Mix(spec, negative);
}

std::unique_ptr<Stream> Workload::stream(u64 seed, u64 phase, const KeySet& keys, u32 threads, const Distribution& distribution,
                                         u64 records, const Churn& churn) const {
  if (wiscer_) return std::make_unique<WiscerStream>(*wiscer_, seed, keys);
  if (trace_) return std::make_unique<TraceStream>(trace_, threads, keys);
  return std::make_unique<MixStream>(seed, phase, keys, distribution, mix_, records, churn);
}

}  // namespace latchlab
