#pragma once

// The choice of the record that an operation addresses. A Distribution is the law that `--dist` names. A Popularity is
// that law over a number of records, ready to draw from.
//
//   uniform           all records have the same probability
//   zipf:Q            the record with popularity rank k has weight k^-Q, Q >= 0
//   hotspot:F,hits=S  the hottest share F of the records (0.2) gets the share S of the operations (0.8); within the two
//                     parts all records have the same probability. With scattered=0 the hottest are the records that
//                     come first in the key set; of dense keys these are the least
//   self-similar:H    the share H of the records gets 1 - H of the operations, and the same holds within that share
//   exponential:A     weights fall exponentially, by e^-A from the first rank to the last (YCSB's default: 3.495)
//   latest:Q          zipf:Q (0.99) by age: the record inserted last is the hottest (mix_stream.h says as of when)
//   histogram:FILE    one line for each stretch of ranks: its share of the records, its share of the operations
//
// A permutation scatters ranks over the records (bijection.h). It depends on the seed but not on the phase, so hot
// records stay hot. The ranks of `latest` are ages and are not scattered. zipf:0 is uniform and treated as such.
//
// A histogram is a text file. Shares are numbers in any unit, scaled to their sums. # begins a comment:
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
  /// Parses a spec. Throws InputError for an unknown word, for a missing parameter or one out of range, and for a
  /// missing or malformed file (with its line). O(bytes of the file).
  explicit Distribution(const Spec& spec);

  /// Returns the law over n ranks, or null if all ranks have the same weight. Throws InputError if n is too small for
  /// the stretches of a histogram.
  [[nodiscard]] std::shared_ptr<const Law> law(u64 n) const;

  /// Returns true if no rank is more popular than another.
  [[nodiscard]] bool alike() const;

  /// Returns true if ranks are ages: rank 0 is the record that was inserted last.
  [[nodiscard]] bool by_age() const { return kind_ == Kind::kLatest; }

  /// Returns true if the popular records are scattered; otherwise the record of a rank has its number.
  [[nodiscard]] bool scattered() const { return scattered_; }

 private:
  enum class Kind : u8 { kUniform, kZipf, kHotspot, kSelfSimilar, kExponential, kLatest, kHistogram };
  struct Stretch {
    double records;
    double operations;
  };

  Kind kind_ = Kind::kUniform;
  double parameter_ = 0;            // of all kinds with a single number
  std::vector<Stretch> stretches_;  // of kHotspot and kHistogram; shares of each kind sum to 1
  bool scattered_ = true;
  std::string what_;  // names the distribution in errors
};

class Popularity {
 public:
  /// Makes the popularity of `records` records, in [1, Ranks::kMost].
  Popularity(const Distribution& distribution, u64 records, u64 seed, const Churn& churn = {});

  /// Draws records in [0, records), or ages, for positions i, i + 1, ...: at most Ranks::kBatch. Each is a function of
  /// the stream and its position. Under churn each is drawn as of the operation with the number of its position.
  void fill(const Draws& draws, u64 i, std::span<u64> records) const { fill(draws, i, i, 1, records); }
  /// Draws the same, but all as of operation `now`.
  void fill_as_of(u64 now, const Draws& draws, u64 i, std::span<u64> records) const { fill(draws, i, now, 0, records); }

  /// Returns the record with popularity rank `rank` in [0, records), 0 the most popular, without the effect of churn.
  [[nodiscard]] u64 record_of_rank(u64 rank) const {
    return ranks_ && !by_age_ && scattered_ ? record_of_rank_(rank) : rank;
  }

  [[nodiscard]] bool by_age() const { return by_age_; }
  [[nodiscard]] u64 records() const { return record_of_rank_.size(); }

 private:
  /// Draws records. Each position is `step` operations later than the one before.
  void fill(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const;
  void drift(u64 now, u64 step, std::span<u64> ranks) const;
  void flash(const Draws& draws, u64 i, u64 now, u64 step, std::span<u64> records) const;

  Bijection record_of_rank_;
  Churn churn_;
  u64 seed_;
  bool by_age_;
  bool scattered_;
  std::optional<Ranks> ranks_;  ///< none: uniform
};

}  // namespace latchlab
