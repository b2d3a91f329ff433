#pragma once

// Draws ranks by any law of popularity (law.h), exactly, for any number of ranks. A draw takes constant time. The table
// takes some 40 KB for Zipf's law over 16M ranks: it grows with log n and stays in the nearest caches. Set-up takes a
// tenth of a millisecond.
//
// The ranks are cut into strata. For Zipf's law the first 128 strata have one rank each; then they grow by 1/64:
//
//     rank   1 2 3 ... 128 | 129 130 | 131 132 | ... | a ......... b-1 | ...  n
//     mass   a stratum's exact sum of the weights (law.h)
//
//   1. One random word picks the stratum by Walker's alias method: exact, one comparison.
//   2. A second word picks a rank uniformly in [a, b), and its low half decides whether the rank stays. Rank k is kept
//      with the probability of its weight relative to that of rank a. All ranks of a stratum are similar. So the
//      smallest of these probabilities, one number a stratum, keeps 98 % of the tries at Zipf 1; only beyond it the
//      weight is computed. A rejected try draws again in its stratum, which has its exact mass already.
//   3. The second word is the first one times the golden ratio. The words that select a stratum form sixteen intervals
//      of equally spaced words. Multiples of the words of any such interval are spread evenly, to one part in their
//      number, which is at least 2^46.
//
// Both approximations of textbooks are avoided. Gray et al. (YCSB, PiBench) draw rank 3 wrong by a fifth and cannot
// draw Zipf 1. A table of the cumulative distribution costs a search with cache misses. Rejection-inversion (Hoermann
// and Derflinger 1996) is exact too, but takes a logarithm and an exponential for every sample (32 ns against our 5).
// The remaining error: probabilities are rounded to doubles and to multiples of 2^-53.

#include <memory>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "workloads/law.h"

namespace latchlab {

class Ranks {
 public:
  static constexpr u64 kMost = u64{1} << 52;  ///< beyond it a double does not tell neighbours apart

  /// Prepares the law over n ranks, in [1, kMost]. O(strata), for most laws O(log n).
  Ranks(u64 n, std::shared_ptr<const Law> law);

  /// Returns the rank in [0, n), 0 the first, at position i: a function of the stream and i.
  [[nodiscard]] u64 operator()(const Draws& draws, u64 i) const {
    const u64 word = draws(i);
    const Stratum& stratum = stratum_of(word);
    u64 within = word * kGoldenFactor;
    for (u64 attempt = 1;; within = draws.at(i, attempt++)) {
      const auto [offset, chance] = bounded_and_rest(within, stratum.length);
      if (chance <= stratum.surely) return stratum.first + offset;
      if (unit(chance) < law_->relative(stratum.first + 1, offset)) return stratum.first + offset;
    }
  }

  /// Draws the ranks of positions i, i + 1, ...: the same as operator() for each, but faster. ranks.size() <= kBatch.
  void fill(const Draws& draws, u64 i, std::span<u64> ranks) const;

  static constexpr std::size_t kBatch = 256;

  struct Stratum {
    u64 first;   ///< the lowest rank, counted from 0
    u64 length;  ///< number of ranks
    u64 surely;  ///< a try is kept if its leftover is at most this: the relative weight of the last rank, times 2^64
  };
  /// Returns the strata in order of rank, for tests.
  [[nodiscard]] std::span<const Stratum> strata() const { return strata_; }

  [[nodiscard]] u64 size() const { return n_; }

 private:
  struct Cell {
    u64 own_share;  ///< smaller words select strata[0], others strata[1]; its low bits are zero
    u32 strata[2];  ///< indexed by the comparison, since no predictor could guess a branch
  };

  static_assert(sizeof(Cell) == 16, "sixteen intervals of words select a stratum");

  [[nodiscard]] const Stratum& stratum_of(u64 word) const {
    const Cell& cell = cells_[(word & last_cell_ * sizeof(Cell)) / sizeof(Cell)];
    return strata_[cell.strata[word >= cell.own_share]];
  }

  void fill_cells();

  u64 n_;
  std::shared_ptr<const Law> law_;
  std::vector<Stratum> strata_;
  std::vector<Cell> cells_;
  // Low bits of a word select the cell: those that give its place in bytes without a shift. The high bits select the
  // stratum of the cell.
  u64 last_cell_ = 0;  // number of cells less one, so all ones
};

}  // namespace latchlab
