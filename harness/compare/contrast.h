#pragma once

// A variant beside the base: how many times as fast it is, how sure that is, and the word for it.
//
//   the interval leaves 1 out, and so does the test, and the ratio is 1 % or more from it  faster, slower
//   they do not, and the interval is within 1 %                                            no difference seen
//   neither: the replicates scatter                                                        too noisy: run N more
//   nor would as many as may be asked for bring the interval within 1 %                    cannot be decided here
//
// The interval is of the median, by bootstrap; the test, of ranks, counts what the median leaves out. A difference
// under 1 % is not worth a word: where code and data happen to lie makes as much. The level of the test is 1 %, not 5,
// so that of twenty comparisons of equals one at most comes out different.
//
// Against a stated effect, such as 3 %, the words mean more:
//
//   the whole interval is beyond the effect, and the test tells the ratio from the effect's edge  faster, slower
//   the whole interval is within the effect                                                       no difference seen
//   neither                                                                  too noisy, or cannot be decided here
//
// The test is then of the ratio against 1 - effect or 1 + effect, whichever is nearer, rather than against 1. A reader
// may look at such a comparison several times and stop at the first answer: a look errs with 1 % at most, over all
// comparisons of the command (Holm), so k looks err with k % at most. For equals a look errs far less often, since the
// edge is an effect away from them.
//
// --replicates=auto looks at 10, 15, 20, ... replicates and goes on until the interval is within 1 % and test and
// interval say the same. Who instead stops as soon as a difference shows finds one in equals sooner or later; the width
// of an interval hardly knows where it lies. contrast_test.cc does whole comparisons of made-up replicates that way,
// equal ones and others, and counts the verdicts.

#include <string>
#include <utility>
#include <vector>

#include "harness/compare/statistics.h"
#include "harness/result/fields.h"
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

struct Contrast {
  double ratio = 1;        ///< to the base
  Interval interval;       ///< 95 %
  double probability = 1;  ///< of the test: Wilcoxon's if paired, else Mann and Whitney's; after correct() corrected
  bool paired = true;
  u32 replicates = 0;  ///< of the variant, each with one of the base where they are paired
  double effect = 0;   ///< a share: ratios up to it from 1 are no difference; 0 where none was stated
  u32 too_few = 0;     ///< how many more replicates it takes for the test to be able to say anything

  /// Whether `interval` may be called one of 95 %: not of so few replicates (five pairs, three of each unpaired) that
  /// they would stand as clear of each other in more than 5 % of all cases if both were alike. That of one has no
  /// width.
  [[nodiscard]] bool has_interval() const;

  /// Half the interval's width, relative to the ratio.
  [[nodiscard]] double half_width() const { return (interval.high - interval.low) / 2 / ratio; }
};

/// Replicate i of the one and of the other are of the same block. As many of both, one at least, all > 0.
[[nodiscard]] Contrast paired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                       u32 resamples = 10'000, double effect = 0);
/// Nothing pairs them. One at least of both, all > 0.
[[nodiscard]] Contrast unpaired_contrast(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                         u32 resamples = 10'000, double effect = 0);

/// The ends of an interval, as documents hold it.
using Ends = std::pair<double, double>;
[[nodiscard]] inline Ends ends_of(const Interval& interval) { return {interval.low, interval.high}; }
/// Those of the ratio's.
[[nodiscard]] OrReason<Ends> interval_of(const OrReason<Contrast>& contrast);

/// Corrects tests that belong together (Holm).
void correct(const std::vector<Contrast*>& family);

enum class Verdict { kFaster, kSlower, kNoDifference, kTooNoisy, kUndecidable };
template <>
inline constexpr std::array kWords<Verdict>{"faster"sv, "slower"sv, "no difference seen"sv, "too noisy"sv,
                                            "cannot be decided here"sv};

/// Not to be asked where there are too few.
[[nodiscard]] Verdict verdict_of(const Contrast& contrast);
/// Its word, or "withheld" where there are too few.
[[nodiscard]] std::string verdict_word(const Contrast& contrast);
void describe(Like<Contrast> auto& c, auto& field) {
  field.one_of("verdict", verdict_word(c), words_and<Verdict>({"withheld"}));
  field("ratio", c.ratio, "", kAboveZero);
  field("interval", interval_of(c), "", kAboveZero);
  field("probability", c.probability, "", kUpToOne);
  field("compared", c.replicates, "", kOneOrMore);
}

/// Whether it is an answer, be it that no difference was seen.
[[nodiscard]] bool is_decided(Verdict);

/// How many replicates would bring the interval within 1 %, or clear of the edge of the effect, or test and interval
/// together, as these scatter: more than there are. Up to kMostReplicates the verdict is "too noisy", beyond that
/// "cannot be decided here".
[[nodiscard]] double needed_replicates(const Contrast& contrast);

/// How --replicates=auto goes on.
enum class Look {
  kGoOn,
  kTight,     ///< the interval says what there is to say
  kHopeless,  ///< it would take several times as many replicates as there may be
  kMost,      ///< so many there may be
};
constexpr u32 kFirstLook = 10, kBetweenLooks = 5, kLastLook = 100;
[[nodiscard]] Look look_at(const std::vector<Contrast>& contrasts, u32 replicates);

}  // namespace latchlab
