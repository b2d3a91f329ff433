#pragma once

// Which record an operation addresses. A Distribution is what `--dist` says; a Popularity is that law over a
// number of records, ready to draw from.
//
//   uniform           every record alike
//   zipf:Q            the record with popularity rank k has weight k^-Q, Q >= 0
//   hotspot:F,hits=S  the F hottest of the records (0.2) share S of the operations alike (0.8), the rest the rest
//   self-similar:H    the share H of the records has 1 - H of the operations, and within it again, and so on
//   exponential:A     weights fall exponentially, by e^-A from the first rank to the last (YCSB's default: 3.495)
//   latest:Q          zipf:Q (0.99) by age: what was inserted last is the hottest (mix_stream.h says as of when)
//   histogram:FILE    a line for each stretch of ranks: their share of the records, their share of the operations
//
// Ranks are scattered over the records by a permutation (bijection.h), which depends on the seed and not on the phase:
// what is hot stays hot. Not those of `latest`, which are ages. zipf:0 is uniform and is treated as such.
//
// A histogram is a text file; shares are numbers of any unit, scaled to their sums; # begins a comment:
//
//     0.01  50     # the hottest 1 % of the records have half of the operations
//     0.09  30
//     0.90  20

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/bijection.h"
#include "workloads/churn.h"
#include "workloads/law.h"
#include "workloads/ranks.h"

namespace latchlab {

class Distribution {
 public:
  /// Throws InputError for an unknown word, a parameter that is missing or out of its range, and a file that is missing
  /// or malformed (with its line). O(bytes of the file).
  explicit Distribution(const Spec& spec);

  /// Over n ranks; null where all are alike. Throws InputError where n is too few for the stretches of a histogram.
  [[nodiscard]] std::shared_ptr<const Law> law(u64 n) const;

  /// Whether no rank is more popular than another.
  [[nodiscard]] bool alike() const;

  /// Whether ranks are ages: 0 is the record that was inserted last.
  [[nodiscard]] bool by_age() const { return kind_ == Kind::kLatest; }

 private:
  enum class Kind : u8 { kUniform, kZipf, kHotspot, kSelfSimilar, kExponential, kLatest, kHistogram };
  struct Stretch {
    double records;
    double operations;
  };

  Kind kind_ = Kind::kUniform;
  double parameter_ = 0;            // of all kinds that have one number
  std::vector<Stretch> stretches_;  // of kHotspot and kHistogram; each kind of share sums to 1
  std::string what_;                // for errors
};

class Popularity {
 public:
  /// records in [1, Ranks::kMost].
  Popularity(const Distribution& distribution, u64 records, u64 seed, const Churn& churn = {});

  /// The records, in [0, records), of positions i, i + 1, ...: each a function of the stream and its position. Of ages:
  /// the ages. At most Ranks::kBatch. Where churn moves on, each is as of the operation of its position.
  void fill(const Draws& draws, u64 i, std::span<u64> records) const { fill(draws, i, i, 1, records); }
  /// The same, all as of operation `now`.
  void fill_as_of(u64 now, const Draws& draws, u64 i, std::span<u64> records) const { fill(draws, i, now, 0, records); }

  /// The record with popularity rank `rank` in [0, records), 0 the most popular; without what churn has changed.
  [[nodiscard]] u64 record_of_rank(u64 rank) const { return ranks_ && !by_age_ ? record_of_rank_(rank) : rank; }

  [[nodiscard]] bool by_age() const { return by_age_; }
  [[nodiscard]] u64 records() const { return record_of_rank_.size(); }

 private:
  /// From one position to the next it is `step` operations later.
  void fill(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const;
  void drift(u64 now, u64 step, std::span<u64> ranks) const;
  void flash(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const;

  Bijection record_of_rank_;
  Churn churn_;
  u64 seed_;
  bool by_age_;
  std::optional<Ranks> ranks_;  ///< none: uniform
};

}  // namespace latchlab
