#include "indexes/simdht/shape.h"

namespace latchlab::simdht {

Find kernel_of(Isa isa, Way way, const Shape& shape) {
  switch (isa) {
    case Isa::kScalar: return kernel_of_scalar(way, shape);
    case Isa::kSse42: return kernel_of_sse42(way, shape);
    case Isa::kAvx2: return kernel_of_avx2(way, shape);
    case Isa::kAvx512: return kernel_of_avx512(way, shape);
  }
  return nullptr;
}

}  // namespace latchlab::simdht
