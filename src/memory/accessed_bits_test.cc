#include "src/memory/accessed_bits.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "src/base/types.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Returns the kilobytes of the mapping at `start` whose Accessed bits are set; ~0 if the kernel does not say.
u64 referenced_kilobytes(const void* start) {
  char head[32];
  std::snprintf(head, sizeof head, "%lx-", reinterpret_cast<unsigned long>(start));
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(head)) inside = true;
    if (inside && line.starts_with("Referenced:")) return std::stoull(line.substr(std::strlen("Referenced:")));
  }
  return ~u64{0};
}

TEST_CASE("clear_accessed clears the Accessed bits of all pages", "[memory]") {
  if (why_accessed_stay()) return;  // in a container, or on a kernel without clear_refs
  constexpr u64 kBytes = u64{8} << 20, kGuard = 4096;
  // Guard pages on both sides keep the kernel from merging the mapping with others in smaps.
  void* const all = mmap(nullptr, kBytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(all != MAP_FAILED);
  char* const pages = static_cast<char*>(all) + kGuard;
  REQUIRE(mprotect(pages, kBytes, PROT_READ | PROT_WRITE) == 0);
  (void)madvise(pages, kBytes, MADV_NOHUGEPAGE);
  std::memset(pages, 1, kBytes);
  const u64 touched = referenced_kilobytes(pages);
  REQUIRE(clear_accessed());
  const u64 cleared = referenced_kilobytes(pages);
  CHECK(touched >= kBytes / 1024);
  CHECK(cleared < kBytes / 1024 / 2);
  munmap(all, kBytes + 2 * kGuard);
}

TEST_CASE("If Accessed bits cannot be cleared, one clause says why", "[memory]") {
  CHECK(why_accessed_stay("/proc/self/no_such_file").value() ==
        "/proc/self/no_such_file cannot be written: No such file or directory");
  CHECK_FALSE(clear_accessed("/proc/self/no_such_file"));
  CHECK_FALSE(clear_accessed("/dev/full"));
  CHECK_FALSE(why_accessed_stay("/dev/full"));
}

}  // namespace
}  // namespace latchlab
