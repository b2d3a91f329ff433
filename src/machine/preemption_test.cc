#include "src/machine/preemption.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("Preemption: a loop without calls is interrupted as often as it asked for", "[no-tsan]") {
  Preemption preemption(test_seed());
  CHECK(preemption.count() == 0);
  for (u64 wanted = 1; wanted <= 10; ++wanted) {
    preemption.arm();
    while (preemption.count() < wanted) {}
    CHECK(preemption.count() == wanted);
  }
}

}  // namespace
}  // namespace latchlab
