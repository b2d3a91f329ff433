#include "src/memory/media/medium.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/machine/native.h"
#include "src/memory/media/file_system.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using Catch::Contains;
using testing::refusal;

MediumOptions options(std::string_view text) { return MediumOptions::parse(text, "--far"); }

/// Returns true if the program can map files by libmemkind.
bool has_memkind() {
  return refusal([] { const Medium medium(options("file:/nowhere,size=32Mi"), "--far"); }).find("without libmemkind") ==
         std::string::npos;
}

/// Takes blocks of 10,000 bytes until memory is out, checks that each keeps its bytes, and frees them. Returns their
/// number.
u64 fill(Memory<Native>& memory) {
  constexpr u64 kBytes = 10'000;
  const PoolLease<Native> pool(memory);
  std::vector<char*> blocks;
  while (void* const block = pool->allocate(kBytes)) {
    std::memset(block, static_cast<int>(blocks.size() % 256), kBytes);
    blocks.push_back(static_cast<char*>(block));
  }
  u64 wrong = 0;
  for (u64 i = 0; i < blocks.size(); ++i) {
    wrong += std::count(blocks[i], blocks[i] + kBytes, static_cast<char>(i % 256)) != kBytes;
    pool->free(blocks[i], kBytes);
  }
  CHECK(wrong == 0);
  return blocks.size();
}

TEST_CASE("memory on a medium ends at the medium's size, and is there again after it was freed") {
  const bool has_files = has_memkind() && std::filesystem::is_directory("/dev/shm");
  for (const std::string text : {"model:cxl,size=8Mi", "node:0,size=8Mi", "file:/dev/shm,size=8Mi"}) {
    CAPTURE(text);
    if (text.starts_with("file") && !has_files) continue;
    if (text.starts_with("node") && why_not_placed({.kind = PagePlacement::Kind::kBind, .nodes = {0}})) continue;
    const Medium medium(options(text), "--far");
    CHECK(medium.is_modelled() == text.starts_with("model"));
    for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArenaTouch}) {
      Memory<Native> memory(medium.memory({.alloc = alloc}));
      CHECK(memory.config().alloc != MemoryConfig::Alloc::kMalloc);
      const u64 blocks = fill(memory);
      CHECK(blocks > 700);
      CHECK(blocks * 10'000 <= 8 << 20);
      CHECK(fill(memory) == blocks);
      CHECK(memory.bytes().reserved <= 8 << 20);
    }
  }
}

TEST_CASE("a medium that is not there is refused with what is") {
  CHECK_THAT(refusal([] { const Medium medium(options("node:1000,size=1G"), "--far"); }),
             Contains("--far node:1000,size=1G: this machine has no node 1000 with memory; it has 0"));
  if (!has_memkind()) return;
  CHECK_THAT(refusal([] { const Medium medium(options("file:/nowhere,size=1G"), "--far"); }),
             Contains("No such file or directory; give a folder of a tmpfs"));
  const TemporaryFile file("");
  CHECK_THAT(refusal([&] { const Medium medium(options("file:" + file.path() + ",size=1G"), "--far"); }),
             Contains("it is neither a folder nor a DAX device"));
}

TEST_CASE("a folder is a medium if its files are mapped without the page cache") {
  const FileSystem proc = *file_system_of("/proc");
  CHECK(proc.str() == "0x9fa0");
  CHECK_FALSE(proc.is_memory);
  CHECK_FALSE(file_system_of("/nowhere"));
  for (const std::string folder : {"/dev/shm", "/tmp", "/proc"}) {
    CAPTURE(folder);
    if (!has_memkind() || !std::filesystem::is_directory(folder)) continue;
    const FileSystem files = *file_system_of(folder);
    CHECK(files.is_memory == (files.name == "tmpfs" || files.name == "ramfs"));
    const std::string why = refusal([&] { const Medium medium(options("file:" + folder + ",size=8Mi"), "--far"); });
    if (files.is_memory || files.maps_dax) {
      CHECK(why.empty());
    } else {
      CHECK(why == "--far file:" + folder + ",size=8Mi: it is a folder of " + files.name +
                       " without DAX, whose pages are the page cache's, in DRAM; give a folder of a tmpfs or of a DAX "
                       "file system, or a DAX device");
    }
  }
}

}  // namespace
}  // namespace latchlab
