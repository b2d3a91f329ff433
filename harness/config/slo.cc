#include "harness/config/slo.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "harness/config/values.h"
#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {

Slo Slo::parse(std::string_view text) {
  constexpr u64 kLongest = 60'000'000'000;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view percentile = text.substr(0, colon);
  const auto percent = percentile.starts_with('p') ? parse_double(percentile.substr(1)) : std::nullopt;
  const double thousandths = percent.value_or(0) * 1000;
  const bool whole = std::abs(thousandths - std::round(thousandths)) < 1e-6;
  if (colon == text.size() || !percent || !whole || thousandths < 1 || thousandths >= 100'000) {
    throw InputError(
        fmt::format("--slo: '{}' is not a bound; write p99:50us or p99.9:1ms, with at most three decimals", text));
  }
  return {.thousandths = static_cast<u32>(std::lround(thousandths)),
          .bound_ns = parse_duration("--slo", text.substr(colon + 1), 1, kLongest)};
}

std::string Slo::str() const { return fmt::format("p{}:{}", thousandths / 1000.0, duration_text(bound_ns)); }

RateSearch::RateSearch(u64 most, u64 least)
    : most_(most), least_(std::clamp<u64>(std::max(most / kSpan, least), 1, most)) {}

/// Returns a rate that narrows the search; nothing once it is narrow enough.
std::optional<u64> RateSearch::between() const {
  const auto kept = kept_.empty() ? std::nullopt : std::optional(*kept_.rbegin());
  if (!kept && !broken_) return std::max(most_ / kFirst, least_);
  if (!broken_) return *kept == most_ ? std::nullopt : std::optional(std::min(*kept * 2, most_));
  if (!kept) return *broken_ == least_ ? std::nullopt : std::optional(std::max(*broken_ / 2, least_));
  const auto middle =
      static_cast<u64>(std::ceil(std::sqrt(static_cast<double>(*kept) * static_cast<double>(*broken_))));
  const bool close = static_cast<double>(*broken_) <= static_cast<double>(*kept) * kApart;
  return close || middle == *broken_ ? std::nullopt : std::optional(middle);
}

std::optional<u64> RateSearch::next() const {
  if (tries_ >= kMostTries) return std::nullopt;
  if (const auto rate = between()) return rate;
  if (kept_.empty() || last_ == *kept_.rbegin()) return std::nullopt;
  return *kept_.rbegin();
}

void RateSearch::note(bool kept) {
  last_ = next();
  ++tries_;
  if (kept) {
    kept_.insert(*last_);
  } else {
    broken_ = last_;
    kept_.erase(kept_.lower_bound(*last_), kept_.end());
  }
}

RateSearch::Answer RateSearch::answer() const {
  if (between() || (!kept_.empty() && last_ != *kept_.rbegin())) return Answer::kUnsteady;
  return kept_.empty() ? Answer::kNoneKeeps : broken_ ? Answer::kFound : Answer::kAllKeep;
}

}  // namespace latchlab
