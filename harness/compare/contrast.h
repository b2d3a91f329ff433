#pragma once

// The contrast of a variant with the base: the ratio of their speeds, its interval, a test, and a verdict.
//
//   1  interval and test both exclude a ratio of 1, and the ratio is 1 % or more from it   faster, slower
//   2  the interval does not, and half its width is at most 1 % of the ratio               no difference seen
//   3  neither, and kMostReplicates or fewer would narrow the interval or convince the     too noisy: run N more
//      test (needed_replicates)
//   4  otherwise                                                                           cannot be decided here
//
// In rule 2 an interval that excludes 1 counts as one that does not if the ratio is less than 1 % from it. An interval
// that differs as in rule 1 although the test does not is neither 1 nor 2.
//
// The interval is a bootstrap interval of the median ratio. The test compares ranks, so it also uses what the median
// ignores. A difference under 1 % gets no verdict, because the layout of code and data alone causes as much. The level
// of the test is 1 % rather than 5 %: among 20 comparisons of equal variants at most one is expected to differ.
//
// Against a stated effect, such as 3 %, other rules take the place of 1 and 2:
//
//   1  the whole interval is beyond the effect, and the test tells the ratio from its edge   faster, slower
//   2  the whole interval is within the effect                                               no difference seen
//
// The test then compares the ratio with 1 - effect or 1 + effect, whichever is nearer, instead of 1. A user may look at
// such a comparison several times and stop at the first answer. One look is wrong with a probability of at most 1 %,
// over all comparisons of the command (Holm). So k looks are wrong with at most k %. For equal variants it is far less,
// since the edge is a whole effect away.
//
// --replicates=auto looks after 10, 15, 20, ... replicates. It stops when the interval is within 1 % and test and
// interval agree. Stopping at the first visible difference instead would sooner or later find one between equal
// variants. The width of an interval hardly depends on where the interval lies. contrast_test.cc simulates whole
// comparisons this way, of equal and of different variants, and counts the verdicts.

#include <string>
#include <utility>
#include <vector>

#include "harness/compare/statistics.h"
#include "harness/result/fields.h"
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

struct Contrast {
  double ratio = 1;        ///< speed over that of the base
  Interval interval;       ///< 95 % bootstrap interval of the ratio
  double probability = 1;  ///< p-value of Wilcoxon's test if paired, else of Mann and Whitney's; correct() corrects it
  bool paired = true;
  u32 replicates = 0;  ///< number of pairs if paired, else the size of the smaller sample
  double effect = 0;   ///< share: a ratio nearer to 1 is no difference; 0 if the user stated none
  /// Number of further replicates that are needed before the test can reject. Against an effect it is the number before
  /// there is a 95 % interval.
  u32 too_few = 0;

  /// True if there are enough replicates for a 95 % interval: six pairs, or four unpaired replicates of each variant.
  /// With fewer, equal variants separate completely by chance in 5 % of all cases or more.
  [[nodiscard]] bool has_interval() const;

  /// Returns half the width of the interval, relative to the ratio.
  [[nodiscard]] double half_width() const { return (interval.high - interval.low) / 2 / ratio; }
};

/// Compares replicates pair by pair: replicate i of both ran in the same block. Both sizes are equal and at least 1;
/// all values are > 0.
[[nodiscard]] Contrast paired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                       u32 resamples = 10'000, double effect = 0);
/// Compares two samples without pairs. Both sizes are at least 1; all values are > 0.
[[nodiscard]] Contrast unpaired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                         u32 resamples = 10'000, double effect = 0);

/// The two ends of an interval, as a document holds them.
using Ends = std::pair<double, double>;
[[nodiscard]] inline Ends ends_of(const Interval& interval) { return {interval.low, interval.high}; }
/// Returns the ends of the interval of the ratio, or the reason why it has none.
[[nodiscard]] OrReason<Ends> interval_of(const OrReason<Contrast>& contrast);

/// Corrects the probabilities of tests that belong together, by Holm's method.
void correct(const std::vector<Contrast*>& family);

enum class Verdict { kFaster, kSlower, kNoDifference, kTooNoisy, kUndecidable };
template <>
inline constexpr std::array kWords<Verdict>{"faster"sv, "slower"sv, "no difference seen"sv, "too noisy"sv,
                                            "cannot be decided here"sv};

/// Returns the verdict. `contrast.too_few` must be 0.
[[nodiscard]] Verdict verdict_of(const Contrast& contrast);
/// Returns the verdict as a word, or "withheld" if there are too few replicates.
[[nodiscard]] std::string verdict_word(const Contrast& contrast);
void describe(Like<Contrast> auto& c, auto& field) {
  field.one_of("verdict", verdict_word(c), words_and<Verdict>({"withheld"}));
  field("ratio", c.ratio, "", kAboveZero);
  field("interval", interval_of(c), "", kAboveZero);
  field("probability", c.probability, "", kUpToOne);
  field("compared", c.replicates, "", kOneOrMore);
}

/// True for faster, slower and no difference seen.
[[nodiscard]] bool is_decided(Verdict);

/// Estimates from the present scatter how many replicates would decide; it is more than there are. They would bring the
/// interval within 1 %, or clear of the edge of the effect, or make test and interval agree. Up to kMostReplicates the
/// verdict is "too noisy", beyond that "cannot be decided here".
[[nodiscard]] double needed_replicates(const Contrast& contrast);

/// The decision of --replicates=auto after a look.
enum class Look {
  kGoOn,
  kTight,     ///< stop: the intervals are narrow, and the verdicts are final
  kHopeless,  ///< stop: it would take several times kLastLook replicates
  kMost,      ///< stop: this is kLastLook
};
constexpr u32 kFirstLook = 10, kBetweenLooks = 5, kLastLook = 100;
/// Decides after `replicates` replicates of each variant whether to run more.
[[nodiscard]] Look look_at(const std::vector<Contrast>& contrasts, u32 replicates);

}  // namespace latchlab
