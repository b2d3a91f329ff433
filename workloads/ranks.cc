#include "workloads/ranks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "src/arch/wide.h"

namespace latchlab {

Ranks::Ranks(u64 n, std::shared_ptr<const Law> law) : n_(n), law_(std::move(law)) {
  assert(n >= 1 && n <= kMost);
  for (u64 first = 1; first <= n;) {
    Stratum stratum{.first = first, .length = std::min(law_->reach(first), n - first + 1), .surely = ~u64{0}};
    if (stratum.length > 1) {
      // Rounded down by a few units in the last place, so that what is kept without asking would be kept.
      const double least = law_->relative(first, stratum.length - 1) * (1 - 0x1p-50);
      stratum.surely = static_cast<u64>(least * 0x1p64);
    }
    strata_.push_back(stratum);
    first += stratum.length;
  }
  fill_cells();
}

void Ranks::fill(const Draws& draws, u64 i, std::span<u64> ranks) const {
  assert(ranks.size() <= kBatch);
  // No branch depends on a random word here: the tries that are not kept at once are noted and drawn again
  // afterwards.
  u32 doubtful[kBatch];
  std::size_t doubts = 0;
  in_lanes(ranks.size(), [=, this, &doubtful, &doubts](auto width, std::size_t from) {
    u64 words[width.kLanes], tries[width.kLanes];
    for (std::size_t k = 0; k < width.kLanes; ++k) {
      words[k] = draws(i + from + k);
      tries[k] = draws.at(i + from + k, 1);
    }
    std::size_t doubt = doubts;
    for (std::size_t k = 0; k < width.kLanes; ++k) {
      const Stratum& stratum = stratum_of(words[k]);
      // Both words of bounded_and_rest(), each by itself: the pair would go through memory.
      ranks[from + k] = stratum.first + bounded(tries[k], stratum.length) - 1;
      doubtful[doubt] = static_cast<u32>(from + k);
      doubt += tries[k] * stratum.length > stratum.surely;
    }
    doubts = doubt;
  });
  for (std::size_t d = 0; d < doubts; ++d) ranks[doubtful[d]] = (*this)(draws, i + doubtful[d]);
}

void Ranks::fill_cells() {
  std::vector<double> masses;
  masses.reserve(strata_.size());
  for (const Stratum& stratum : strata_) masses.push_back(law_->mass(stratum.first, stratum.length));
  // From the small to the large, so that none is lost in the sum.
  double total = 0;
  for (std::size_t s = masses.size(); s-- > 0;) total += masses[s];

  // At least two, so that the shift is less than 64. Strata beyond the real ones have no mass.
  const std::size_t cells = std::bit_ceil(std::max<std::size_t>(2, strata_.size()));
  const int cell_bits = std::countr_zero(cells);
  cell_shift_ = 64 - cell_bits;
  fraction_mask_ = ~u64{0} >> cell_bits;
  const double fraction_range = std::ldexp(1.0, cell_shift_);

  // Walker's construction in Vose's order: a cell is filled by one stratum with less than a cell's mass and
  // topped up by one with more.
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
    cells_[poor] = {.own_share = static_cast<u64>(left[poor] * fraction_range), .strata = {poor, rich}};
    left[rich] -= 1 - left[poor];
    if (left[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
  // What remains has exactly one cell's mass, but for rounding. It is never a stratum that does not exist:
  // those have no mass, and the large ones outlast them all, save by rounding, hence the second loop.
  for (const u32 s : large) cells_[s] = {.own_share = ~u64{0}, .strata = {s, s}};
  for (const u32 s : small) {
    const u32 real = s < strata_.size() ? s : 0;
    cells_[s] = {.own_share = ~u64{0}, .strata = {real, real}};
  }
}

}  // namespace latchlab
