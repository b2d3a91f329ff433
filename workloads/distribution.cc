#include "workloads/distribution.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/streams.h"
#include "workloads/text_file.h"

namespace latchlab {

namespace {

/// Returns the number that follows the colon. Throws InputError unless it is there and `fits`.
double parameter_of(const Spec& spec, std::string_view what, std::string_view range, std::string_view example,
                    auto&& fits) {
  if (!spec.arg) {
    throw InputError(fmt::format("distribution {} needs {}, {}, as in {}", spec.name, what, range, example));
  }
  const std::optional<double> value = parse_double(*spec.arg);
  if (!value || !fits(*value)) {
    throw InputError(
        fmt::format("distribution {}: {} '{}' must be {}, as in {}", spec.name, what, *spec.arg, range, example));
  }
  return *value == 0 ? 0 : *value;  // -0 is 0
}

bool is_inner_share(double value) { return value > 0 && value < 1; }

}  // namespace

Distribution::Distribution(const Spec& spec) : what_("distribution " + spec.name) {
  if (spec.name == "histogram") {
    kind_ = Kind::kHistogram;
    if (!spec.arg) throw InputError("distribution histogram needs a file, as in histogram:shares.txt");
    const TextFile file("histogram", *spec.arg);
    what_ = fmt::format("histogram '{}'", *spec.arg);
    Stretch sums{.records = 0, .operations = 0};
    file.for_each_line([&](const TextFile::Line& line) {
      const std::vector<double> numbers = line.numbers("two shares, of the records and of the operations");
      if (numbers.size() != 2) throw line.error("needs two shares, of the records and of the operations");
      if (!(numbers[0] > 0)) throw line.error("has a share of the records that is not above 0");
      if (!(numbers[1] >= 0)) throw line.error("has a share of the operations below 0");
      stretches_.push_back({.records = numbers[0], .operations = numbers[1]});
      sums.records += numbers[0];
      sums.operations += numbers[1];
    });
    if (stretches_.empty()) throw file.error("has no line with two shares");
    if (!std::isfinite(sums.records) || !std::isfinite(sums.operations)) {
      throw file.error("has shares with a sum too large for a number");
    }
    if (!(sums.operations > 0)) throw file.error("gives no line a share of the operations above 0");
    for (Stretch& stretch : stretches_) {
      stretch.records /= sums.records;
      stretch.operations /= sums.operations;
    }
    return;
  }
  SpecReader reader(spec, what_);
  if (spec.name == "zipf") {
    kind_ = Kind::kZipf;
    parameter_ =
        parameter_of(spec, "its exponent", "a number of 0 or more", "zipf:0.99", [](double q) { return q >= 0; });
  } else if (spec.name == "latest") {
    kind_ = Kind::kLatest;
    parameter_ = !spec.arg ? 0.99
                           : parameter_of(spec, "its exponent", "a number of 0 or more", "latest:0.99",
                                          [](double q) { return q >= 0; });
  } else if (spec.name == "exponential") {
    kind_ = Kind::kExponential;
    parameter_ = parameter_of(spec, "the fall of its weights", "a number from 1e-6 to 1e9", "exponential:3.495",
                              [](double a) { return a >= 1e-6 && a <= 1e9; });
  } else if (spec.name == "self-similar") {
    kind_ = Kind::kSelfSimilar;
    parameter_ = parameter_of(spec, "its share", "a number from 1e-9 to 0.5", "self-similar:0.2",
                              [](double h) { return h >= 1e-9 && h <= .5; });
  } else if (spec.name == "hotspot") {
    kind_ = Kind::kHotspot;
    const double hot =
        !spec.arg ? 0.2
                  : parameter_of(spec, "its share of the records", "between 0 and 1", "hotspot:0.2", is_inner_share);
    const double hits = reader.real("hits", 0.8, 0, 1);
    scattered_ = reader.flag("scattered", true);
    stretches_ = {{.records = hot, .operations = hits}, {.records = 1 - hot, .operations = 1 - hits}};
  } else if (spec.name != "uniform") {
    const std::vector<std::string> words{"uniform",     "zipf",   "hotspot",  "self-similar",
                                         "exponential", "latest", "histogram"};
    throw InputError(
        fmt::format("unknown distribution '{}'; there are uniform, zipf:Q, hotspot:F, self-similar:H, exponential:A, "
                    "latest:Q and histogram:FILE{}",
                    spec.name, suggestion(spec.name, words)));
  }
  if (kind_ != Kind::kUniform) (void)reader.arg_text();
  reader.finish();
}

bool Distribution::alike() const {
  return kind_ == Kind::kUniform || ((kind_ == Kind::kZipf || kind_ == Kind::kLatest) && parameter_ == 0);
}

std::shared_ptr<const Law> Distribution::law(u64 n) const {
  switch (kind_) {
    case Kind::kUniform: return nullptr;
    case Kind::kZipf:
      if (parameter_ == 0) return nullptr;
      [[fallthrough]];
    case Kind::kLatest: return std::make_shared<ZipfLaw>(parameter_);
    case Kind::kExponential: return std::make_shared<ExponentialLaw>(parameter_, n);
    case Kind::kSelfSimilar: return std::make_shared<SelfSimilarLaw>(parameter_, n);
    case Kind::kHotspot:
    case Kind::kHistogram: break;
  }
  std::vector<StepLaw::Step> steps;
  double share = 0;
  for (const Stretch& stretch : stretches_) {
    share += stretch.records;
    const u64 begin = steps.empty() ? 1 : steps.back().end;
    const bool last = steps.size() + 1 == stretches_.size();
    const u64 end = last ? n + 1 : 1 + static_cast<u64>(std::llround(std::min(share, 1.0) * static_cast<double>(n)));
    if (end <= begin) {
      throw InputError(fmt::format("{}: the share {} of {} records is less than one", what_, stretch.records, n));
    }
    steps.push_back({.end = end, .mass = stretch.operations});
  }
  return std::make_shared<StepLaw>(std::move(steps));
}

Popularity::Popularity(const Distribution& distribution, u64 records, u64 seed, const Churn& churn)
    : record_of_rank_(records, seed, kPopularityStream),
      churn_(churn),
      seed_(seed),
      by_age_(distribution.by_age()),
      scattered_(distribution.scattered()) {
  churn.check(records);
  if (auto law = distribution.law(records)) ranks_.emplace(records, std::move(law));
}

void Popularity::fill(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const {
  if (ranks_) {
    ranks_->fill(draws, i, records);
    if (churn_.kind == Churn::Kind::kDrift) drift(now, step, records);
    if (!by_age_ && scattered_) record_of_rank_.permute(records);
  } else {
    const Draws words = draws;  // a copy stays in registers, since no store can change it
    const u64 n = record_of_rank_.size();
    for (std::size_t k = 0; k < records.size(); ++k) records[k] = bounded(words(i + k), n);
  }
  if (churn_.kind == Churn::Kind::kFlash) flash(draws, i, now, step, records);
}

void Popularity::drift(u64 now, u64 step, std::span<u64> ranks) const {
  const u64 n = record_of_rank_.size();
  for (u64& rank : ranks) {
    rank += now / churn_.every % n;
    now += step;
    rank -= rank >= n ? n : 0;
  }
}

/// Lets a crowd address some records. They are neighbours in the order of popularity, which the permutation scatters;
/// the first of them is random.
void Popularity::flash(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const {
  constexpr u64 kTry = u64{1} << 40;  // larger than the number of any try when a rank is drawn
  const u64 n = record_of_rank_.size();
  for (u64& record : records) {
    const u64 crowd = now / churn_.every;
    if (now % churn_.every < churn_.length && unit(draws.at(i, kTry)) < churn_.share) {
      const u64 first = bounded(draw(seed_, kCrowdStream, crowd), n);
      const u64 rank = first + bounded(draws.at(i, kTry + 1), churn_.records);
      record = record_of_rank_(rank - (rank >= n ? n : 0));
    }
    ++i;
    now += step;
  }
}

}  // namespace latchlab
