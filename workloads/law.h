#pragma once

// Laws of popularity: the weight of each of n ranks, counted from 1. ranks.h draws from any law. It needs only two
// things: the weight of a stretch of ranks, and the weight of each rank in it relative to the first.

#include <cmath>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

class Law {
 public:
  virtual ~Law() = default;

  /// Returns the weight of `length` ranks from `first` on, in any unit, exact to about 1e-14 of the total weight.
  [[nodiscard]] virtual double mass(u64 first, u64 length) const = 0;

  /// Returns the weight of rank first + offset divided by that of rank `first`, at most 1. Both ranks must be in one
  /// stratum.
  [[nodiscard]] virtual double relative(u64 first, u64 offset) const = 0;

  /// Returns the maximal length of a stratum that begins with `first`. Its ranks must have similar weights, or
  /// rejection sampling keeps few tries.
  [[nodiscard]] virtual u64 reach(u64 first) const { return first <= kSingles ? 1 : first / kSteps; }

  static constexpr u64 kSingles = 128;
  static constexpr u64 kSteps = 64;
};

/// The law of Zipf: rank k has the weight k^-q, q >= 0.
class ZipfLaw final : public Law {
 public:
  explicit ZipfLaw(double exponent) : exponent_(exponent) {}
  [[nodiscard]] double mass(u64 first, u64 length) const override;
  [[nodiscard]] double relative(u64 first, u64 offset) const override {
    const double from = static_cast<double>(first);
    return std::pow(from / (from + static_cast<double>(offset)), exponent_);
  }

 private:
  double exponent_;
};

/// The exponential law: rank k has the weight e^(-fall k/n), with a fall of 1e-6 or more. The last rank has e^-fall of
/// the first one's weight.
class ExponentialLaw final : public Law {
 public:
  ExponentialLaw(double fall, u64 n) : rate_(fall / static_cast<double>(n)) {}
  [[nodiscard]] double mass(u64 first, u64 length) const override {
    return std::exp(-rate_ * static_cast<double>(first - 1)) * -std::expm1(-rate_ * static_cast<double>(length));
  }
  [[nodiscard]] double relative(u64, u64 offset) const override {
    return std::exp(-rate_ * static_cast<double>(offset));
  }

 private:
  double rate_;
};

/// The self-similar law (Gray et al., SIGMOD 1994). A share h of the ranks, 0 < h < 1/2, has 1 - h of the weight, and
/// the same holds within that share. The first k of n ranks have (k/n)^theta of the weight, theta = log(1 - h) /
/// log(h).
class SelfSimilarLaw final : public Law {
 public:
  SelfSimilarLaw(double share, u64 n) : theta_(std::log1p(-share) / std::log(share)), n_(static_cast<double>(n)) {}
  [[nodiscard]] double mass(u64 first, u64 length) const override {
    if (first == 1) return std::pow(static_cast<double>(length) / n_, theta_);
    const double before = static_cast<double>(first - 1);
    return std::pow(before / n_, theta_) * std::expm1(theta_ * std::log1p(static_cast<double>(length) / before));
  }
  [[nodiscard]] double relative(u64 first, u64 offset) const override { return weight(first + offset) / weight(first); }

 private:
  [[nodiscard]] double weight(u64 rank) const {
    const double k = static_cast<double>(rank);
    return std::pow(k, theta_) * -std::expm1(theta_ * std::log1p(-1 / k));  // k^theta - (k - 1)^theta
  }

  double theta_;
  double n_;
};

/// A law of steps: all ranks of a stretch have the same weight.
class StepLaw final : public Law {
 public:
  struct Step {
    u64 end;      ///< the first rank after the step
    double mass;  ///< of all its ranks together
  };
  /// Takes the steps in order, without gaps, from rank 1 on. Each must have at least one rank.
  explicit StepLaw(std::vector<Step> steps) : steps_(std::move(steps)) {}
  [[nodiscard]] double mass(u64 first, u64 length) const override;
  [[nodiscard]] double relative(u64, u64) const override { return 1; }
  [[nodiscard]] u64 reach(u64 first) const override;

 private:
  [[nodiscard]] std::size_t step_of(u64 rank) const;

  std::vector<Step> steps_;
};

}  // namespace latchlab
