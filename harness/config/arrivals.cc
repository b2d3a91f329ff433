#include "harness/config/arrivals.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/config/values.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "workloads/streams.h"

namespace latchlab {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr u64 kLongestPeriod = 24 * 3600 * u64{1'000'000'000};

/// Returns the expected share of a sine period's arrivals in its first x, where x = 1 is the whole period.
double share_until(double x, double amplitude) { return x + amplitude / kTurn * (1 - std::cos(kTurn * x)); }

/// Returns the inverse of share_until, near `guess`. Newton's method, with bisection where a step would leave the
/// interval.
double until_share(double share, double amplitude, double guess) {
  double low = std::max(0.0, share - amplitude / std::numbers::pi), high = share;
  for (double x = std::clamp(guess, low, high);;) {
    const double off = share_until(x, amplitude) - share;
    if (std::abs(off) < 1e-15) return x;
    (off > 0 ? high : low) = x;
    double next = x - off / (1 + amplitude * std::sin(kTurn * x));
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (next == low || next == high) return next;
    x = next;
  }
}

class Fixed final : public Arrivals {
 public:
  Fixed(const Rate& rate, u32 thread, const ArrivalShare& share)
      : per_second_(rate.per_second), thread_(thread), share_(share) {}
  u64 next() override {
    __extension__ using Wide = unsigned __int128;  // exact, so that no rounding errors add up
    // The number of this arrival among all arrivals, times `part`.
    const Wide number = Wide{thread_} * share_.part + Wide{done_++} * share_.whole;
    return static_cast<u64>(number * 1'000'000'000 / share_.part / per_second_);
  }

 private:
  const u64 per_second_;
  const u32 thread_;
  const ArrivalShare share_;
  u64 done_ = 0;
};

/// Poisson arrivals of one share. The unit of time is the mean distance between the arrivals of all threads.
class UnitPoisson {
 public:
  UnitPoisson(u64 seed, u32 thread, const ArrivalShare& share)
      : draws_(seed, kArrivalStream), position_(u64{thread} << kArrivalBits), distance_(1 / share.of_all()) {}
  double next() { return at_ -= distance_ * std::log(1 - unit(draws_(position_++))); }

 private:
  static constexpr u32 kArrivalBits = 50;  // a thread's positions in the stream: two weeks at one arrival a nanosecond
  const Draws draws_;
  u64 position_;
  const double distance_;  // mean
  double at_ = 0;
};

class Poisson final : public Arrivals {
 public:
  Poisson(const Rate& rate, const UnitPoisson& units)
      : spacing_(1e9 / static_cast<double>(rate.per_second)), units_(units) {}
  u64 next() override { return static_cast<u64>(units_.next() * spacing_); }

 private:
  const double spacing_;
  UnitPoisson units_;
};

class Sine final : public Arrivals {
 public:
  Sine(const Rate& rate, const UnitPoisson& units)
      : amplitude_(rate.amplitude),
        period_(static_cast<double>(rate.period_ns)),
        of_period_(static_cast<double>(rate.per_second) * period_ / 1e9),
        units_(units) {}
  u64 next() override {
    const double share = units_.next() / of_period_, whole = std::floor(share);
    const double guess = at_ + (share - std::exchange(share_, share)) - whole;
    at_ = std::max(at_, whole + until_share(share - whole, amplitude_, guess));
    return static_cast<u64>(at_ * period_);
  }

 private:
  const double amplitude_, period_, of_period_;
  UnitPoisson units_;
  double at_ = 0;     // time of the last arrival, in periods
  double share_ = 0;  // expected arrivals until then, as a multiple of those of a period
};

class Recorded final : public Arrivals {
 public:
  Recorded(std::unique_ptr<RecordedTimes> times, u64 count, u64 begin_ns, double factor)
      : times_(std::move(times)), left_(count), begin_ns_(begin_ns), factor_(factor) {}
  u64 next() override {
    if (left_ == 0) return kNever;
    --left_;
    const u64 ns = times_->next() - begin_ns_;
    if (factor_ == 1) return std::min(ns, kNever);
    return static_cast<u64>(std::min(static_cast<double>(ns) / factor_, static_cast<double>(kNever)));
  }

