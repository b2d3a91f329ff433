#include "harness/trial/offered_load.h"

#include <atomic>
#include <memory>
#include <vector>

#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kMillisecond = 1'000'000;

testing::VirtualTeam offering(0);  // the test advances its time
u64& offered_at = offering.outside();
const auto kNextIsDue = [](u64 left) {
  offered_at += left;
  return true;
};

/// Returns the workers of an open loop of 100 ms at 2000 operations a second in all. Each thread does `operations` of
/// its 100 and leaves.
std::vector<Worker> workers_that_did(const std::vector<u64>& operations, u64 length_ns = 100 * kMillisecond) {
  std::vector<Worker> workers(operations.size());
  std::atomic<bool> stop{false};
  for (u32 t = 0; t < workers.size(); ++t) {
    offered_at = 0;
    workers[t].share = {.part = 1, .whole = operations.size()};
    workers[t].loop = std::make_unique<OpenLoop>(
        arrivals_of(Rate::parse("2000"), 1, t, static_cast<u32>(operations.size())), 0, length_ns, false, offering);
    for (u64 i = 0; i < operations[t]; ++i) {
      REQUIRE(workers[t].loop->await(stop, kNextIsDue));
      workers[t].loop->done({});
    }
  }
  stop = true;
  for (Worker& worker : workers) CHECK_FALSE(worker.loop->await(stop, kNextIsDue));
  return workers;
}

TEST_CASE("operations that a thread had not begun at the end of an open loop count as arrived and late", "[arrivals]") {
  std::vector<Worker> stalled = workers_that_did({100, 78});
  const OfferedLoad offer = offer_of(stalled, Rate::parse("2000"), .1, 100 * kMillisecond);
  CHECK(*offer.arrivals == 200);
  CHECK(offer.per_second == Approx(2000));
  CHECK(offer.lag.at_end == 21'500'000);  // the second thread's 79th operation was due after 78.5 ms
  CHECK(offer.late);
  std::vector<Worker> served = workers_that_did({100, 95});
  CHECK_FALSE(offer_of(served, Rate::parse("2000"), .1, 100 * kMillisecond).late);
}

TEST_CASE("operations that come after the end, while a thread has yet to leave, do not count", "[arrivals]") {
  std::vector<Worker> workers = workers_that_did({100, 100});
  const OfferedLoad offer = offer_of(workers, Rate::parse("2000"), .125, 100 * kMillisecond);
  CHECK(*offer.arrivals == 200);
  CHECK(offer.per_second == Approx(1600));  // over the same seconds as the throughput
  CHECK(end_of_offer(.125, 100 * kMillisecond) == 100 * kMillisecond);
  CHECK(end_of_offer(.09, 100 * kMillisecond) == 90 * kMillisecond);  // the phase was cut short
  CHECK(offer.lag.at_end == 0);
  CHECK_FALSE(offer.late);
  // Without an end by time the offer lasts as long as the phase.
  std::vector<Worker> endless = workers_that_did({100, 100}, 0);
  CHECK(*offer_of(endless, Rate::parse("2000"), .125, 0).arrivals == 250);
}

TEST_CASE("a thread that ran out of operations was offered only those that it did", "[arrivals]") {
  std::vector<Worker> workers = workers_that_did({100, 40});
  workers[1].until = 40 * kMillisecond;
  const OfferedLoad offer = offer_of(workers, Rate::parse("2000"), .1, 100 * kMillisecond);
  CHECK(*offer.arrivals == 140);
  CHECK(offer.per_second == Approx(1400));
  CHECK_FALSE(offer.late);
}

}  // namespace
}  // namespace latchlab
