// Tests of the share of time that threads had their processors.
#include "harness/host/on_processor.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/host/placement.h"
#include "harness/host/topology.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "sync/spin_lock.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;
using testing::run_on_threads;
using testing::small;

constexpr u64 kOneSecond = 1'000'000'000;
using ThreadTimes = std::vector<std::optional<ProcessorTime>>;

TEST_CASE("the share on a processor is the smallest share of any thread") {
  const OrReason<double> share =
      on_processor({ProcessorTime{.ran_ns = 9 * kOneSecond, .waited_ns = kOneSecond, .sleeps = 0},
                    ProcessorTime{.ran_ns = kOneSecond, .waited_ns = 3 * kOneSecond, .sleeps = 0}});
  REQUIRE(share);
  CHECK(*share == .25);
}

TEST_CASE("an unknown share on a processor is missing with its reason") {
  const ProcessorTime fine{.ran_ns = kOneSecond, .waited_ns = 0, .sleeps = 100};
  CHECK(on_processor({fine}));
  CHECK_THAT(on_processor({fine, std::nullopt}).reason, Contains("does not tell"));
  CHECK_THAT(on_processor({fine, ProcessorTime{}}).reason, Contains("did not run"));
  const ProcessorTime sleepy{.ran_ns = kOneSecond, .waited_ns = 0, .sleeps = 101};
  CHECK_THAT(on_processor({sleepy}).reason, Contains("slept 101 times"));
  CHECK_THAT(on_processor(ThreadTimes{}).reason, Contains("no threads"));
}

TEST_CASE("a thread's wait is the second number of its schedstat") {
  const std::string root = "/tmp/latchlab_on_processor_test_" + std::to_string(::getpid());
  const std::string folder = root + "/proc/thread-self";
  std::filesystem::create_directories(folder);
  const auto waited = [&](const char* text) {
    std::ofstream(folder + "/schedstat") << text;
    return processor_time(root);
  };
  REQUIRE(waited("17 4711 3\n"));
  CHECK(waited("17 4711 3\n")->waited_ns == 4711);
  CHECK_FALSE(waited("17\n"));
  CHECK_FALSE(waited("17 x 3\n"));
  std::filesystem::remove_all(root);
  CHECK_FALSE(processor_time(root));
}

TEST_CASE("a noisy run ends with exit status 0, or with --strict with that of a degraded run") {
  const auto good = [](Status status) { return std::pair(is_good(status, false), is_good(status, true)); };
  for (const Status fine : {Status::kOk, Status::kSkipped}) CHECK(good(fine) == std::pair(true, true));
  for (const Status lenient : {Status::kNoisy, Status::kDegraded}) CHECK(good(lenient) == std::pair(true, false));
  for (const Status bad : {Status::kFailed, Status::kInvalid}) CHECK(good(bad) == std::pair(false, false));
}

/// Keeps a processor busy with three threads, so that a fourth thread gets a quarter of it.
class Busy {
 public:
  explicit Busy(u32 cpu) {
    for (std::thread& thread : threads_) {
      thread = std::thread([this, cpu] {
        (void)pin_this_thread(cpu);
        while (!over_.load(kRelaxed)) {}
      });
    }
  }
  ~Busy() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool> over_{false};  // loads are relaxed: it publishes nothing
  std::thread threads_[3];
};

TEST_CASE("a run on a processor that other programs use reports it", "[realtime]") {
  if (!processor_time()) return;  // this kernel does not tell
  Config config = small("lookup");
  config.threads = 1;
  config.time_ns = 300'000'000;  // many time slices of the scheduler
  const Busy busy(seat(Topology::discover(), config).cpus.front());
  const TrialResult result = run_on_threads<toy::Toy<u64>>(config);
  REQUIRE(result.health.on_processor);
  CHECK(*result.health.on_processor < kEnoughOnProcessor);
  CHECK(*result.health.on_processor > 0);
  CHECK(result.status == Status::kNoisy);
  CHECK_THAT(result.reason, Catch::StartsWith("a thread was on a processor for "));
}

/// An index whose lookups take 100 us of their thread's own time, and updates 2 ms. No thread sleeps in them: the toy's
/// lock is free for the one that has `turn_`.
struct Slow : toy::Toy<u64> {
  using toy::Toy<u64>::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    spin(100'000);
    const std::lock_guard lock(turn_);
    return toy::Toy<u64>::find(me, key);
  }
  bool update(ThreadState& me, u64 key, u64 value) {
    spin(2'000'000);
    const std::lock_guard lock(turn_);
    return toy::Toy<u64>::update(me, key, value);
  }

 private:
  static void spin(u64 ns) {
    const u64 end = *thread_time_ns() + ns;
    while (*thread_time_ns() < end) {}
  }

  SpinLock<Native> turn_;
};

TEST_CASE("waiting for other threads at the end of a phase does not count as a wait for a processor", "[realtime]") {
  if (!processor_time()) return;  // this kernel does not tell
  // In the second phase one thread works, and the other naps.
  const TemporaryFile file("both 4k lookup\none 256 mix:update=100\n");
  Config config = small("phases:" + file.path());
  config.records = 1000;
  config.warmup_ns = 0;
  config.time_ns = 0;
  // On a busy host threads may also sleep while a round begins, each time too often for a known share. If naps counted,
  // no run would have one: a nap is at least 50 sleeps.
  TrialResult result;
  for (int run = 0; run < 5 && !result.health.on_processor; ++run) {
    result = run_on_threads<Slow>(config);
    REQUIRE(result.throughput);
    if (*result.placement.oversubscribed) return;
  }
  CAPTURE(result.reason, result.health.on_processor.reason);
  CHECK(result.health.on_processor);
}

TEST_CASE("the share on a processor is unknown if there are more threads than processors", "[realtime]") {
  Config config = small("lookup");
  config.threads = 2 * Topology::discover().allowed_count();
  const TrialResult result = run_on_threads<toy::Toy<u64>>(config);
  CHECK_THAT(result.health.on_processor.reason, Contains("take turns"));
  CHECK(result.status == Status::kOk);
}

}  // namespace
}  // namespace latchlab
