#include "src/vector/kernel.h"

namespace latchlab::vectors {

bool runs_here(Kernel kernel) {
  static const CpuFlags flags = cpu_flags();
  switch (kernel) {
    case Kernel::kAvx512: return flags.avx512;
    case Kernel::kAvx2: return flags.avx2;
    default: return true;
  }
}

Kernel best_kernel() {
  static const Kernel best = runs_here(Kernel::kAvx512) && takes_wide_vectors() ? Kernel::kAvx512
                             : runs_here(Kernel::kAvx2)                         ? Kernel::kAvx2
                                                                                : Kernel::kSse42;
  return best;
}

}  // namespace latchlab::vectors
