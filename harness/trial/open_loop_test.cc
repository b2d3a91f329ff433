// An open loop in a world where time passes when the clock is looked at, and stalls come when they are told to.
#include "harness/trial/open_loop.h"

#include <vector>

#include "harness/host/virtual_team_testing.h"
#include "harness/loop/histogram.h"
#include "harness/loop/latency.h"
#include "src/stats/counters.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kMs = 1'000'000, kSecond = 1'000'000'000;

constexpr u64 kLookNs = 500;
testing::VirtualTeam alone(kLookNs);  // with its one thread, this one
u64& clock_ns = alone.outside();

/// What a thread does while it waits: nothing, which lets time pass and never too much of it.
const auto kNothing = [](u64 left) {
  clock_ns += left / 2;
  return true;
};

/// An operation of 20 us, in which a stall of 10 ms begins once a second.
class Stalling {
 public:
  void operator()() {
    clock_ns += 20'000;
    if (clock_ns >= next_stall_) {
      clock_ns += 10 * kMs;
      next_stall_ += kSecond;
    }
  }

 private:
  u64 next_stall_ = clock_ns + kSecond / 2;
};

u64 percentile(const Histogram& histogram, double percent) {
  return histogram.at_rank(static_cast<u64>(static_cast<double>(histogram.count()) * percent / 100));
}

struct Seen {
  Histogram service, response;
  Lag lag;
  u64 came = 0;
};

/// Ten seconds of an open loop.
template <class Operation>
Seen seen_at(const char* rate, Operation operation) {
  std::atomic<bool> stop{false};
  Latencies latencies(1, 1, alone.clock());
  OpenLoop loop(arrivals_of(Rate::parse(rate), 1, 0, 1), clock_ns, 10 * kSecond, false, alone);
  while (loop.await(stop, kNothing)) {
    latencies.arrived(loop.due(), loop.now());
    latencies.time(OpKind::kRead, NoCounters(), [&] { operation(); });
    loop.done(latencies.ended());
  }
  const Latencies::OfKind& reads = latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)];
  const u64 came = *loop.came(10 * kSecond, ~u64{0});
  return {.service = reads.ns, .response = reads.response, .lag = loop.lag(), .came = came};
}

