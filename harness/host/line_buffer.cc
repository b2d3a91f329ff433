#include "harness/host/line_buffer.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/memory/chunk_source.h"

namespace latchlab {

namespace {


/// Sattolo's shuffle: one cycle through all lines, so that no chase falls into a short loop.
void lay_cycle(Line* lines, u64 n) {
  for (u64 i = 0; i < n; ++i) lines[i].next = i;
  for (u64 i = n - 1; i > 0; --i) std::swap(lines[i].next, lines[bounded(mix64(i), i)].next);
}

}  // namespace

LineBuffer::LineBuffer(u64 bytes, HugePages pages, const PagePlacement& placement)
    : bytes_((bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes), lines_(bytes / sizeof(Line)) {
  // One huge page more than needed, so that the lines can begin at the boundary of one.
  mapped_ = mmap(nullptr, bytes_ + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const u64 start = (reinterpret_cast<u64>(mapped_) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  first_ = reinterpret_cast<Line*>(start);
  // A kernel without huge pages refuses both: then there is nothing to choose.
  (void)madvise(first_, bytes_, pages == HugePages::kThp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  (void)place_mapping(first_, bytes_, placement);   // where it is refused, the index had no other rule than the system's either
  lay_cycle(first_, lines_);
}

LineBuffer::~LineBuffer() { munmap(mapped_, bytes_ + kHugePageBytes); }

}  // namespace latchlab
