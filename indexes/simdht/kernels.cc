#include "indexes/simdht/shape.h"

namespace latchlab::simdht {

Find kernel_of(Isa isa, Way way, const Shape& shape) {
  std::size_t number = 0;
  while (shape_at(number) != shape) ++number;
  switch (isa) {
    case Isa::kScalar: return kernel_of_scalar(way, number);
    case Isa::kSse42: return kernel_of_sse42(way, number);
    case Isa::kAvx2: return kernel_of_avx2(way, number);
    case Isa::kAvx512: return kernel_of_avx512(way, number);
  }
  return nullptr;
}

}  // namespace latchlab::simdht
