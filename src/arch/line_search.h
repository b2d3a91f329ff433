#pragma once
// Searches for a word in a line of a table. The words are loaded whole, so other threads may store to them meanwhile.
#include <smmintrin.h>

#include "src/base/types.h"

namespace latchlab {

/// Returns the least i in 0..2 for which the word at byte 16 + 8 i of the line equals `word`, or 3.
[[gnu::always_inline]] inline u32 first_equal_of_three(const void* line, u64 word) {
  const auto* const at = static_cast<const char*>(line);
  const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(word));
  const __m128i low = _mm_cmpeq_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(at + 16)), wanted);
  const __m128i high = _mm_cmpeq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + 32)), wanted);
  const u32 found = static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(_mm_packs_epi32(low, high)))) | 8;
  return static_cast<u32>(__builtin_ctz(found));
}

/// Returns a mask of the i in 0..3 for which the 16-bit word at byte 8 + 2 i equals bits 48..63 of `hash`, and the
/// 32-bit word at byte 16 + 4 i equals bits 16..47.
[[gnu::always_inline]] inline u32 equal_hashes_of_four(const void* line, u64 hash) {
  const auto* const at = static_cast<const char*>(line);
  const __m128i mid = _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(at + 16)),
                                      _mm_set1_epi32(static_cast<int>(hash >> 16)));
  const __m128i high = _mm_cmpeq_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + 8)),
                                       _mm_set1_epi16(static_cast<short>(hash >> 48)));
  // Each 16-bit answer becomes a 32-bit one.
  return static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(_mm_and_si128(mid, _mm_unpacklo_epi16(high, high)))));
}

/// The slots of a line that hold a hash, and the value of the lowest one.
struct HashMatch {
  u32 slots;  // slot i is bit 4 + i
  u64 value;  // at byte 32 + 8 i; of no slot if slots is 0
};

/// Finds the slots like equal_hashes_of_four, by AVX-512: one load, two comparisons, and the value out of the register.
/// The processor must have AVX-512 F, BW, VL and DQ. The registers are those that code without AVX-512 does not use, so
/// no vzeroupper is needed, which would abort a hardware transaction.
[[gnu::always_inline]] inline HashMatch match_hashes_of_four(const void* line, u64 hash) {
  using Bytes = const char[64];
  HashMatch found;
  asm volatile(
      "vpbroadcastd %k[mid], %%zmm16\n\t"
      "vpbroadcastw %k[high], %%xmm17\n\t"
      "vmovdqa64 %[line], %%zmm18\n\t"
      "kmovd %[all], %%k1\n\t"
      "vpcmpeqd %%zmm16, %%zmm18, %%k1%{%%k1%}\n\t"
      "vpcmpeqw %%xmm17, %%xmm18, %%k2%{%%k1%}\n\t"
      "vpcompressq %%zmm18, %%zmm19%{%%k2%}%{z%}\n\t"
      "kmovb %%k2, %[slots]\n\t"
      "vmovq %%xmm19, %[value]"
      : [slots] "=r"(found.slots), [value] "=r"(found.value)
      : [mid] "r"(hash >> 16), [high] "r"(hash >> 48), [all] "r"(0xf0), [line] "m"(*static_cast<Bytes*>(line))
#ifdef __AVX512F__  // only then the compiler knows these registers, and uses them
      : "xmm16", "xmm17", "xmm18", "xmm19", "k1", "k2"
#endif
  );
  return found;
}

}  // namespace latchlab
