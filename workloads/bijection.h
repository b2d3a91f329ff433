#pragma once

// A keyed permutation of [0, n) for any n, computed instead of stored. It scatters the popular records, and the order
// of insertion, over the records. It needs no table. It also avoids the collisions of hash-and-modulo, which gives 37 %
// of the records no rank at all and others several.
//
//     x = ( left | right )      right: `bits` low bits          left in [0, a), a = ceil(n / 2^bits)
//           left  += F(right) mod a            three rounds: each can be undone, so together they
//           right ^= F(left) mod 2^bits        are a bijection of [0, a * 2^bits)
//           left  += F(right) mod a
//
// `bits` is half the bits of n, rounded up. So the domain exceeds n by less than 2^bits <= 2 sqrt(n). A result of n or
// more is permuted again (cycle walking). The cycle of an x < n must return below n. It does so at once except with
// probability 2/sqrt(n). A Feistel network in the usual form has a power of four as its domain, and walks up to four
// times.
//
// Halves are words of 32 bits, of which vectors hold four or eight. Permuting many numbers at once takes a third of the
// time.

#include <algorithm>
#include <bit>
#include <span>

#include "src/arch/wide.h"
#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab {

class Bijection {
 public:
  /// Makes the permutation of [0, n) that (seed, stream) selects; n in [1, 2^63].
  constexpr Bijection(u64 n, u64 seed, u64 stream)
      : n_(n),
        bits_((std::bit_width(n) + 1) / 2),
        mask_(static_cast<u32>((u64{1} << bits_) - 1)),
        lefts_(static_cast<u32>((n + mask_) >> bits_)),
        keys_{static_cast<u32>(draw(seed, stream, 0)), static_cast<u32>(draw(seed, stream, 1)),
              static_cast<u32>(draw(seed, stream, 2))} {}

  [[nodiscard]] constexpr u64 size() const { return n_; }

  /// Returns the image of x < n. About 4 ns.
  [[nodiscard]] constexpr u64 operator()(u64 x) const {
    do {
      u32 left = left_of(x), right = right_of(x);
      left = turned(left, right, keys_[0]);
      right = flipped(right, left);
      left = turned(left, right, keys_[2]);
      x = joined(left, right);
    } while (x >= n_);
    return x;
  }

  /// Replaces each number by its image. Less than 2 ns each.
  void permute(std::span<u64> xs) const {
    constexpr std::size_t kBlock = 64;
    in_wide_vectors([&] {
      for (; xs.size() >= kBlock; xs = xs.subspan(kBlock)) permute_block(xs.first<kBlock>());
    });
    for (u64& x : xs) x = (*this)(x);
  }

 private:
  /// Permutes one block step by step, since the compiler vectorizes short loops. It works on copies, which no store can
  /// change.
  void permute_block(std::span<u64, 64> xs) const {
    const Bijection me = *this;
    u32 left[xs.size()], right[xs.size()];
    for (std::size_t k = 0; k < xs.size(); ++k) left[k] = me.left_of(xs[k]), right[k] = me.right_of(xs[k]);
    for (std::size_t k = 0; k < xs.size(); ++k) left[k] = me.turned(left[k], right[k], me.keys_[0]);
    for (std::size_t k = 0; k < xs.size(); ++k) right[k] = me.flipped(right[k], left[k]);
    for (std::size_t k = 0; k < xs.size(); ++k) left[k] = me.turned(left[k], right[k], me.keys_[2]);
    for (std::size_t k = 0; k < xs.size(); ++k) xs[k] = me.joined(left[k], right[k]);
    u32 most = 0;
    for (std::size_t k = 0; k < xs.size(); ++k) most = std::max(most, left[k]);
    if (most < lefts_ - 1) [[likely]]
      return;  // a result of n or more has the highest left half of all
    for (u64& x : xs) x = x < n_ ? x : (*this)(x);
  }

  /// Scrambles a half. Two multiplications are needed, because one is linear: with one, even five rounds leave
  /// neighbours at regular distances.
  [[nodiscard]] static constexpr u32 scramble(u32 half, u32 key) {
    u32 x = (half ^ key) * 0x7feb352du;  // the factors of mix32
    x ^= x >> 15;
    return x * 0x846ca68bu;
  }

  [[nodiscard]] constexpr u32 left_of(u64 x) const { return static_cast<u32>(x >> bits_); }
  [[nodiscard]] constexpr u32 right_of(u64 x) const { return static_cast<u32>(x) & mask_; }
  [[nodiscard]] constexpr u64 joined(u32 left, u32 right) const { return u64{left} << bits_ | right; }

  [[nodiscard]] constexpr u32 turned(u32 left, u32 right, u32 key) const {
    left += static_cast<u32>(u64{scramble(right, key)} * lefts_ >> 32);
    return std::min(left, left - lefts_);  // the difference wraps to a large number where it would be negative
  }
  [[nodiscard]] constexpr u32 flipped(u32 right, u32 left) const {
    return right ^ (scramble(left, keys_[1]) >> (32 - bits_));
  }

  u64 n_;
  int bits_;  // 1 to 32
  u32 mask_;
  u32 lefts_;  // at most 2^31, so that the sum of two fits into a word
  u32 keys_[3];
};

}  // namespace latchlab
