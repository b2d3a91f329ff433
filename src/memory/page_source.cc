#include "src/memory/page_source.h"

#include <sys/mman.h>

#include <fstream>
#include <string>

#include "src/memory/numa.h"

namespace latchlab {
namespace {

class SystemPages final : public PageSource {
 public:
  bool grants_huge_pages() override {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(file, line) && line.find("[never]") == std::string::npos;
  }

  Mapping map(u64 bytes, bool huge, const PagePlacement& placement) override {
    char* const start = map_aligned(bytes, huge, PROT_READ | PROT_WRITE);
    if (start == nullptr) return {};
    return {start, prepare(start, bytes, huge, placement)};
  }

  void* reserve(u64 bytes) override { return map_aligned(bytes, true, PROT_NONE); }

  bool commit(void* start, u64 bytes, bool huge, const PagePlacement& placement) override {
    if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    (void)prepare(start, bytes, huge, placement);
    return true;
  }

  // One call is faster than a fault a page, which takes about 1.5 times as long. Kernels before 5.14 do not have it;
  // then this writes one byte a page. The byte is volatile, or the compiler would drop a write that is never read.
  void populate(void* start, u64 bytes) override {
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return;
    auto* const at = static_cast<volatile unsigned char*>(start);
    for (u64 offset = 0; offset < bytes; offset += kSmallPageBytes) at[offset] = 0;
  }

  void unmap(void* start, u64 bytes) override { munmap(start, bytes); }

 private:
  /// Maps pages, aligned to huge pages if `huge` is set. Returns null if refused.
  static char* map_aligned(u64 bytes, bool huge, int protection) {
    // Huge pages need an alignment of their size: map one page more and cut off both ends.
    const u64 slack = huge ? kHugePageBytes : 0;
    void* const mapped = mmap(nullptr, bytes + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* start = static_cast<char*>(mapped);
    if (slack != 0) {
      const u64 before = -reinterpret_cast<u64>(start) & (kHugePageBytes - 1);
      if (before != 0) munmap(start, before);
      start += before;
      if (before != slack) munmap(start + bytes, slack - before);
    }
    return start;
  }
  /// Chooses the size and the nodes of untouched pages. Returns true if they get huge ones, in principle.
  static bool prepare(void* start, u64 bytes, bool huge, const PagePlacement& placement) {
    // A kernel without transparent huge pages refuses both kinds of advice; then its pages are small anyway.
    const bool advised = madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
    (void)place_mapping(start, bytes, placement);
    return huge && advised;
  }
};

}  // namespace

PageSource& system_pages() {
  static constinit SystemPages pages;
  return pages;
}

}  // namespace latchlab
