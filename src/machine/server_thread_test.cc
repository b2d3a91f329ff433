// Tests of the server thread of the system's machines: it ends although nobody asks, sees what it waits for, and is not
// bound to its maker's processor.
#include "src/machine/server_thread.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr auto kNoWords = [](const auto&) {};

TEST_CASE("a server thread answers until it is to end, and ends while it waits") {
  std::atomic<u32> asked{0}, answered{0};
  u32 rounds = 0;
  {
    SystemServerThread* self = nullptr;
    std::atomic<bool> known{false};
    SystemServerThread server([&] {
      while (!known.load()) sched_yield();
      while (self->wait(kNoWords, [&] { return asked.load() != answered.load(); })) {
        ++rounds;
        answered.store(asked.load());
      }
    });
    self = &server;
    known.store(true);
    for (u32 i = 1; i <= 100; ++i) {
      asked.store(i);
      while (answered.load() != i) sched_yield();
    }
  }
  CHECK(rounds == 100);
}

TEST_CASE("a server thread may run on all processors of the process, whatever its maker is bound to") {
  cpu_set_t before, of_server, one;
  REQUIRE(sched_getaffinity(getpid(), sizeof before, &before) == 0);
  std::thread([&] {
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    SystemServerThread server([&] { sched_getaffinity(0, sizeof of_server, &of_server); });
  }).join();
  CHECK(CPU_EQUAL(&of_server, &before));
}

}  // namespace
}  // namespace latchlab
