#include "harness/compare/contrast.h"

#include <cmath>
#include <map>
#include <numbers>

#include "harness/config/commands.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// A simulated shared machine. Each block has a speed, which drifts. Each replicate scatters around it log-normally,
/// and one in twenty is disturbed and loses up to 40 %.
class CloudMachine {
 public:
  CloudMachine(u64 seed, double scatter) : rng_(seed), scatter_(scatter) {}

  void next_block() { speed_ *= std::exp(.02 * normal()); }
  double replicate(double rate) {
    const double undisturbed = rate * speed_ * std::exp(scatter_ * normal());
    return unit(rng_()) < .05 ? undisturbed * (1 - .4 * unit(rng_())) : undisturbed;
  }

 private:
  double normal() { return std::sqrt(-2 * std::log(1 - unit(rng_()))) * std::cos(2 * std::numbers::pi * unit(rng_())); }

  Rng rng_;
  double scatter_;
  double speed_ = 1e6;
};

struct Experiment {
  Contrast contrast;
  Look ended = Look::kGoOn;
};

/// Simulates --replicates=auto for two variants; the speed of the second is `rate` times that of the first.
Experiment automatic(u64 seed, double scatter, double rate) {
  constexpr u32 kResamples = 200;  // enough to estimate the width of an interval
  CloudMachine machine(seed, scatter);
  std::vector<double> base;
  std::vector<double> variant;
  Experiment out;
  for (u32 until = kFirstLook; out.ended == Look::kGoOn; until += kBetweenLooks) {
    while (variant.size() < until) {
      machine.next_block();
      base.push_back(machine.replicate(1));
      variant.push_back(machine.replicate(rate));
    }
    out.contrast = paired_contrast(base, variant, seed, kResamples);
    out.ended = look_at({out.contrast}, until);
  }
  return out;
}

/// Counts how many of `experiments` simulations end with each verdict.
std::map<Verdict, u32> verdicts(u32 experiments, double scatter, double rate, u64 seed) {
  std::map<Verdict, u32> found;
  for (u32 i = 0; i < experiments; ++i) ++found[verdict_of(automatic(draw(seed, 0, i), scatter, rate).contrast)];
  return found;
}

TEST_CASE("equal variants differ in at most 5 of 100 comparisons, and a difference of 5 % is found in at least 95",
          "[release]") {
  constexpr u64 kSeed = 20'261'123;
  constexpr u32 kExperiments = 100;
  CAPTURE(kSeed);
  for (const double scatter : {.003, .01, .03}) {
    CAPTURE(scatter);
    auto equal = verdicts(kExperiments, scatter, 1, kSeed);
    CHECK(equal[Verdict::kFaster] + equal[Verdict::kSlower] <= kExperiments / 20);
    CHECK(verdicts(kExperiments, scatter, .95, kSeed)[Verdict::kSlower] >= kExperiments * 19 / 20);
  }
}

TEST_CASE(
    "the option --replicates=auto gives up early on replicates that scatter too much, and estimates how many would "
    "decide") {
  for (u64 seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Experiment experiment = automatic(seed, .3, 1);
    CHECK(experiment.ended == Look::kHopeless);
    CHECK(experiment.contrast.replicates < kLastLook / 2);
    CHECK(needed_replicates(experiment.contrast) > 8 * kLastLook);
  }
}

TEST_CASE("on a quiet machine auto stops at the first look") {
  const Experiment experiment = automatic(1, 1e-4, 1);
  CHECK(experiment.ended == Look::kTight);
  CHECK(experiment.contrast.replicates == kFirstLook);
  CHECK(verdict_of(experiment.contrast) == Verdict::kNoDifference);
}

