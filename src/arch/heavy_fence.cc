#include "src/arch/heavy_fence.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "src/base/types.h"

namespace latchlab {

namespace {

bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

const bool registered = register_membarrier();

/// A set of processors as the kernel wants it, as large as this machine may need.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(count()), [](cpu_set_t* set) { CPU_FREE(set); }) { CPU_ZERO_S(bytes(), set_.get()); }
  explicit CpuSet(std::size_t cpu) : CpuSet() { CPU_SET_S(cpu, bytes(), set_.get()); }
  static std::size_t count() { return static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)); }
  void read() { sched_getaffinity(0, bytes(), set_.get()); }
  /// For the calling thread, which runs on one of them when this returns. False if it may run on none.
  bool apply() const { return sched_setaffinity(0, bytes(), set_.get()) == 0; }

 private:
  static std::size_t bytes() { return CPU_ALLOC_SIZE(count()); }
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

}  // namespace

void fence_by_visits() {
  std::atomic_thread_fence(kSeqCst);   // pairs with itself and with the compiler fences of the others
  CpuSet before;
  before.read();
  // Where we may not go, no thread of this process may be either.
  for (std::size_t cpu = 0; cpu < CpuSet::count(); ++cpu) CpuSet(cpu).apply();
  before.apply();
}

void fence_all_processors() {
  // A full fence of our own: the system call runs one only while other threads of the process exist.
  std::atomic_thread_fence(kSeqCst);   // pairs with itself, and with the compiler fences of the others
  if (registered) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);   // cannot fail once registered
  } else {
    fence_by_visits();
  }
}

}  // namespace latchlab
