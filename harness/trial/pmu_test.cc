// Events of the measured phase: only those of operations count.
#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "harness/host/pmu_events.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::run_on_threads;
using testing::small;
using toy::Toy;

/// Returns the total of the event `name`. Returns null, with a warning, if this system does not let the test count it.
const PmuTotal* counted(const TrialResult& result, std::string_view name) {
  REQUIRE(result.pmu);
  const auto event = std::ranges::find(result.pmu->events, name, &PmuResult::Event::name);
  REQUIRE(event != result.pmu->events.end());
  if (event->total) return &*event->total;
  WARN(name << ": " << event->total.reason);
  return nullptr;
}

/// A toy in which every find causes one page fault.
class Faulting : public Toy<u64> {
 public:
  using Toy<u64>::Toy;
  static constexpr std::size_t kPage = 4096;
  struct ThreadState : Toy<u64>::ThreadState {
    alignas(kPage) char page[kPage];
  };
  ThreadState join() { return {}; }

  std::optional<u64> find(ThreadState& me, u64 key) {
    (void)madvise(me.page, kPage, MADV_DONTNEED);
    *static_cast<volatile char*>(me.page) = 1;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("page faults of operations are counted on all threads, and those of making requests are not", "[pmu]") {
  Config config = small("lookup");
  config.warmup_ns = 0;  // so that threads make their first requests, 48 pages of them, in the measured phase
  config.time_ns = 0;
  config.ops = 40'000;
  const TrialResult result = run_on_threads<Faulting>(config);
  REQUIRE(result.throughput->operations == config.ops);
  const PmuTotal* faults = counted(result, "page-faults");
  if (faults == nullptr) return;
  CHECK(faults->raw >= config.ops);
  if constexpr (!kSanitized) CHECK(faults->raw < config.ops + 2 * 48);  // sanitizers touch pages of their own
  CHECK(faults->scaled == static_cast<double>(faults->raw));            // events do not share counters
  CHECK(faults->per_operation == static_cast<double>(faults->raw) / static_cast<double>(config.ops));
  CHECK(faults->enabled_ns > 0);
  CHECK(faults->running_ns == faults->enabled_ns);
}

TEST_CASE("events of operations are counted on threads that share processors too", "[pmu]") {
  Config config = small("lookup");
  config.threads = 5;
  const Topology topology = Topology::discover();
  const auto here = std::ranges::find(topology.processors, true, &Processor::allowed);
  config.pin = {.kind = Pin::Kind::kList, .numbers = {here->os}, .text = "one"};
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 20'000;
  const TrialResult result = run_on_threads<Faulting>(config);
  REQUIRE(*result.placement.oversubscribed);
  const PmuTotal* faults = counted(result, "page-faults");
  if (faults == nullptr) return;
  CHECK(faults->raw >= config.ops);
  if constexpr (!kSanitized) CHECK(faults->raw < config.ops + 5 * 48);
}

TEST_CASE("with --pmu=off no event is counted, and the result says so", "[pmu]") {
  Config config = small("lookup");
  config.pmu = "off";
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 20'000;
  const TrialResult result = run_on_threads<Toy<u64>>(config);
  CHECK_FALSE(result.pmu);
  CHECK(result.pmu.reason == "--pmu=off");
}

TEST_CASE("every event that was asked for is in the result, with a count or a reason", "[pmu]") {
  Config config = small("lookup");
  config.pmu = "tsx,energy,core";
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 20'000;
  const TrialResult result = run_on_threads<Toy<u64>>(config);
  REQUIRE(result.pmu);
  CHECK(result.pmu->events.size() == pmu_events(config.pmu).size());
  for (const PmuResult::Event& event : result.pmu->events) {
    INFO(event.name);
    CHECK((event.total ? event.total->running_ns > 0 : event.total.reason.size() > 10));
  }
}

}  // namespace
}  // namespace latchlab
