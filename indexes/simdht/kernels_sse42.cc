#include "indexes/simdht/kernels_sse42.h"

#include "indexes/simdht/kernels_of.h"

namespace latchlab::simdht {

Find kernel_of_sse42(Kernel kernel, std::size_t shape) { return kernel_with<Sse42>(kernel, shape); }

}  // namespace latchlab::simdht
