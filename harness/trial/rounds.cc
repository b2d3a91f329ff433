#include "harness/trial/rounds.h"

#include <algorithm>
#include <mutex>

namespace latchlab {
namespace {

double in_seconds(u64 ns) { return static_cast<double>(ns) / 1e9; }

/// Threads' looks at a virtual clock may be a little out of order.
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

// The mutex is held. A stop that comes meanwhile is not lost: it is set before halt_, so if it is not seen
// here, then its halt comes after our store: all four are sequentially consistent and pair with Rounds::halt
// and with the store before it.
void Rounds::open() {
  halt_.store(false, kSeqCst);
  if (stop_.load(kSeqCst)) halt_.store(true, kSeqCst);
  open_ = true;
  running_ = threads_ = in_;
  ready_ = 0;
  of_round_ = 0;
  first_stop_.reset();
  opened_ = closed_ = team_.clock().now();
  if (!begun_) begun_ = opened_;
  round_.store(round_.load(kRelaxed) + 1, kRelease);  // pairs with begin; the load: only written under the mutex
}

void Rounds::begin() {
  u64 before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = round_.load(kRelaxed);  // relaxed: only written under the mutex
    if (cut_ == Cut::kWindow ? !open_ : ++ready_ == in_) open();
    if (cut_ == Cut::kWindow) return;
  }
  team_.wait_while(round_, before);  // acquires: pairs with open
}

u64 Rounds::stop() {
  halt_.store(true, kRelaxed);  // relaxed: it publishes nothing, and the mutex of end puts it before the next open
  return team_.clock().now();   // before that mutex: waiting for it is not running
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
    // A window counts everybody from its beginning, also those who never did anything.
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
  // Once a thread has stopped the round goes on in its average only, which comes when all have.
  const auto end = first_stop_ ? *first_stop_ : team_.clock().now();
  return in_seconds(timed_ + (open_ ? between(opened_, end) : 0));
}

double Rounds::wall_seconds() const {
  const std::lock_guard lock(mutex_);
  return begun_ ? in_seconds(between(*begun_, closed_)) : 0;
}

}  // namespace latchlab
