#include "src/machine/race_finder.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "src/arch/leaks.h"

namespace latchlab {

namespace {

std::optional<u64> seed_of_environment() {
  const char* const text = std::getenv("LATCHLAB_SEED");
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  const u64 seed = std::strtoull(text, &end, 0);
  if (*end) throw std::invalid_argument("LATCHLAB_SEED=" + std::string(text) + " must be a whole number");
  return seed;
}

/// Runs one schedule and adds to the report. Returns the failure, or "".
std::string run_schedule(const race_detail::Scenario& scenario, const RaceOptions& options, u64 seed,
                         RaceReport& report) {
  World& world = World::get();
  world.reset();
  void* const block = world.allocate(scenario.bytes + scenario.alignment);
  if (!block) throw std::bad_alloc();
  void* at = block;
  std::size_t space = scenario.bytes + scenario.alignment;
  std::align(scenario.alignment, scenario.bytes, at, space);
  scenario.construct(at);

  std::unique_ptr<Costs> costs;
  if (seed % 2 == 0) {
    costs = std::make_unique<RandomCosts>(seed);
  } else {
    costs = std::make_unique<PriorityCosts>(seed, options.fibers + world.servers());
  }
  const auto outcome = world.run(options.fibers, *costs, options.event_limit, [&](u32 id) {
    if (options.abort_rate > 0) {
      const auto injected = Simulated::inject(
          AbortInjection::random(seed * World::kMaxFibers + id, options.abort_rate, options.abort_statuses));
      scenario.fiber(at, id);
    } else {
      scenario.fiber(at, id);
    }
  });
  report.events += outcome.events;
  report.switches += outcome.switches;
  report.aborts += outcome.aborts;
  report.trace = (report.trace ^ outcome.trace) * 0x9e3779b97f4a7c15u + 1;
  if (!outcome.failure.empty()) return outcome.failure;

  std::string verdict = scenario.check(at);
  if (std::string failure = world.take_outside_failure(); !failure.empty()) return failure;
  if (!verdict.empty()) return verdict;
  scenario.destroy(at);
  world.deallocate(block, scenario.bytes + scenario.alignment);
  if (std::string failure = world.take_outside_failure(); !failure.empty()) return failure;
  const SimulatedMemory& memory = world.memory();
  if (memory.live_blocks() > 0) {
    return "leak: " + std::to_string(memory.live_blocks()) + " blocks, the oldest " + memory.describe_a_live_block();
  }
  return {};
}

}  // namespace

std::string RaceReport::str() const {
  char line[160];
  if (failures == 0) {
    std::snprintf(line, sizeof line, "%llu schedules, %llu events, %llu aborts, %.0f schedules/s, nothing found",
                  static_cast<unsigned long long>(schedules), static_cast<unsigned long long>(events),
                  static_cast<unsigned long long>(aborts), schedules_per_second);
    return line;
  }
  std::snprintf(line, sizeof line, "%llu of %llu schedules fail, the first with LATCHLAB_SEED=%llu: ",
                static_cast<unsigned long long>(failures), static_cast<unsigned long long>(schedules),
                static_cast<unsigned long long>(failing_seed));
  return line + message;
}

RaceReport race_detail::find_races(const Scenario& scenario, RaceOptions options) {
  if (options.fibers < 1 || options.fibers > World::kMaxFibers) {
    throw std::invalid_argument("race finder: " + std::to_string(options.fibers) +
                                " fibers: the number must be from 1 to 64");
  }
  if (options.abort_rate > 0 && options.abort_statuses.empty()) {
    throw std::invalid_argument("race finder: an abort rate needs at least one status");
  }
  // A failed schedule abandons its fibers, and with them the blocks that their stacks own.
  const IgnoreLeaks abandoned;
  const std::optional<u64> replayed = seed_of_environment();
  options.seed = replayed.value_or(options.seed);
  RaceReport report;
  const auto began = std::chrono::steady_clock::now();
  for (u64 seed = options.seed; seed != options.seed + options.schedules; ++seed) {
    std::string failure = run_schedule(scenario, options, seed, report);
    ++report.schedules;
    if (failure.empty()) continue;
    World::get().forget_servers();
    if (report.failures++ == 0) {
      report.failing_seed = seed;
      report.message = std::move(failure);
      report.history = World::get().recent_events();
    }
    if (options.stop_at_failure) break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  report.schedules_per_second = static_cast<double>(report.schedules) / took.count();
  if (report.failures > 0) {
    std::fprintf(stderr, "race finder: %s\n%s", report.str().c_str(), replayed ? report.history.c_str() : "");
  }
  return report;
}

}  // namespace latchlab
