#include "harness/meter.h"

#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("an interval has the operations, and the trouble, that are new in it") {
  Meter meter;
  for (int phase = 0; phase < 2; ++phase) {   // the second starts from nothing
    meter.start(2);
    meter.add(0, 100);
    meter.add(1, 300);
    meter.meet(0, {.aborts = 8, .fallbacks = 4, .restarts = 0});
    meter.meet(1, {.aborts = 32, .fallbacks = 0, .restarts = 2});
    meter.sample(2);
    meter.sample(2);   // nothing counted since: no interval
    meter.add(0, 100);
    meter.meet(0, {.aborts = 8, .fallbacks = 14, .restarts = 0});
    meter.sample(3);
    CHECK(meter.throughput(3).series == std::vector<double>{200, 100});
    CHECK(meter.troubles().aborts == std::vector<double>{.1, 0});
    CHECK(meter.troubles().fallbacks == std::vector<double>{.01, .1});
    CHECK(meter.troubles().restarts == std::vector<double>{.005, 0});
  }
}

}  // namespace
}  // namespace latchlab