/// Counts how many of 100 simulations against an effect of 3 % end with each verdict. A simulation looks after 10, 15,
/// 20, 30 and 40 replicates and ends with the first answer. It is one of `family` comparisons that are corrected
/// together.
std::map<Verdict, u32> verdicts_against_effect(double scatter, double rate, u32 family, u64 seed) {
  std::map<Verdict, u32> found;
  for (u32 i = 0; i < 100; ++i) {
    CloudMachine machine(draw(seed, 0, i), scatter);
    std::vector<double> base;
    std::vector<double> variant;
    Verdict verdict = Verdict::kTooNoisy;
    for (const u32 until : {10, 15, 20, 30, 40}) {
      while (variant.size() < until) {
        machine.next_block();
        base.push_back(machine.replicate(1));
        variant.push_back(machine.replicate(rate));
      }
      std::vector<Contrast> all(family, paired_contrast(base, variant, seed, 200, .03));
      std::vector<Contrast*> tests;
      for (std::size_t test = 0; test < all.size(); ++test) {
        if (test > 0) all[test].probability = 1;
        tests.push_back(&all[test]);
      }
      correct(tests);
      verdict = verdict_of(all.front());
      if (is_decided(verdict)) break;
    }
    ++found[verdict];
  }
  return found;
}

TEST_CASE("against an effect equal variants never differ, and three times the effect is nearly always found",
          "[release]") {
  constexpr u64 kSeed = 20'261'126;
  CAPTURE(kSeed);
  for (const double scatter : {.003, .01, .03, .1}) {
    CAPTURE(scatter);
    auto equal = verdicts_against_effect(scatter, 1, 12, kSeed);
    CHECK(equal[Verdict::kFaster] + equal[Verdict::kSlower] == 0);
    auto slower = verdicts_against_effect(scatter, .9, 12, kSeed);
    CHECK(slower[Verdict::kFaster] + slower[Verdict::kNoDifference] == 0);
    if (scatter < .1) CHECK(slower[Verdict::kSlower] >= 95);
    if (scatter < .03) CHECK(equal[Verdict::kNoDifference] >= 95);
    auto at_the_edge = verdicts_against_effect(scatter, .97, 12, kSeed);
    CHECK(at_the_edge[Verdict::kSlower] <= 5);
  }
}

TEST_CASE("a verdict against an effect needs the whole interval beyond it or within it") {
  const auto against = [](double low, double high, double probability) {
    return Contrast{.ratio = (low + high) / 2,
                    .interval = {.low = low, .high = high},
                    .probability = probability,
                    .paired = true,
                    .replicates = 10,
                    .effect = .03};
  };
  CHECK(verdict_of(against(.93, .969, .001)) == Verdict::kSlower);
  CHECK(verdict_of(against(1.031, 1.2, .001)) == Verdict::kFaster);
  CHECK(verdict_of(against(.97, 1.03, 1)) == Verdict::kNoDifference);
  CHECK(verdict_of(against(.975, .99, .001)) == Verdict::kNoDifference);  // a difference, but smaller than the effect
  CHECK(verdict_of(against(.93, .971, .001)) == Verdict::kTooNoisy);
  CHECK(verdict_of(against(.93, .969, .02)) == Verdict::kTooNoisy);
  CHECK(needed_replicates(against(.93, .969, .02)) == 10 + kBetweenLooks);
  CHECK(needed_replicates(against(.965, .985, 1)) > 40);             // twice as wide as it may be: four times as many
  CHECK(verdict_of(against(.96, .98, 1)) == Verdict::kUndecidable);  // the ratio lies at the edge of the effect
}

