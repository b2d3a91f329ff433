#include "harness/trial/meter.h"

#include <algorithm>

namespace latchlab {

void Meter::start(u32 threads) {
  threads_ = std::vector<Lane>(threads);
  sampled_seconds_ = 0;
  series_.clear();
  told_ = {};
  elided_ = {};
  contention_ = {};
}

void Meter::sample(double seconds) {
  // Relaxed: throughput() comes after the threads have been waited for.
  const bool all_finished =
      std::all_of(threads_.begin(), threads_.end(), [](const Lane& lane) { return lane.finished.load(kRelaxed); });
  // Two intervals are skipped. The last one, in which all threads have finished, is incomplete. One in which all
  // threads made requests, so that no time counted, has no rate: the next sample covers it.
  if (all_finished || seconds <= sampled_seconds_) return;
  const Done now = done();
  const u64 operations = now.operations - told_.operations;
  series_.push_back(static_cast<double>(operations) / (seconds - sampled_seconds_));
  sampled_seconds_ = seconds;

  // Fills the intervals that have no rate yet.
  const auto tell = [&](std::vector<double>& rates, u64 events, u64 all) {
    rates.resize(series_.size(), static_cast<double>(events) / static_cast<double>(all));
  };
  const ContentionCounts met = now.contention - told_.contention, elided = now.contention - elided_;
  if (operations != 0) {
    tell(contention_.aborts, met.aborts, operations);
    tell(contention_.restarts, met.restarts, operations);
    told_ = now;
  }
  if (elided.elidable != 0) {
    tell(contention_.fallbacks, elided.fallbacks, elided.elidable);
    elided_ = now.contention;
  }
}

Meter::Done Meter::done() const {
  Done sum;
  for (const Lane& lane : threads_) {
    const Done one = done_of(lane);
    sum.operations += one.operations;
    sum.contention = sum.contention + one.contention;
  }
  return sum;
}

u64 Meter::operations() const { return done().operations; }

Throughput Meter::throughput(double seconds) const {
  Throughput out;
  out.operations = operations();
  out.seconds = seconds;
  double sum = 0;
  double squares = 0;
  for (const Lane& lane : threads_) {
    const double rate = seconds > 0 ? static_cast<double>(done_of(lane).operations) / seconds : 0;
    out.per_thread.push_back(rate);
    sum += rate;
    squares += rate * rate;
  }
  out.per_second = sum;
  out.series = series_;
  out.jain = squares > 0 ? OrReason<double>(std::min(1.0, sum * sum / (static_cast<double>(threads_.size()) * squares)))
                         : OrReason<double>::missing("no thread did an operation");
  return out;
}

}  // namespace latchlab
