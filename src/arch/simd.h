#pragma once
// The vector types and searches of the indexes: the only intrinsics outside the rest of src/arch. SSE2 and SSSE3 alone,
// so that one binary runs on every x86-64 of the last fifteen years; 16 bytes are all that a Node16 needs.
#include <emmintrin.h>

#include "src/base/types.h"

namespace latchlab {

/// Sixteen bytes in a register.
class Bytes16 {
 public:
  /// From two words, byte 0 lowest in `low`. Two 8-byte loads feeding one register do not wait for store forwarding as a
  /// 16-byte load over two recent 8-byte stores would.
  static Bytes16 of_words(u64 low, u64 high) {
    return Bytes16(_mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low)));
  }
  /// From 16 bytes of any alignment, byte 0 first.
  static Bytes16 load(const void* at) { return Bytes16(_mm_loadu_si128(static_cast<const __m128i*>(at))); }

  /// Bit i is set where byte i equals `byte`.
  u32 equal_to(u8 byte) const {
    return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(v_, _mm_set1_epi8(static_cast<char>(byte)))));
  }
  /// Bit i is set where byte i is at least `byte`, unsigned.
  u32 at_least(u8 byte) const {
    const __m128i bound = _mm_set1_epi8(static_cast<char>(byte));
    return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v_, bound), v_)));
  }

 private:
  explicit Bytes16(__m128i v) : v_(v) {}
  __m128i v_;
};

/// Bit i is set where byte i of `word` equals `byte`, for i in 0..3. Exact: no borrow crosses a byte.
inline u32 equal_bytes4(u32 word, u8 byte) {
  const __m128i v = _mm_cvtsi32_si128(static_cast<int>(word));
  return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(static_cast<char>(byte))))) & 0xfu;
}

/// Bit i is set where byte i of `word` is at least `byte`, unsigned, for i in 0..3.
inline u32 at_least_bytes4(u32 word, u8 byte) {
  const __m128i v = _mm_cvtsi32_si128(static_cast<int>(word)), bound = _mm_set1_epi8(static_cast<char>(byte));
  return static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, bound), v))) & 0xfu;
}

}  // namespace latchlab
