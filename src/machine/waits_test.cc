// The three ways of waiting, on threads of the system. The parking lot itself is raced in sync/parked_race_test.cc.
#include "src/machine/waits.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Sets the way of waiting for a scope.
class By {
 public:
  explicit By(WaitBy way, bool watches = false) { Waits::set(way, watches); }
  ~By() { Waits::set(WaitBy::kYield, false); }
  By(const By&) = delete;
  By& operator=(const By&) = delete;
};

/// Returns true if the kernel lets a thread of this process sleep now.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state == "S";
}

struct Waited {
  WaitCounts counts;
  u64 value = 0;
};

/// Lets a thread wait until a cell is 7. Stores 5 before, when `ready(looks, thread)` says that the wait is as long as
/// it shall be, and wakes it in vain.
template <class Ready>
Waited wait_for_seven(const Ready& ready) {
  Native::Atomic<u64> cell;
  std::atomic<u64> looks{0};
  std::atomic<pid_t> id{0};
  Waited out;
  std::thread thread([&] {
    id = gettid();
    const WaitCounts before = Waits::of_this_thread();
    out.value = Native::wait_until(cell, [&](u64 value) {
      ++looks;
      return value == 7;
    });
    out.counts = Waits::of_this_thread();
    out.counts -= before;
  });
  const auto go_on_when_ready = [&](u64 value) {
    const u64 before = looks;
    while (id == 0 || !ready(looks - before, id)) std::this_thread::yield();
    cell.store(value, kRelease);
    Native::wake(&cell);
  };
  go_on_when_ready(5);
  go_on_when_ready(7);
  thread.join();
  return out;
}

constexpr auto kManyLooks = [](u64 looks, pid_t) { return looks > 2 * kLooksBeforeLongWait; };

TEST_CASE("a wait that ends at once counts nothing") {
  const By park(WaitBy::kPark);
  const Native::Atomic<u64> cell(3);
  const WaitCounts before = Waits::of_this_thread();
  CHECK(Native::wait_until(cell, [](u64 value) { return value == 3; }) == 3);
  CHECK(Waits::of_this_thread().parks == before.parks);
}

TEST_CASE("a thread that yields counts its yields, and one that spins makes none") {
  {
    const By yield(WaitBy::kYield);
    const Waited waited = wait_for_seven(kManyLooks);
    CHECK(waited.value == 7);
    CHECK(waited.counts.yields > kLooksBeforeLongWait);
    CHECK(waited.counts.parks == 0);
    CHECK(waited.counts.late_handovers == 0);  // nobody watches
  }
  const By spin(WaitBy::kSpin, true);
  const Waited waited = wait_for_seven(kManyLooks);
  CHECK(waited.value == 7);
  CHECK(waited.counts.yields == 0);
  CHECK(waited.counts.parks == 0);
}

TEST_CASE("a parked thread sleeps until its cell is woken, and sleeps again if its wait is not over") {
  const By park(WaitBy::kPark, true);
  const WaitCounts before = Waits::of_this_thread();
  // Two looks at least: the last one before the sleep is one that the wake did not cause.
  const Waited waited = wait_for_seven([](u64, pid_t thread) { return sleeps(thread); });
  CHECK(waited.value == 7);
  CHECK(waited.counts.parks >= 2);
  CHECK(waited.counts.yields == 0);
  CHECK(waited.counts.late_handovers == 1);
  CHECK(Waits::of_this_thread().wakes - before.wakes == 2);
}

TEST_CASE("a wake of a cell for which no thread is parked calls no kernel") {
  const By park(WaitBy::kPark);
  const WaitCounts before = Waits::of_this_thread();
  const u64 cell = 0;
  Native::wake(&cell);
  CHECK(Waits::of_this_thread().wakes == before.wakes);
}

TEST_CASE("a yield outside waits counts, unless threads spin") {
  const WaitCounts before = Waits::of_this_thread();
  Native::yield();
  CHECK(Waits::of_this_thread().yields == before.yields + 1);
  const By spin(WaitBy::kSpin);
  Native::yield();
  CHECK(Waits::of_this_thread().yields == before.yields + 1);
}

TEST_CASE("context switches of a thread are counted, the voluntary ones apart") {
  const Switches before = switches_of_this_thread();
  usleep(1);
  const Switches after = switches_of_this_thread();
  CHECK(after.voluntary > before.voluntary);
  CHECK(after.involuntary >= before.involuntary);
}

}  // namespace
}  // namespace latchlab
