#include "harness/meter.h"

#include <algorithm>

namespace latchlab {

void Meter::start(u32 threads) {
  threads_ = std::vector<Lane>(threads);
  sampled_operations_ = 0;
  sampled_seconds_ = 0;
  sampled_troubles_ = {};
  series_.clear();
  troubles_ = {};
}

void Meter::sample(double seconds) {
  // Relaxed, as all looks at lanes: while threads run a sample may be a slice behind, and throughput() comes
  // after they have been waited for.
  const bool all_finished = std::all_of(threads_.begin(), threads_.end(),
                                        [](const Lane& lane) { return lane.finished.load(kRelaxed); });
  // The last interval of threads that have all finished is a partial one. One in which all made steps and
  // nothing counted has no rate: the next sample covers it.
  if (all_finished || seconds <= sampled_seconds_) return;
  const u64 now = operations();
  const double done = static_cast<double>(now - sampled_operations_);
  series_.push_back(done / (seconds - sampled_seconds_));
  const Troubles met_now = met(), met_since = met_now - sampled_troubles_;
  const auto rate = [&](u64 events) { return done == 0 ? 0 : static_cast<double>(events) / done; };
  troubles_.aborts.push_back(rate(met_since.aborts));
  troubles_.fallbacks.push_back(rate(met_since.fallbacks));
  troubles_.restarts.push_back(rate(met_since.restarts));
  sampled_operations_ = now;
  sampled_troubles_ = met_now;
  sampled_seconds_ = seconds;
}

u64 Meter::operations() const {
  u64 sum = 0;
  for (const Lane& lane : threads_) sum += lane.operations.load(kRelaxed);
  return sum;
}

Troubles Meter::met() const {
  Troubles sum;
  for (const Lane& lane : threads_) {
    sum.aborts += lane.aborts.load(kRelaxed);
    sum.fallbacks += lane.fallbacks.load(kRelaxed);
    sum.restarts += lane.restarts.load(kRelaxed);
  }
  return sum;
}

Throughput Meter::throughput(double seconds) const {
  Throughput out;
  out.operations = operations();
  out.seconds = seconds;
  double sum = 0;
  double squares = 0;
  for (const Lane& lane : threads_) {
    const u64 done = lane.operations.load(kRelaxed);
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    out.per_thread.push_back(rate);
    sum += rate;
    squares += rate * rate;
  }
  out.per_second = sum;
  out.series = series_;
  out.jain =
      squares > 0
          ? Measured<double>(std::min(1.0, sum * sum / (static_cast<double>(threads_.size()) * squares)))
          : Measured<double>::missing("no thread did anything");
  return out;
}

}  // namespace latchlab
