#pragma once

// A keyed permutation of [0, n) for any n, computed, not stored: the popular records, and the order of
// insertion, are scattered over the records without a table and without the collisions of hash-and-modulo
// (which gives 37 % of the records no rank at all and others several).
//
//     x = ( left | right )      right: `bits` low bits          left in [0, a), a = ceil(n / 2^bits)
//           left  += F(right) mod a            three rounds: each can be undone, so together they
//           right ^= F(left) mod 2^bits        are a bijection of [0, a * 2^bits)
//           left  += F(right) mod a
//
// With bits = floor(log2(n) / 2) the domain exceeds n by less than 2^bits <= sqrt(n). A result of n or more
// is permuted again (cycle walking): following the cycle from an x < n must come back below n, and it does
// so at once except with probability 1/sqrt(n). A Feistel network in the usual form has a power of four as
// domain and walks up to four times.

#include <algorithm>
#include <bit>
#include <span>

#include "src/arch/wide.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab {

class Bijection {
 public:
  /// The permutation of [0, n) that (seed, stream) names; n in [1, 2^63].
  constexpr Bijection(u64 n, u64 seed, u64 stream)
      : n_(n), bits_((std::bit_width(n) - 1) / 2), mask_((u64{1} << bits_) - 1), lefts_((n + mask_) >> bits_),
        keys_{draw(seed, stream, 0), draw(seed, stream, 1), draw(seed, stream, 2)} {}

  [[nodiscard]] constexpr u64 size() const { return n_; }

  /// The image of x < n. About 4 ns.
  [[nodiscard]] constexpr u64 operator()(u64 x) const {
    do {
      x = once<OneLane>(x);
    } while (x >= n_);
    return x;
  }

  /// Puts the image of each in its place. About 1 ns each where loops run wide.
  void permute(std::span<u64> xs) const {
    in_lanes(xs.size(), [=, *this](auto width, std::size_t from) {
      u64 images[width.kLanes];
      for (std::size_t k = 0; k < width.kLanes; ++k) images[k] = once<decltype(width)>(xs[from + k]);
      for (std::size_t k = 0; k < width.kLanes; ++k) xs[from + k] = images[k] < n_ ? images[k] : (*this)(images[k]);
    });
  }

 private:
  /// Two multiplications, because one is linear: with it even five rounds leave neighbours at regular
  /// distances.
  [[nodiscard]] static constexpr u64 scramble(u64 half, u64 key) {
    u64 x = (half ^ key) * kMixFactor;
    x ^= x >> 32;
    return x * kMixFactor;
  }

  /// Without a branch, which chance would decide and no predictor could know: two of them cost 8 ns.
  template <class Width>
  [[nodiscard]] constexpr u64 turned(u64 left, u64 right, u64 key) const {
    left += Width::bounded(scramble(right, key), lefts_);
    return std::min(left, left - lefts_);   // which is beyond all words where it would be negative
  }

  template <class Width>
  [[nodiscard]] constexpr u64 once(u64 x) const {
    u64 left = x >> bits_;
    u64 right = x & mask_;
    left = turned<Width>(left, right, keys_[0]);
    right ^= scramble(left, keys_[1]) >> 32 & mask_;
    left = turned<Width>(left, right, keys_[2]);
    return left << bits_ | right;
  }

  u64 n_;
  int bits_;
  u64 mask_;
  u64 lefts_;   // at most 2^32
  u64 keys_[3];
};

}  // namespace latchlab
