#pragma once

// The product of two words, whole: what one instruction makes in two registers. g++ 12 lets the pair of __int128 go
// through memory where registers are short, which waits for a store in every turn of a loop.

#include <type_traits>

#include "src/base/types.h"

namespace latchlab {

struct Product {
  u64 high, low;
};

[[nodiscard]] constexpr Product multiply_wide(u64 a, u64 b) {
  if (std::is_constant_evaluated()) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {.high = static_cast<u64>(product >> 64), .low = static_cast<u64>(product)};
  }
  Product product;
  asm("mulq %3" : "=d"(product.high), "=a"(product.low) : "a"(a), "rm"(b) : "cc");
  return product;
}

}  // namespace latchlab
