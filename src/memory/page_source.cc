#include "src/memory/page_source.h"

#include <sys/mman.h>

#include <fstream>
#include <string>

#include "src/arch/sanitizer.h"
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
    // Huge pages need their own alignment: map one more and cut off both ends.
    const u64 slack = huge ? kHugePageBytes : 0;
    void* const mapped =
        mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return {};
    char* start = static_cast<char*>(mapped);
    if (slack != 0) {
      const u64 before = -reinterpret_cast<u64>(start) & (kHugePageBytes - 1);
      if (before != 0) munmap(start, before);
      start += before;
      if (before != slack) munmap(start + bytes, slack - before);
    }
    // A kernel without transparent huge pages refuses both advices; then its pages are small anyway.
    const bool advised = madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
    (void)place_mapping(start, bytes, placement);
    return {start, huge && advised};
  }

  // By one call rather than a trap a page, which takes about 1.5 times as long; kernels before 5.14 do not know it. One
  // byte a page then: volatile, because a write of zero to memory that nobody reads is otherwise no write at all.
  void populate(void* start, u64 bytes) override {
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return;
    auto* const at = static_cast<volatile unsigned char*>(start);
    for (u64 offset = 0; offset < bytes; offset += kSmallPageBytes) at[offset] = 0;
  }

  void unmap(void* start, u64 bytes) override {
    unpoison_memory(start, bytes);  // the addresses may come back as somebody else's
    munmap(start, bytes);
  }
};

}  // namespace

PageSource& system_pages() {
  static constinit SystemPages pages;
  return pages;
}

}  // namespace latchlab
