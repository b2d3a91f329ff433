#include "harness/compare/contrast.h"

#include <algorithm>
#include <cmath>

#include "harness/config/commands.h"

namespace latchlab {

namespace {

constexpr double kWorthAWord = .01;   // smallest difference that gets a verdict, as a share
constexpr double kLevel = .01;        // significance level of the test
constexpr double kHopelessly = 8;     // multiple of kLastLook beyond which auto gives up
constexpr u32 kFewForForecasts = 20;  // with fewer replicates the scatter is not known well enough to give up
constexpr double kAtTheEdge = 1e-4;   // least distance of a ratio from the edge of the effect, for the estimate

bool tight(const Contrast& c) { return c.half_width() <= kWorthAWord; }

bool interval_differs(const Contrast& c) {
  if (c.effect > 0) return c.interval.low > 1 + c.effect || c.interval.high < 1 - c.effect;
  return (c.interval.low > 1 || c.interval.high < 1) && std::abs(c.ratio - 1) >= kWorthAWord;
}
bool test_differs(const Contrast& c) { return c.probability < kLevel; }

/// True if the interval excludes a difference.
bool none_fits(const Contrast& c) {
  if (c.effect > 0) return c.interval.low >= 1 - c.effect && c.interval.high <= 1 + c.effect;
  return tight(c) && !interval_differs(c);
}

/// Tests the ratio against 1, or against the nearer edge of the effect. A ratio within the effect is never a
/// difference, so its probability is 1.
double probability_of(double (*test)(const std::vector<double>&, const std::vector<double>&), std::vector<double> base,
                      const std::vector<double>& variant, double ratio, double effect) {
  if (std::abs(ratio - 1) < effect) return 1;
  for (double& speed : base) speed *= ratio < 1 ? 1 - effect : 1 + effect;
  return test(base, variant);
}

/// Returns the smallest p-value that n replicates allow, that of completely separated samples: 2 / 2^n if paired, else
/// 2 / (2n over n).
double least_probability(u32 n, bool paired) {
  double least = 2;
  for (u32 i = 1; i <= n; ++i) least *= paired ? .5 : static_cast<double>(i) / (n + i);
  return least;
}

void set_too_few(Contrast& c, std::size_t tests) {
  u32 enough = 1;
  // Against an effect the interval alone can exclude a difference, so the test need not be able to reject.
  const auto says_nothing = [&](u32 n) {
    return c.effect > 0 ? least_probability(n, c.paired) >= .05
                        : static_cast<double>(tests) * least_probability(n, c.paired) >= kLevel;
  };
  while (says_nothing(enough)) ++enough;
  c.too_few = enough > c.replicates ? enough - c.replicates : 0;
}

}  // namespace

bool Contrast::has_interval() const { return least_probability(replicates, paired) < .05; }

Contrast paired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed, u32 resamples,
                         double effect) {
  const double ratio = paired_ratio(base, variant);
  Contrast c{.ratio = ratio,
             .interval = bootstrap_ratio(base, variant, seed, resamples),
             .probability = probability_of(signed_rank_test, base, variant, ratio, effect),
             .paired = true,
             .replicates = static_cast<u32>(variant.size()),
             .effect = effect};
  set_too_few(c, 1);
  return c;
}

Contrast unpaired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed, u32 resamples,
                           double effect) {
  const double ratio = unpaired_ratio(base, variant);
  Contrast c{.ratio = ratio,
             .interval = bootstrap_unpaired(base, variant, seed, resamples),
             .probability = probability_of(rank_sum_test, base, variant, ratio, effect),
             .paired = false,
             .replicates = static_cast<u32>(std::min(base.size(), variant.size())),
             .effect = effect};
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
  if (none_fits(c)) return Verdict::kNoDifference;
  return needed_replicates(c) <= kMostReplicates ? Verdict::kTooNoisy : Verdict::kUndecidable;
}

std::string verdict_word(const Contrast& c) { return c.too_few > 0 ? "withheld" : std::string(word(verdict_of(c))); }

OrReason<Ends> interval_of(const OrReason<Contrast>& c) {
  if (!c || c->has_interval()) return then(c, [](const Contrast& has) { return ends_of(has.interval); });
  return OrReason<Ends>::missing("there are too few replicates for a 95 % interval");
}

bool is_decided(Verdict verdict) { return verdict != Verdict::kTooNoisy && verdict != Verdict::kUndecidable; }

double needed_replicates(const Contrast& c) {
  const double from_edge = std::max(kAtTheEdge, std::abs(std::abs(c.ratio - 1) - c.effect));
  const bool narrow = c.effect > 0 ? interval_differs(c) : tight(c);
  if (narrow) return c.replicates + kBetweenLooks;
  // The width of an interval shrinks with the square root of the number of replicates.
  const double times = c.half_width() / (c.effect > 0 ? from_edge : kWorthAWord);
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
