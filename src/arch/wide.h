// Loops over arrays that the compiler makes vectors of, compiled twice: for every processor, and for vectors of 256
// bits (AVX2), which run where they cost the clock nothing. Not within a transaction: vzeroupper, with which they end,
// aborts it.
#pragma once

#include <cstddef>
#include <span>

#include "src/base/types.h"

namespace latchlab {

/// Whether in_wide_vectors() takes those of 256 bits: of processors that have VAES beside AVX2 (Ice Lake, Zen 3 and
/// later). The clock of older ones falls for wide multiplications, and what is measured next would be slower for it.
[[nodiscard]] bool takes_wide_vectors();

/// Runs the loop in vectors of 256 bits, all that it calls inlined. Only where the processor has AVX2. A copy of it, so
/// that what it has captured stays in registers: no store changes that.
template <class Loop>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void in_256_bits(Loop loop) {
  loop();
}

/// Runs the loop in the widest vectors that takes_wide_vectors() allows.
template <class Loop>
void in_wide_vectors(Loop loop) {
  static const bool wide = takes_wide_vectors();
  wide ? in_256_bits(loop) : loop();
}

/// Puts f(x) in the place of each x. f is arithmetic, without branches.
template <class F>
void transform_in_blocks(std::span<u64> xs, const F& f) {
  constexpr std::size_t kBlock = 64;  // known in advance, without which this compiler makes no vectors
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
