// Loops over words, compiled twice: word by word, for every processor, and for vectors of 512 bits. Which of the two runs is
// chosen as the program runs.
//
// Wide ones run only where they cost nothing but their own time. Intel's processors from Skylake to Cascade Lake lower their
// clock for wide multiplications, and keep it low for a while: what makes operations would slow what is measured next. AMD's
// from Zen 4 on and Intel's from Ice Lake on do not, and are told from those by an extension that all of them have: VBMI2.
//
// A loop is written once, for as many words at a time as its width says:
//
//     in_lanes(count, [=](auto width, std::size_t from) {
//       u64 words[width.kLanes];
//       for (std::size_t k = 0; k < width.kLanes; ++k) words[k] = draws(from + k);      // becomes eight vectors, or one word
//       for (std::size_t k = 0; k < width.kLanes; ++k) out[from + k] = table[words[k]]; // what no vector does well
//     });
//
// The compiler vectorizes the loops that store to local arrays alone: there it knows that nothing which is read is overwritten.
#pragma once

#include <atomic>
#include <cstddef>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

/// One word at a time: what a word goes through stays in registers.
struct OneLane {
  static constexpr std::size_t kLanes = 1;
  /// bounded() of rng.h, of an n up to 2^32.
  [[nodiscard]] static constexpr u64 bounded(u64 word, u64 n) { return multiply_high(word, n); }
};

/// So many words at a time that beginning and end of a loop weigh nothing, and all stay in the nearest cache.
struct WideLanes {
  static constexpr std::size_t kLanes = 64;
  /// The same in halves: no vector multiplies whole words to a high word.
  [[nodiscard]] static constexpr u64 bounded(u64 word, u64 n) {
    return ((word >> 32) * n + ((word & 0xffffffffu) * n >> 32)) >> 32;
  }
};

namespace wide_detail {

enum class Chosen : u8 { kUnknown, kNarrow, kWide };
inline constinit std::atomic<Chosen> chosen{Chosen::kUnknown};
bool choose();   // wide.cc: asks the processor and stores its answer in `chosen`

// Flattened, because only what becomes part of a function is compiled for its target. The body is a copy, which nothing that is
// stored can change.
template <class Body>
[[gnu::noinline, gnu::flatten]] void run_narrow(std::size_t from, std::size_t count, Body body) {
  for (; from < count; ++from) body(OneLane{}, from);
}

template <class Body>
[[gnu::noinline, gnu::flatten, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]]
std::size_t run_wide(std::size_t count, Body body) {
  std::size_t from = 0;
  for (; count - from >= WideLanes::kLanes; from += WideLanes::kLanes) body(WideLanes{}, from);
  return from;
}

}  // namespace wide_detail

/// Whether loops run wide.
[[nodiscard]] inline bool runs_wide() {
  // Relaxed: the byte is the whole message.
  const auto known = wide_detail::chosen.load(kRelaxed);
  if (known == wide_detail::Chosen::kUnknown) [[unlikely]] return wide_detail::choose();
  return known == wide_detail::Chosen::kWide;
}

/// Calls body(width, from) for the words 0 to count - 1, of which each call does width.kLanes, `from` and those that follow: many
/// where loops run wide, but for the last few. All that `body` calls becomes part of it, so that must be visible and short.
template <class Body>
[[gnu::always_inline]] inline void in_lanes(std::size_t count, const Body& body) {
  const std::size_t done = runs_wide() ? wide_detail::run_wide(count, body) : 0;
  if (done < count) wide_detail::run_narrow(done, count, body);
}

}  // namespace latchlab
