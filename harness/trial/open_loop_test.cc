// An open loop in virtual time: time passes when the clock is read, and the test causes stalls.
#include "harness/trial/open_loop.h"

#include <vector>

#include "harness/host/virtual_team_testing.h"
#include "harness/loop/histogram.h"
#include "harness/loop/latency.h"
#include "src/stats/counters.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kMs = 1'000'000;

constexpr u64 kLookNs = 500;
testing::VirtualTeam alone(kLookNs);  // its only thread is the test's
u64& clock_ns = alone.outside();

/// The work of a thread that waits: none; it lets time pass, at most up to the next arrival.
const auto kNothing = [](u64 left) {
  clock_ns += left / 2;
  return true;
};

/// An operation of 20 us; once a second a stall of 10 ms begins in it.
class Stalling {
 public:
  void operator()() {
    clock_ns += 20'000;
    if (clock_ns >= next_stall_) {
      clock_ns += 10 * kMs;
      next_stall_ += testing::kSecond;
    }
  }

 private:
  u64 next_stall_ = clock_ns + testing::kSecond / 2;
};

u64 percentile(const Histogram& histogram, double percent) {
  return histogram.at_rank(static_cast<u64>(static_cast<double>(histogram.count()) * percent / 100));
}

struct Seen {
  Histogram service, response;
  Lag lag;
  u64 came = 0;
};

/// Runs ten seconds of an open loop.
template <class Operation>
Seen seen_at(const char* rate, Operation operation) {
  std::atomic<bool> stop{false};
  Latencies latencies(1, 1, alone.clock());
  OpenLoop loop(arrivals_of(Rate::parse(rate), 1, 0, 1), clock_ns, 10 * testing::kSecond, false, alone);
  while (loop.await(stop, kNothing)) {
    latencies.arrived(loop.due(), loop.now());
    latencies.time(OpKind::kRead, 1, NoCounters(), [&] { operation(); });
    loop.done(latencies.ended());
  }
  const Latencies::OfKind& reads = latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)];
  const u64 came = *loop.came(10 * testing::kSecond, ~u64{0});
  return {.service = reads.ns, .response = reads.response, .lag = loop.lag(), .came = came};
}

TEST_CASE("a stall of 10 ms a second shows in the p99 of the response time, but not of the service time",
          "[arrivals]") {
  for (const char* rate : {"20k", "poisson:20k"}) {
    CAPTURE(rate);
    const Seen seen = seen_at(rate, Stalling());
    CHECK(seen.service.count() == seen.response.count());
    CHECK(seen.service.count() > 198'000);
    CHECK(percentile(seen.service, 99) < 25'000);
    // Operations that come during the stall, and until the queue is empty again, wait: more than 1 % of them for
    // several milliseconds.
    CHECK(percentile(seen.response, 99) > 2 * kMs);
    CHECK(percentile(seen.response, 99) < 11 * kMs);
    CHECK(percentile(seen.response, 50) < 100'000);
    CHECK(seen.service.max() >= 10 * kMs);
    CHECK(seen.response.max() >= seen.service.max());
    CHECK(seen.lag.largest > 9 * kMs);
    CHECK(seen.lag.largest < 11 * kMs);
    CHECK(seen.lag.at_end < kMs);
  }
}

TEST_CASE("a closed loop sees the same stall in one call of many thousands", "[arrivals]") {
  Latencies latencies(1, 1, alone.clock());
  Stalling operation;
  for (const u64 end = clock_ns + 10 * testing::kSecond; clock_ns < end;) {
    latencies.time(OpKind::kRead, 1, NoCounters(), [&] { operation(); });
  }
  const Histogram& ns = latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)].ns;
  CHECK(percentile(ns, 99.9) < 25'000);
  CHECK(ns.max() >= 10 * kMs);
  CHECK(latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)].response.count() == 0);
}

