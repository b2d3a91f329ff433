#include "harness/commands/explain.h"

#include "src/arch/rtm_status.h"
#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Catch::Contains;

/// Returns the result of a million lookups under `rtm:20` by two threads, 100 ns each, without anything notable.
Json plain() {
  Json r;
  r["status"] = "ok";
  r["reason"] = "";
  r["config"] = {{"index", "art"},         {"sync", "rtm:20"},   {"threads", 2},    {"workload", "lookup"},
                 {"keys", "u64"},          {"dist", "uniform"},  {"records", 1000}, {"batch", 1},
                 {"alloc", "arena+touch"}, {"hugepages", "none"}};
  r["machine"] = {{"processors", 2}, {"damon", false}, {"numa_balancing", false}, {"thp", "madvise"}};
  r["placement"] = {{"processors", 2}, {"oversubscribed", false}};
  r["throughput"] = {{"operations", 1'000'000}, {"per_second", 20e6}, {"timed_share", .9}, {"jain", 1.0}};
  Json aborts;
  for (const auto name : kWords<AbortCause>) aborts[std::string(name)] = 0;
  r["sync"] = {{"options", {{"restarts", "20"}, {"respec", "1"}}},
               {"counters",
                {{"ops", 1'000'000},
                 {"begins", 1'000'000},
                 {"commits", 1'000'000},
                 {"fallbacks", 0},
                 {"wait_ns", 0},
                 {"retry_ns", 0},
                 {"hold_ns", 0},
                 {"commits_at_2", 0}}},
               {"aborts", aborts},
               {"fallback_rate", 0.0},
               {"restart_rate", nullptr}};
  r["memory"] = {{"page_bytes", 4096}, {"minor_faults", 0}};
  r["limits"] = {{"footprint_bytes", 1 << 20}, {"chase_ns", 10.0}, {"independent_ns", 5.0}, {"chase_ratio", 10.0}};
  r["health"] = {{"steal_share", 0.0}, {"load_before", 0.1}};
  return r;
}

std::string said(const Json& result) { return explained(result, Json()); }

TEST_CASE("explain begins with the cost of an operation, and leaves out everything that does not stand out") {
  CHECK(said(plain()) ==
        "art under rtm:20, 2 threads, lookup: 100 ns of processor time each, as long as 10 dependent cache "
        "lines of 10 ns.\nNothing stands out.\n");
}

TEST_CASE("explain reports no cost for a run without operations") {
  Json idle = plain();
  idle["throughput"]["per_second"] = 0.0;
  CHECK(said(idle) == "art under rtm:20: ok: no operation was done\n");
  CHECK_THROWS_WITH(explained(plain(), idle), "explain: the result to compare with has no throughput");
}

TEST_CASE("explain does not report missing numbers as zero") {
  Json r = plain();
  r["placement"]["processors"] = nullptr;
  CHECK_THAT(said(r), !Contains(" 0 ns"));
  r["throughput"]["operations"] = 0;
  r["memory"]["minor_faults"] = 5;
  CHECK_THAT(said(r), !Contains("inf"));
}

TEST_CASE("explain reports aborts by cause with advice") {
  Json r = plain();
  r["config"]["workload"] = "insert";
  r["config"]["alloc"] = "malloc";
  r["sync"]["aborts"]["zero"] = 21'000;
  r["sync"]["counters"]["retry_ns"] = 9'000'000;  // of the threads' 100 ms
  r["sync"]["counters"]["wait_ns"] = 1'000'000;
  r["sync"]["counters"]["hold_ns"] = 2'000'000;
  r["sync"]["counters"]["commits_at_2"] = 50'000;
  const std::string text = said(r);
  CHECK_THAT(
      text,
      Contains("11.0 % of the threads' time followed a first abort: 9.0 % trying again, 2.0 % with the lock; 1.0 % "
               "was waiting"));
  CHECK_THAT(text, Contains("2.1 % aborts an operation by zero: pages of new nodes were not touched before: "
                            "try --alloc=arena+touch"));
  CHECK_THAT(text, Contains("95.0 % of commits were at the first try"));
  CHECK_THAT(text, !Contains("conflict"));

  r["config"]["alloc"] = "arena+touch";
  CHECK_THAT(said(r), !Contains("--alloc"));
  CHECK_THAT(said(r), !Contains("Accessed"));
  r["machine"]["damon"] = true;
  CHECK_THAT(said(r), Contains("Accessed"));
  Json modelled = r;
  modelled["machine"]["modelled"] = {{"name", "haswell-ep"}};  // not the kernel under the model
  CHECK_THAT(said(modelled), !Contains("Accessed") && Contains("marks of NUMA balancing"));
  r["sync"]["counters"]["scouts"] = 1000;
  r["sync"]["counters"]["scout_repaired"] = 970;
  CHECK_THAT(said(r), Contains("of 1000 runs that touched the pages outside, 97.0 % let the next try commit"));
}

