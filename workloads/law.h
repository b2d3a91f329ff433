#pragma once

// Laws of popularity: what weight each of n ranks has, ranks counted from 1. ranks.h draws from any of them, and
// needs to know of one only the weight of a stretch of ranks, and of each rank in it beside the first's.

#include <cmath>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

class Law {
 public:
  virtual ~Law() = default;

  /// The weight of `length` ranks from `first` on, to about 1e-14 of all of them; in whatever unit.
  [[nodiscard]] virtual double mass(u64 first, u64 length) const = 0;

  /// The weight of rank first + offset in that of rank `first`, at most 1, where both are in one stratum.
  [[nodiscard]] virtual double relative(u64 first, u64 offset) const = 0;

  /// Of how many ranks a stratum that begins with `first` may be: nearly alike in weight, or few will be kept.
  [[nodiscard]] virtual u64 reach(u64 first) const { return first <= kSingles ? 1 : first / kSteps; }

  static constexpr u64 kSingles = 128;
  static constexpr u64 kSteps = 64;
};

/// Rank k has the weight k^-q, q >= 0 (Zipf).
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

/// Rank k has the weight e^(-fall k/n), fall of 1e-6 or more: the last rank has e^-fall of the first's.
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

/// A share h of the ranks, 0 < h < 1/2, has 1 - h of the weight, and so within that share, and so on (Gray et al.,
/// SIGMOD 1994): the first k of n ranks have (k/n)^theta of it, theta = log(1 - h) / log(h).
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

/// Stretches of ranks that have the same weight each.
class StepLaw final : public Law {
 public:
  struct Step {
    u64 end;      ///< the first rank that is not in it
    double mass;  ///< of all its ranks together
  };
  /// In order, without gap, from rank 1 on; each with a rank at least.
  explicit StepLaw(std::vector<Step> steps) : steps_(std::move(steps)) {}
  [[nodiscard]] double mass(u64 first, u64 length) const override;
  [[nodiscard]] double relative(u64, u64) const override { return 1; }
  [[nodiscard]] u64 reach(u64 first) const override;

 private:
  [[nodiscard]] std::size_t step_of(u64 rank) const;

  std::vector<Step> steps_;
};

}  // namespace latchlab
