// Tests of when readers of `bravo` leave its lock alone, and of how long a revocation keeps them from it.
#include "sync/bravo.h"

#include <mutex>

#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// The native machine with a clock that goes on by one with each look at it.
struct Ticking : Native {
  static inline u64 time = 0;
  static u64 now() { return ++time; }
};

/// A lock for one thread, which counts.
struct Counted {
  static inline u32 shared = 0;
  void lock() {}
  void unlock() {}
  void lock_shared() { ++shared; }
  void unlock_shared() {}
};

using Lock = BravoLock<Ticking, Counted>;

/// Returns how many of `lookups`, one after the other, took the lock.
u32 locked(Lock& lock, Lock::Reader& me, u32 lookups) {
  Counted::shared = 0;
  for (u32 i = 0; i < lookups; ++i) const Lock::Reading inside(lock, me);
  return Counted::shared;
}

TEST_CASE("Under bravo the first reader takes the lock, and later ones mark their slots") {
  Lock lock;
  Lock::Reader me, other;
  CHECK(locked(lock, me, 10) == 1);
  CHECK(locked(lock, other, 10) == 0);
}

TEST_CASE("After a writer of bravo its readers take the lock for nine times the time that it looked at slots") {
  Lock lock;
  Lock::Reader me;
  CHECK(locked(lock, me, 2) == 1);
  { const std::lock_guard inside(lock); }
  // It looked from one tick to the next, so readers may set the bias again nine ticks later. Each looks at the clock
  // once, and the ninth sets it.
  CHECK(locked(lock, me, 100) == 9);
  // Without the bias a writer looks at no slots, so the next reader need not wait.
  Lock unbiased;
  { const std::lock_guard inside(unbiased); }
  CHECK(locked(unbiased, me, 100) == 1);
}

TEST_CASE("A reader of bravo whose slot is marked by another takes the lock") {
  using OneSlot = BravoLock<Ticking, Counted, 1>;
  OneSlot lock;
  OneSlot::Reader me, other;
  { const OneSlot::Reading sets_the_bias(lock, me); }
  Counted::shared = 0;
  const OneSlot::Reading first(lock, me);
  CHECK(Counted::shared == 0);
  const OneSlot::Reading second(lock, other);
  CHECK(Counted::shared == 1);
}

}  // namespace
}  // namespace latchlab
