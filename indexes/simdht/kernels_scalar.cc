#include "indexes/simdht/kernels_of.h"

namespace latchlab::simdht {
namespace {

struct Scalar {
  static constexpr bool kGathers = false;
  static void end() {}
  template <class Word, u32 kCount>
  static u32 equal(const Word* at, Word wanted) {
    for (u32 i = 0; i < kCount; ++i) {
      if (at[i] == wanted) return u32{1} << i;
    }
    return 0;
  }
};

}  // namespace

Find kernel_of_scalar(Kernel kernel, std::size_t shape) { return kernel_with<Scalar>(kernel, shape); }

}  // namespace latchlab::simdht
