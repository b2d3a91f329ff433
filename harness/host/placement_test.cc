#include "harness/host/placement.h"

#include <cstring>
#include <vector>

#include "harness/host/topology.h"
#include "src/base/spec.h"
#include "src/testing/catch.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

OrReason<PageNodes> looked_at(const ChunkSource& source) { return page_nodes_of(source.chunks()); }

/// Returns true if the kernel does not tell, as in a container or without NUMA.
bool refused(const OrReason<PageNodes>& nodes) {
  return !nodes && nodes.reason.find("move_pages") != std::string::npos;
}

TEST_CASE("pages are counted by node once they have been touched") {
  ChunkSource source({.alloc = MemoryConfig::Alloc::kArena}, &system_pages());
  CHECK(looked_at(source).reason == "the index has no memory");
  std::vector<ChunkSource::Chunk> chunks;
  for (const u64 pages : {3, 1, 8}) chunks.push_back(source.take(pages * kSmallPageBytes, kSmallPageBytes));
  if (refused(looked_at(source))) return;
  CHECK(looked_at(source).reason == "no page of the index has been touched");
  std::memset(chunks[0].start, 1, chunks[0].bytes);
  std::memset(chunks[2].start, 1, 2 * kSmallPageBytes);
  const OrReason<PageNodes> nodes = looked_at(source);
  REQUIRE(nodes);
  CHECK(nodes->pages == 5);
  double sum = 0;
  for (const PageNodes::Share& share : nodes->shares) sum += share.share;
  CHECK(sum == Approx(1));
}

TEST_CASE("of many pages a sample is examined, across the ends of chunks") {
  ChunkSource source({.alloc = MemoryConfig::Alloc::kArena}, &system_pages());
  for (int i = 0; i < 7; ++i) REQUIRE(source.take(1001 * kSmallPageBytes, kSmallPageBytes).start != nullptr);
  std::memset(source.chunks()[1].start, 1, 100 * kSmallPageBytes);
  if (refused(looked_at(source))) return;
  for (const u64 most : {u64{7007}, u64{7006}, u64{2400}}) {  // all pages, one of two, one of three
    CAPTURE(most);
    u64 touched = 0;  // pages 1001 to 1100, the second chunk's beginning
    for (const u64 page : sample_of(7007, most)) touched += page >= 1001 && page < 1101;
    const OrReason<PageNodes> nodes = page_nodes_of(source.chunks(), most);
    REQUIRE(nodes);
    CHECK(nodes->pages == touched);
  }
}

TEST_CASE(
    "a sample has one page of each run of neighbours, and finds each of several interleaved nodes equally often") {
  CHECK(sample_of(5, 5) == std::vector<u64>{0, 1, 2, 3, 4});
  CHECK(sample_of(0, 5).empty());
  constexpr u64 kPages = 1'000'001, kMost = 32'768;  // 31 pages in a run
  const std::vector<u64> sample = sample_of(kPages, kMost);
  CHECK(sample.size() <= kMost);
  CHECK(sample.size() >= kPages / 31);
  for (std::size_t i = 0; i < sample.size(); ++i) REQUIRE(sample[i] / 31 == i);
  for (const u64 nodes : {2, 3, 4, 8}) {
    for (const u64 most : {kMost, kMost * 2, kMost / 2, kPages / 4, kPages / 12}) {
      CAPTURE(nodes, most);
      std::vector<u64> counts(nodes);
      const std::vector<u64> taken = sample_of(kPages, most);
      for (const u64 page : taken) ++counts[page % nodes];
      for (const u64 count : counts) {
        CHECK(static_cast<double>(count * nodes) / static_cast<double>(taken.size()) == Approx(1).margin(.05));
      }
    }
  }
}

TEST_CASE("a Plan of a Config has seats for its threads and a workload with its share of misses") {
  Config config;
  config.workload = Spec::parse("lookup");
  config.negative = .25;
  config.threads = 3;
  const Topology topology = Topology::synthetic("pack:1 numa:1 core:2 pu:1");
  const Plan plan = plan_of(config, topology);
  CHECK(plan.config.threads == 3);
  CHECK(plan.seats.cpus == seat(topology, config).cpus);
  CHECK(plan.seats.oversubscribed);
  CHECK(plan.workload->mix().absent_read_ppm() == 250'000);
}

}  // namespace
}  // namespace latchlab
