#include "src/arch/heavy_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/types.h"

namespace latchlab {

namespace {

const bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

/// A set of processors as the kernel has it, by system calls alone: memory may be out, and files out of sight.
using Mask = std::array<u64, 128>;  // as many as Linux can be built for

/// The bytes of it that the kernel uses.
long affinity(Mask& mask) { return syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data()); }
/// When this returns true, the calling thread runs on one of them.
bool set_affinity(const Mask& mask) { return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask.data()) == 0; }

bool membarrier() { return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }

// A fence that did not happen would let memory be freed that somebody reads.
[[noreturn]] void give_up() {
  std::fprintf(stderr, "latchlab: this system forbids both membarrier and setting affinity (%s): no fence, no epochs\n",
               std::strerror(errno));
  std::abort();
}

}  // namespace

void fence_by_visits() {
  std::atomic_thread_fence(kSeqCst);  // pairs with itself and with the compiler fences of the others
  Mask before{};
  const long bytes = affinity(before);
  if (bytes <= 0) give_up();
  for (std::size_t cpu = 0; cpu < 8 * static_cast<std::size_t>(bytes); ++cpu) {
    Mask one{};
    one[cpu / 64] = u64{1} << (cpu % 64);
    // EINVAL: there is no such processor, or no thread of this process may be there.
    if (!set_affinity(one) && errno != EINVAL) give_up();
  }
  if (!set_affinity(before)) give_up();
}

void fence_all_processors() {
  // A full fence of our own: the system call runs one only while other threads of the process exist.
  std::atomic_thread_fence(kSeqCst);  // pairs with itself, and with the compiler fences of the others
  if (membarrier()) return;
  fence_by_visits();
}

HeavyFence heavy_fence_here() {
  if (membarrier()) return HeavyFence::kMembarrier;
  Mask mask{};
  return affinity(mask) > 0 && set_affinity(mask) ? HeavyFence::kVisits : HeavyFence::kNone;
}

}  // namespace latchlab
