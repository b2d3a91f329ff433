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

/// Counts the rounds in which a load overtook a store. In each round two threads store to a word of their own and then
/// load the other's. A load overtook a store if both miss the other's store. One thread runs `fence` between store and
/// load, the other has a compiler fence there.
template <class Fence>
u32 both_missed(Fence fence, u32 rounds) {
  Word light, heavy, arrived;
  const auto meet = [&](u32 round) {
    arrived.round.fetch_add(1, kAcqRel);  // pairs with itself: both begin a round after both have ended the one before
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

TEST_CASE("A heavy fence needs only a compiler fence on the other side") {
  CHECK(both_missed(fence_all_processors, 20'000) == 0);
}

TEST_CASE("A fence by visits needs only a compiler fence on the other side, and leaves the affinity as it was") {
  cpu_set_t before, after;
  CPU_ZERO(&before);
  CPU_ZERO(&after);
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(both_missed(fence_by_visits, 500) == 0);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after) != 0);
}

/// Returns what heavy_fence_here() says where the system forbids these calls, or -1. Runs it in a child process,
/// because a filter of system calls cannot be removed.
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

TEST_CASE("heavy_fence_here names the way that the system allows") {
  CHECK(without({SYS_membarrier}) == static_cast<int>(HeavyFence::kVisits));
  CHECK(without({SYS_membarrier, SYS_sched_setaffinity}) == static_cast<int>(HeavyFence::kNone));
  const bool known = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  CHECK(heavy_fence_here() == (known ? HeavyFence::kMembarrier : HeavyFence::kVisits));
}

}  // namespace
}  // namespace latchlab
