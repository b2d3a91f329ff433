#pragma once

// Draws ranks by any law of popularity (law.h), exactly, for any number of ranks. Constant time, a table of some 40 KB
// for Zipf's law over 16M ranks (it grows with log n and stays in the nearest caches), set-up in a tenth of a
// millisecond.
//
// The ranks are cut into strata, of Zipf's law the first 128 of one rank each, then ranges that grow by 1/64:
//
//     rank   1 2 3 ... 128 | 129 130 | 131 132 | ... | a ......... b-1 | ...  n
//     mass   a stratum's exact sum of the weights (law.h)
//
//   1. one random word picks the stratum by Walker's alias method: exact, one comparison;
//   2. a second word picks a rank uniformly in [a, b), and its low half decides whether it stays: rank k is kept with
//      the probability of its weight in that of rank a. It is the first one times the golden ratio: the words that
//      mean a stratum are sixteen intervals of equally spaced ones, and such multiples of each are spread evenly to one
//      part in their number, of 2^46 and more, whatever the interval. All ranks of a stratum are nearly alike, so the
//      smallest of these probabilities, one number a stratum, keeps 98 % of the tries at Zipf 1; only beyond it is the
//      weight computed. A rejected try draws again in its stratum, whose mass is exact already.
//
// Both approximations of textbooks are absent: Gray et al. (YCSB, PiBench) get rank 3 wrong by a fifth and cannot do
// Zipf 1; a table of the cumulative distribution costs a search of cache misses. Rejection-inversion (Hoermann and
// Derflinger 1996) is exact too, but takes a logarithm and an exponential for every sample (32 ns against our 5). What
// is left of error: probabilities are rounded to doubles and to multiples of 2^-53.

#include <memory>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "workloads/law.h"

namespace latchlab {

class Ranks {
 public:
  static constexpr u64 kMost = u64{1} << 52;  ///< beyond, a double does not tell neighbours apart

  /// n in [1, kMost]. O(strata), of most laws O(log n).
  Ranks(u64 n, std::shared_ptr<const Law> law);

  /// The rank, in [0, n), 0 the first, of position i: a function of the stream and i.
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

  /// The ranks of positions i, i + 1, ...: what operator() gives for each, but faster.
  /// ranks.size() <= kBatch.
  void fill(const Draws& draws, u64 i, std::span<u64> ranks) const;

  static constexpr std::size_t kBatch = 256;

  struct Stratum {
    u64 first;   ///< its lowest rank, counted from 0
    u64 length;  ///< how many ranks
    u64 surely;  ///< a try whose leftover is at most this is kept: the weight of the last rank, times 2^64
  };
  /// In order of rank, for tests.
  [[nodiscard]] std::span<const Stratum> strata() const { return strata_; }

  [[nodiscard]] u64 size() const { return n_; }

 private:
  struct Cell {
    u64 own_share;  ///< of all words: below it one means strata[0], from it on strata[1]; its low bits are zero
    u32 strata[2];  ///< indexed by the comparison, whose outcome no branch predictor can know
  };

  static_assert(sizeof(Cell) == 16, "so many intervals of words mean a stratum");

  [[nodiscard]] const Stratum& stratum_of(u64 word) const {
    const Cell& cell = cells_[(word & last_cell_ * sizeof(Cell)) / sizeof(Cell)];
    return strata_[cell.strata[word >= cell.own_share]];
  }

  void fill_cells();

  u64 n_;
  std::shared_ptr<const Law> law_;
  std::vector<Stratum> strata_;
  std::vector<Cell> cells_;
  // Bits of a word say which cell, those with which its place in bytes needs no shift; the high bits say which stratum
  // of the cell.
  u64 last_cell_ = 0;  // their number less one, all ones
};

}  // namespace latchlab
