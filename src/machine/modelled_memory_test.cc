// Tests of the modelled memory, and of its tables of blocks and lines.
#include "src/machine/modelled_memory.h"

#include <cstring>
#include <map>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u32 kOutside = ~0u;

TEST_CASE("block starts: an offset belongs to the block marked last there", "[machine]") {
  BlockStarts starts(1 << 20);
  CHECK(starts.start_of(5000) == 4096);
  starts.mark(64, 20000);
  CHECK(starts.start_of(64) == 64);
  CHECK(starts.start_of(20063) == 64);
  CHECK(starts.start_of(4096) == 64);
  CHECK(starts.start_of(63) == 0);
  starts.mark(8192, 48);
  CHECK(starts.start_of(8191) == 64);
  CHECK(starts.start_of(8200) == 8192);
  CHECK(starts.start_of(8300) == 8192);
  CHECK(starts.start_of(12288) == 64);
  starts.mark(4096, 8192);
  CHECK(starts.start_of(8200) == 4096);
  CHECK(starts.start_of(12287) == 4096);
  starts.clear(1 << 20);
  CHECK(starts.start_of(8200) == 8192);
}

TEST_CASE("block starts: agree with a map of blocks", "[machine]") {
  BlockStarts starts(1 << 20);
  std::map<u64, u64> blocks;  // begin to end
  u64 state = 1;
  u64 at = 0;
  while (at + 20000 < 1 << 20) {
    const u64 bytes = 1 + splitmix64(state) % (splitmix64(state) % 8 == 0 ? 20000 : 300);
    starts.mark(at, bytes);
    blocks[at] = at + bytes;
    at += (bytes + 15) / 16 * 16;
  }
  for (u32 i = 0; i < 100'000; ++i) {
    const u64 offset = splitmix64(state) % at;
    const auto block = std::prev(blocks.upper_bound(offset));
    if (offset < block->second && starts.start_of(offset) != block->first) FAIL(offset);
  }
}

