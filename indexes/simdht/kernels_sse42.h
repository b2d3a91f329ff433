#pragma once
// Comparisons of 16 bytes at once. Internal linkage, like all of kernels_of.h.
#include <nmmintrin.h>

#include "src/base/types.h"

namespace latchlab::simdht {
namespace {

struct Sse42 {
  static constexpr bool kGathers = false;
  static void end() {}

  /// Loads and compares whole vectors.
  template <class Word, u32 kCount>
  [[gnu::always_inline]] static u32 equal(const Word* at, Word wanted) {
    constexpr u32 kLanes = 16 / sizeof(Word);
    if constexpr (kCount == 1) return *at == wanted;
    u32 bits = 0;
    for (u32 i = 0; i < kCount; i += kLanes) {
      const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
      if constexpr (sizeof(Word) == 2) {
        const __m128i same = _mm_cmpeq_epi16(words, _mm_set1_epi16(static_cast<short>(wanted)));
        bits |= static_cast<u32>(_mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128()))) << i;
      } else if constexpr (sizeof(Word) == 4) {
        const __m128i same = _mm_cmpeq_epi32(words, _mm_set1_epi32(static_cast<int>(wanted)));
        bits |= static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(same))) << i;
      } else {
        const __m128i same = _mm_cmpeq_epi64(words, _mm_set1_epi64x(static_cast<long long>(wanted)));
        bits |= static_cast<u32>(_mm_movemask_pd(_mm_castsi128_pd(same))) << i;
      }
    }
    return bits & ((u32{1} << kCount) - 1);
  }
};

}  // namespace
}  // namespace latchlab::simdht
