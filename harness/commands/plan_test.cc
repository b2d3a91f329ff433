#include "harness/commands/plan.h"

#include <hwloc.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "harness/host/placement.h"
#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr const char* kHaswellEp = "pack:2 numa:2 core:7 pu:2";

Plan planned(ThreadsPer per, u32 threads, const Mem& mem = {}) {
  Plan run;
  run.config.threads = threads;
  run.config.threads_per = per;
  run.config.mem = mem;
  return run;
}

std::string plan_of(Plan run, const std::string& machine = kHaswellEp) {
  const Topology topology = Topology::synthetic(machine);
  run.seats = seat(topology, run.config);
  return plan_text({run}, topology);
}

TEST_CASE("a plan says where each thread would run") {
  const std::string plan = plan_of(planned(ThreadsPer::kCluster, 8));
  CHECK_THAT(plan,
             Catch::StartsWith("2 sockets, 4 NUMA nodes, 4 clusters, 28 cores, 56 processors (all allowed); a plan: "
                               "nothing runs\n"));
  CHECK_THAT(plan, Catch::Contains("\n  socket 0  node 0  cluster 0  threads 0-1 on processors 0,2\n"));
  CHECK_THAT(plan, Catch::Contains("\n  socket 1  node 3  cluster 3  threads 6-7 on processors 42,44\n"));
  CHECK_THAT(plan_of(planned(ThreadsPer::kRun, 1)), Catch::Contains("cluster 0  thread 0 on processor 0\n"));
  Plan shared = planned(ThreadsPer::kRun, 3);
  shared.config.pin = {.kind = Pin::Kind::kList, .numbers = {5}, .text = "list:5"};
  CHECK_THAT(plan_of(shared), Catch::Contains("threads 0-2 on processors 5,5,5\n"));
  CHECK_THAT(plan_of(shared), Catch::Contains("\n  3 threads share one processor\n"));
}

TEST_CASE("a plan says where the memory would come from, or why nothing would run") {
  using Kind = PagePlacement::Kind;
  const auto memory = [](Kind kind, std::vector<u32> nodes) {
    return plan_of(planned(ThreadsPer::kSocket, 2, {.kind = kind, .nodes = std::move(nodes), .text = "test"}));
  };
  CHECK_THAT(memory(Kind::kFirstTouch, {}),
             Catch::Contains("\n  memory of the index from nodes 0,2, each page on that of the "
                             "thread that touches it first, if it is not full\n"));
  CHECK_THAT(memory(Kind::kLocal, {}), Catch::Contains("from nodes 0,2, each page on that of the thread that asks"));
  CHECK_THAT(memory(Kind::kInterleave, {0, 1, 2, 3}), Catch::Contains("from nodes 0-3 in turn\n"));
  CHECK_THAT(memory(Kind::kBind, {3}), Catch::Contains("from node 3\n"));
  CHECK_THAT(plan_of(planned(ThreadsPer::kRun, 9), "pack:2 [numa] l3:2 core:3 pu:2"),
             Catch::Contains("node 1  cluster 2") && Catch::Contains("from nodes 0-1, each page"));
  Plan malloc = planned(ThreadsPer::kRun, 1);
  malloc.config.alloc = Alloc::kMalloc;
  CHECK_THAT(plan_of(malloc), Catch::Contains("memory of the threads from node 0"));
  Plan skipped = planned(ThreadsPer::kRun, 2);
  skipped.skip = "two writers";
  CHECK_THAT(plan_of(skipped), Catch::EndsWith("\n  skipped: two writers\n"));
}

TEST_CASE("a dry run lists the command lines of runs, those that are skipped, and the time") {
  RunCommand command;
  for (const char* words : {"--sync=none", "--keys=file:/tmp/it's a list"}) {
    command.runs.emplace_back();
    command.runs.back().words = {words};
    command.runs.back().config.records = 500'000;
    command.runs.back().config.time_ns = 1'500'000'000;
  }
  command.runs.emplace_back();
  command.runs.back().words = {"--threads=2"};
  command.runs.back().skip = "two writers";
  const DryRun timed = dry_run(command, "./harness");
  CHECK(timed.lines == "./harness --sync=none\n./harness '--keys=file:/tmp/it'\\''s a list'\n");
  CHECK(timed.remarks ==
        "skipped: ./harness --threads=2: two writers\n"
        "2 runs, about 4.0 s: --warmup, --time, and 1 s for every 1,000,000 records to load and check\n");
  command.out = "results";
  command.runs[0].config.time_ns = 0;
  command.runs.resize(1);
  const DryRun counted = dry_run(command, "harness");
  CHECK(counted.lines == "harness --sync=none --out=results\n");
  CHECK(counted.remarks ==
        "1 run, about 500 ms without the measured phase of 1, whose length is not --time: --warmup, and 1 s for every "
        "1,000,000 records to load and check\n");
}

TEST_CASE("a machine is read from a file that hwloc wrote, or from its description") {
  const std::string path = "/tmp/latchlab_plan_test_" + std::to_string(getpid());
  hwloc_topology_t topology = nullptr;
  REQUIRE(hwloc_topology_init(&topology) == 0);
  REQUIRE(hwloc_topology_set_synthetic(topology, kHaswellEp) == 0);
  REQUIRE(hwloc_topology_load(topology) == 0);
  REQUIRE(hwloc_topology_export_xml(topology, path.c_str(), 0) == 0);
  hwloc_topology_destroy(topology);
  const Topology from_file = Topology::read(path);
  CHECK_FALSE(from_file.this_system);
  CHECK(from_file.digest == Topology::synthetic(kHaswellEp).digest);
  CHECK(from_file.nodes[3].bytes > 0);
  CHECK(Topology::read(kHaswellEp).digest == from_file.digest);

  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fputs("<topology>", file);
  std::fclose(file);
  CHECK_THROWS_WITH(Topology::read(path), Catch::Contains("is not a topology that lstopo wrote as XML"));
  std::remove(path.c_str());
  CHECK_THROWS_WITH(Topology::read(path), Catch::Contains("neither a file that lstopo wrote nor a description"));
  CHECK_THROWS_WITH(Topology::read("pack:1000 numa:100 core:100 pu:4"),
                    Catch::EndsWith("has more than 8192 processors"));
  CHECK_THROWS_WITH(Topology::read("pack:18446744073709551615 pu:2"), Catch::EndsWith("has more than 8192 processors"));
  CHECK_THROWS_WITH(Topology::read("128 128"), Catch::EndsWith("has more than 8192 processors"));
  CHECK(Topology::read("pack:2 numa:2 core:7 pu:2").processors.size() == 56);
}

}  // namespace
}  // namespace latchlab
