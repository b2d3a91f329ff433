#include "src/machine/emulated.h"

#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "src/arch/pause.h"

namespace latchlab {

namespace {
constinit std::mutex hidden_mutex;
}  // namespace

void Emulated::lock_hidden() { hidden_mutex.lock(); }
void Emulated::unlock_hidden() { hidden_mutex.unlock(); }

void Emulated::stumble() {
  // The generator is linear congruential, one per thread, seeded by its own address, so threads do not stumble in step.
  // No fiber gets here: fibers run on Simulated.
  static constinit thread_local u32 state = 0;
  if (state == 0) state = static_cast<u32>(reinterpret_cast<u64>(&state) >> 4) | 1;
  state = state * 1664525 + 1013904223;
  if (state >> 26 == 0) sched_yield();
}

EmulatedThread& EmulatedThread::mine() {
  thread_local EmulatedThread mine;
  return mine;
}

void EmulatedThread::begin() {
  if (transaction_.depth() == 0) {
    Emulated::stumble();
    Emulated::lock_hidden();
  }
  running = this;
  const bool outermost = transaction_.enter(plan_);
  if (transaction_.too_deep()) abort(kAbortNested);
  if (transaction_.suspended()) abort(0);
  if (outermost && transaction_.planned(AbortMoment::kBegin)) abort(transaction_.planned_status());
}

void EmulatedThread::commit() {
  if (transaction_.suspended()) abort(0);
  if (transaction_.depth() == 1 && transaction_.planned(AbortMoment::kCommit)) abort(transaction_.planned_status());
  if (!transaction_.leave()) return;
  const auto freed = transaction_.take_freed();
  end();
  for (const auto& block : freed) std::free(block.block);
}

void EmulatedThread::end() {
  running = nullptr;
  Emulated::unlock_hidden();
}

void EmulatedThread::suspend_loads() {
  if (!transaction_.suspend()) abort(0);
  Emulated::unlock_hidden();
  Emulated::stumble();
}

void EmulatedThread::resume_loads() {
  if (!transaction_.suspended()) abort(0);
  take_mutex_back();
}

/// Takes the mutex if suspended loads have released it: the code that undoes or ends a transaction must hold the mutex.
void EmulatedThread::take_mutex_back() {
  if (transaction_.resume()) Emulated::lock_hidden();
}

void EmulatedThread::abort(u32 status) {
  take_mutex_back();
  transaction_.undo(status);
  transaction_.unwind();
}

void EmulatedThread::abort_explicitly(u8 code) {
  if (!transaction_.running()) {
    std::fprintf(stderr, "emulated machine: abort<%u> outside a transaction\n", u32{code});
    std::abort();
  }
  abort(explicit_status(code) | (transaction_.depth() > 1 ? kAbortNested : 0));
}

u32 EmulatedThread::caught() {
  if (!transaction_.caught()) throw;
  end();
  return transaction_.status();
}

u32 EmulatedThread::caught_foreign() {
  if (transaction_.depth() > 1) {
    transaction_.caught();
    throw;
  }
  take_mutex_back();
  transaction_.undo(0);
  return caught();
}

void Emulated::pause() {
  if (in_transaction()) EmulatedThread::mine().abort(0);
  pause_spin();
}

void Emulated::yield() {
  if (in_transaction()) EmulatedThread::mine().abort(0);
  sched_yield();
}

u64 Emulated::now() {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

u32 Emulated::node() {
  static constinit std::atomic<u32> threads{0};
  thread_local const u32 mine = threads.fetch_add(1, kRelaxed) % 2;  // relaxed: it only counts
  return mine;
}

void* Emulated::allocate(std::size_t bytes, std::size_t alignment) {
  return bytes >= kLineBytes && alignment > alignof(std::max_align_t)
             ? std::aligned_alloc(kLineBytes, (bytes + kLineBytes - 1) & ~(kLineBytes - 1))
             : std::malloc(bytes);
}

void Emulated::deallocate(void* p, std::size_t bytes) {
  if (in_transaction()) {
    EmulatedThread::mine().transaction().free_at_commit(p, bytes);
  } else {
    std::free(p);
  }
}

}  // namespace latchlab
