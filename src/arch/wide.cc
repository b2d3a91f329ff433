#include "src/arch/wide.h"

namespace latchlab {

bool takes_wide_vectors() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vaes"); }

}  // namespace latchlab
