#include "sync/nr.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace latchlab::nr {

void end_without_memory(u32 replica, u32 replicas) {
  fmt::print(
      stderr,
      "latchlab: nr:{}: replica {} has no memory for an operation that other replicas may have run, so they would "
      "differ; give it more memory, or take nr:1\n",
      replicas, replica);
  std::abort();
}

}  // namespace latchlab::nr
