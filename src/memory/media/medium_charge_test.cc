#include "src/memory/media/medium_charge.h"

#include <array>

#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// A machine whose time passes only while it waits, and whose processor another program wants: it has a slice for each
/// yield.
struct Waiting : Native {
  static constexpr u64 kSlice = 4'000'000;
  static inline u64 clock = 0, yields = 0;
  static u64 now() { return clock; }
  static void pause() { clock += 1; }
  static void yield() {
    clock += kSlice;
    ++yields;
  }
};
static_assert(Machine<Waiting>);

/// Returns the time that a transfer takes which begins now.
u64 time_of(MediumCharge<Waiting>& charge, Access access, u64 bytes) {
  const u64 began = Waiting::now();
  charge.transfer(access, bytes, began);
  return Waiting::now() - began;
}

constexpr MediumSpeed kSpeed{.latency_ns = 300, .read_gbps = 4, .write_gbps = 2, .granule = 256};

TEST_CASE("a transfer takes its latency and its bytes over the bandwidth, in whole granules") {
  MediumCharge<Waiting> charge(kSpeed);
  CHECK(time_of(charge, Access::kRead, 4096) == 300 + 1024);
  CHECK(time_of(charge, Access::kWrite, 4096) == 300 + 2048);
  CHECK(time_of(charge, Access::kRead, 1) == 300 + 64);
  CHECK(time_of(charge, Access::kRead, 257) == 300 + 128);
}

TEST_CASE("the time of the copy itself counts, and a medium that is faster than this machine costs nothing more") {
  MediumCharge<Waiting> charge(kSpeed);
  const u64 began = Waiting::now();
  Waiting::clock += 1000;  // the copy
  charge.transfer(Access::kRead, 4096, began);
  CHECK(Waiting::now() - began == 300 + 1024);
  const u64 again = Waiting::now();
  Waiting::clock += 5000;
  charge.transfer(Access::kRead, 4096, again);
  CHECK(Waiting::now() - again == 5000);
}

TEST_CASE("transfers of several threads share the bandwidth, and their latencies overlap") {
  MediumCharge<Waiting> charge(kSpeed);
  // All begin at one moment. Each waits for those before it.
  const u64 began = Waiting::now();
  std::array<u64, 4> ends{};
  for (u64& end : ends) {
    charge.transfer(Access::kRead, 4096, began);
    end = Waiting::now() - began;
  }
  CHECK(ends == std::array<u64, 4>{1324, 2348, 3372, 4396});
  // A writer of as many bytes takes twice as much of the medium from a reader.
  const u64 later = Waiting::now();
  charge.transfer(Access::kWrite, 4096, later);
  charge.transfer(Access::kRead, 4096, later);
  CHECK(Waiting::now() - later == 2048 + 1024 + 300);
}

TEST_CASE("a medium that was idle owes nothing") {
  MediumCharge<Waiting> charge(kSpeed);
  (void)time_of(charge, Access::kRead, 1 << 20);
  Waiting::clock += 1'000'000;
  CHECK(time_of(charge, Access::kRead, 4096) == 1324);
}

TEST_CASE("a wait leaves the processor only if it is longer than the slices that others may have meanwhile") {
  MediumCharge<Waiting> slow({.latency_ns = 100'000, .read_gbps = 1, .write_gbps = 1, .granule = 4096});
  const u64 yields = Waiting::yields;
  CHECK(time_of(slow, Access::kRead, 64 << 10) == 165'536);
  CHECK(Waiting::yields == yields);
  CHECK(time_of(slow, Access::kWrite, 32'000'000) >= 32'100'000);
  CHECK(Waiting::yields > yields);
}

TEST_CASE("a wait ends early by the slack") {
  MediumCharge<Waiting> charge(kSpeed, 30);
  CHECK(time_of(charge, Access::kRead, 4096) == 300 + 1024 - 30);
  CHECK(MediumCharge<Waiting>::measured_slack() == 0);
}

}  // namespace
}  // namespace latchlab
