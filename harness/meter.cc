#include "harness/meter.h"

#include <algorithm>

namespace latchlab {

void Meter::start(u32 threads) {
  threads_ = std::vector<Lane>(threads);
  sampled_operations_ = 0;
  sampled_nanoseconds_ = 0;
  series_.clear();
}

void Meter::sample(u32 threads) {
  u64 operations = 0;
  u64 nanoseconds = 0;
  u32 running = threads;
  for (const Lane& lane : threads_) {
    operations += lane.operations.load(kRelaxed);
    nanoseconds += lane.nanoseconds.load(kRelaxed);
    running -= lane.finished.load(kRelaxed);
  }
  const u64 new_operations = operations - sampled_operations_;
  const u64 new_nanoseconds = nanoseconds - sampled_nanoseconds_;
  sampled_operations_ = operations;
  sampled_nanoseconds_ = nanoseconds;
  // The last interval of threads that have all finished is a partial one.
  if (running == 0) return;
  series_.push_back(new_nanoseconds > 0 ? running * 1e9 * static_cast<double>(new_operations) /
                                              static_cast<double>(new_nanoseconds)
                                        : 0);
}

u64 Meter::operations() const {
  u64 sum = 0;
  for (const Lane& lane : threads_) sum += lane.operations.load(kRelaxed);
  return sum;
}

Throughput Meter::throughput() const {
  Throughput out;
  double sum = 0;
  double squares = 0;
  for (const Lane& lane : threads_) {
    const u64 operations = lane.operations.load(kRelaxed);
    const double seconds = static_cast<double>(lane.nanoseconds.load(kRelaxed)) * 1e-9;
    const double rate = seconds > 0 ? static_cast<double>(operations) / seconds : 0;
    out.operations += operations;
    out.seconds += seconds / static_cast<double>(threads_.size());
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
