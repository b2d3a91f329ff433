#include "src/memory/chunk_source.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "src/machine/native.h"
#include "src/machine/simulated.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Alloc = MemoryConfig::Alloc;

/// The kernel's pages, with a record of their use.
class SeenPages final : public PageSource {
 public:
  struct Seen {
    u64 bytes = 0;
    bool huge = false;
    std::vector<u32> nodes{};
    u64 populated = 0;
    bool operator==(const Seen&) const = default;
  };

  bool grants_huge_pages() override { return grants; }
  Mapping map(u64 bytes, bool huge, const PagePlacement& placement) override {
    if (bytes > most) return {};
    const Mapping mapping = system_pages().map(bytes, huge, placement);
    mapped[mapping.start] = {.bytes = bytes, .huge = huge, .nodes = placement.nodes};
    return {mapping.start, huge && grants};
  }
  void populate(void* start, u64 bytes) override { std::prev(mapped.upper_bound(start))->second.populated += bytes; }
  void unmap(void* start, u64 bytes) override {
    CHECK(mapped.at(start).bytes == bytes);
    mapped.erase(start);
    system_pages().unmap(start, bytes);
  }

  void* reserve(u64 bytes) override {
    if (bytes > most) return nullptr;
    void* const start = system_pages().reserve(bytes);
    mapped[start] = {.bytes = bytes};
    return start;
  }
  bool commit(void* start, u64 bytes, bool huge, const PagePlacement& placement) override {
    committed.push_back({.bytes = bytes, .huge = huge, .nodes = placement.nodes});
    return system_pages().commit(start, bytes, huge, placement);
  }

  std::map<void*, Seen> mapped;
  std::vector<Seen> committed;
  u64 most = ~u64{0};
  bool grants = true;
};

/// A machine with pages of its own.
struct Paged : Native {
  static inline SeenPages* seen = nullptr;
  static PageSource* pages() { return seen; }
};
static_assert(Machine<Paged>);

TEST_CASE("A range grows in place, by zero pages of the configuration, up to the limit", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  INFO(word(alloc));
  SeenPages seen;
  Paged::seen = &seen;
  constexpr u64 kMost = u64{8} << 30, kStep = u64{64} << 10;
  {
    Memory<Paged> memory(MemoryConfig{.alloc = alloc, .limit = 10 * kStep});
    const PoolLease<Paged> pool(memory);
    Pool<Paged>::Range range;
    seen.most = kMost / 2;  // the machine refuses more, so the range gets a half
    CHECK(pool->extend(range, 100, kMost) == kSmallPageBytes);
    CHECK(range.space.bytes == kMost / 2);
    CHECK(pool->extend(range, kStep, kMost) == kStep);
    CHECK(pool->extend(range, 100, kMost) == kStep);  // has it already
    CHECK(seen.committed.size() == 2);
    CHECK(seen.mapped.at(range.space.start).populated == (alloc == Alloc::kArenaTouch ? kStep : 0));
    const char* const bytes = static_cast<const char*>(range.space.start);
    CHECK(std::all_of(bytes, bytes + kStep, [](char byte) { return byte == 0; }));
    CHECK(pool->extend(range, 11 * kStep, kMost) == kStep);  // beyond the limit
    CHECK(memory.bytes().live == kStep);
    CHECK(memory.bytes().reserved == kStep);
    CHECK(memory.chunks().size() == 1);
    Pool<Paged>::Range other;
    CHECK(pool->extend(other, kStep, kStep) == kStep);
    pool->free(other);
    CHECK(memory.bytes().live == kStep);
  }
  CHECK(seen.mapped.empty());
}

TEST_CASE("A machine sees each chunk with its page size, its nodes and its first touch", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kArena, Alloc::kArenaTouch);
  const bool thp = GENERATE(false, true);
  INFO(word(alloc) << (thp ? " thp" : ""));
  SeenPages seen;
  Paged::seen = &seen;
  const u64 first = thp ? kHugePageBytes : u64{64} << 10;
  const u64 large = thp ? 2 * kHugePageBytes : u64{3} << 20;
  {
    Memory<Paged> memory({.alloc = alloc, .thp = thp, .pages = {.nodes = {3}}});
    CHECK(seen.mapped.empty());
    auto& pool = memory.join();
    const bool touched = alloc == Alloc::kArenaTouch;
    const SeenPages::Seen small{.bytes = first, .huge = thp, .nodes = {3}, .populated = touched ? first : 0};
    REQUIRE(pool.allocate(64) != nullptr);
    REQUIRE(seen.mapped.size() == 1);
    CHECK(seen.mapped.begin()->second == small);
    void* const mapping = pool.allocate(3 << 20);
    REQUIRE(seen.mapped.contains(mapping));
    CHECK(seen.mapped.at(mapping) ==
          SeenPages::Seen{.bytes = large, .huge = thp, .nodes = {3}, .populated = touched ? large : 0});
    pool.free(mapping, 3 << 20);
    CHECK_FALSE(seen.mapped.contains(mapping));
    CHECK(memory.bytes().reserved == first);
  }
  CHECK(seen.mapped.empty());  // the end of the memory unmaps the rest
}

TEST_CASE("A machine may refuse chunks, and may refuse huge pages", "[memory]") {
  SeenPages seen;
  ChunkSource source({.alloc = Alloc::kArena, .thp = true}, &seen);
  CHECK(source.footprint().page_bytes == kHugePageBytes);
  seen.most = kHugePageBytes;
  CHECK(source.take(3 * kHugePageBytes, 100).bytes == kHugePageBytes);
  CHECK(source.take(3 * kHugePageBytes, 2 * kHugePageBytes).start == nullptr);
  CHECK(source.footprint().reserved == kHugePageBytes);
  CHECK(source.footprint().page_bytes == kHugePageBytes);
  seen.grants = false;
  CHECK(source.take(100, 100).bytes == kHugePageBytes);
  CHECK(source.footprint().page_bytes == kSmallPageBytes);
  CHECK(ChunkSource({.thp = true}, &seen).footprint().page_bytes == kSmallPageBytes);
}

TEST_CASE("A machine without pages allocates block by block, whatever was asked for", "[memory]") {
  World::get().reset();
  {
    Memory<Simulated> memory({.alloc = Alloc::kArenaTouch, .thp = true});
    CHECK(memory.config().alloc == Alloc::kMalloc);
    CHECK_FALSE(memory.releases_in_bulk());
    auto& pool = memory.join();
    void* const block = pool.allocate(64);
    REQUIRE(block != nullptr);
    CHECK(World::get().memory().live_blocks() == 1);
    CHECK(memory.chunks().empty());
    pool.free(block, 64);
  }
  CHECK(World::get().memory().live_blocks() == 0);
}

}  // namespace
}  // namespace latchlab
