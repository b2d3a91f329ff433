#include <immintrin.h>

#include "indexes/simdht/kernels_of.h"

namespace latchlab::simdht {
namespace {

struct Avx512 {
  static constexpr bool kGathers = true;
  /// Clears the registers by vzeroall, which does not abort a hardware transaction. vzeroupper does, so an option keeps
  /// g++ from emitting it.
  static void end() { _mm256_zeroall(); }

  /// Compares kCount words, and loads no more.
  template <class Word, u32 kCount>
  [[gnu::always_inline]] static u32 equal(const Word* at, Word wanted) {
    constexpr u32 kBytes = kCount * sizeof(Word);
    constexpr u32 kAll = (u32{1} << kCount) - 1;
    if constexpr (kCount == 1) {
      return *at == wanted;
    } else if constexpr (kBytes > 32) {
      static_assert(sizeof(Word) == 8);
      const __m512i all = _mm512_set1_epi64(static_cast<long long>(wanted));
      return _mm512_mask_cmpeq_epi64_mask(kAll, _mm512_maskz_loadu_epi64(kAll, at), all);
    } else if constexpr (sizeof(Word) == 8) {
      const __m256i all = _mm256_set1_epi64x(static_cast<long long>(wanted));
      return _mm256_mask_cmpeq_epi64_mask(kAll, _mm256_maskz_loadu_epi64(kAll, at), all);
    } else if constexpr (sizeof(Word) == 2) {
      const __m128i all = _mm_set1_epi16(static_cast<short>(wanted));
      return _mm_mask_cmpeq_epi16_mask(kAll, _mm_maskz_loadu_epi16(kAll, at), all);
    } else {
      const __m256i all = _mm256_set1_epi32(static_cast<int>(wanted));
      return _mm256_mask_cmpeq_epi32_mask(kAll, _mm256_maskz_loadu_epi32(kAll, at), all);
    }
  }

  template <class Word>
  using Lanes [[gnu::vector_size(64)]] = Word;
  template <class Word>
  using Mask = std::conditional_t<sizeof(Word) == 4, __mmask16, __mmask8>;

  template <class Word>
  [[gnu::always_inline]] static Mask<Word> all() {
    return static_cast<Mask<Word>>(~0u);
  }
  [[gnu::always_inline]] static __mmask16 equal(Lanes<u32> a, Lanes<u32> b) {
    return _mm512_cmpeq_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
  }
  [[gnu::always_inline]] static __mmask8 equal(Lanes<u64> a, Lanes<u64> b) {
    return _mm512_cmpeq_epi64_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
  }
  template <class Word>
  [[gnu::always_inline]] static u32 bits(Mask<Word> mask) {
    return mask;
  }

  [[gnu::always_inline]] static Lanes<u32> chosen(__mmask16 mask, Lanes<u32> if_set, Lanes<u32> otherwise) {
    return reinterpret_cast<Lanes<u32>>(
        _mm512_mask_blend_epi32(mask, reinterpret_cast<__m512i>(otherwise), reinterpret_cast<__m512i>(if_set)));
  }

  [[gnu::always_inline]] static void gather_pairs(__mmask16 mask, const std::byte* at, Lanes<u32> number,
                                                  Lanes<u32>& keys, Lanes<u32>& values) {
    const auto gather8 = [&](auto of, u32 asked) __attribute__((always_inline)) {
      const auto numbers = reinterpret_cast<__m256i>(of);
      return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), static_cast<__mmask8>(asked), numbers, at, 8);
    };
    const __m512i first = gather8(__builtin_shufflevector(number, number, 0, 1, 2, 3, 4, 5, 6, 7), mask);
    const __m512i second = gather8(__builtin_shufflevector(number, number, 8, 9, 10, 11, 12, 13, 14, 15), mask >> 8);
    const Lanes<u32> even{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    keys = reinterpret_cast<Lanes<u32>>(_mm512_permutex2var_epi32(first, reinterpret_cast<__m512i>(even), second));
    values =
        reinterpret_cast<Lanes<u32>>(_mm512_permutex2var_epi32(first, reinterpret_cast<__m512i>(even + 1), second));
  }
  [[gnu::always_inline]] static Lanes<u64> gather(__mmask8 mask, Lanes<u64> other, const std::byte* at,
                                                  Lanes<u64> number) {
    return reinterpret_cast<Lanes<u64>>(_mm512_mask_i64gather_epi64(reinterpret_cast<__m512i>(other), mask,
                                                                    reinterpret_cast<__m512i>(number + number), at, 8));
  }
};

}  // namespace

Find kernel_of_avx512(Kernel kernel, std::size_t shape) { return kernel_with<Avx512>(kernel, shape); }

}  // namespace latchlab::simdht
