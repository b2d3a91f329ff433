#include "src/memory/numa.h"

#include <sys/mman.h>

#include "src/memory/chunk_source.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Kind = PagePlacement::Kind;

TEST_CASE("A page has a node once it has been touched, and -1 before", "[memory]") {
  ChunkSource source({.alloc = MemoryConfig::Alloc::kArena}, &system_pages());
  const ChunkSource::Chunk chunk = source.take(2 * kSmallPageBytes, 2 * kSmallPageBytes);
  REQUIRE(chunk.start != nullptr);
  char* const start = static_cast<char*>(chunk.start);
  *static_cast<volatile char*>(start) = 1;
  const std::array<void*, 2> pages{start, start + kSmallPageBytes};
  const auto nodes = nodes_of(pages);
  if (!nodes) return;  // in a container, or on a kernel without NUMA
  CHECK((*nodes)[0] >= 0);
  CHECK((*nodes)[1] == -1);
}

TEST_CASE("A placement is refused if its nodes do not exist, and never if it names none", "[memory]") {
  CHECK_FALSE(why_not_placed({}));
  CHECK(place_mapping(nullptr, kSmallPageBytes, {}));
  CHECK(place_thread({}));
  const PagePlacement nowhere{.kind = Kind::kBind, .nodes = {kMostNodes - 1}};
  REQUIRE(why_not_placed(nowhere));
  CHECK_THAT(*why_not_placed(nowhere), Catch::Contains("(mbind: "));
  CHECK_FALSE(place_thread(nowhere));
}

TEST_CASE("A kernel that refuses placement also refuses the calls that change nothing", "[memory]") {
  CHECK(why_move_pages_refused().has_value() == !nodes_of(std::array<void*, 1>{nullptr}).has_value());
  if (why_mbind_refused()) {
    CHECK(why_not_placed({.kind = Kind::kInterleave, .nodes = {0}}));
  } else {
    CHECK_FALSE(why_not_placed({.kind = Kind::kInterleave, .nodes = {0}}));
  }
}

TEST_CASE("A chunk is mapped even if its placement is refused", "[memory]") {
  MemoryConfig config;
  config.pages = {.kind = Kind::kBind, .nodes = {kMostNodes - 1}};
  ChunkSource source(config, &system_pages());
  CHECK(source.take(kSmallPageBytes, kSmallPageBytes).start != nullptr);
  CHECK(source.chunks().size() == 1);
}

}  // namespace
}  // namespace latchlab
