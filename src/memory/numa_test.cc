#include "src/memory/numa.h"

#include <sys/mman.h>

#include "src/memory/chunk_source.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Kind = PagePlacement::Kind;

TEST_CASE("A page has a node once it has been touched, if the kernel tells", "[memory]") {
  ChunkSource source({.alloc = MemoryConfig::Alloc::kArena}, &system_pages());
  const ChunkSource::Chunk chunk = source.take(2 * kSmallPageBytes, 2 * kSmallPageBytes);
  REQUIRE(chunk.start != nullptr);
  char* const start = static_cast<char*>(chunk.start);
  *static_cast<volatile char*>(start) = 1;
  const std::array<void*, 2> pages{start, start + kSmallPageBytes};
  const auto nodes = nodes_of(pages);
  if (!nodes) return;  // a container, or a kernel without NUMA
  CHECK((*nodes)[0] >= 0);
  CHECK((*nodes)[1] == -1);
}

TEST_CASE("Only what asks for nodes can be refused, and is if they do not exist", "[memory]") {
  CHECK_FALSE(why_not_placed({}));
  CHECK(place_mapping(nullptr, kSmallPageBytes, {}));
  CHECK(place_thread({}));
  const PagePlacement nowhere{.kind = Kind::kBind, .nodes = {kMostNodes - 1}};
  REQUIRE(why_not_placed(nowhere));
  CHECK_THAT(*why_not_placed(nowhere), Catch::Contains("(mbind: "));
  CHECK_FALSE(place_thread(nowhere));
}

TEST_CASE("Calls that change nothing are refused by who refuses all of them", "[memory]") {
  CHECK(why_move_pages_refused().has_value() == !nodes_of(std::array<void*, 1>{nullptr}).has_value());
  if (why_mbind_refused()) {
    CHECK(why_not_placed({.kind = Kind::kInterleave, .nodes = {0}}));
  } else {
    CHECK_FALSE(why_not_placed({.kind = Kind::kInterleave, .nodes = {0}}));
  }
}

TEST_CASE("Chunks that cannot be placed are had all the same", "[memory]") {
  MemoryConfig config;
  config.pages = {.kind = Kind::kBind, .nodes = {kMostNodes - 1}};
  ChunkSource source(config, &system_pages());
  CHECK(source.take(kSmallPageBytes, kSmallPageBytes).start != nullptr);
  CHECK(source.chunks().size() == 1);
}

}  // namespace
}  // namespace latchlab
