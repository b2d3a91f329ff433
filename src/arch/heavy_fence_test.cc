#include "src/arch/heavy_fence.h"

#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
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
    arrived.round.fetch_add(1, kAcqRel);  // pairs with itself: both begin a round after both have ended the last
    for (u32 looks = 0; arrived.round.load(kAcquire) < 2 * round; ++looks) {  // pairs with the addition
      if (looks > 1000) std::this_thread::yield();
    }
  };
  std::vector<bool> missed_by_light(rounds + 1), missed_by_heavy(rounds + 1);
  std::thread other([&] {
    for (u32 round = 1; round <= rounds; ++round) {
      meet(round);
      light.round.store(round, kRelaxed);  // relaxed, like all four: the fences are what is tested
      std::atomic_signal_fence(kSeqCst);   // pairs with `fence`
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

/// What heavy_fence_here() says where the system forbids these calls, or -1; in a process of its own, since it is for
/// good.
int without(std::initializer_list<u32> forbidden) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const u32 call : forbidden) {
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{.len = static_cast<u16>(filter.size()), .filter = filter.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(100);
    }
    _exit(static_cast<int>(heavy_fence_here()));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : -1;
}

TEST_CASE("What the heavy fence does is told by what the system allows") {
  CHECK(without({SYS_membarrier}) == static_cast<int>(HeavyFence::kVisits));
  CHECK(without({SYS_membarrier, SYS_sched_setaffinity}) == static_cast<int>(HeavyFence::kNone));
  const bool known = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  CHECK(heavy_fence_here() == (known ? HeavyFence::kMembarrier : HeavyFence::kVisits));
}

}  // namespace
}  // namespace latchlab