TEST_CASE("a stall of 10 ms a second is in the p99 of the response time and not in that of the service time",
          "[arrivals]") {
  for (const char* rate : {"20k", "poisson:20k"}) {
    CAPTURE(rate);
    const Seen seen = seen_at(rate, Stalling());
    CHECK(seen.service.count() == seen.response.count());
    CHECK(seen.service.count() > 198'000);
    CHECK(percentile(seen.service, 99) < 25'000);
    // What comes in the stall waits for its rest, and what comes until the queue is empty for a part of it: more than
    // one in a hundred for several milliseconds.
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

TEST_CASE("a closed loop that measures the same sees the stall in a call in so many thousands", "[arrivals]") {
  Latencies latencies(1, 1, alone.clock());
  Stalling operation;
  for (const u64 end = clock_ns + 10 * kSecond; clock_ns < end;) {
    latencies.time(OpKind::kRead, NoCounters(), [&] { operation(); });
  }
  const Histogram& ns = latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)].ns;
  CHECK(percentile(ns, 99.9) < 25'000);
  CHECK(ns.max() >= 10 * kMs);
  CHECK(latencies.kinds()[static_cast<std::size_t>(OpKind::kRead)].response.count() == 0);
}

TEST_CASE("at more than it can bear a loop falls behind, leaves nothing out and ends on time", "[arrivals]") {
  const u64 start = clock_ns;
  const Seen seen = seen_at("100k", [] { clock_ns += 20'000; });  // 20 us and a look at the clock: 48,800 a second
  CHECK(clock_ns - start >= 10 * kSecond);
  CHECK(clock_ns - start < 10 * kSecond + kMs);
  CHECK(seen.service.count() > 487'000);
  CHECK(seen.service.count() < 488'500);
  // The last one that was run came after 4.88 s.
  CHECK(seen.lag.at_end > 5.1 * kSecond);
  CHECK(seen.lag.at_end < 5.13 * kSecond);
  CHECK(seen.lag.largest <= seen.lag.at_end);
  CHECK(seen.came == 1'000'000);
  CHECK(percentile(seen.response, 50) > 2.4 * kSecond);
  CHECK(percentile(seen.response, 50) < 2.7 * kSecond);
}

TEST_CASE("an operation begins when it is due and not before, and the loop lasts to its end", "[arrivals]") {
  const std::atomic<bool> stop{false};
  const u64 start = clock_ns;
  OpenLoop loop(arrivals_of(Rate::parse("10"), 1, 0, 1), start, kSecond, false, alone);
  u64 arrivals = 0;
  for (; loop.await(stop, kNothing); ++arrivals) {
    CHECK(loop.due() == start + arrivals * kSecond / 10);
    CHECK(loop.now() >= loop.due());
    CHECK(loop.now() <= loop.due() + 2 * kLookNs);
    loop.done({});
  }
  CHECK(arrivals == 10);
  CHECK(clock_ns >= start + kSecond);
  CHECK(loop.came(kSecond, 1000) == 10);
  CHECK(loop.lag().at_end == 0);
}

TEST_CASE("who was kept from running until the end does one operation, and no more", "[arrivals]") {
  const std::atomic<bool> stop{false};
  clock_ns += 2 * kSecond;
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns - 2 * kSecond, kSecond, false, alone);
  REQUIRE(loop.await(stop, kNothing));
  CHECK(loop.lag().largest >= 2 * kSecond);
  loop.done({});
  CHECK_FALSE(loop.await(stop, kNothing));
  CHECK(loop.came(kSecond, 1000) == 1000);
  CHECK(loop.lag().at_end == kSecond - kMs);
  OpenLoop none(arrivals_of(Rate::parse("1"), 1, 1, 2), clock_ns, kSecond / 2, false, alone);
  CHECK_FALSE(none.await(stop, kNothing));  // its first would come after the end
}

TEST_CASE("while a thread waits it works as long as there is something to do, with the time that is left",
          "[arrivals]") {
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, kSecond, false, alone);
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

TEST_CASE("a loop that is told to stop ends before the next arrival", "[arrivals]") {
  std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1"), 1, 0, 1), clock_ns, 0, true, alone);
  REQUIRE(loop.await(stop, kNothing));
  loop.done({});
  const u64 before = clock_ns;
  CHECK_FALSE(loop.await(stop, [&](u64) {
    stop = true;
    return true;
  }));
  CHECK(clock_ns < before + kSecond);
  CHECK_FALSE(loop.await(stop, kNothing));
}

TEST_CASE("what a stall at the end kept from beginning came all the same, and the thread is late by the oldest of it",
          "[arrivals]") {
  std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, 100 * kMs, false, alone);
  for (u64 i = 0; i < 78; ++i) {
    REQUIRE(loop.await(stop, kNothing));
    loop.done({});
  }
  clock_ns += 30 * kMs;  // the thread has read the clock, and then others have its processor until the phase is over
  stop = true;
  CHECK_FALSE(loop.await(stop, kNothing));
  CHECK(loop.begun() == 78);
  CHECK(loop.came(100 * kMs, 1000) == 100);
  CHECK(loop.lag().at_end == 22 * kMs);
}

TEST_CASE(
    "a loop all of whose operations have begun is as late as the last of them, and more than it may look at is not "
    "counted",
    "[arrivals]") {
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, 0, false, alone);
  clock_ns += 5 * kMs;
  REQUIRE(loop.await(stop, kNothing));
  loop.done({});
  CHECK(loop.lag().at_end < kMs);  // it has looked at the clock as it began
  clock_ns += 5 * kMs;
  loop.done({});
  REQUIRE(loop.await(stop, kNothing));
  CHECK(loop.lag().at_end > 3 * kMs);
  CHECK_FALSE(loop.came(100 * kMs, 97));
  CHECK(loop.lag().at_end == 98 * kMs);
}

TEST_CASE("of calls that are sampled response times are too, and the clock is looked at for the others", "[arrivals]") {
  Latencies latencies(10, 1, alone.clock());
  const std::atomic<bool> stop{false};
  OpenLoop loop(arrivals_of(Rate::parse("1000"), 1, 0, 1), clock_ns, kSecond, false, alone);
  for (u64 i = 1; loop.await(stop, kNothing); ++i) {
    latencies.arrived(loop.due(), loop.now());
    if (latencies.untimed() != 0) {
      latencies.skip(1);
    } else {
      latencies.time(OpKind::kUpdate, NoCounters(), [] { clock_ns += 20'000; });
    }
    CHECK(latencies.ended().has_value() == (i % 10 == 0));
    loop.done(latencies.ended());
  }
  CHECK(latencies.kinds()[static_cast<std::size_t>(OpKind::kUpdate)].response.count() == 100);
}

}  // namespace
}  // namespace latchlab
