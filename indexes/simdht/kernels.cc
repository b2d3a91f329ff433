#include "indexes/simdht/kernels.h"

namespace latchlab::simdht {

Find kernel_of(Isa isa, Kernel kernel, const Shape& shape) {
  const std::size_t number = number_of(shape);
  switch (isa) {
    case Isa::kScalar: return kernel_of_scalar(kernel, number);
    case Isa::kSse42: return kernel_of_sse42(kernel, number);
    case Isa::kAvx2: return kernel_of_avx2(kernel, number);
    case Isa::kAvx512: return kernel_of_avx512(kernel, number);
  }
  return nullptr;
}

}  // namespace latchlab::simdht