 private:
  const std::unique_ptr<RecordedTimes> times_;
  u64 left_;
  const u64 begin_ns_;
  const double factor_;
};

/// Reads the factor that speeds up a trace.
double factor_of(std::string_view text) {
  constexpr double kLeast = 1e-6, kMost = 1e6;
  const std::optional<double> factor = parse_double(text);
  if (factor && *factor >= kLeast && *factor <= kMost) return *factor;
  throw InputError(fmt::format(
      "--rate: trace: '{}' is not a number from 0.000001 to 1000000; write trace:2 for twice the recorded speed",
      text));
}

/// Returns the value of the option `key` of a spec.
std::optional<std::string> option(const Spec& spec, std::string_view key) {
  for (const auto& [known, value] : spec.options) {
    if (known == key) return value;
  }
  return std::nullopt;
}

}  // namespace

Rate Rate::parse(std::string_view text) {
  constexpr std::string_view kRight = "write 1M, poisson:1M, sine:1M,amplitude=0.5,period=10s or trace";
  constexpr std::string_view kFaster = "trace:";  // a factor follows; Spec::parse would take it for a path
  Rate rate;
  if (text.starts_with(kFaster)) {
    rate.law = Law::kTrace;
    rate.factor = factor_of(text.substr(kFaster.size()));
    return rate;
  }
  Spec spec{.name = "fixed", .arg = std::string(text), .options = {}};
  const bool bare = !text.empty() && std::string_view("0123456789.+-").find(text[0]) != std::string_view::npos;
  try {
    if (!bare) spec = Spec::parse(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--rate: {}", error.what()));
  }
  const std::vector<std::string> laws{"fixed", "poisson", "sine", "trace"};
  const auto law = std::find(laws.begin(), laws.end(), spec.name);
  if (law == laws.end()) {
    throw InputError(fmt::format("--rate: there is no '{}'; {}{}", spec.name, kRight, suggestion(spec.name, laws)));
  }
  rate.law = static_cast<Law>(law - laws.begin());
  if (rate.law != Law::kTrace) {
    if (!spec.arg) throw InputError(fmt::format("--rate: {} has no rate; {}", spec.name, kRight));
    rate.per_second = parse_count("--rate", *spec.arg, 1, kMost);
  }
  for (const auto& [key, value] : spec.options) {
    if (rate.law == Law::kSine && (key == "amplitude" || key == "period")) continue;
    throw InputError(fmt::format("--rate: {} has no option '{}'; {}", spec.name, key, kRight));
  }
  if (const auto value = option(spec, "amplitude")) rate.amplitude = parse_share("--rate: amplitude", *value);
  if (const auto value = option(spec, "period")) {
    rate.period_ns = parse_duration("--rate: period", *value, 1'000'000, kLongestPeriod);
  }
  return rate;
}

std::string Rate::str() const {
  switch (law) {
    case Law::kFixed: return fmt::format("fixed:{}", per_second);
    case Law::kPoisson: return fmt::format("poisson:{}", per_second);
    case Law::kTrace: return factor == 1 ? "trace" : fmt::format("trace:{}", factor);
    case Law::kSine: break;
  }
  return fmt::format("sine:{},amplitude={},period={}", per_second, amplitude, duration_text(period_ns));
}

double Rate::expected(double seconds) const {
  const double on_average = static_cast<double>(per_second) * seconds;
  if (law != Law::kSine) return on_average;
  const double period = static_cast<double>(period_ns) / 1e9;
  return static_cast<double>(per_second) * period * share_until(seconds / period, amplitude);
}

std::unique_ptr<Arrivals> arrivals_of(const Rate& rate, u64 seed, u32 thread, const ArrivalShare& share) {
  if (rate.law == Rate::Law::kFixed) return std::make_unique<Fixed>(rate, thread, share);
  const UnitPoisson units(seed, thread, share);
  if (rate.law == Rate::Law::kSine) return std::make_unique<Sine>(rate, units);
  return std::make_unique<Poisson>(rate, units);
}

std::unique_ptr<Arrivals> recorded_arrivals(std::unique_ptr<RecordedTimes> times, u64 count, u64 begin_ns,
                                            double factor) {
  return std::make_unique<Recorded>(std::move(times), count, begin_ns, factor);
}

}  // namespace latchlab
