#include "harness/rounds.h"

#include <algorithm>
#include <thread>

#include "src/arch/cpu.h"

namespace latchlab {
namespace {

constexpr u32 kSpins = 2000;

double in_seconds(Rounds::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Rounds::start(u32 threads, bool together) {
  const std::lock_guard lock(mutex_);
  together_ = together;
  open_ = false;
  in_ = threads;
  ready_ = running_ = 0;
  timed_ = {};
  begun_.reset();
  halt_.store(false, kRelaxed);
}

// The mutex is held. A stop that comes meanwhile is not lost: it is set before halt_, so if it is not seen here,
// then its halt comes after our store.
void Rounds::open() {
  halt_.store(false, kSeqCst);
  if (stop_.load(kSeqCst)) halt_.store(true, kSeqCst);
  open_ = true;
  running_ = in_;
  ready_ = 0;
  opened_ = closed_ = Clock::now();
  if (!begun_) begun_ = opened_;
  round_.store(round_.load(kRelaxed) + 1, kRelease);   // pairs with begin
}

void Rounds::begin() {
  u64 before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = round_.load(kRelaxed);
    if (together_ ? ++ready_ == in_ : !open_) open();
    if (!together_) return;
  }
  for (u32 spins = 0; round_.load(kAcquire) == before; ++spins) {   // pairs with open
    if (spins < kSpins) {
      cpu_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

// The mutex is held.
void Rounds::stopped(Clock::time_point when) {
  closed_ = std::max(closed_, when);
  if (--running_ > 0) return;
  open_ = false;
  timed_ += closed_ - opened_;
}

void Rounds::end() {
  halt_.store(true, kRelaxed);
  const auto now = Clock::now();   // before the mutex: waiting for it is not running
  const std::lock_guard lock(mutex_);
  stopped(now);
}

void Rounds::leave(bool runs) {
  if (runs && together_) end();
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  // A window counts everybody from its beginning, also those who never did anything.
  if (!together_ && open_) stopped(now);
  --in_;
  if (together_ && in_ > 0 && ready_ == in_) open();
}

std::optional<Rounds::Clock::time_point> Rounds::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

double Rounds::seconds() const {
  const std::lock_guard lock(mutex_);
  return in_seconds(timed_ + (open_ ? Clock::now() - opened_ : Clock::duration{}));
}

double Rounds::wall_seconds() const {
  const std::lock_guard lock(mutex_);
  return begun_ ? in_seconds(closed_ - *begun_) : 0;
}

}  // namespace latchlab
