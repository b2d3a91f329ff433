#pragma once
// membarrier(2), the system call that runs a full memory fence on every processor where a thread of this process
// runs. It makes one side of a fence pair free at the expense of the other (Linux 4.14 and later; containers may
// forbid it).
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace latchlab {

/// Whether this process may call membarrier() from now on.
inline bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/// About 100 ns and more with every processor. Cannot fail once registered.
inline void membarrier() { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

}  // namespace latchlab
