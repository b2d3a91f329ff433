#include "src/arch/heavy_fence.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "src/base/types.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

struct alignas(kFalseSharingBytes) Word {
  std::atomic<u32> round{0};
};

/// How often both of two threads, which at the same time stored to a word of their own and then looked at the other's,
/// saw nothing: a load has overtaken a store. One of them has `fence` between the two, the other holds the compiler.
template <class Fence>
u32 both_missed(Fence fence, u32 rounds) {
  Word light, heavy, arrived;
  const auto meet = [&](u32 round) {
    arrived.round.fetch_add(1, kAcqRel);   // pairs with itself: both begin a round after both have ended the last
    for (u32 looks = 0; arrived.round.load(kAcquire) < 2 * round; ++looks) {   // pairs with the addition
      if (looks > 1000) std::this_thread::yield();
    }
  };
  std::vector<bool> missed_by_light(rounds + 1), missed_by_heavy(rounds + 1);
  std::thread other([&] {
    for (u32 round = 1; round <= rounds; ++round) {
      meet(round);
      light.round.store(round, kRelaxed);   // relaxed, like all four: the fences are what is tested
      std::atomic_signal_fence(kSeqCst);    // pairs with `fence`
      missed_by_light[round] = heavy.round.load(kRelaxed) != round;
    }
  });
  for (u32 round = 1; round <= rounds; ++round) {
    meet(round);
    heavy.round.store(round, kRelaxed);
    fence();
    missed_by_heavy[round] = light.round.load(kRelaxed) != round;
  }
  other.join();
  u32 both = 0;
  for (u32 round = 1; round <= rounds; ++round) both += missed_by_light[round] && missed_by_heavy[round];
  return both;
}

TEST_CASE("A heavy fence orders what the other side only keeps from the compiler") {
  CHECK(both_missed(fence_all_processors, 20'000) == 0);
}

TEST_CASE("So do visits to every processor, which leave the affinity as it was") {
  cpu_set_t before, after;
  CPU_ZERO(&before);
  CPU_ZERO(&after);
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(both_missed(fence_by_visits, 500) == 0);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after) != 0);
}

}  // namespace
}  // namespace latchlab
