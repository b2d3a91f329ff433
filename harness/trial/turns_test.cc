#include "harness/trial/turns.h"

#include <thread>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("turns come in their order, whichever threads they are in") {
  Turns turns;
  turns.start();
  const std::atomic<bool> stop{false};
  std::vector<u32> order;
  std::vector<std::thread> threads;
  for (u32 t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (u32 turn = t; turn < 300; turn += 3) {
        if (!turns.await(turn, stop)) return;
        order.push_back(turn);   // by one thread at a time, or the thread sanitizer objects
        turns.end();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(order.size() == 300);
  for (u32 turn = 0; turn < 300; ++turn) CHECK(order[turn] == turn);
}

TEST_CASE("who waits for a turn that does not come hears that all is to stop") {
  Turns turns;
  turns.start();
  std::atomic<bool> stop{false};
  bool came = true;
  std::thread waiting([&] { came = turns.await(1, stop); });
  stop = true;
  waiting.join();
  CHECK_FALSE(came);
}

}  // namespace
}  // namespace latchlab
