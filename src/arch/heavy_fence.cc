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

/// A set of processors in the kernel's format. The code here uses system calls only: memory may have run out, and /sys
/// may be invisible.
using Mask = std::array<u64, 128>;  // as many processors as Linux can be built for

/// Reads the calling thread's affinity; returns the number of bytes that the kernel uses, or a negative number.
long affinity(Mask& mask) { return syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data()); }
/// Sets the affinity; once it returns true, the calling thread runs on one of these processors.
bool set_affinity(const Mask& mask) { return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask.data()) == 0; }

bool membarrier() { return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }

// Ends the process: without the fence, memory would be freed while a thread still reads it.
[[noreturn]] void give_up() {
  std::fprintf(stderr,
               "latchlab: this system forbids both membarrier and sched_setaffinity (%s); epochs need one of them\n",
               std::strerror(errno));
  std::abort();
}

}  // namespace

void fence_by_visits() {
  std::atomic_thread_fence(kSeqCst);  // pairs with itself, and with the compiler fences of other threads
  Mask before{};
  const long bytes = affinity(before);
  if (bytes <= 0) give_up();
  for (std::size_t cpu = 0; cpu < 8 * static_cast<std::size_t>(bytes); ++cpu) {
    Mask one{};
    one[cpu / 64] = u64{1} << (cpu % 64);
    // EINVAL: there is no such processor, or no thread of this process may run there.
    if (!set_affinity(one) && errno != EINVAL) give_up();
  }
  if (!set_affinity(before)) give_up();
}

void fence_all_processors() {
  // The caller fences for itself: the system call runs a fence only while other threads of the process exist.
  std::atomic_thread_fence(kSeqCst);  // pairs with itself, and with the compiler fences of other threads
  if (membarrier()) return;
  fence_by_visits();
}

HeavyFence heavy_fence_here() {
  if (membarrier()) return HeavyFence::kMembarrier;
  Mask mask{};
  return affinity(mask) > 0 && set_affinity(mask) ? HeavyFence::kVisits : HeavyFence::kNone;
}

}  // namespace latchlab
