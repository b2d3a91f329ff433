// The highest rate at which an open loop keeps a bound on its response time: --slo=p99:50us. One rate is tried after
// the other, each on the index as the one before has left it: doubled as long as the bound is kept (or halved as long
// as it is not), then the middle, geometrically, of the highest that kept it and the lowest that did not, until they
// are 3 % apart.
//
//     kept  x . . . x . . . x . . . x . x    the answer is tried last, so that its numbers are
//     broken                   xx    xx      those of a run that has kept the bound
//
// A rate breaks the bound if it did so twice in a row: something else may have disturbed the first try, and one miss
// would halve the answer, or be the end of the search.
//
// No rate above what a closed loop does is tried, and none below a thousandth of it, or with too few calls for the
// percentile to mean anything: the answer may be that even the one keeps the bound or that even the other breaks it.
// Arrivals are Poisson's: at fixed distances response times are better than clients see. A try whose threads were late
// as it ended, or that served less than 99 % of what came, has not kept the bound, whatever its percentile.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// What `--slo` says: so many of a hundred thousand response times are at most `bound_ns`.
struct Slo {
  u32 thousandths = 99'000;  ///< of a percent
  u64 bound_ns = 0;

  /// "p99:50us", "p99.9:1ms". Throws InputError.
  [[nodiscard]] static Slo parse(std::string_view text);
  /// As it would be given.
  [[nodiscard]] std::string str() const;
  /// Calls of which at least one lies beyond the percentile, and a hundred at least.
  [[nodiscard]] u64 fewest_calls() const { return std::max<u64>(100, 100'000 / (100'000 - thousandths)); }
};

class RateSearch {
 public:
  enum class Answer {
    kFound,       ///< a rate that keeps the bound, at most 3 % below one that does not
    kAllKeep,     ///< as many as a closed loop does
    kNoneKeeps,   ///< not even the lowest rate that is tried
    kUnfinished,  ///< the search ended before it had an answer
    kUnsteady,    ///< what kept the bound broke it when it was tried again, too often
  };

  /// `most`: what a closed loop does a second, 1 or more. `least`: no rate below it is tried, unless `most` is.
  RateSearch(u64 most, u64 least);

  /// The rate to try now. Nothing once the one that was tried last is the answer.
  [[nodiscard]] std::optional<u64> next() const;
  /// The rate of next() was tried, and again if it did not keep the bound.
  void note(bool kept);
  /// When there is nothing to try any more.
  [[nodiscard]] Answer answer() const;

 private:
  static constexpr u64 kSpan = 1024;  // from the highest rate to the lowest
  static constexpr u64 kFirst = 16;   // below the highest one
  static constexpr double kApart = 1.03;
  static constexpr u32 kMostTries = 40;  // three times what a search without contradictions takes

  [[nodiscard]] std::optional<u64> between() const;

  const u64 most_, least_;
  std::set<u64> kept_;         // below all that broke it
  std::optional<u64> broken_;  // the lowest
  std::optional<u64> last_;
  u32 tries_ = 0;
};

template <>
inline constexpr std::array kWords<RateSearch::Answer>{"found"sv, "all-keep"sv, "none-keeps"sv, "unfinished"sv,
                                                       "unsteady"sv};

}  // namespace latchlab
