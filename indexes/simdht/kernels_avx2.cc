#include <immintrin.h>

#include "indexes/simdht/kernels_of.h"
#include "indexes/simdht/kernels_sse42.h"

namespace latchlab::simdht {
namespace {

struct Avx2 {
  static constexpr bool kGathers = true;
  /// Clears the registers by vzeroall, which does not abort a hardware transaction. vzeroupper does, so an option keeps
  /// g++ from emitting it.
  static void end() { _mm256_zeroall(); }

  /// Loads and compares whole vectors: of 16 bytes if those suffice, since 32 could exceed the bucket.
  template <class Word, u32 kCount>
  [[gnu::always_inline]] static u32 equal(const Word* at, Word wanted) {
    if constexpr (kCount * sizeof(Word) <= 16) return Sse42::equal<Word, kCount>(at, wanted);
    constexpr u32 kLanes = 32 / sizeof(Word);
    u32 bits = 0;
    for (u32 i = 0; i < kCount; i += kLanes) {
      const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + i));
      if constexpr (sizeof(Word) == 4) {
        const __m256i same = _mm256_cmpeq_epi32(words, _mm256_set1_epi32(static_cast<int>(wanted)));
        bits |= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(same))) << i;
      } else {
        const __m256i same = _mm256_cmpeq_epi64(words, _mm256_set1_epi64x(static_cast<long long>(wanted)));
        bits |= static_cast<u32>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) << i;
      }
    }
    return bits & ((u32{1} << kCount) - 1);
  }

  template <class Word>
  using Lanes [[gnu::vector_size(32)]] = Word;
  template <class Word>
  using Mask = Lanes<Word>;  // a lane has all bits set, or none

  template <class Word>
  [[gnu::always_inline]] static Mask<Word> all() {
    return ~Lanes<Word>{};
  }
  template <class L>
  [[gnu::always_inline]] static L equal(L a, L b) {
    return reinterpret_cast<L>(a == b);
  }
  template <class Word>
  [[gnu::always_inline]] static u32 bits(Mask<Word> mask) {
    if constexpr (sizeof(Word) == 4) return static_cast<u32>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
    return static_cast<u32>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
  }

  template <class L>
  [[gnu::always_inline]] static L chosen(L mask, L if_set, L otherwise) {
    return (if_set & mask) | (otherwise & ~mask);
  }

  [[gnu::always_inline]] static void gather_pairs(Lanes<u32> mask, const std::byte* at, Lanes<u32> number,
                                                  Lanes<u32>& keys, Lanes<u32>& values) {
    // Gathers in the order 0 1 4 5 and 2 3 6 7. The shuffles work within halves of the register, and so give 0 1 2 3 4
    // 5 6 7.
    const __m256i numbers = _mm256_permute4x64_epi64(reinterpret_cast<__m256i>(number), 0b11'01'10'00);
    const __m256i masks = _mm256_permute4x64_epi64(reinterpret_cast<__m256i>(mask), 0b11'01'10'00);
    const auto gather4 = [&](__m128i of, __m128i asked) __attribute__((always_inline)) {
      const auto* const words = reinterpret_cast<const long long*>(at);
      return reinterpret_cast<__m256>(
          _mm256_mask_i32gather_epi64(_mm256_setzero_si256(), words, of, _mm256_cvtepi32_epi64(asked), 8));
    };
    const __m256 first = gather4(_mm256_castsi256_si128(numbers), _mm256_castsi256_si128(masks));
    const __m256 second = gather4(_mm256_extracti128_si256(numbers, 1), _mm256_extracti128_si256(masks, 1));
    keys = reinterpret_cast<Lanes<u32>>(_mm256_shuffle_ps(first, second, 0b10'00'10'00));
    values = reinterpret_cast<Lanes<u32>>(_mm256_shuffle_ps(first, second, 0b11'01'11'01));
  }
  [[gnu::always_inline]] static Lanes<u64> gather(Lanes<u64> mask, Lanes<u64> other, const std::byte* at,
                                                  Lanes<u64> number) {
    return reinterpret_cast<Lanes<u64>>(
        _mm256_mask_i64gather_epi64(reinterpret_cast<__m256i>(other), reinterpret_cast<const long long*>(at),
                                    reinterpret_cast<__m256i>(number + number), reinterpret_cast<__m256i>(mask), 8));
  }
};

}  // namespace

Find kernel_of_avx2(Kernel kernel, std::size_t shape) { return kernel_with<Avx2>(kernel, shape); }

}  // namespace latchlab::simdht
