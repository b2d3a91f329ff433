#include "harness/config/arrivals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

constexpr double kNsPerSecond = 1e9;

/// Returns the arrivals of all threads in order, up to the time when the first thread has had its `count`.
std::vector<u64> together(const Rate& rate, u32 threads, u64 count, u64 seed = 1) {
  std::vector<u64> all;
  u64 end = ~u64{0};
  for (u32 t = 0; t < threads; ++t) {
    const std::unique_ptr<Arrivals> own = arrivals_of(rate, seed, t, threads);
    u64 last = 0;
    for (u64 i = 0; i < count; ++i) all.push_back(last = own->next());
    end = std::min(end, last);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::upper_bound(all.begin(), all.end(), end), all.end());
  return all;
}

/// Returns chi-square of the counts against the expected ones, per degree of freedom.
double chi_square(const std::vector<u64>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double off = static_cast<double>(counts[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum / static_cast<double>(counts.size() - 1);
}

/// Returns how badly an exponential distribution of mean 1 fits the distances: chi-square over bins of equal
/// probability.
double misfit_of_distances(const std::vector<double>& at) {
  constexpr std::size_t kBins = 1000;
  std::vector<u64> counts(kBins);
  for (std::size_t i = 1; i < at.size(); ++i) {
    ++counts[std::min(kBins - 1, static_cast<std::size_t>((1 - std::exp(at[i - 1] - at[i])) * kBins))];
  }
  return chi_square(counts, std::vector<double>(kBins, static_cast<double>(at.size() - 1) / kBins));
}

/// Returns how badly a Poisson distribution fits the numbers of arrivals in intervals of length `mean`. Each number
/// within three standard deviations is a bin. With a mean of 100 there are 61 bins, and 1.9 is five standard
/// deviations.
double misfit_of_numbers(const std::vector<double>& at, double mean) {
  const double deviation = 3 * std::sqrt(mean);
  const auto least = static_cast<u64>(mean - deviation), most = static_cast<u64>(mean + deviation);
  const auto intervals = static_cast<u64>(at.back() / mean);
  std::vector<u64> counts(most - least + 2);  // the last bin holds all other numbers
  std::vector<double> expected(counts.size());
  std::size_t i = 0;
  for (u64 k = 0; k < intervals; ++k) {
    u64 number = 0;
    for (; i < at.size() && at[i] < static_cast<double>(k + 1) * mean; ++i) ++number;
    ++counts[number < least || number > most ? counts.size() - 1 : number - least];
  }
  expected.back() = static_cast<double>(intervals);
  for (u64 n = least; n <= most; ++n) {
    const double x = static_cast<double>(n);
    expected[n - least] = static_cast<double>(intervals) * std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
    expected.back() -= expected[n - least];
  }
  return chi_square(counts, expected);
}

std::string rate_refusal(std::string_view text) {
  return testing::refusal([&] { (void)Rate::parse(text); });
}

TEST_CASE("fixed arrivals are the same at any number of threads and do not drift", "[arrivals]") {
  const Rate rate = Rate::parse("3M");
  const std::vector<u64> alone = together(rate, 1, 6000);
  for (const u32 threads : {2u, 3u, 7u}) {
    const std::vector<u64> shared = together(rate, threads, 6000 / threads);
    CAPTURE(threads);
    REQUIRE(shared.size() > 5900);
    CHECK(std::equal(shared.begin(), shared.end(), alone.begin()));
  }
  CHECK(alone[1] == 333);
  CHECK(alone[3000] == 1'000'000);
}

TEST_CASE("the Poisson arrivals of all threads together are Poisson", "[arrivals]") {
  for (const u32 threads : {1u, 2u, 7u}) {
    // The rate is low, so rounding to nanoseconds does not matter.
    std::vector<double> at;
    for (const u64 ns : together(Rate::parse("poisson:1000"), threads, 700'000 / threads)) {
      at.push_back(static_cast<double>(ns) / kNsPerSecond * 1000);
    }
    CAPTURE(threads);
    CHECK(misfit_of_distances(at) < 1.2);
    CHECK(misfit_of_numbers(at, 100) < 1.9);
    // Successive distances are uncorrelated.
    double together_with_next = 0;
    for (std::size_t i = 2; i < at.size(); ++i)
      together_with_next += (at[i] - at[i - 1] - 1) * (at[i - 1] - at[i - 2] - 1);
    CHECK(std::abs(together_with_next) < 4 * std::sqrt(static_cast<double>(at.size())));
  }
}

TEST_CASE("arrivals depend on the thread and the seed, and are reproducible", "[arrivals]") {
  const Rate rate = Rate::parse("poisson:1M");
  const auto first = [&](u64 seed, u32 thread) { return arrivals_of(rate, seed, thread, 2)->next(); };
  CHECK(first(1, 0) == first(1, 0));
  CHECK(first(1, 0) != first(1, 1));
  CHECK(first(1, 0) != first(2, 0));
}

TEST_CASE("a sine's arrivals are Poisson once time is scaled by its rate", "[arrivals]") {
  for (const double amplitude : {.5, 1.0}) {
    Rate rate = Rate::parse("sine:1000,period=20s");
    rate.amplitude = amplitude;
    std::vector<double> at;
    std::array<u64, 4> quarters{};
    for (const u64 ns : together(rate, 3, 200'000)) {
      at.push_back(rate.expected(static_cast<double>(ns) / kNsPerSecond));
      if (ns < 500 * kNsPerSecond) ++quarters[ns / 5'000'000'000 % 4];
    }
    CAPTURE(amplitude);
    CHECK(misfit_of_distances(at) < 1.2);
    CHECK(misfit_of_numbers(at, 100) < 1.9);
    // The share of a quarter in its period's arrivals is 1/4 + amplitude / 2 pi for the first two quarters. For the
    // other two it is 1/4 - amplitude / 2 pi.
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const double wanted = 500'000 * (.25 + (quarter < 2 ? amplitude : -amplitude) / (2 * std::numbers::pi));
      CHECK(std::abs(static_cast<double>(quarters[quarter]) - wanted) < 5 * std::sqrt(wanted));
    }
  }
  const std::vector<u64> flat = together(Rate::parse("sine:1000,amplitude=0,period=7s"), 1, 1000);
  const std::vector<u64> poisson = together(Rate::parse("poisson:1000"), 1, 1000);
  for (std::size_t i = 0; i < flat.size(); ++i) {
    CHECK(std::abs(static_cast<double>(flat[i]) - static_cast<double>(poisson[i])) <= 1);
  }
}

TEST_CASE("the expected number of arrivals is the integral of the rate", "[arrivals]") {
  CHECK(Rate::parse("poisson:500").expected(2) == 1000);
  const Rate sine = Rate::parse("sine:1000,amplitude=1,period=10s");
  CHECK(sine.expected(10) == Approx(10'000));
  CHECK(sine.expected(5) == Approx(5000 + 10'000 / std::numbers::pi));
}

TEST_CASE("a rate is read back as it is printed, and mistakes are reported", "[arrivals]") {
  for (const char* text : {"fixed:1000", "poisson:1000000", "sine:2000,amplitude=0.25,period=1500ms", "trace",
                           "trace:0.25", "trace:3600"}) {
    CHECK(Rate::parse(text).str() == text);
  }
  CHECK(Rate::parse("1.5M").str() == "fixed:1500000");
  CHECK(Rate::parse("trace:1").str() == "trace");
  CHECK(Rate::parse("sine:1").str() == "sine:1,amplitude=0.5,period=10s");
  const auto tells = [](std::string_view text, const std::string& what) {
    CAPTURE(text);
    CHECK_THAT(rate_refusal(text), Catch::StartsWith("--rate: " + what));
    CHECK_THAT(rate_refusal(text), Catch::Contains("write 1M, poisson:1M, sine:1M,amplitude=0.5,period=10s or trace"));
  };
  tells("poison:1M", "there is no 'poison'; ");
  CHECK_THAT(rate_refusal("poison:1M"), Catch::EndsWith("; did you mean 'poisson'?"));
  tells("poisson", "poisson has no rate; ");
  tells("poisson:1M,period=1s", "poisson has no option 'period'; ");
  CHECK(rate_refusal("0") == "--rate: 0 is too small; it can be from 1 to 1G");
  CHECK(rate_refusal("2G") == "--rate: 2G is too large; it can be from 1 to 1G");
  for (const std::string number : {"1M/s", "-1", "+1", ".5"}) {
    CHECK(rate_refusal(number).starts_with("--rate: '" + number + "' is not a whole number from 1 to 1G; write "));
  }
  for (const std::string factor : {"", "x", "0", "-1", "nan", "inf", "1e7", "1e-7", "{1,2}"}) {
    CHECK(rate_refusal("trace:" + factor) == "--rate: trace: '" + factor +
                                                 "' is not a number from 0.000001 to 1000000; write "
                                                 "trace:2 for twice the recorded speed");
  }
  tells("trace,x=1", "trace has no option 'x'; ");
  CHECK(rate_refusal("sine:1M,amplitude=2") == "--rate: amplitude: '2' must be a number from 0 to 1");
  CHECK(rate_refusal("sine:1M,period=1us").starts_with("--rate: period: 1us is too small"));
}

/// A recording with these times.
class Times final : public RecordedTimes {
 public:
  explicit Times(std::vector<u64> times) : times_(std::move(times)) {}
  u64 next() override { return times_.at(at_++); }

 private:
  std::vector<u64> times_;
  std::size_t at_ = 0;
};

TEST_CASE("recorded arrivals come at their recorded times, or sped up by a factor, and then end", "[arrivals]") {
  const auto arrivals = [](double factor) {
    const auto own =
        recorded_arrivals(std::make_unique<Times>(std::vector<u64>{500, 1500, 1500, u64{1} << 62}), 4, 500, factor);
    std::vector<u64> all(6);
    for (u64& one : all) one = own->next();
    return all;
  };
  const u64 never = Arrivals::kNever;
  CHECK(arrivals(1) == std::vector<u64>{0, 1000, 1000, (u64{1} << 62) - 500, never, never});
  CHECK(arrivals(1e-6) ==
        std::vector<u64>{0, 1'000'000'000, 1'000'000'000, never, never, never});  // kNever is the latest time
  const std::vector<u64> faster = arrivals(4);
  CHECK(std::vector<u64>(faster.begin(), faster.begin() + 3) == std::vector<u64>{0, 250, 250});
  CHECK(recorded_arrivals(nullptr, 0, 0, 1)->next() == never);  // a thread without arrivals
}

TEST_CASE("each thread gets arrivals in proportion to its share, and the shares add up to the whole rate") {
  constexpr u64 kWhole = 7, kArrivals = 70'000;
  for (const char* text : {"1M", "poisson:1M", "sine:1M,period=10ms"}) {
    CAPTURE(text);
    const Rate rate = Rate::parse(text);
    u64 all = 0;
    for (const u32 thread : {0, 1, 2}) {
      const ArrivalShare share{.part = u64{1} << thread, .whole = kWhole};  // 1, 2 and 4 of 7
      const std::unique_ptr<Arrivals> own = arrivals_of(rate, 1, thread, share);
      u64 count = 0, last = 0;
      for (u64 next = own->next(); next < kArrivals * 1000; next = own->next(), ++count) {
        REQUIRE(next >= last);
        last = next;
      }
      CHECK(static_cast<double>(count) == Approx(kArrivals * share.of_all()).epsilon(.05));
      all += count;
    }
    CHECK(static_cast<double>(all) == Approx(kArrivals).epsilon(rate.law == Rate::Law::kFixed ? 1e-4 : .02));
  }
  CHECK(ArrivalShare{.part = 0, .whole = 0}.of_all() == 0);
}

}  // namespace
}  // namespace latchlab
