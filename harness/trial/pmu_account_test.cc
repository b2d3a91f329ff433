#include "harness/trial/pmu_account.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "harness/host/pmu_access.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Counts = std::vector<PmuCount>;

PmuEvent event(std::string family, std::string name) {
  PmuEvent out;
  out.family = std::move(family);
  out.here = out.name = std::move(name);
  out.of_packages = out.family == "energy";
  return out;
}

PmuCount count(u64 raw, u64 enabled_ns, u64 running_ns) {
  return {.raw = raw, .enabled_ns = enabled_ns, .running_ns = running_ns};
}
PmuCount failed(int error) { return {.error = error}; }

/// Returns the total of one event that these threads counted.
OrReason<PmuTotal> total(Counts threads, u64 operations = 100) {
  std::vector<Counts> all;
  for (const PmuCount& one : threads) all.push_back({one});
  return pmu_account({event("a", "a")}, all, {}, operations).events[0].total;
}

TEST_CASE("Each thread's count is scaled by its own times", "[pmu]") {
  const auto sum = total({count(400, 10, 4), count(300, 10, 10)});
  REQUIRE(sum);
  CHECK(sum->raw == 700);
  CHECK(sum->scaled == 1000 + 300);
  CHECK(sum->per_operation == 13);
  CHECK(sum->enabled_ns == 20);
  CHECK(sum->running_ns == 14);
  CHECK_FALSE(sum->user_only);
}

TEST_CASE("The count of a part is scaled by the part's own times, and is never below zero", "[pmu]") {
  // Counted for half of the time, then for all of it: the scaled count so far exceeds the final one.
  const Counts before{count(400, 10, 1)}, now{count(500, 20, 11)};
  CHECK(total(before)->scaled > total(now)->scaled);
  CHECK(total(counted_since(before, now))->scaled == 100);
  CHECK(total(counted_since({}, before))->scaled == 4000);
  CHECK_THAT(total(counted_since(before, {count(400, 20, 1)})).reason, Catch::StartsWith("never scheduled"));
  CHECK(counted_since(before, {failed(EIO)})[0].error == EIO);
}

TEST_CASE("An event that never had a counter on some thread is missing, not zero", "[pmu]") {
  CHECK_THAT(total({count(0, 10, 0)}).reason, Catch::StartsWith("never scheduled: "));
  CHECK_THAT(total({count(9, 10, 10), count(0, 10, 0)}).reason,
             Catch::StartsWith("never scheduled (on 1 of 2 threads): "));
  // A thread that ran nothing misses nothing.
  CHECK(total({count(9, 10, 10), count(0, 0, 0)})->scaled == 9);
  CHECK_FALSE(total({count(0, 0, 0)}));
  CHECK_FALSE(total({}));
}

TEST_CASE("An event that failed on one thread is missing as a whole", "[pmu]") {
  CHECK_THAT(total({failed(ENOENT)}).reason, Catch::StartsWith("ENOENT: "));
  const auto some = total({count(9, 10, 10), failed(EMFILE), count(9, 10, 10)});
  CHECK_THAT(some.reason, Catch::StartsWith("EMFILE: ") && Catch::EndsWith("(on 1 of 3 threads)"));
}

TEST_CASE("A ratio is present if both of its parts are", "[pmu]") {
  const std::vector<PmuEvent> events{
      event("core", "cycles"),  event("core", "instructions"), event("core", "branch-misses"), event("tsx", "cycles"),
      event("tsx", "cycles-t"), event("tsx", "cycles-ct"),     event("energy", "energy-pkg")};
  Counts thread{count(100, 10, 10),
                count(250, 10, 10),
                count(5, 10, 10),
                count(80, 10, 5),
                count(40, 10, 5),
                count(30, 10, 5),
                {}};
  Counts package{{}, {}, {}, {}, {}, {}, count(u64{3} << 32, 10, 10)};
  using Derived = std::vector<std::pair<std::string, double>>;
  CHECK(pmu_account(events, {thread}, {package, package}, 2).derived == Derived{{"instructions_per_cycle", 2.5},
                                                                                {"branch_misses_per_instruction", .02},
                                                                                {"transactional_cycles", .5},
                                                                                {"aborted_cycles", .125},
                                                                                {"package_joules", 6},
                                                                                {"package_joules_per_operation", 3}});
  thread[0] = thread[5] = failed(ENOENT);
  package[6] = failed(EACCES);
  CHECK(pmu_account(events, {thread}, {package}, 2).derived ==
        Derived{{"branch_misses_per_instruction", .02}, {"transactional_cycles", .5}});
  thread[1].raw = 0;
  CHECK(pmu_account(events, {thread}, {package}, 2).derived == Derived{{"transactional_cycles", .5}});
}

TEST_CASE("The reason for a missing event names the error and what to change", "[pmu]") {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("latchlab_pmu_account_" + std::to_string(::getpid()));
  fs::create_directories(root / "proc/sys/kernel");
  const auto why = [&](int error, const char* paranoid, const char* family = "core") {
    std::ofstream(root / "proc/sys/kernel/perf_event_paranoid") << paranoid << '\n';
    return why_not_counted(error, event(family, "e"), root.string()).text();
  };
  CHECK_THAT(why(EACCES, "3"),
             Catch::StartsWith("EACCES: not permitted; sysctl kernel.perf_event_paranoid=1 (it is 3)"));
  CHECK_THAT(why(EPERM, "2"), Catch::StartsWith("EPERM: not permitted; sysctl kernel.perf_event_paranoid=1 (it is 2)"));
  CHECK_THAT(why(EACCES, "1", "energy"), Catch::Contains("sysctl kernel.perf_event_paranoid=0 (it is 1)"));
  for (const char* enough : {"1", "0", "-1"}) {
    CHECK_THAT(why(EPERM, enough), !Catch::Contains("sysctl") && Catch::Contains("seccomp"));
  }
  CHECK_THAT(why(ENOENT, "1"), Catch::StartsWith("ENOENT: ") && Catch::Contains("virtual PMU"));
  CHECK_THAT(why(EMFILE, "1"), Catch::StartsWith("EMFILE: ") && Catch::Contains("ulimit -n"));
  CHECK_THAT(why(EIO, "1"), Catch::Contains("too few bytes"));
  CHECK_THAT(why(ENOSYS, "1"), Catch::StartsWith("ENOSYS: "));
  fs::remove_all(root);
  CHECK_THAT(why_not_counted(EACCES, event("core", "e"), root.string()).remedy, Catch::Contains("it is unknown"));
}

}  // namespace
}  // namespace latchlab
