#include "harness/trial/meter.h"

#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Rates = std::vector<double>;

TEST_CASE("an interval has the operations, and the contention, that are new in it") {
  Meter meter;
  for (int phase = 0; phase < 2; ++phase) {  // the second starts from nothing
    meter.start(2);
    meter.add(0, 100, {.elidable = 50, .fallbacks = 5, .aborts = 8, .restarts = 0});
    meter.add(1, 300, {.elidable = 50, .fallbacks = 0, .aborts = 32, .restarts = 2});
    meter.sample(2);
    meter.sample(2);  // nothing counted since: no interval
    meter.add(0, 50, {.elidable = 5, .fallbacks = 5, .aborts = 0, .restarts = 0});
    meter.add(0, 50, {.elidable = 5, .fallbacks = 5, .aborts = 0, .restarts = 0});
    meter.sample(3);
    CHECK(meter.operations() == 500);
    CHECK(meter.throughput(3).series == std::vector<double>{200, 100});
    CHECK(meter.contention().aborts == Rates{.1, 0});
    CHECK(meter.contention().fallbacks == Rates{.05, 1});
    CHECK(meter.contention().restarts == Rates{.005, 0});
  }
}

TEST_CASE("an interval with nothing to take a share of is joined with the next that has something") {
  Meter meter;
  meter.start(1);
  meter.add(0, 0, {.elidable = 0, .fallbacks = 0, .aborts = 3, .restarts = 0});  // in an operation that is not done
  meter.sample(1);
  meter.add(0, 10, {.elidable = 0, .fallbacks = 0, .aborts = 1, .restarts = 5});  // nothing to elide among these
  meter.sample(2);
  meter.add(0, 10, {.elidable = 4, .fallbacks = 1, .aborts = 0, .restarts = 0});
  meter.sample(3);
  meter.sample(4);  // nothing follows that could be joined with this one
  CHECK(meter.throughput(4).series == std::vector<double>{0, 10, 10, 0});
  CHECK(meter.contention().aborts == Rates{.4, .4, 0});
  CHECK(meter.contention().restarts == Rates{.5, .5, 0});
  CHECK(meter.contention().fallbacks == Rates{.25, .25, .25});
}

}  // namespace
}  // namespace latchlab
