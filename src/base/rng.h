#pragma once

// Random words by counter: the word at position i of a stream is a function of (seed, stream, i) only. There is no
// state to carry, so any thread can make any part of a stream, in any order. Two runs with different numbers of threads
// execute the same operations.
//
// A word is the folded product of a Weyl sequence with itself: Wang Yi's wyrand, which passes BigCrush and PractRand
// and takes one multiplication. wyrand's constant is here a key of the stream. Without it all streams would be windows
// into one sequence of 2^64 words, and two windows could overlap.

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

/// The odd number nearest to 2^64 / golden ratio. Its multiples visit all words, and any run of them is spread more
/// evenly than random words.
inline constexpr u64 kGoldenFactor = 0x9e3779b97f4a7c15u;

/// Returns the next word of Splitmix64 (Steele, Lea, Flood, OOPSLA 2014) and advances `state`, which may begin with any
/// word. Serves where a plain sequence is enough: schedules, planned aborts.
[[nodiscard]] constexpr u64 splitmix64(u64& state) { return stafford64(state += kGoldenFactor); }

/// The random words of one stream. Copyable and immutable; about 1.5 ns a word.
class Draws {
 public:
  constexpr Draws(u64 seed, u64 stream)
      : start_(mix64(mix64(seed + kGoldenFactor) + stream)), key_(mix64(start_ + kGoldenFactor)) {}

  /// Returns the uniform word at position i.
  [[nodiscard]] constexpr u64 operator()(u64 i) const { return word(i, key_); }

  /// Returns the word of try t at position i, for methods that reject. Each position has tries of its own, so a
  /// rejection never changes another position's word. at(i, 0) == (*this)(i).
  [[nodiscard]] constexpr u64 at(u64 i, u64 t) const { return word(i, key_ + t * kTryStep); }

 private:
  static constexpr u64 kTryStep = 0xd1342543de82ef95ull;  // odd: tries have distinct keys

  [[nodiscard]] constexpr u64 word(u64 i, u64 key) const {
    const u64 x = i * kGoldenFactor + start_;
    return multiply_fold(x, x ^ key);
  }

  u64 start_;
  u64 key_;
};

/// Returns the uniform word at position i of a stream. Derives the stream's keys each time; make a Draws for many
/// words.
[[nodiscard]] constexpr u64 draw(u64 seed, u64 stream, u64 i) { return Draws(seed, stream)(i); }

/// Maps a uniform word to a uniform number in [0, 1): a multiple of 2^-53, never 1.
[[nodiscard]] constexpr double unit(u64 word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// Maps a uniform word to a number in [0, n), n > 0. This is Lemire's multiplication without its rejection: each
/// probability is off by at most 2^-64, which no run of ours can see. bounded(w, 0) is 0.
[[nodiscard]] constexpr u64 bounded(u64 word, u64 n) { return multiply_high(word, n); }

/// A bounded number and the rest of the multiplication: a word that is as uniform, and independent of the number up to
/// the same 2^-64.
struct BoundedAndRest {
  u64 number, rest;
};
[[nodiscard]] constexpr BoundedAndRest bounded_and_rest(u64 word, u64 n) {
  const Product product = multiply_wide(word, n);
  return {.number = product.high, .rest = product.low};
}

/// A sequential generator for tests and for the bootstrap; satisfies std::uniform_random_bit_generator.
class Rng {
 public:
  using result_type = u64;

  explicit constexpr Rng(u64 seed) : draws_(seed, 0) {}

  [[nodiscard]] static constexpr u64 min() { return 0; }
  [[nodiscard]] static constexpr u64 max() { return ~u64{0}; }

  constexpr u64 operator()() { return draws_(next_++); }
  /// Returns a uniform number in [0, n), or 0 for n = 0.
  constexpr u64 below(u64 n) { return bounded((*this)(), n); }

 private:
  Draws draws_;
  u64 next_ = 0;
};

}  // namespace latchlab