TEST_CASE("a loop whose rate is too high falls behind, leaves nothing out and ends on time", "[arrivals]") {
  const u64 start = clock_ns;
  const Seen seen = seen_at("100k", [] { clock_ns += 20'000; });  // 20 us and a reading of the clock: 48,800 a second
  CHECK(clock_ns - start >= 10 * testing::kSecond);
  CHECK(clock_ns - start < 10 * testing::kSecond + kMs);
  CHECK(seen.service.count() > 487'000);
  CHECK(seen.service.count() < 488'500);
  // The last operation that was run came after 4.88 s.
  CHECK(seen.lag.at_end > 5.1 * testing::kSecond);
  CHECK(seen.lag.at_end < 5.13 * testing::kSecond);
  CHECK(seen.lag.largest <= seen.lag.at_end);
  CHECK(seen.came == 1'000'000);
  CHECK(percentile(seen.response, 50) > 2.4 * testing::kSecond);
  CHECK(percentile(seen.response, 50) < 2.7 * testing::kSecond);
}

TEST_CASE("an operation begins when it is due and not before, and the loop lasts to its end", "[arrivals]") {
  const std::atomic<bool> stop{false};
  const u64 start = clock_ns;
  OpenLoop loop(arrivals_of(Rate::parse("10"), 1, 0, 1), start, testing::kSecond, false, alone);
  u64 arrivals = 0;
  for (; loop.await(stop, kNothing); ++arrivals) {
    CHECK(loop.due() == start + arrivals * testing::kSecond / 10);
    CHECK(loop.now() >= loop.due());
    CHECK(loop.now() <= loop.due() + 2 * kLookNs);
    loop.done({});
  }
  CHECK(arrivals == 10);
  CHECK(clock_ns >= start + testing::kSecond);
  CHECK(loop.came(testing::kSecond, 1000) == 10);
  CHECK(loop.lag().at_end == 0);
}

TEST_CASE("a thread that was descheduled until the end does exactly one operation", "[arrivals]") {
  const std::atomic<bool> stop{false};
  clock_ns += 2 * testing::kSecond;
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns - 2 * testing::kSecond, testing::kSecond, false,
                alone);
  REQUIRE(loop.await(stop, kNothing));
  CHECK(loop.lag().largest >= 2 * testing::kSecond);
  loop.done({});
  CHECK_FALSE(loop.await(stop, kNothing));
  CHECK(loop.came(testing::kSecond, 1000) == 1000);
  CHECK(loop.lag().at_end == testing::kSecond - kMs);
  OpenLoop none(arrivals_of(Rate::parse("1"), 1, 1, 2), clock_ns, testing::kSecond / 2, false, alone);
  CHECK_FALSE(none.await(stop, kNothing));  // its first operation would come after the end
}

TEST_CASE("a waiting thread works as long as there is work, and knows the time that is left", "[arrivals]") {
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, testing::kSecond, false, alone);
  REQUIRE(loop.await(stop, kNothing));
  loop.done({});
  std::vector<u64> left;
  REQUIRE(loop.await(stop, [&](u64 ns) {
    left.push_back(ns);
    clock_ns += 100'000;
    return left.size() < 3;
  }));
  REQUIRE(left.size() > 3);
  CHECK(left[0] <= kMs);
  CHECK(left[0] > kMs - 10 * kLookNs);
  CHECK(left[1] == left[0] - 100'000 - kLookNs);
}

TEST_CASE("a stop ends a loop before the next arrival", "[arrivals]") {
  std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1"), 1, 0, 1), clock_ns, 0, true, alone);
  REQUIRE(loop.await(stop, kNothing));
  loop.done({});
  const u64 before = clock_ns;
  CHECK_FALSE(loop.await(stop, [&](u64) {
    stop = true;
    return true;
  }));
  CHECK(clock_ns < before + testing::kSecond);
  CHECK_FALSE(loop.await(stop, kNothing));
}

TEST_CASE("operations that a stall at the end kept waiting count as arrived, and the lag is that of the oldest",
          "[arrivals]") {
  std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, 100 * kMs, false, alone);
  for (u64 i = 0; i < 78; ++i) {
    REQUIRE(loop.await(stop, kNothing));
    loop.done({});
  }
  clock_ns += 30 * kMs;  // the thread has read the clock, and is then descheduled until the phase is over
  stop = true;
  CHECK_FALSE(loop.await(stop, kNothing));
  CHECK(loop.begun() == 78);
  CHECK(loop.came(100 * kMs, 1000) == 100);
  CHECK(loop.lag().at_end == 22 * kMs);
}

TEST_CASE(
    "a loop whose operations have all begun has the lag of the last one, and more arrivals than it may look at are not "
    "counted",
    "[arrivals]") {
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, 0, false, alone);
  clock_ns += 5 * kMs;
  REQUIRE(loop.await(stop, kNothing));
  loop.done({});
  CHECK(loop.lag().at_end < kMs);  // the loop read the clock when it began
  clock_ns += 5 * kMs;
  loop.done({});
  REQUIRE(loop.await(stop, kNothing));
  CHECK(loop.lag().at_end > 3 * kMs);
  CHECK_FALSE(loop.came(100 * kMs, 97));
  CHECK(loop.lag().at_end == 98 * kMs);
}

TEST_CASE("only sampled calls have response times, and the clock is read for the others", "[arrivals]") {
  Latencies latencies(10, 1, alone.clock());
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, testing::kSecond, false, alone);
  for (u64 i = 1; loop.await(stop, kNothing); ++i) {
    latencies.arrived(loop.due(), loop.now());
    if (latencies.untimed() != 0) {
      latencies.skip(1);
    } else {
      latencies.time(OpKind::kUpdate, 1, NoCounters(), [] { clock_ns += 20'000; });
    }
    CHECK(latencies.ended().has_value() == (i % 10 == 0));
    loop.done(latencies.ended());
  }
  CHECK(latencies.kinds()[static_cast<std::size_t>(OpKind::kUpdate)].response.count() == 100);
}

}  // namespace
}  // namespace latchlab
