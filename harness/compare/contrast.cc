#include "harness/compare/contrast.h"

#include <algorithm>
#include <cmath>

#include "harness/config/commands.h"

namespace latchlab {

namespace {

constexpr double kWorthAWord = .01;   // of the ratio
constexpr double kLevel = .01;        // of the test
constexpr double kHopelessly = 8;     // times as many replicates as there may be
constexpr u32 kFewForForecasts = 20;  // the spread of fewer says little about that of many

bool tight(const Contrast& c) { return c.half_width() <= kWorthAWord; }

bool interval_differs(const Contrast& c) {
  return (c.interval.low > 1 || c.interval.high < 1) && std::abs(c.ratio - 1) >= kWorthAWord;
}
bool test_differs(const Contrast& c) { return c.probability < kLevel; }

/// What the test comes to where every replicate of the one is beyond every one of the other: 2 / 2^n, 2 / (2n over n).
double least_probability(u32 n, bool paired) {
  double least = 2;
  for (u32 i = 1; i <= n; ++i) least *= paired ? .5 : static_cast<double>(i) / (n + i);
  return least;
}

void set_too_few(Contrast& c, std::size_t tests) {
  u32 enough = 1;
  while (static_cast<double>(tests) * least_probability(enough, c.paired) >= kLevel) ++enough;
  c.too_few = enough > c.replicates ? enough - c.replicates : 0;
}

}  // namespace

bool Contrast::has_interval() const { return least_probability(replicates, paired) < .05; }

Contrast paired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed, u32 resamples) {
  Contrast c{.ratio = paired_ratio(base, variant),
             .interval = bootstrap_ratio(base, variant, seed, resamples),
             .probability = signed_rank_test(base, variant),
             .paired = true,
             .replicates = static_cast<u32>(variant.size())};
  set_too_few(c, 1);
  return c;
}

Contrast unpaired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                           u32 resamples) {
  Contrast c{.ratio = unpaired_ratio(base, variant),
             .interval = bootstrap_unpaired(base, variant, seed, resamples),
             .probability = rank_sum_test(base, variant),
             .paired = false,
             .replicates = static_cast<u32>(std::min(base.size(), variant.size()))};
  set_too_few(c, 1);
  return c;
}

void correct(const std::vector<Contrast*>& family) {
  std::vector<double> probabilities;
  for (const Contrast* c : family) probabilities.push_back(c->probability);
  const std::vector<double> corrected = holm(probabilities);
  for (std::size_t i = 0; i < family.size(); ++i) {
    family[i]->probability = corrected[i];
    set_too_few(*family[i], family.size());
  }
}

Verdict verdict_of(const Contrast& c) {
  if (interval_differs(c) && test_differs(c)) return c.ratio > 1 ? Verdict::kFaster : Verdict::kSlower;
  if (tight(c) && !interval_differs(c)) return Verdict::kNoDifference;
  return needed_replicates(c) <= kMostReplicates ? Verdict::kTooNoisy : Verdict::kUndecidable;
}

std::string verdict_word(const Contrast& c) { return c.too_few > 0 ? "withheld" : std::string(word(verdict_of(c))); }

OrReason<Ends> interval_of(const OrReason<Contrast>& c) {
  if (!c || c->has_interval()) return then(c, [](const Contrast& has) { return ends_of(has.interval); });
  return OrReason<Ends>::missing("so few replicates have none of 95 %");
}

bool is_decided(Verdict verdict) { return verdict != Verdict::kTooNoisy && verdict != Verdict::kUndecidable; }

double needed_replicates(const Contrast& c) {
  if (tight(c)) return c.replicates + kBetweenLooks;
  const double times = c.half_width() / kWorthAWord;  // the width shrinks with the square root of their number
  return std::max(c.replicates + 1.0, std::ceil(c.replicates * times * times));
}

Look look_at(const std::vector<Contrast>& contrasts, u32 replicates) {
  const auto settled = [](const Contrast& c) { return tight(c) && c.too_few == 0 && is_decided(verdict_of(c)); };
  if (std::all_of(contrasts.begin(), contrasts.end(), settled)) return Look::kTight;
  if (replicates >= kLastLook) return Look::kMost;
  const auto hopeless = [](const Contrast& c) { return needed_replicates(c) > kHopelessly * kLastLook; };
  const bool any = std::any_of(contrasts.begin(), contrasts.end(), hopeless);
  return any && replicates >= kFewForForecasts ? Look::kHopeless : Look::kGoOn;
}

}  // namespace latchlab
