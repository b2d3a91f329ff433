#include "workloads/zipf.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace latchlab {

Zipf::Zipf(u64 n, double exponent) : n_(n), exponent_(exponent) {
  assert(n >= 1 && n <= kMostRanks && exponent >= 0 && std::isfinite(exponent));
  for (u64 first = 1; first <= n;) {
    const u64 wanted = first <= kSingles ? 1 : std::max<u64>(1, first / kSteps);
    Stratum stratum{.first = first, .length = std::min(wanted, n - first + 1), .surely = ~u64{0}};
    if (stratum.length > 1) {
      // Rounded down by a few units in the last place, so that what is kept without asking would be kept.
      const double least = weight(stratum, stratum.length - 1) * (1 - 0x1p-50);
      stratum.surely = static_cast<u64>(least * 0x1p64);
    }
    strata_.push_back(stratum);
    first += stratum.length;
  }
  fill_cells();
}

void Zipf::fill(const Draws& draws, u64 i, std::span<u64> ranks) const {
  assert(ranks.size() <= kBatch);
  // No branch depends on a random word here: the tries that are not kept at once are noted and drawn again
  // afterwards.
  u32 doubtful[kBatch];
  std::size_t doubts = 0;
  for (u32 at = 0; at < ranks.size(); ++at) {
    const Stratum& stratum = stratum_of(draws(i + at));
    const u64 second = draws.at(i + at, 1);
    ranks[at] = stratum.first + bounded(second, stratum.length) - 1;
    doubtful[doubts] = at;
    doubts += second * stratum.length > stratum.surely;
  }
  for (std::size_t d = 0; d < doubts; ++d) ranks[doubtful[d]] = (*this)(draws, i + doubtful[d]);
}

double Zipf::mass(const Stratum& stratum) const {
  const double q = exponent_;
  if (stratum.length <= 8) {
    double sum = 0;
    for (u64 k = stratum.first; k < stratum.first + stratum.length; ++k) {
      sum += std::pow(static_cast<double>(k), -q);
    }
    return sum;
  }
  // Euler-Maclaurin about the midpoints: the sum of f(k) over [a, b) is the integral from a - 1/2 to
  // b - 1/2, less f'/24, plus 7 f'''/5760 at the ends. The next term is below 1e-14 of all ranks' mass,
  // since a > kSingles.
  const double low = static_cast<double>(stratum.first) - 0.5;
  const double high = low + static_cast<double>(stratum.length);
  const double log_ratio = std::log1p(static_cast<double>(stratum.length) / low);
  const double at_low = std::pow(low, -q);
  const double at_high = std::pow(high, -q);
  if (at_low == 0) return 0;  // only the first ranks have mass; q * q * q could overflow below
  // (high^(1-q) - low^(1-q)) / (1-q) without the cancellation near q = 1, where it is the logarithm.
  const double z = (1 - q) * log_ratio;
  const double integral = at_low * low * log_ratio * (z == 0 ? 1 : std::expm1(z) / z);
  const double slope = -q * (at_high / high - at_low / low);
  const double third =
      -q * (q + 1) * (q + 2) * (at_high / (high * high * high) - at_low / (low * low * low));
  return integral - slope / 24 + 7 * third / 5760;
}

void Zipf::fill_cells() {
  std::vector<double> masses;
  masses.reserve(strata_.size());
  for (const Stratum& stratum : strata_) masses.push_back(mass(stratum));
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
