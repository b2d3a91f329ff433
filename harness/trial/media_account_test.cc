#include "harness/trial/media_account.h"

#include <string>
#include <vector>

#include "harness/trial/phases.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Catch::Contains;

/// Returns a machine of two nodes, of which each has a processor. hwloc calls node 1 CXL.
Topology two_nodes() {
  Topology topology = Topology::synthetic("numa:2 core:1 pu:1");
  topology.this_system = true;
  topology.nodes[1].kind = std::string("CXL-DRAM");
  return topology;
}

/// Returns a plan whose threads are on these processors of two_nodes(), with this far memory.
Plan plan_with(const std::string& far, const std::vector<u32>& cpus) {
  Config config = testing::small("lookup");
  config.value_size = 300;
  config.near = 1 << 20;
  config.far = MediumOptions::parse(far, "--far");
  Plan plan = testing::plan_of(config);
  plan.seats.cpus = cpus;
  plan.seats.binds = true;
  return plan;
}

/// Returns a run with 10,000 bytes of far memory, of which so many are locked.
Measurement run_with(u64 locked) {
  Measurement m;
  MeasuredPhase& phase = m.measured.emplace();
  phase.metered.seconds = 1;
  FarUse use;
  use.bytes.reserved = 10'000;
  phase.far_before = phase.far_after = use;
  phase.locked = locked;
  m.lock_limit = "RLIMIT_MEMLOCK is 4 KiB";
  return m;
}

std::vector<std::string> notes_of(const Plan& plan, u64 locked = 10'000) {
  std::vector<std::string> notes;
  for (const Remark& remark : media_account(plan, two_nodes(), run_with(locked)).remarks) {
    CHECK(remark.status == Status::kOk);
    notes.push_back(remark.text);
  }
  return notes;
}

TEST_CASE("a far node has hwloc's word for its memory, or the reason why there is none", "[account]") {
  const auto word_of = [](const std::string& far, const Topology& topology) {
    return media_account(plan_with(far, {0}), topology, run_with(0)).part->hwloc;
  };
  CHECK(word_of("node:1,size=1G", two_nodes()).value == "CXL-DRAM");
  CHECK_THAT(word_of("node:0,size=1G", two_nodes()).reason,
             Contains("hwloc does not say what the memory of node 0 is"));
  CHECK(word_of("node:2,size=1G", two_nodes()).reason == "hwloc has no node 2");
  CHECK(word_of("model:cxl,size=1G", two_nodes()).reason == "far memory is no node");
  CHECK(word_of("file:/dev/shm,size=1G", two_nodes()).reason == "far memory is no node");
  Topology another = two_nodes();
  another.this_system = false;
  CHECK(word_of("node:1,size=1G", another).reason == "the topology describes another machine");
}

TEST_CASE("a note says if near and far memory share a node", "[account]") {
  CHECK(notes_of(plan_with("node:1,size=1G", {0})).empty());
  CHECK(notes_of(plan_with("node:0,size=1G", {0})) ==
        std::vector<std::string>{"near and far memory are the same node, 0: they differ in no speed"});
  CHECK(notes_of(plan_with("node:1,size=1G", {0, 1})) ==
        std::vector<std::string>{"node 1 has far memory, and near memory, too, which lies on nodes 0-1"});
  CHECK(notes_of(plan_with("model:cxl,size=1G", {0})).empty());
  // Bound near memory lies where --mem says, not where the threads are.
  Plan bound = plan_with("node:0,size=1G", {0});
  bound.pages = {.kind = PagePlacement::Kind::kBind, .nodes = {1}};
  CHECK(notes_of(bound).empty());
  bound.pages.nodes = {0};
  CHECK(notes_of(bound).size() == 1);
  // Nobody knows where threads run that are not pinned.
  Plan unpinned = plan_with("node:0,size=1G", {0});
  unpinned.seats.binds = false;
  CHECK(notes_of(unpinned).empty());
}

TEST_CASE("a note says how much of a far node the kernel does not lock, and the limit", "[account]") {
  const Plan plan = plan_with("node:1,size=1G", {0});
  CHECK(notes_of(plan, 10'000).empty());
  CHECK(notes_of(plan, 4096) ==
        std::vector<std::string>{"the kernel locks 4096 of the 10000 bytes of far memory, and may swap out or move the "
                                 "others: RLIMIT_MEMLOCK is 4 KiB"});
  const auto locked = [](const Plan& of, u64 bytes) {
    return media_account(of, two_nodes(), run_with(bytes)).part->locked;
  };
  CHECK(locked(plan, 4096).value == 4096);
  CHECK(locked(plan, 70'000).value == 10'000);  // with memory that is not far
  CHECK(locked(plan_with("model:cxl,size=1G", {0}), 0).reason == "far memory is no node");
  CHECK(notes_of(plan_with("model:cxl,size=1G", {0}), 0).empty());
}

TEST_CASE("a run without memory says which one is out", "[account]") {
  const Plan plan = plan_with("model:cxl,size=8Mi,lat=1,read=1,write=1", {0});
  const auto out = [&](u64 near_free, u64 far_free) {
    Measurement m;
    FarUse use;
    use.memory.memory.limit = MemoryBudget(u64{8} << 20);
    REQUIRE(use.memory.memory.limit.charge((u64{8} << 20) - far_free));
    use.near_free = near_free;
    m.far = use;
    return memory_out(kMemoryRanOut, plan, m);
  };
  CHECK(out(100, 200) ==
        ": near and far memory are full, --near=1Mi and --far=model:cxl,size=8Mi,lat=1,read=1,write=1; write fewer "
        "--records or larger sizes");
  CHECK_THAT(out(1 << 20, 200), Catch::StartsWith(": far memory is full, "));
  Plan leaves = plan_with("node:0,size=8Mi", {0});
  leaves.config.near = 0;
  Measurement m;
  m.far = FarUse();
  m.far.value->memory.memory.limit = MemoryBudget(u64{8} << 20);
  REQUIRE(m.far.value->memory.memory.limit.charge(u64{8} << 20));
  m.far.value->near_free = 1 << 20;
  CHECK(memory_out(kMemoryRanOut, leaves, m) ==
        ": far memory is full, --far=node:0,size=8Mi; write fewer --records or larger sizes");
  CHECK(out(100, 1 << 20) == ": that of the index, since far memory has room");
  CHECK(memory_out("no such thing", plan, Measurement()).empty());
  CHECK(memory_out(kMemoryRanOut, plan, Measurement()).empty());  // values have one memory
}

}  // namespace
}  // namespace latchlab
