#include "src/model/core.h"

#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

Parameters haswell() { return MachineFile::of(Spec::parse("haswell-ep")).parameters(); }

TEST_CASE("Model strands: a reference to another block waits for the loads before, one to the same block does not") {
  Strand strand(haswell(), false, 1);
  CHECK(strand.address_known(1, 100).start == 100);
  strand.loads(1000, true);
  CHECK(strand.address_known(1, 110).start == 110);
  strand.loads(900, true);
  CHECK(strand.address_known(2, 120).start == 1000);
  CHECK(strand.address_known(0, 120).start == 1000);
  CHECK(strand.address_known(0, 120).start == 1000);
}

TEST_CASE("Model strands: same_block is the share of the wait that is saved") {
  Parameters p = haswell();
  p.core.same_block = 0.25;
  Strand strand(p, false, 1);
  CHECK(strand.address_known(1, 0).start == 0);
  strand.loads(1000, true);
  CHECK(strand.address_known(1, 200).start == 800);
}

TEST_CASE("Model strands: run_ahead is the share of a wait in which a thread goes on, while the reference waits") {
  Parameters p = haswell();
  p.core.run_ahead = 0.75;
  Strand strand(p, false, 1);
  CHECK(strand.address_known(1, 0).clock == 0);
  strand.loads(1000, true);
  const Strand::Issued issued = strand.address_known(2, 200);
  CHECK(issued.clock == 400);
  CHECK(issued.start == 1000);
  CHECK(strand.address_known(2, 400).start == 400);  // its block is known
}

TEST_CASE("Model strands: an operation does not depend on the loads of the one before, but a drain waits for them") {
  Parameters p = haswell();
  p.core.store_ns = 0;
  Strand strand(p, false, 1);
  CHECK(strand.address_known(1, 0).start == 0);
  strand.loads(1000, true);
  strand.next_operation();
  CHECK(strand.address_known(1, 10).start == 10);
  strand.stores(2000);
  CHECK(strand.drain(20) == 2000);
  CHECK(strand.drain(3000) == 3000);
  strand.loads(9000, true);
  strand.forget();
  CHECK(strand.drain(3000) == 3000);
}

TEST_CASE("Model strands: a store leaves after the one before it, and not before its line has come") {
  Parameters p = haswell();
  p.core.store_ns = 10;
  const Ticks each = ticks(10);
  Strand strand(p, false, 1);
  strand.stores(2000);
  strand.stores(100);
  CHECK(strand.drain(20) == 2000 + 2 * each);
  strand.stores(9000);
  CHECK(strand.drain(3000) == 9000 + each);
  strand.stores(10'000);
  strand.forget();
  strand.stores(0);
  CHECK(strand.drain(0) == each);
}

TEST_CASE("Model strands: a load holds up the instructions that are a window younger") {
  Parameters p = haswell();
  p.core.window = 100;
  for (const bool busy_sibling : {false, true}) {
    Strand strand(p, busy_sibling, 1);
    strand.loads(10'000, true);
    strand.next_operation();
    const u32 window = busy_sibling ? 50 : 100;
    CHECK(strand.issue(window - 1, 0) < 10'000);
    CHECK(strand.issue(1, 0) >= 10'000);
  }
}

TEST_CASE("Model strands: a hit in L1 does not hold up the window") {
  Strand strand(haswell(), false, 1);
  strand.loads(100'000, false);
  CHECK(strand.issue(1000, 0) < 100'000);
}

TEST_CASE("Model strands: the clock follows the active cores, and a busy sibling slows down the issue") {
  Parameters p = haswell();
  p.core.instructions_per_cycle = 2;
  const auto ns = [&](bool busy_sibling, u32 active) {
    return static_cast<double>(Strand(p, busy_sibling, active).issue(1e6, 0)) / kTicksPerNs;
  };
  CHECK(ns(false, 1) == Approx(1e6 / 2 / 3.6));
  CHECK(ns(false, 3) == Approx(1e6 / 2 / 3.4));
  CHECK(ns(false, 14) == Approx(1e6 / 2 / 3.1));
  CHECK(ns(true, 14) == Approx(1e6 / 2 / 3.1 * p.core.smt_issue));
}

TEST_CASE("Model strands: parts of ticks add up") {
  Parameters p = haswell();
  p.core.instructions_per_cycle = 16;
  p.clock.ghz_by_active = {4};
  Strand strand(p, false, 1);
  Ticks clock = 0;
  for (u32 i = 0; i < 1600; ++i) clock = strand.issue(1, clock);
  CHECK(clock == 25 * kTicksPerNs);
}

Arrival arrival(u64 line, Ticks at) {
  Arrival made = at;
  made.line = line;
  return made;
}

TEST_CASE("Model fill buffers: a miss waits for a free one, and knows when a line comes") {
  FillBuffers buffers(2);
  CHECK(buffers.free_from(10) == 10);
  buffers.take(arrival(1, 100));
  CHECK(buffers.free_from(10) == 10);
  buffers.take(arrival(2, 200));
  CHECK(buffers.free_from(10) == 100);
  buffers.take(arrival(3, 300));
  CHECK(buffers.free_from(10) == 200);
  REQUIRE(buffers.arrival_of(1) != nullptr);
  CHECK(buffers.arrival_of(1)->at == 100);
  REQUIRE(buffers.arrival_of(3) != nullptr);
  CHECK(buffers.arrival_of(3)->at == 300);
  CHECK(buffers.arrival_of(4) == nullptr);
}

}  // namespace
}  // namespace latchlab::model
