#pragma once

// The full product of two words, which one instruction leaves in two registers. Where registers are short, g++ 12 sends
// an __int128 through memory, and every turn of a loop then waits for that store.

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
