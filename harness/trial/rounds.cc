#include "harness/trial/rounds.h"

#include <algorithm>
#include <mutex>

namespace latchlab {
namespace {

double in_seconds(u64 ns) { return static_cast<double>(ns) / 1e9; }

/// Returns the time between two readings, or 0: readings of a virtual clock by several threads may be slightly out of
/// order.
u64 between(u64 from, u64 to) { return to > from ? to - from : 0; }

}  // namespace

void Rounds::start(u32 threads, Cut cut) {
  const std::lock_guard lock(mutex_);
  cut_ = cut;
  open_ = false;
  in_ = threads;
  ready_ = running_ = 0;
  timed_ = 0;
  begun_.reset();
  halt_.store(false, kRelaxed);  // relaxed: no thread of the phase runs yet
}

void Rounds::resume(u32 threads) {
  const std::lock_guard lock(mutex_);
  in_ = threads;
}

// Call it with the mutex held. A stop that comes meanwhile is not lost. The stopping thread does
//   (1) stop_ = true, then (2) halt_ = true;
// this thread does
//   (3) halt_ = false, then (4) load stop_.
// All four are sequentially consistent: if (4) does not see (1), then (2) comes after (3), and halt_ stays true.
void Rounds::open() {
  halt_.store(false, kSeqCst);                          // (3) pairs with (2) in halt()
  if (stop_.load(kSeqCst)) halt_.store(true, kSeqCst);  // (4) pairs with (1) in Phases::stop()
  open_ = true;
  running_ = threads_ = in_;
  ready_ = 0;
  of_round_ = 0;
  first_stop_.reset();
  opened_ = closed_ = team_.clock().now();
  if (!begun_) begun_ = opened_;
  // (5) pairs with (6). The load is relaxed, since round_ is only written under the mutex.
  round_.store(round_.load(kRelaxed) + 1, kRelease);
}

void Rounds::begin() {
  u64 before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = round_.load(kRelaxed);  // relaxed: only written under the mutex
    if (cut_ == Cut::kWindow ? !open_ : ++ready_ == in_) open();
    if (cut_ == Cut::kWindow) return;
  }
  team_.wait_while(round_, before);  // (6) acquires: pairs with (5)
}

u64 Rounds::stop() {
  halt_.store(true, kRelaxed);  // relaxed: it publishes nothing, and end()'s mutex orders it before the next open()
  return team_.clock().now();   // before end() locks its mutex, since waiting for that does not count
}

bool Rounds::end(u64 stopped) {
  const std::lock_guard lock(mutex_);
  if (!first_stop_ || stopped < *first_stop_) first_stop_ = stopped;
  closed_ = std::max(closed_, stopped);
  of_round_ += between(opened_, stopped);
  if (--running_ > 0) return false;
  open_ = false;
  timed_ += of_round_ / threads_;
  return true;
}

void Rounds::leave(bool runs) {
  if (runs && cut_ == Cut::kRounds) (void)end(stop());
  const std::lock_guard lock(mutex_);
  --in_;
  if (cut_ == Cut::kRounds || !open_) {
    if (in_ > 0 && ready_ == in_) open();
  } else {
    // A window counts every thread from its beginning, also a thread that never did anything.
    closed_ = team_.clock().now();
    if (--running_ > 0) return;
    open_ = false;
    timed_ += between(opened_, closed_);
  }
}

std::optional<u64> Rounds::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

double Rounds::seconds() const {
  const std::lock_guard lock(mutex_);
  // After the first stop of a round its length is unknown until all threads have stopped, so it counts up to that stop.
  const auto end = first_stop_ ? *first_stop_ : team_.clock().now();
  return in_seconds(timed_ + (open_ ? between(opened_, end) : 0));
}

double Rounds::wall_seconds() const {
  const std::lock_guard lock(mutex_);
  return begun_ ? in_seconds(between(*begun_, closed_)) : 0;
}

}  // namespace latchlab
