#include "harness/host/topology.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include "harness/host/placement.h"
#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

constexpr const char* kHaswellEp = "pack:2 l3:1 core:14 pu:2";
constexpr const char* kClusterOnDie = "pack:2 [numa] l3:2 core:3 pu:2";
constexpr const char* kSubNuma = "pack:2 l3:1 numa:2 core:4 pu:2";

Config config_of(Pin::Kind kind, std::vector<u32> numbers, u32 threads, Smt smt = Smt::kAvoid) {
  Config config;
  config.pin = {.kind = kind, .numbers = std::move(numbers), .text = "test"};
  config.threads = threads;
  config.smt = smt;
  return config;
}

Seats seat(const Topology& topology, Pin::Kind kind, std::vector<u32> numbers, u32 threads, Smt smt = Smt::kAvoid) {
  return seat(topology, config_of(kind, std::move(numbers), threads, smt));
}

const Processor& processor(const Topology& topology, u32 os) {
  return *std::find_if(topology.processors.begin(), topology.processors.end(),
                       [&](const Processor& p) { return p.os == os; });
}

TEST_CASE("the running machine has processors, and its mask is respected") {
  const Topology topology = Topology::discover();
  CHECK(topology.processors.size() >= 1);
  CHECK(topology.allowed_count() >= 1);
  CHECK(topology.allowed_count() <= topology.processors.size());
  CHECK(topology.sockets >= 1);
  CHECK(topology.nodes.size() >= 1);
  CHECK(topology.digest.size() == 16);
  CHECK(topology.digest == Topology::discover().digest);
}

TEST_CASE("a synthetic machine has the described processors, and is not this machine") {
  const Topology topology = Topology::synthetic(kHaswellEp);
  CHECK(topology.sockets == 2);
  CHECK(topology.clusters == 2);
  CHECK(topology.cores == 28);
  CHECK(topology.processors.size() == 56);
  CHECK_FALSE(topology.this_system);
  CHECK(topology.describe() == "2 sockets, 1 NUMA node, 2 clusters, 28 cores, 56 processors (all allowed)");
  CHECK(topology.digest != Topology::synthetic(kClusterOnDie).digest);
  CHECK_THROWS_AS(Topology::synthetic("two sockets please"), InputError);

  const Topology clusters = Topology::synthetic(kClusterOnDie);
  CHECK(clusters.nodes.size() == 2);
  CHECK(clusters.clusters == 4);
  for (const Processor& p : clusters.processors) CHECK(p.node == p.socket);
}

TEST_CASE("a cluster shares a cache and a node, so a cache that spans several nodes has a cluster for each") {
  const Topology topology = Topology::synthetic(kSubNuma);
  CHECK(topology.nodes.size() == 4);
  CHECK(topology.clusters == 4);
  for (const Processor& p : topology.processors) {
    CHECK(p.cluster == p.node);
    CHECK(p.cluster / 2 == p.socket);
  }
  CHECK(Topology::synthetic("pack:3 core:2 pu:1").clusters == 3);
}

