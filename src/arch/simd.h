#pragma once
// The vector types and searches of the indexes. Other intrinsics occur only in src/arch and in kernels that are called
// through pointers (indexes/simdht/kernels_*.cc). The code here needs nothing beyond SSE4.2, so one binary runs on
// every x86-64 of the last fifteen years.
#include <smmintrin.h>

#include "src/base/types.h"

namespace latchlab {

/// Sixteen bytes in a register.
class Bytes16 {
 public:
  /// Joins two words; byte 0 is the lowest of `low`. Two 8-byte loads into one register do not wait for store
  /// forwarding, as a 16-byte load over two recent 8-byte stores would.
  static Bytes16 of_words(u64 low, u64 high) {
    return Bytes16(_mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low)));
  }
  /// Loads 16 bytes of any alignment, byte 0 first.
  static Bytes16 load(const void* at) { return Bytes16(_mm_loadu_si128(static_cast<const __m128i*>(at))); }
  /// Gathers every fifth byte of seven words: bytes 4, 9, 14 ... 49 become bytes 0 to 9. The others are zero.
  static Bytes16 fifths(const u64* words) {
    constexpr char kNo = -1;  // selects zero
    const __m128i a = of_words(words[0], words[1]).v_, b = of_words(words[2], words[3]).v_,
                  c = of_words(words[4], words[5]).v_, d = of_words(words[6], 0).v_;
    const auto pick = [](__m128i from, auto... bytes) { return _mm_shuffle_epi8(from, _mm_setr_epi8(bytes...)); };
    return Bytes16(_mm_or_si128(
        _mm_or_si128(pick(a, 4, 9, 14, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo),
                     pick(b, kNo, kNo, kNo, 3, 8, 13, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo)),
        _mm_or_si128(pick(c, kNo, kNo, kNo, kNo, kNo, kNo, 2, 7, 12, kNo, kNo, kNo, kNo, kNo, kNo, kNo),
                     pick(d, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 1, kNo, kNo, kNo, kNo, kNo, kNo))));
  }

  /// Returns a mask: bit i is set if byte i equals `byte`.
  u32 equal_to(u8 byte) const {
    return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(v_, _mm_set1_epi8(static_cast<char>(byte)))));
  }
  /// Returns a mask: bit i is set if byte i is at least `byte`, unsigned.
  u32 at_least(u8 byte) const {
    const __m128i bound = _mm_set1_epi8(static_cast<char>(byte));
    return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v_, bound), v_)));
  }

 private:
  explicit Bytes16(__m128i v) : v_(v) {}
  __m128i v_;
};

/// Returns a mask: bit i is set if byte i of `word` equals `byte`, for i in 0..3. Exact: no borrow crosses a byte.
inline u32 equal_bytes4(u32 word, u8 byte) {
  const __m128i v = _mm_cvtsi32_si128(static_cast<int>(word));
  return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(static_cast<char>(byte))))) & 0xfu;
}

/// Returns a mask: bit i is set if byte i of `word` is at least `byte`, unsigned, for i in 0..3.
inline u32 at_least_bytes4(u32 word, u8 byte) {
  const __m128i v = _mm_cvtsi32_si128(static_cast<int>(word)), bound = _mm_set1_epi8(static_cast<char>(byte));
  return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, bound), v))) & 0xfu;
}

/// Returns a mask: bit i is set if the word at byte 16 i of the line equals `word`, for i in 0..3. Each of the four
/// words is loaded whole by an instruction of its own, so other threads may store to the line meanwhile.
inline u32 equal_in_line(const void* line, u64 word) {
  const auto* const at = static_cast<const char*>(line);
  const auto load_pair = [](const char* low, const char* high) {
    const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(low));
    return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(first), reinterpret_cast<const __m64*>(high)));
  };
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  const __m128 low = _mm_castsi128_ps(_mm_cmpeq_epi64(load_pair(at, at + 16), wanted));
  const __m128 high = _mm_castsi128_ps(_mm_cmpeq_epi64(load_pair(at + 32, at + 48), wanted));
  return static_cast<u32>(_mm_movemask_ps(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0))));
}

/// Returns the least i in 0..6 for which the word at byte 8 i equals `word`, or 7. The words lie in one line; each is
/// loaded whole, so other threads may store to them meanwhile.
[[gnu::always_inline]] inline u32 first_equal_of_seven(const void* words, u64 word) {
  const auto* const at = static_cast<const char*>(words);
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  const auto equal = [&](u32 i) {
    return _mm_cmpeq_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 8 * i)), wanted);
  };
  const __m128i last = _mm_cmpeq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + 48)), wanted);
  // Two bytes of `all` stand for each word.
  const __m128i all = _mm_packs_epi16(_mm_packs_epi32(equal(0), equal(2)), _mm_packs_epi32(equal(4), last));
  const u32 found = (static_cast<u32>(_mm_movemask_epi8(all)) & 0x3fffu) | 0x4000u;
  return static_cast<u32>(__builtin_ctz(found)) / 2;
}

/// Returns how many of the kWords words at `words` are less than `bound`, as signed numbers. There are an even number
/// of them, aligned to 16 bytes. Each word is loaded whole, so other threads may store to them meanwhile.
template <u32 kWords>
[[gnu::always_inline]] inline u32 count_less(const void* words, u64 bound) {
  static_assert(kWords % 2 == 0);
  const auto* const at = static_cast<const __m128i*>(words);
  const __m128i limit = _mm_set1_epi64x(static_cast<long long>(bound));
  __m128i less = _mm_setzero_si128();
#pragma GCC unroll 16
  for (u32 i = 0; i < kWords / 2; ++i) less = _mm_sub_epi64(less, _mm_cmpgt_epi64(limit, _mm_load_si128(at + i)));
  return static_cast<u32>(_mm_cvtsi128_si32(_mm_add_epi64(less, _mm_unpackhi_epi64(less, less))));
}

/// Returns a mask: bit i is set if word i of the kWords words at `words` equals `word`. There are an even number of
/// them up to 32, aligned to 16 bytes. Each word is loaded whole, so other threads may store to them meanwhile.
template <u32 kWords>
[[gnu::always_inline]] inline u32 equal_words(const void* words, u64 word) {
  static_assert(kWords % 2 == 0 && kWords <= 32);
  const auto* const at = static_cast<const __m128i*>(words);
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  u32 equal = 0;
#pragma GCC unroll 16
  for (u32 i = 0; i < kWords / 2; ++i) {
    const __m128i both = _mm_cmpeq_epi64(wanted, _mm_load_si128(at + i));
    equal |= static_cast<u32>(_mm_movemask_pd(_mm_castsi128_pd(both))) << (2 * i);
  }
  return equal;
}

}  // namespace latchlab
