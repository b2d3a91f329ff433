#include "harness/placement.h"

#include <cstring>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

Measured<PageNodes> looked_at(const ChunkSource& source) { return page_nodes_of(source.chunks()); }

/// A container, or a kernel without NUMA.
bool refused(const Measured<PageNodes>& nodes) { return !nodes && nodes.reason.find("move_pages") != std::string::npos; }

TEST_CASE("pages are counted by node once they have been touched") {
  ChunkSource source(MemoryConfig{.alloc = MemoryConfig::Alloc::kArena});
  CHECK(looked_at(source).reason == "the index has no memory");
  std::vector<ChunkSource::Chunk> chunks;
  for (const u64 pages : {3, 1, 8}) chunks.push_back(source.take(pages * kSmallPageBytes, kSmallPageBytes));
  if (refused(looked_at(source))) return;
  CHECK(looked_at(source).reason == "no page of the index has been touched");
  std::memset(chunks[0].start, 1, chunks[0].bytes);
  std::memset(chunks[2].start, 1, 2 * kSmallPageBytes);
  const Measured<PageNodes> nodes = looked_at(source);
  REQUIRE(nodes);
  CHECK(nodes->pages == 5);
  double sum = 0;
  for (const PageNodes::Share& share : nodes->shares) sum += share.share;
  CHECK(sum == Approx(1));
}

TEST_CASE("of many pages an even sample is looked at, over the ends of chunks") {
  constexpr u64 kPages = 10'001;   // of each of seven chunks; one in three is looked at
  ChunkSource source(MemoryConfig{.alloc = MemoryConfig::Alloc::kArena});
  for (int i = 0; i < 7; ++i) REQUIRE(source.take(kPages * kSmallPageBytes, kSmallPageBytes).start != nullptr);
  std::memset(source.chunks()[1].start, 1, 100 * kSmallPageBytes);
  const Measured<PageNodes> nodes = looked_at(source);
  if (refused(nodes)) return;
  REQUIRE(nodes);
  CHECK(nodes->pages == 33);   // of those from 10,001 to 10,100 the multiples of three; from its own beginning there would be 34
}

}  // namespace
}  // namespace latchlab
