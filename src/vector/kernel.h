#pragma once
// The kernels of the operations on vectors: the same loops, compiled for several instruction sets.
//
//     scalar   the reference: one element after the other, by instructions of every x86-64 (reference.h)
//     sse4.2   vectors of 16 bytes, which every processor of this project has
//     avx2     of 32 bytes
//     avx512   of 64 bytes; AVX-512 F, BW, VL and DQ
//
// All give the same results, but for the sums of floats (reduce.h). An operation takes best_kernel() unless its caller
// names another. Kernels beyond sse4.2 end with vzeroupper, which aborts a hardware transaction: call none inside one.
#include <array>

#include "src/arch/features.h"
#include "src/arch/wide.h"
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab::vectors {

enum class Kernel : u8 { kScalar, kSse42, kAvx2, kAvx512 };
inline constexpr std::array kKernels{Kernel::kScalar, Kernel::kSse42, Kernel::kAvx2, Kernel::kAvx512};

/// Returns true if this processor has the instructions of the kernel.
bool runs_here(Kernel kernel);

/// Returns the kernel with the widest vectors that this processor has. But avx512 only if takes_wide_vectors(): older
/// processors lower their clock rate for it, which would slow down the code that follows. The first call asks it.
Kernel best_kernel();

/// The bytes of a vector register of a kernel.
template <Kernel kernel>
inline constexpr std::size_t kRegisterBytes = kernel == Kernel::kAvx512 ? 64
                                              : kernel == Kernel::kAvx2 ? 32
                                                                        : 16;

/// Runs the loop, with all that it calls inlined, by the instructions of the kernel.
template <Kernel kernel, class Loop>
void run_in(const Loop& loop) {
  if constexpr (kernel == Kernel::kAvx512) {
    in_512_bits(loop);
  } else if constexpr (kernel == Kernel::kAvx2) {
    in_256_bits(loop);
  } else {
    loop();
  }
}

}  // namespace latchlab::vectors

namespace latchlab {
template <>
inline constexpr std::array kWords<vectors::Kernel>{"scalar"sv, "sse4.2"sv, "avx2"sv, "avx512"sv};
}
