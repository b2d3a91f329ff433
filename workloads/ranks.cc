#include "workloads/ranks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace latchlab {

Ranks::Ranks(u64 n, std::shared_ptr<const Law> law) : n_(n), law_(std::move(law)) {
  assert(n >= 1 && n <= kMost);
  for (u64 first = 0; first < n;) {
    Stratum stratum{.first = first, .length = std::min(law_->reach(first + 1), n - first), .surely = ~u64{0}};
    if (stratum.length > 1) {
      // Rounded down by a few units in the last place, so that a try kept without computing its weight would be kept
      // anyway.
      const double least = law_->relative(first + 1, stratum.length - 1) * (1 - 0x1p-50);
      stratum.surely = static_cast<u64>(least * 0x1p64);
    }
    strata_.push_back(stratum);
    first += stratum.length;
  }
  fill_cells();
}

void Ranks::fill(const Draws& draws, u64 i, std::span<u64> ranks) const {
  assert(ranks.size() <= kBatch);
  // No branch depends on a random word here. Tries that are not kept at once are noted, and drawn again afterwards. The
  // loop uses copies, which stay in registers since no store can change them.
  u32 doubtful[kBatch];
  std::size_t doubts = 0;
  const Draws words = draws;
  const Cell* const cells = cells_.data();
  const Stratum* const strata = strata_.data();
  const u64 mask = last_cell_ * sizeof(Cell);
  for (u32 k = 0; k < ranks.size(); ++k) {
    const u64 word = words(i + k);
    const Cell& cell = cells[(word & mask) / sizeof(Cell)];
    const Stratum& stratum = strata[cell.strata[word >= cell.own_share]];
    const auto [offset, chance] = bounded_and_rest(word * kGoldenFactor, stratum.length);
    ranks[k] = stratum.first + offset;
    doubtful[doubts] = k;
    doubts += chance > stratum.surely;
  }
  for (std::size_t d = 0; d < doubts; ++d) ranks[doubtful[d]] = (*this)(draws, i + doubtful[d]);
}

void Ranks::fill_cells() {
  std::vector<double> masses;
  masses.reserve(strata_.size());
  for (const Stratum& stratum : strata_) masses.push_back(law_->mass(stratum.first + 1, stratum.length));
  // Sums from small to large, so that no small mass is lost.
  double total = 0;
  for (std::size_t s = masses.size(); s-- > 0;) total += masses[s];

  // Strata beyond the real ones have no mass.
  const std::size_t cells = std::bit_ceil(strata_.size());
  last_cell_ = cells - 1;

  // Walker's construction in Vose's order: a stratum with less than a cell's mass begins a cell, and one with more
  // fills it up.
  std::vector<double> left(cells, 0.0);
  for (std::size_t s = 0; s < masses.size(); ++s) left[s] = masses[s] / total * static_cast<double>(cells);
  std::vector<u32> small;
  std::vector<u32> large;
  for (u32 s = 0; s < cells; ++s) (left[s] < 1 ? small : large).push_back(s);
  cells_.resize(cells);
  while (!small.empty() && !large.empty()) {
    const u32 poor = small.back();
    const u32 rich = large.back();
    small.pop_back();
    cells_[poor] = {.own_share = static_cast<u64>(left[poor] * 0x1p64) & ~(cells * sizeof(Cell) - 1),
                    .strata = {poor, rich}};
    left[rich] -= 1 - left[poor];
    if (left[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
  // Each remaining stratum has exactly one cell's mass, except for rounding. None of them is beyond the real ones:
  // those have no mass, and the large strata outlast them all. Rounding can break this, hence the second loop.
  for (const u32 s : large) cells_[s] = {.own_share = ~u64{0}, .strata = {s, s}};
  for (const u32 s : small) {
    const u32 real = s < strata_.size() ? s : 0;
    cells_[s] = {.own_share = ~u64{0}, .strata = {real, real}};
  }
}

}  // namespace latchlab
