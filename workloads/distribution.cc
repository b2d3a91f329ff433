#include "workloads/distribution.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/streams.h"

namespace latchlab {

Distribution::Distribution(const Spec& spec) {
  SpecReader reader(spec, "distribution " + spec.name);
  if (spec.name == "zipf") {
    if (!spec.arg) {
      throw InputError("distribution zipf needs its exponent, a number of 0 or more, as in zipf:0.99");
    }
    const std::optional<double> exponent = parse_double(*spec.arg);
    if (!exponent || *exponent < 0) {
      throw InputError(fmt::format(
          "distribution zipf: the exponent '{}' must be a number of 0 or more, as in zipf:0.99", *spec.arg));
    }
    // Also turns -0 into 0.
    exponent_ = *exponent == 0 ? 0 : *exponent;
    (void)reader.arg_text();
  } else if (spec.name != "uniform") {
    throw InputError(fmt::format("unknown distribution '{}'; there are uniform and zipf:Q{}", spec.name,
                                 suggestion(spec.name, {"uniform", "zipf"})));
  }
  reader.finish();
}

Popularity::Popularity(const Distribution& distribution, u64 records, u64 seed)
    : record_of_rank_(records, seed, kPopularityStream) {
  if (distribution.exponent() > 0) zipf_.emplace(records, distribution.exponent());
}

void Popularity::fill(const Draws& draws, u64 i, std::span<u64> records) const {
  if (!zipf_) {
    for (u64& record : records) record = bounded(draws(i++), record_of_rank_.size());
    return;
  }
  zipf_->fill(draws, i, records);
  const Bijection record_of_rank = record_of_rank_;
  for (u64& record : records) record = record_of_rank(record);
}

}  // namespace latchlab
