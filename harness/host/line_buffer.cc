#include "harness/host/line_buffer.h"

#include <new>
#include <utility>

#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/memory/page_source.h"

namespace latchlab {

namespace {

/// Links all lines into one cycle by Sattolo's shuffle, so that no chase falls into a short loop.
void lay_cycle(Line* lines, u64 n) {
  for (u64 i = 0; i < n; ++i) lines[i].next = i;
  for (u64 i = n - 1; i > 0; --i) std::swap(lines[i].next, lines[bounded(mix64(i), i)].next);
}

}  // namespace

LineBuffer::LineBuffer(u64 bytes, HugePages pages, const PagePlacement& placement)
    : bytes_((bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes),
      lines_(bytes / sizeof(Line)),
      first_(static_cast<Line*>(system_pages().map(bytes_, pages == HugePages::kThp, placement).start)) {
  if (first_ == nullptr) throw std::bad_alloc();
  lay_cycle(first_, lines_);
}

LineBuffer::~LineBuffer() { system_pages().unmap(first_, bytes_); }

}  // namespace latchlab