TEST_CASE("each cause of aborts has its own advice") {
  for (const auto& [cause, advice] :
       {std::pair{"conflict", "--sync=hybrid"}, std::pair{"capacity", "caches can watch"},
        std::pair{"lock_busy", "respec=1"}, std::pair{"arena", "pool ran empty"}, std::pair{"debug", "debugger"},
        std::pair{"nested", "inside the transaction"}, std::pair{"retry_only", "no reason"},
        std::pair{"explicit_other", "does not use"}}) {
    Json r = plain();
    CHECK_THAT(said(r), !Contains(advice));
    r["sync"]["aborts"][cause] = 1000;
    CHECK_THAT(said(r), Contains(advice));
  }
  Json r = plain();
  r["sync"]["aborts"]["capacity"] = 1000;
  CHECK_THAT(said(r), !Contains("--batch"));
  r["config"]["batch"] = 64;
  CHECK_THAT(said(r), Contains("try a smaller --batch"));
}

TEST_CASE("the most expensive observation comes first") {
  Json r = plain();
  r["sync"]["counters"]["retry_ns"] = 50'000'000;
  r["sync"]["aborts"]["conflict"] = 1000;
  r["sync"]["aborts"]["zero"] = 9000;
  r["health"]["steal_share"] = 0.02;
  const std::string text = said(r);
  CHECK(text.find("first abort") < text.find("by zero"));
  CHECK(text.find("by zero") < text.find("by conflict"));
  CHECK(text.find("by conflict") < text.find("The host took 2.0 %"));
}

TEST_CASE("explain reports locks taken, and separately those taken by choice") {
  Json r = plain();
  r["sync"]["fallback_rate"] = 0.3;
  r["sync"]["options"]["restarts"] = "0";
  r["sync"]["options"]["respec"] = "0";
  CHECK_THAT(
      said(r),
      Contains(
          "30.0 % of the operations that could be elided took the lock: 0 restarts are few, try rtm:20; respec=0"));
  r["sync"]["options"] = Json::object();
  r["sync"]["counters"]["direct_lock"] = 250'000;
  CHECK_THAT(
      said(r),
      Contains(
          "30.0 % of the operations that could be elided took the lock, 25.0 % by choice, because it was cheaper."));
}

