#pragma once

// Which record an operation addresses. A Distribution is what `--dist` says; a Popularity is that law over a
// number of records, ready to draw from.
//
//   uniform   every record alike
//   zipf:Q    the record with popularity rank k has weight k^-Q, Q >= 0 (zipf.h); ranks are scattered over
//             the records by a permutation (bijection.h), which depends on the seed and not on the phase:
//             what is hot stays hot
//
// zipf:0 is uniform and is treated as such.

#include <optional>
#include <span>

#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/bijection.h"
#include "workloads/zipf.h"

namespace latchlab {

class Distribution {
 public:
  /// Throws InputError for an unknown word, and for an exponent that is missing, negative or not a finite
  /// number.
  explicit Distribution(const Spec& spec);

  /// 0 for uniform.
  [[nodiscard]] double exponent() const { return exponent_; }

 private:
  double exponent_ = 0;
};

class Popularity {
 public:
  /// records in [1, Zipf::kMostRanks].
  Popularity(const Distribution& distribution, u64 records, u64 seed);

  /// The record, in [0, records), of position i: a function of the stream and i.
  [[nodiscard]] u64 operator()(const Draws& draws, u64 i) const {
    return zipf_ ? record_of_rank_((*zipf_)(draws, i)) : bounded(draws(i), record_of_rank_.size());
  }

  /// The records of positions i, i + 1, ...: what operator() gives for each, but faster. At most
  /// Zipf::kBatch.
  void fill(const Draws& draws, u64 i, std::span<u64> records) const;

  /// The record with popularity rank `rank` in [0, records), 0 the most popular.
  [[nodiscard]] u64 record_of_rank(u64 rank) const { return zipf_ ? record_of_rank_(rank) : rank; }

 private:
  Bijection record_of_rank_;
  std::optional<Zipf> zipf_;  ///< none: uniform
};

}  // namespace latchlab
