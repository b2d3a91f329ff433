#include "workloads/workload.h"

#include "src/base/error.h"
#include "workloads/wiscer_stream.h"

namespace latchlab {

namespace {

std::optional<WiscerFile> wiscer_of(const Spec& spec) {
  if (spec.name != "wiscer") return std::nullopt;
  if (!spec.arg) throw InputError("workload wiscer: needs a file, as in wiscer:high-churn or wiscer:./mine.txt");
  return WiscerFile::read(*spec.arg);
}

}  // namespace

Workload::Workload(const Spec& spec, double negative)
    : wiscer_(wiscer_of(spec)), mix_(wiscer_ ? wiscer_->mix(negative) : Mix(spec, negative)) {}

std::unique_ptr<Stream> Workload::stream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution,
                                         u64 records, const Churn& churn) const {
  if (wiscer_) return std::make_unique<WiscerStream>(*wiscer_, seed, keys);
  return std::make_unique<MixStream>(seed, phase, keys, distribution, mix_, records, churn);
}

}  // namespace latchlab