TEST_CASE("explain reports conditions of machine and run that affect the numbers") {
  const auto after = [](const char* path, const Json& value) {
    Json r = plain();
    r[Json::json_pointer(path)] = value;
    return said(r);
  };
  CHECK_THAT(after("/placement/oversubscribed", true), Contains("2 threads shared 2 processors"));
  CHECK_THAT(after("/throughput/timed_share", .2), Contains("for 20.0 % of the wall time"));
  CHECK_THAT(after("/throughput/jain", .5), Contains("Jain's index is 0.500"));
  CHECK_THAT(after("/memory/minor_faults", 50'000), Contains("0.05 page faults an operation"));
  CHECK_THAT(after("/health/on_processor", .3), Contains("on a processor for 30.0 % of the time"));
  CHECK_THAT(after("/health/on_processor", .9), !Contains("on a processor"));
  CHECK_THAT(after("/health/load_before", 2.0), Contains("load average was 2.0 on 2 processors"));
  CHECK_THAT(after("/sync/restart_rate", .5), Contains("0.5 restarts an operation"));
  const std::string large = after("/limits/footprint_bytes", 1 << 30);
  CHECK_THAT(large, Contains("--hugepages=thp"));
  CHECK_THAT(large, !Contains("--batch=16"));  // independent lines are hardly cheaper here
  Json r = plain();
  r["limits"]["footprint_bytes"] = 1 << 30;
  r["limits"]["independent_ns"] = 1.0;
  CHECK_THAT(said(r), Contains("try --batch=16"));
  r["memory"]["page_bytes"] = 2 << 20;
  CHECK_THAT(said(r), !Contains("--hugepages"));
}

TEST_CASE("explain reports a collapse that begins in the phase, but not one that is over") {
  Json r = plain();
  r["sync"]["series"] = {{"fallbacks", {0.0, 0.0, .001, .1, .4, .5, .5, .5}}};
  CHECK_THAT(
      said(r),
      Contains("A collapse began: 0.0 % of the operations that could be elided fell back in the first quarter of the "
               "phase, 50.0 % in the last"));
  for (const auto& steady : {std::vector<double>{.5, .5, .5, .5}, {.5, .4, .1, 0}, {0, 0, 0, .001}, {0, .5, .5}}) {
    r["sync"]["series"]["fallbacks"] = steady;
    CHECK_THAT(said(r), !Contains("collapse"));
  }
  r["sync"]["series"]["fallbacks"] = {0.0, 0.0, 1.0, 1.0};
  CHECK_THAT(said(r), Contains("collapse"));
  r["sync"]["fallback_rate"] = 1.0;
  CHECK_THAT(said(r), Contains("collapse"));
  r["sync"]["counters"]["begins"] = 0;  // all operations took the lock
  CHECK_THAT(said(r), !Contains("collapse"));
}

TEST_CASE("explain reports the processor's events if they were counted") {
  Json r = plain();
  const auto event = [](const char* family, const char* name, double count) {
    return Json{{"family", family}, {"name", name}, {"count", {{"per_operation", count}}}};
  };
  r["pmu"] = {
      {"events", {event("core", "instructions", 250), {{"family", "core"}, {"name", "cycles"}, {"count", nullptr}}}},
      {"derived", Json::object()}};
  CHECK_THAT(said(r), Contains("Nothing stands out"));
  r["pmu"]["derived"] = {{"instructions_per_cycle", 2.5}, {"aborted_cycles", .009}};
  CHECK_THAT(said(r), Contains("- 250 instructions an operation, 2.5 a cycle.\n") && !Contains("that aborted"));
  r["pmu"]["derived"] = {{"instructions_per_cycle", .5}, {"aborted_cycles", .25}};
  r["pmu"]["events"].push_back(event("cache", "cache-misses", 1.5));
  r["pmu"]["events"].push_back(event("tlb", "dTLB-load-misses", .75));
  CHECK_THAT(said(r),
             Contains("25.0 % of the cycles were in transactions that aborted.\n- 250 instructions an operation, 0.5 a "
                      "cycle; 1.5 misses of the last cache; 0.75 misses of the TLB: it mostly waited for memory."));
}

TEST_CASE("explain reports a long tail, and the share of fallbacks in it") {
  Json r = plain();
  r["latency"] = {{"all", {{"percentiles", {{{"percent", 50.0}, {"ns", 400}}, {{"percent", 99.9}, {"ns", 3999}}}}}},
                  {"fell_back", nullptr}};
  CHECK_THAT(said(r), !Contains("in a thousand"));
  r["latency"]["all"]["percentiles"][1]["ns"] = 4000;
  CHECK_THAT(said(r), Contains("One call in a thousand took 4000 ns or more, the median 400 ns."));
  r["latency"]["fell_back"] = {
      {"percentiles", {{{"percent", 50.0}, {"ns", 2000}}, {{"percent", 99.9}, {"ns", 30'000}}}}};
  CHECK_THAT(said(r), Contains("the median 400 ns; of the calls that fell back, one in a thousand took 30.0 us."));
}

TEST_CASE("for an open loop explain reports the cost of a call, and how long operations waited for others") {
  Json r = plain();
  r["offer"] = {{"per_second", 1e6}};
  r["latency"] = {{"all", {{"mean_ns", 50.0}, {"percentiles", {{{"percent", 99.0}, {"ns", 400}}}}}},
                  {"response", {{"percentiles", {{{"percent", 99.0}, {"ns", 700}}}}}}};
  CHECK_THAT(said(r), Contains("lookup, at an offered load of 1.00 M a second: 50 ns of processor time each"));
  CHECK_THAT(said(r), !Contains("waited"));
  // Threads spin while they wait: neither the time nor the counters are the index's alone.
  r["pmu"] = {{"events", Json::array()}, {"derived", {{"instructions_per_cycle", .5}}}};
  CHECK_THAT(said(r),
             Contains(".5 a cycle, including those in which threads waited for operations.\n") && !Contains("memory"));
  r["latency"]["response"]["percentiles"][0]["ns"] = 50'000;
  CHECK_THAT(
      said(r),
      Contains("one in a hundred was done 50.0 us or more after it was due, while one call in a hundred took 400 ns."));
}

TEST_CASE("for an open loop without latencies the cost of an operation is unknown") {
  Json r = plain();
  r["offer"] = {{"per_second", 1e6}};
  r["latency"] = nullptr;
  r["throughput"]["seconds"] = 1.0;
  r["limits"]["chase_ratio"] = nullptr;
  CHECK_THAT(said(r),
             Catch::StartsWith("art under rtm:20, 2 threads, lookup, at an offered load of 1.00 M a second.\n"));
  r["sync"]["counters"]["hold_ns"] = 200'000'000;  // of two seconds: two processors for one second
  CHECK_THAT(said(r), Contains("10.0 % of the threads' time followed a first abort"));
  Json base = r;
  base["config"]["sync"] = "none";
  CHECK_THROWS_WITH(explained(r, base),
                    "explain: in an open loop the time of an operation is unknown without --latency");
  base["config"]["slo"] = "p99:50us";
  CHECK_THROWS_WITH(explained(r, base), "explain: the results differ in slo:  and p99:50us; only sync may");
}

TEST_CASE("the difference to another policy is split into measured parts, which add up") {
  Json base = plain();
  base["config"]["sync"] = "none";
  base["throughput"]["per_second"] = 40e6;
  base["sync"]["aborts"] = nullptr;
  base["sync"]["counters"] = nullptr;
  Json r = plain();
  r["sync"]["aborts"]["zero"] = 3000;
  r["sync"]["aborts"]["conflict"] = 1000;
  r["sync"]["counters"]["retry_ns"] = 8'000'000;
  r["sync"]["counters"]["hold_ns"] = 4'000'000;
  const std::string text = explained(r, base);
  CHECK_THAT(text, Contains("none takes 50 ns: this is 2 times that, 50 ns more."));
  CHECK_THAT(text, Contains("6.00 ns  page repair"));
  CHECK_THAT(text, Contains("2.00 ns  trying again for other reasons"));
  CHECK_THAT(text, Contains("4.00 ns  with the lock"));
  CHECK_THAT(text, Contains("38.00 ns  the rest: transactions themselves"));
  r["limits"]["transaction_ns"] = 20.0;
  r["sync"]["counters"]["commits_at_2"] = 250'000;  // already part of trying again
  CHECK_THAT(explained(r, base), Contains("15.00 ns  transactions themselves: an empty one took 20 ns"));
  CHECK_THAT(explained(r, base), Contains("23.00 ns  the rest, above all lost overlap"));
  CHECK_THAT(explained(base, r), Contains("rtm:20 takes 100 ns: this is 0.5 times that, 50 ns less."));

  base["config"]["records"] = 7;
  CHECK_THROWS_WITH(explained(r, base), "explain: the results differ in records: 1000 and 7; only sync may");
  base["config"]["records"] = 1000;
  base["config"]["latency_every"] = 1;  // the clock's time would count as the policy's
  CHECK_THROWS_WITH(explained(r, base), "explain: the results differ in latency_every: 0 and 1; only sync may");
}

TEST_CASE("explain compares a result with an older one that lacks some options") {
  Json older = plain(), r = plain();
  older["config"]["sync"] = "none";
  r["config"]["value_size"] = 8;
  CHECK_THAT(explained(r, older), Contains("none takes 100 ns"));
  r["config"]["value_size"] = 64;
  CHECK_THROWS_WITH(explained(r, older), "explain: the results differ in value_size: 64 and 8; only sync may");
}

TEST_CASE("explain says first if a result is degraded, invalid or failed") {
  Json r = plain();
  r["status"] = "degraded";
  r["reason"] = "no transactions";
  r["sync"]["fallback_rate"] = 1.0;
  r["sync"]["counters"]["begins"] = 0;
  r["sync"]["aborts"] = nullptr;
  CHECK_THAT(said(r), Contains("not of the run that was asked for: no transactions"));
  CHECK_THAT(said(r), !Contains("took the lock"));
  r["sync"]["counters"]["direct_lock"] = 1'000'000;
  CHECK_THAT(said(r), Contains("took the lock, 100.0 % by choice"));
  r["status"] = "invalid";
  CHECK_THAT(said(r), Contains("Invalid: no transactions. Its numbers mean nothing."));
  r["status"] = "skipped";
  r["throughput"] = nullptr;
  CHECK(said(r) == "art under rtm:20: skipped: no transactions\n");
}

TEST_CASE("explain says first, and only once, that a result is noisy") {
  Json r = plain();
  r["status"] = "noisy";
  r["reason"] = "others had it";
  r["health"]["on_processor"] = .47;
  CHECK_THAT(said(r), Contains("Noisy, so the numbers include other programs' effects: others had it\n"));
  CHECK_THAT(said(r), !Contains("on a processor"));
}

TEST_CASE("a result that is degraded by its index is explained like any other") {
  Json r = plain();
  r["status"] = "degraded";
  r["reason"] = "no such instructions";
  r["sync"]["aborts"]["conflict"] = 200'000;
  r["sync"]["fallback_rate"] = 0.1;
  r["sync"]["series"] = {{"fallbacks", {0.0, 0.0, 0.2, 0.2}}};
  const std::string text = said(r);
  CHECK_THAT(text, Contains("not of the run that was asked for: no such instructions"));
  CHECK_THAT(text, Contains("by conflict"));
  CHECK_THAT(text, Contains("10.0 % of the operations that could be elided took the lock"));
  CHECK_THAT(text, Contains("A collapse began"));
}

}  // namespace
}  // namespace latchlab
