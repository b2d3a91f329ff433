#include "workloads/law.h"

#include <algorithm>
#include <cassert>

namespace latchlab {

double ZipfLaw::mass(u64 first, u64 length) const {
  const double q = exponent_;
  if (length <= 8) {
    double sum = 0;
    for (u64 k = first; k < first + length; ++k) sum += std::pow(static_cast<double>(k), -q);
    return sum;
  }
  // Euler-Maclaurin about the midpoints: the sum of f(k) over [a, b) is the integral from a - 1/2 to
  // b - 1/2, less f'/24, plus 7 f'''/5760 at the ends. The next term is below 1e-14 of all ranks' mass,
  // since a > kSingles.
  assert(first > kSingles);
  const double low = static_cast<double>(first) - 0.5;
  const double high = low + static_cast<double>(length);
  const double log_ratio = std::log1p(static_cast<double>(length) / low);
  const double at_low = std::pow(low, -q);
  const double at_high = std::pow(high, -q);
  if (at_low == 0) return 0;  // only the first ranks have mass; q * q * q could overflow below
  // (high^(1-q) - low^(1-q)) / (1-q) without the cancellation near q = 1, where it is the logarithm.
  const double z = (1 - q) * log_ratio;
  const double integral = at_low * low * log_ratio * (z == 0 ? 1 : std::expm1(z) / z);
  const double slope = -q * (at_high / high - at_low / low);
  const double third = -q * (q + 1) * (q + 2) * (at_high / (high * high * high) - at_low / (low * low * low));
  return integral - slope / 24 + 7 * third / 5760;
}

std::size_t StepLaw::step_of(u64 rank) const {
  const auto step = std::ranges::upper_bound(steps_, rank, {}, &Step::end);
  return static_cast<std::size_t>(step - steps_.begin());
}

double StepLaw::mass(u64 first, u64 length) const {
  const std::size_t at = step_of(first);
  const u64 begin = at == 0 ? 1 : steps_[at - 1].end;
  return steps_[at].mass * (static_cast<double>(length) / static_cast<double>(steps_[at].end - begin));
}

u64 StepLaw::reach(u64 first) const { return steps_[step_of(first)].end - first; }

}  // namespace latchlab