TEST_CASE("block starts: a block ends where the next one begins, or after as many bytes as are asked for",
          "[machine]") {
  BlockStarts starts(1 << 20);
  starts.mark(64, 48);
  CHECK(starts.end_of(64, 1024) == 1088);
  starts.mark(112, 16);
  CHECK(starts.end_of(64, 1024) == 112);
  starts.mark(8192, 64);
  CHECK(starts.end_of(112, 16'384) == 8192);
  CHECK(starts.end_of(112, 4096) == 4208);
  CHECK(starts.end_of(8192, 4 << 20) == 1 << 20);
}

TEST_CASE("sparse lines: keep what is not idle, whatever else comes and goes", "[machine]") {
  using Line = ModelledMemory::Line;
  SparseLines<Line> lines;
  CHECK(lines.find(7) == nullptr);
  for (u32 i = 0; i < 50'000; ++i) {
    Line& line = lines.of(i * 3);
    CHECK_FALSE((line.writer1 != 0 || line.waited || !line.readers.empty()));
    if (i % 100 == 0) line.writer1 = static_cast<u16>(1 + i % 200);
    if (i % 100 == 1) line.readers.add(i % 256);
  }
  for (u32 i = 0; i < 50'000; i += 100) {
    REQUIRE(lines.find(i * 3) != nullptr);
    CHECK(lines.find(i * 3)->writer1 == 1 + i % 200);
    REQUIRE(lines.find(i * 3 + 3) != nullptr);
    CHECK(lines.find(i * 3 + 3)->readers.has((i + 1) % 256));
  }
  CHECK(lines.find(1) == nullptr);
}

TEST_CASE("a fiber set gives its members but one, in order", "[machine]") {
  FiberSet<256> set{};
  CHECK(set.empty());
  for (const u32 fiber : {0u, 63u, 64u, 130u, 255u}) set.add(fiber);
  std::vector<u32> others;
  set.drain_others(64, [&](u32 fiber) {
    others.push_back(fiber);
    set.remove(fiber);
  });
  CHECK(others == std::vector{0u, 63u, 130u, 255u});
  CHECK(set.has(64));
  set.remove(64);
  CHECK(set.empty());
}

TEST_CASE("modelled memory: blocks are aligned, apart by fiber, and used again", "[machine]") {
  ModelledMemory memory;
  void* const small = memory.allocate(24, 0);
  void* const next = memory.allocate(24, 0);
  CHECK(static_cast<char*>(next) - static_cast<char*>(small) == 32);
  void* const other = memory.allocate(24, 1);
  CHECK(memory.line_number(other) / 64 != memory.line_number(small) / 64);
  void* const line = memory.allocate(65, 0);
  CHECK(reinterpret_cast<u64>(line) % 64 == 0);
  CHECK(memory.block_of(static_cast<char*>(line) + 64, memory.line_number(line) + 1) == memory.address_of(line));
  CHECK(memory.live_blocks() == 4);
  CHECK(memory.deallocate(small, 24, 1) == "");
  CHECK(memory.allocate(24, 0) != small);
  CHECK(memory.allocate(24, 1) == small);
  void* const large = memory.allocate(100'000, kOutside);
  std::memset(large, 1, 100'000);
  memory.deallocate(large, 100'000, 3);
  CHECK(memory.allocate(100'000, 5) == large);
  CHECK(memory.place(static_cast<char*>(large) + 5000).starts_with("byte 5000 of the block at "));
}

TEST_CASE("modelled memory: mappings are zero, aligned, large, and used again", "[machine]") {
  ModelledMemory memory;
  auto* const huge = static_cast<char*>(memory.map(u64{1} << 30, u64{2} << 20));
  REQUIRE(huge != nullptr);
  CHECK(memory.address_of(huge) % (u64{2} << 20) == 0);
  huge[123] = 1;
  void* const small = memory.map(u64{1} << 30, 4096);
  memory.unmap(small, u64{1} << 30);
  memory.unmap(huge, u64{1} << 30);
  CHECK(memory.map(u64{1} << 30, u64{2} << 20) == huge);
  CHECK(huge[123] == 0);
  CHECK(memory.map(u64{17} << 30, 4096) == nullptr);
  u64 mapped = 0;
  while (memory.map(u64{16} << 30, 4096) != nullptr) ++mapped;
  CHECK(mapped == 7);
}

TEST_CASE("modelled memory: a line has the name of its block's size, or of the object outside the arena", "[machine]") {
  ModelledMemory memory;
  void* const block = memory.allocate(700, 1);
  void* const after = memory.allocate(64, 1);
  CHECK(memory.block_bytes(block) == 704);
  CHECK(memory.name_of_size(704) == "");
  memory.name(block, 700, "Node48");
  memory.name(block, 690, "Wide");
  memory.name(block, 700, "Node48");
  CHECK(memory.name_of_size(704) == "Node48/Wide");
  const auto second = memory.place_of_line(memory.address_of(static_cast<char*>(block) + 64));
  CHECK(second.name == "Node48/Wide");
  CHECK(second.bytes == 704);
  CHECK(second.offset == 64);
  CHECK(memory.place_of_line(memory.address_of(after)).name == "");

  alignas(64) static char object[192];
  CHECK(memory.block_bytes(object) == 0);
  memory.name(object, sizeof(object), "policy");
  CHECK_FALSE(memory.known_line(object));  // a name is no use, and gives no number
  const auto of_object = memory.place_of_line(memory.address_of(object + 130));
  CHECK(of_object.name == "policy");
  CHECK(of_object.bytes == 192);
  CHECK(of_object.offset == 128);
  alignas(64) static char other[64];
  CHECK(memory.place_of_line(memory.address_of(other)).bytes == 0);
  memory.reset();
  CHECK(memory.name_of_size(704) == "");
}

TEST_CASE("modelled memory: addresses are equal in every run, also those outside of the arena", "[machine]") {
  ModelledMemory memory;
  alignas(64) static char somewhere[256];
  u64 first = 0;
  for (u32 run = 0; run < 2; ++run) {
    memory.reset();
    CHECK_FALSE(memory.known_line(somewhere));
    const u64 address = memory.address_of(somewhere + run * 64 + 5);
    if (run == 0) first = address;
    CHECK(address == first);
    CHECK(memory.known_line(somewhere + run * 64) == memory.line_number(somewhere + run * 64));
    CHECK(memory.address_of(somewhere + 192) == first - 5 + 64);
    CHECK(memory.block_of(somewhere + 192, memory.line_number(somewhere + 192)) == first - 5 + 64);
  }
}

}  // namespace
}  // namespace latchlab
