#include "harness/trial/meter.h"

#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Rates = std::vector<double>;

TEST_CASE("an interval has the operations, aborts and fallbacks since the previous sample") {
  Meter meter;
  for (int phase = 0; phase < 2; ++phase) {  // the second phase starts at zero
    meter.start(2);
    meter.add(0, 100, {.elidable = 50, .fallbacks = 5, .aborts = 8, .restarts = 0});
    meter.add(1, 300, {.elidable = 50, .fallbacks = 0, .aborts = 32, .restarts = 2});
    meter.sample(2);
    meter.sample(2);  // no time counted since: no interval
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

TEST_CASE("an interval without operations is joined with the next one that has some") {
  Meter meter;
  meter.start(1);
  meter.add(0, 0, {.elidable = 0, .fallbacks = 0, .aborts = 3, .restarts = 0});  // in an operation that is not done yet
  meter.sample(1);
  meter.add(0, 10, {.elidable = 0, .fallbacks = 0, .aborts = 1, .restarts = 5});  // none of these could be elided
  meter.sample(2);
  meter.add(0, 10, {.elidable = 4, .fallbacks = 1, .aborts = 0, .restarts = 0});
  meter.sample(3);
  meter.sample(4);  // no later interval to join this one with
  CHECK(meter.throughput(4).series == std::vector<double>{0, 10, 10, 0});
  CHECK(meter.contention().aborts == Rates{.4, .4, 0});
  CHECK(meter.contention().restarts == Rates{.5, .5, 0});
  CHECK(meter.contention().fallbacks == Rates{.25, .25, .25});
}

}  // namespace
}  // namespace latchlab
