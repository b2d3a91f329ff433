// The search for the highest rate at which an open loop keeps a bound on its response time: --slo=p99:50us. It tries
// one rate after the other, each on the index as the previous try left it.
//
//   1. While no try has broken the bound, double the rate; while none has kept it, halve the rate.
//   2. Then try the geometric mean of the highest rate that kept the bound and the lowest that broke it, until the two
//      are 3 % apart.
//
//     kept  x . . . x . . . x . . . x . x    the last try is of the answer, so the reported
//     broken                   xx    xx      numbers are those of a try that kept the bound
//
// A rate counts as breaking the bound only after two failed tries in a row. Something else may have disturbed the first
// try, and a single miss would halve the answer or end the search.
//
// The search stays between two limits. The highest rate is what a closed loop achieves. The lowest is a thousandth of
// that, or more if the percentile needs more calls to mean anything. So the answer may be that the highest rate keeps
// the bound, or that the lowest breaks it.
//
// Arrivals are Poisson: at fixed distances response times are better than those that clients see. A try also breaks the
// bound if its threads were late when it ended, or if it served less than 99 % of the arrivals.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// The bound of `--slo`: of 100,000 response times, `thousandths` are at most `bound_ns`.
struct Slo {
  u32 thousandths = 99'000;  ///< the percentile, in thousandths of a percent
  u64 bound_ns = 0;

  /// Reads "p99:50us" or "p99.9:1ms". Throws InputError.
  [[nodiscard]] static Slo parse(std::string_view text);
  /// Returns the text that parse() reads back.
  [[nodiscard]] std::string str() const;
  /// Returns the fewest calls of which at least one lies beyond the percentile, but at least 100.
  [[nodiscard]] u64 fewest_calls() const { return std::max<u64>(100, 100'000 / (100'000 - thousandths)); }
};

class RateSearch {
 public:
  enum class Answer {
    kFound,       ///< a rate that keeps the bound, at most 3 % below one that does not
    kAllKeep,     ///< even the highest rate, that of a closed loop, keeps the bound
    kNoneKeeps,   ///< not even the lowest rate keeps the bound
    kUnfinished,  ///< the search ended before it had an answer
    kUnsteady,    ///< too often a rate kept the bound and broke it in a later try
  };

  /// `most`: the rate of a closed loop, operations a second, at least 1. `least`: no lower rate is tried, unless `most`
  /// is lower.
  RateSearch(u64 most, u64 least);

  /// Returns the rate to try now; nothing once the search is over.
  [[nodiscard]] std::optional<u64> next() const;
  /// Takes the outcome of trying the rate of next(). `kept` is false only if the rate broke the bound twice in a row.
  void note(bool kept);
  /// Returns the answer. Call it only when next() returns nothing.
  [[nodiscard]] Answer answer() const;

 private:
  static constexpr u64 kSpan = 1024;  // ratio of the highest to the lowest rate
  static constexpr u64 kFirst = 16;   // ratio of the highest to the first rate
  static constexpr double kApart = 1.03;
  static constexpr u32 kMostTries = 40;  // three times as many as a search without contradictions takes

  [[nodiscard]] std::optional<u64> between() const;

  const u64 most_, least_;
  std::set<u64> kept_;         // rates that kept the bound; all are below broken_
  std::optional<u64> broken_;  // the lowest rate that broke the bound
  std::optional<u64> last_;    // the rate of the latest try
  u32 tries_ = 0;
};

template <>
inline constexpr std::array kWords<RateSearch::Answer>{"found"sv, "all-keep"sv, "none-keeps"sv, "unfinished"sv,
                                                       "unsteady"sv};

}  // namespace latchlab