TEST_CASE("against an effect the test compares with the nearer edge") {
  const std::vector<double> base(12, 1.0);
  std::vector<double> variant(12, .96);
  CHECK(paired_contrast(base, variant, 1).probability < .001);
  CHECK(paired_contrast(base, variant, 1, 200, .03).probability < .001);
  CHECK(paired_contrast(base, variant, 1, 200, .05).probability == 1);
  for (std::size_t i = 0; i < 4; ++i) variant[i] = .99;
  CHECK(paired_contrast(base, variant, 1).probability < .001);
  CHECK(paired_contrast(base, variant, 1, 200, .03).probability > .1);
  // Few replicates can exclude a difference, but five cannot.
  CHECK(paired_contrast({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, 1, 200, .03).too_few == 0);
  CHECK(paired_contrast({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, 1, 200, .03).too_few == 1);
}

Contrast contrast_of(double ratio, double half_width, double probability = .001) {
  return {.ratio = ratio,
          .interval = {.low = ratio - half_width, .high = ratio + half_width},
          .probability = probability,
          .paired = true,
          .replicates = 10};
}

TEST_CASE("a difference needs the interval, the test and one percent") {
  CHECK(verdict_of(contrast_of(1.05, .04)) == Verdict::kFaster);
  CHECK(verdict_of(contrast_of(.95, .04)) == Verdict::kSlower);
  CHECK(verdict_of(contrast_of(1.05, .04, .02)) == Verdict::kTooNoisy);
  CHECK(verdict_of(contrast_of(1.05, .06)) == Verdict::kTooNoisy);
  CHECK(verdict_of(contrast_of(1.005, .004)) == Verdict::kNoDifference);
  CHECK(verdict_of(contrast_of(1, .009, 1)) == Verdict::kNoDifference);
  // The interval is narrow, but the test does not agree: neither a difference nor none.
  CHECK(verdict_of(contrast_of(1.05, .004, .02)) == Verdict::kTooNoisy);
  CHECK(look_at({contrast_of(1.05, .004, .02)}, 10) == Look::kGoOn);
  CHECK(needed_replicates(contrast_of(1.05, .004, .02)) == 10 + kBetweenLooks);
  CHECK(needed_replicates(contrast_of(1, .0199, 1)) == 40);  // half the width takes four times as many
}

TEST_CASE("a contrast that would need more replicates than allowed cannot be decided") {
  REQUIRE(needed_replicates(contrast_of(1, .3, 1)) < kMostReplicates);
  CHECK(verdict_of(contrast_of(1, .3, 1)) == Verdict::kTooNoisy);
  REQUIRE(needed_replicates(contrast_of(1, .33, 1)) > kMostReplicates);
  CHECK(verdict_of(contrast_of(1, .33, 1)) == Verdict::kUndecidable);
  CHECK(verdict_of(contrast_of(2, .9)) == Verdict::kFaster);  // a wide interval can exclude 1
}

TEST_CASE("auto goes on while one of the variants scatters, up to a limit") {
  const Contrast narrow = contrast_of(1, .005, 1);
  const Contrast wide = contrast_of(1, .02, 1);
  CHECK(look_at({narrow, narrow}, 10) == Look::kTight);
  CHECK(look_at({narrow, wide}, 10) == Look::kGoOn);
  CHECK(look_at({narrow, wide}, kLastLook) == Look::kMost);
  CHECK(look_at({narrow, contrast_of(1, .5, 1)}, 10) == Look::kGoOn);  // too early to give up
  CHECK(look_at({narrow, contrast_of(1, .5, 1)}, 20) == Look::kHopeless);
}

TEST_CASE("tests that are corrected together need more replicates") {
  const std::vector<double> base(8, 1.0);
  const std::vector<double> variant{2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7};
  Contrast one = paired_contrast(base, variant, 1);
  CHECK(one.probability == Approx(2.0 / 256));
  CHECK(one.too_few == 0);
  CHECK(paired_contrast({1, 1}, {2, 2}, 1).too_few == 6);
  Contrast other = one;
  correct({&one, &other});
  CHECK(one.probability == Approx(4.0 / 256));
  CHECK(one.too_few == 1);
  CHECK(unpaired_contrast({1, 1, 1, 1}, {2, 2, 2, 2, 2}, 1).too_few == 1);  // 2 / 252 needs five of both
}

}  // namespace
}  // namespace latchlab
