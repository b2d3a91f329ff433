#pragma once

// The order of the kinds within a block of operations: a permutation of the exact counts that Mix::before gives.

#include "src/base/types.h"
#include "workloads/mix.h"

namespace latchlab {

/// A permutation of [0, Mix::kBlock) from one random word. It consists of odd multiplications, an addition and
/// xor-shifts, each a bijection of the bits.
class Deal {
 public:
  explicit Deal(u64 word) : word_(word) {}

  [[nodiscard]] u64 operator()(u64 x) const {
    x = (x * (word_ | 1) + (word_ >> 16)) & kMask;
    x ^= x >> 4;
    x = (x * (word_ >> 24 | 1) + (word_ >> 40)) & kMask;
    x ^= x >> 3;
    x = (x * (word_ >> 48 | 1)) & kMask;
    return x ^ x >> 4;
  }

 private:
  static constexpr u64 kMask = Mix::kBlock - 1;
  static_assert(Mix::kBlock == 256, "the shifts are chosen for 8 bits");
  u64 word_;
};

}  // namespace latchlab
