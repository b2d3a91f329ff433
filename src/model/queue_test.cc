#include "src/model/queue.h"

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

constexpr double kGbps = 8;
constexpr Ticks kService = 8 * kTicksPerNs;  // of a line

TEST_CASE("Model queues: an idle one does not wait, a busy one serves one line after the other") {
  Queue queue(kGbps);
  for (u64 i = 0; i < 100; ++i) {
    const Ticks wait = queue.take(1000);
    CHECK(wait <= i * kService);
    CHECK(wait + kService >= i * kService);
  }
}

TEST_CASE("Model queues: a slow one spreads a service over several slots") {
  Queue queue(0.5);  // 128 ns a line
  CHECK(queue.take(0) == 0);
  CHECK(queue.take(0) == 128 * kTicksPerNs);
  CHECK(queue.take(0) == 256 * kTicksPerNs);
}

TEST_CASE("Model queues: a request is not held up by one that starts later") {
  Queue queue(kGbps);
  CHECK(queue.take(100'000) == 0);
  CHECK(queue.take(1000) == 0);
  const Ticks wait = queue.take(100'000);
  CHECK(wait > 0);
  CHECK(wait <= kService);
}

TEST_CASE("Model queues: bandwidth is exact at saturation, whatever the order of the requests") {
  for (const double gbps : {8.0, 34.0, 307.0}) {
    Queue queue(gbps);
    Rng rng(test_seed());
    const u64 lines = 20'000;
    const double ideal = static_cast<double>(lines) * kLineBytes / gbps * kTicksPerNs;
    Ticks last = 0;
    for (u64 i = 0; i < lines; ++i) {
      // Twice as fast as the queue, and out of order by up to 100 ns.
      const Ticks start =
          5000 + static_cast<Ticks>(static_cast<double>(i) * ideal / static_cast<double>(lines) / 2) + rng.below(1600);
      last = std::max(last, start + queue.take(start));
    }
    CHECK(static_cast<double>(last - 5000) == Approx(ideal).epsilon(0.02));
  }
}

TEST_CASE("Model queues: a request from before the ring does not wait") {
  Queue queue(kGbps);
  CHECK(queue.take(100) == 0);
  CHECK(queue.take(u64{1} << 30) == 0);
  CHECK(queue.take(100) == 0);
}

}  // namespace
}  // namespace latchlab::model
