// Loops over arrays that the compiler vectorizes. Each is compiled for every processor, and for wider vectors: of 256
// bits (AVX2), or of 512 (AVX-512). in_wide_vectors takes the wider ones only where they do not lower the clock rate.
// Never run one inside a transaction: the final vzeroupper aborts it.
#pragma once

#include <cstddef>
#include <span>

#include "src/base/types.h"

namespace latchlab {

/// Returns true if in_wide_vectors() uses vectors of 256 bits: if the processor has VAES beside AVX2 (Ice Lake, Zen 3
/// and later). Older processors lower their clock rate for wide multiplications, which would slow down the code that is
/// measured next.
[[nodiscard]] bool takes_wide_vectors();

/// Runs the loop in vectors of 256 bits, with all that it calls inlined. The processor must have AVX2. Takes the loop
/// by value, so its captures stay in registers: no store can change them.
template <class Loop>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void in_256_bits(Loop loop) {
  loop();
}

/// Does the same in vectors of up to 512 bits. The processor must have AVX-512 F, BW, VL and DQ.
template <class Loop>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq"), gnu::flatten, gnu::noinline]] void in_512_bits(Loop loop) {
  loop();
}

/// Runs the loop in the widest vectors that takes_wide_vectors() allows.
template <class Loop>
void in_wide_vectors(Loop loop) {
  static const bool wide = takes_wide_vectors();
  wide ? in_256_bits(loop) : loop();
}

/// Replaces each x by f(x). f is arithmetic without branches.
template <class F>
void transform_in_blocks(std::span<u64> xs, const F& f) {
  constexpr std::size_t kBlock = 64;  // a constant, because g++ 12 vectorizes no loop of unknown length here
  for (; xs.size() >= kBlock; xs = xs.subspan(kBlock)) {
    for (u64& x : xs.first<kBlock>()) x = f(x);
  }
  for (u64& x : xs) x = f(x);
}
template <class F>
void transform_in_wide_vectors(std::span<u64> xs, const F& f) {
  in_wide_vectors([=] { transform_in_blocks(xs, f); });
}

}  // namespace latchlab