TEST_CASE("numbers fold into ranges") {
  CHECK(fold_numbers({}) == "");
  CHECK(fold_numbers({4}) == "4");
  CHECK(fold_numbers({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
}

TEST_CASE("compact fills a socket's cores before the next socket, and uses second hardware threads last") {
  const Topology topology = Topology::synthetic(kHaswellEp);
  const Seats seats = seat(topology, Pin::Kind::kCompact, {}, 56);
  CHECK(std::set<u32>(seats.cpus.begin(), seats.cpus.end()).size() == 56);
  CHECK(seats.processors == 56);
  CHECK_FALSE(seats.oversubscribed);
  CHECK_FALSE(seats.binds);
  for (u32 t = 0; t < 56; ++t) {
    const Processor& p = processor(topology, seats.cpus[t]);
    CHECK(p.smt == t / 28);
    CHECK(p.socket == t % 28 / 14);
  }
}

TEST_CASE("scatter alternates between sockets, then between clusters, then takes the next cores") {
  const Topology topology = Topology::synthetic(kClusterOnDie);
  const Seats seats = seat(topology, Pin::Kind::kScatter, {}, 24);
  CHECK(std::set<u32>(seats.cpus.begin(), seats.cpus.end()).size() == 24);
  std::set<u32> clusters;
  for (u32 t = 0; t < 24; ++t) {
    const Processor& p = processor(topology, seats.cpus[t]);
    CHECK(p.smt == t / 12);
    CHECK(p.socket == t % 2);
    if (t < 4) clusters.insert(p.cluster);
  }
  CHECK(clusters.size() == 4);
}

TEST_CASE("pinning to a socket uses only its processors") {
  const Topology topology = Topology::synthetic(kHaswellEp);
  const Seats seats = seat(topology, Pin::Kind::kSocket, {1}, 30);
  for (const u32 cpu : seats.cpus) CHECK(processor(topology, cpu).socket == 1);
  CHECK(seats.processors == 28);
  CHECK(seats.oversubscribed);
  CHECK(seats.cpus[28] == seats.cpus[0]);
  CHECK_THROWS_WITH(seat(topology, Pin::Kind::kSocket, {2}, 1),
                    Catch::Contains("no socket 2") && Catch::Contains("sockets 0-1"));
}

TEST_CASE("clusters are filled in the order given, their cores before second hardware threads") {
  const Topology topology = Topology::synthetic(kClusterOnDie);
  const Seats seats = seat(topology, Pin::Kind::kCluster, {3, 1}, 12);
  CHECK(seats.cpus == std::vector<u32>{18, 20, 22, 6, 8, 10, 19, 21, 23, 7, 9, 11});
  CHECK(seat(topology, Pin::Kind::kCluster, {3, 1}, 12, Smt::kPack).cpus ==
        std::vector<u32>{18, 19, 20, 21, 22, 23, 6, 7, 8, 9, 10, 11});
  CHECK_THROWS_WITH(seat(topology, Pin::Kind::kCluster, {1, 4}, 1),
                    Catch::Contains("no cluster 4") && Catch::Contains("clusters 0-3"));
  CHECK_THROWS_WITH(seat(Topology::synthetic("core:2 pu:1"), Pin::Kind::kCluster, {1}, 1),
                    Catch::Contains("cluster 0 only"));
}

TEST_CASE("with --smt=pack both hardware threads of a core come before the next core, in any order of clusters") {
  const Topology topology = Topology::synthetic(kClusterOnDie);
  const Seats one_after_the_other = seat(topology, Pin::Kind::kCompact, {}, 24, Smt::kPack);
  for (u32 t = 0; t < 24; ++t) CHECK(one_after_the_other.cpus[t] == t);
  CHECK(seat(topology, Pin::Kind::kScatter, {}, 10, Smt::kPack).cpus ==
        std::vector<u32>{0, 12, 6, 18, 1, 13, 7, 19, 2, 14});
  CHECK(seat(topology, Pin::Kind::kSocket, {1}, 4, Smt::kPack).cpus == std::vector<u32>{12, 13, 14, 15});
}

TEST_CASE("each cluster or socket that --pin names has as many threads as the others") {
  const Topology topology = Topology::synthetic(kClusterOnDie);
  const auto spread = [&](ThreadsPer per, Pin::Kind kind, std::vector<u32> numbers, u32 each) {
    Config config = config_of(kind, std::move(numbers), each);
    config.threads_per = per;
    config.threads *= groups_of(topology, config);
    return seat(topology, config).cpus;
  };
  CHECK(spread(ThreadsPer::kRun, Pin::Kind::kCompact, {}, 2) == std::vector<u32>{0, 2});
  CHECK(spread(ThreadsPer::kCluster, Pin::Kind::kCompact, {}, 2) == std::vector<u32>{0, 2, 6, 8, 12, 14, 18, 20});
  CHECK(spread(ThreadsPer::kCluster, Pin::Kind::kSocket, {1}, 2) == std::vector<u32>{12, 14, 18, 20});
  CHECK(spread(ThreadsPer::kSocket, Pin::Kind::kCompact, {}, 4) == std::vector<u32>{0, 2, 4, 6, 12, 14, 16, 18});
  CHECK(spread(ThreadsPer::kCluster, Pin::Kind::kCluster, {2, 0}, 7) ==
        std::vector<u32>{12, 14, 16, 13, 15, 17, 12, 0, 2, 4, 1, 3, 5, 0});
  CHECK(spread(ThreadsPer::kSocket, Pin::Kind::kList, {13, 1, 2}, 2) == std::vector<u32>{13, 13, 1, 2});
}

TEST_CASE("a list of processors is used in its order and wraps around") {
  const Topology topology = Topology::synthetic(kHaswellEp);
  const Seats seats = seat(topology, Pin::Kind::kList, {7, 3}, 5);
  CHECK(seats.cpus == std::vector<u32>{7, 3, 7, 3, 7});
  CHECK(seats.processors == 2);
  CHECK(seats.oversubscribed);
  CHECK_THROWS_WITH(seat(topology, Pin::Kind::kList, {56}, 1),
                    Catch::Contains("no processor 56") && Catch::Contains("0-55"));
}

TEST_CASE("a thread's placement has its seat and its observed processor, or the reason why that is unknown") {
  const Topology topology = Topology::synthetic(kHaswellEp);
  const Seats seats = seat(topology, Pin::Kind::kList, {3, 15}, 2);
  const auto places = thread_places(topology, seats, {16, std::nullopt}, "not observed");
  REQUIRE(places.size() == 2);
  CHECK(places[0].requested_cpu == 3);
  CHECK(*places[0].observed_cpu == 16);
  CHECK(*places[0].socket == processor(topology, 16).socket);
  CHECK(*places[0].node == 0);
  CHECK(*places[0].cluster == processor(topology, 16).cluster);
  CHECK(*places[0].core == processor(topology, 16).core);
  CHECK(places[1].requested_cpu == 15);
  const ThreadPlacement& other = places[1];
  for (const OrReason<u32>& unseen : {other.observed_cpu, other.socket, other.node, other.cluster, other.core}) {
    CHECK_FALSE(unseen);
    CHECK(unseen.reason == "not observed");
  }
}

TEST_CASE("the allowed mask limits every placement") {
  Topology topology = Topology::synthetic(kHaswellEp);
  const std::string before = topology.digest;
  topology.restrict_to({0, 2, 4, 6});
  CHECK(topology.digest != before);
  CHECK(topology.allowed_count() == 4);
  CHECK(topology.allowed_list() == "0,2,4,6");
  for (const Pin::Kind kind : {Pin::Kind::kCompact, Pin::Kind::kScatter}) {
    const Seats seats = seat(topology, kind, {}, 8);
    CHECK(seats.processors == 4);
    for (const u32 cpu : seats.cpus) CHECK(processor(topology, cpu).allowed);
  }
  CHECK_THROWS_WITH(seat(topology, Pin::Kind::kList, {1}, 1), Catch::Contains("outside the allowed mask 0,2,4,6"));
  CHECK_THROWS_WITH(seat(topology, Pin::Kind::kSocket, {1}, 1), Catch::Contains("no processor of socket 1 is allowed"));
}

/// Returns a machine of one processor as lstopo writes it.
std::string one_processor(const std::string& allowed, const std::string& of_node = "") {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
          allowed_nodeset="0x1" gp_index="1" allowed_cpuset=")" +
         allowed + R"(">
    <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
            gp_index="2" local_memory="1073741824")" +
         of_node + R"(/>
    <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
            gp_index="3">
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
              gp_index="4"/>
    </object>
  </object>
</topology>
)";
}

TEST_CASE("a node has hwloc's word for its memory") {
  const TemporaryFile plain(one_processor("0x1")), cxl(one_processor("0x1", R"( subtype="CXL-DRAM")"));
  CHECK(Topology::read(cxl.path()).nodes.at(0).kind.value == "CXL-DRAM");
  const OrReason<std::string> none = Topology::read(plain.path()).nodes.at(0).kind;
  CHECK_FALSE(none);
  CHECK_THAT(none.reason, Catch::StartsWith("hwloc does not say what the memory of node 0 is"));
}

TEST_CASE("a topology file in which no processor is allowed is refused") {
  const TemporaryFile allowed(one_processor("0x1")), none(one_processor("0x0"));
  CHECK(Topology::read(allowed.path()).allowed_count() == 1);
  CHECK_THROWS_WITH((void)Topology::read(none.path()), Catch::EndsWith("has no processor that is allowed there"));
}

TEST_CASE("a pinned thread is observed on its processor") {
  const Topology topology = Topology::discover();
  if (!topology.this_system) return;
  const Seats seats = seat(topology, Pin::Kind::kCompact, {}, topology.allowed_count());
  std::thread([&] {
    for (const u32 cpu : seats.cpus) {
      CHECK(pin_this_thread(cpu));
      CHECK(this_cpu() == cpu);
    }
  }).join();
}

}  // namespace
}  // namespace latchlab
