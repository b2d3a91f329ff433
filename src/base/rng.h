#pragma once

// Random words by counter: the word at position i of a stream is a function of (seed, stream, i) and of
// nothing else. There is no state to carry, so any thread can make any part of a stream, in any order, and
// two runs with different numbers of threads execute the same operations.
//
// A word is the folded product of a Weyl sequence with itself: Wang Yi's wyrand, which passes BigCrush and PractRand,
// and takes one multiplication. What in wyrand is a constant is a key of the stream here: without it all streams would
// be windows into one sequence of 2^64 words, and two windows could overlap.

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

/// 2^64 / golden ratio, odd. Its multiples visit all words, and any stretch of them lies more evenly than chance would
/// have it.
inline constexpr u64 kGoldenFactor = 0x9e3779b97f4a7c15u;

/// The next word of Splitmix64 (Steele, Lea, Flood, OOPSLA 2014); `state` is the sequence so far, any word to begin
/// with. For where a sequence is all that is needed: schedules, planned aborts.
[[nodiscard]] constexpr u64 splitmix64(u64& state) { return stafford64(state += kGoldenFactor); }

/// The random words of one stream. Copyable, constant, about 1.5 ns a word.
class Draws {
 public:
  constexpr Draws(u64 seed, u64 stream)
      : start_(mix64(mix64(seed + kGoldenFactor) + stream)), key_(mix64(start_ + kGoldenFactor)) {}

  /// The uniform word at position i.
  [[nodiscard]] constexpr u64 operator()(u64 i) const { return word(i, key_); }

  /// The word of try t at position i, for methods that reject: position i keeps its own tries, so what it
  /// draws never moves its neighbours. at(i, 0) == (*this)(i).
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

/// The uniform word at position i of a stream. Make a Draws where many are needed: this derives its keys
/// each time.
[[nodiscard]] constexpr u64 draw(u64 seed, u64 stream, u64 i) { return Draws(seed, stream)(i); }

/// A uniform number in [0, 1) from a uniform word: a multiple of 2^-53, never 1.
[[nodiscard]] constexpr double unit(u64 word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A number in [0, n) from a uniform word, n > 0 (Lemire's multiplication without its rejection: no number's
/// probability is off by more than 2^-64, which no run of ours can see). bounded(w, 0) is 0.
[[nodiscard]] constexpr u64 bounded(u64 word, u64 n) { return multiply_high(word, n); }

/// The same, and what the multiplication leaves over: a word that is as uniform, and independent of the number but for
/// the same 2^-64.
struct BoundedAndRest {
  u64 number, rest;
};
[[nodiscard]] constexpr BoundedAndRest bounded_and_rest(u64 word, u64 n) {
  const Product product = multiply_wide(word, n);
  return {.number = product.high, .rest = product.low};
}

/// A sequential generator, for tests and for the bootstrap; satisfies std::uniform_random_bit_generator.
class Rng {
 public:
  using result_type = u64;

  explicit constexpr Rng(u64 seed) : draws_(seed, 0) {}

  [[nodiscard]] static constexpr u64 min() { return 0; }
  [[nodiscard]] static constexpr u64 max() { return ~u64{0}; }

  constexpr u64 operator()() { return draws_(next_++); }
  /// Uniform in [0, n); 0 for n = 0.
  constexpr u64 below(u64 n) { return bounded((*this)(), n); }

 private:
  Draws draws_;
  u64 next_ = 0;
};

}  // namespace latchlab
