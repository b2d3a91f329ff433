// Cache lines with nothing in them but the way through them: memory as an index would use it, without the index.
#pragma once

#include "harness/config/config.h"
#include "src/base/types.h"
#include "src/memory/numa.h"

namespace latchlab {

struct Line {
  u64 next;  ///< the line after this one
  u64 rest[7];
};
static_assert(sizeof(Line) == kLineBytes);

/// Lines straight from the kernel, so that the page size is ours to choose, in one cycle: from each line `next` leads
/// to another, in random order, through all of them.
class LineBuffer {
 public:
  /// A second per GiB. Throws std::bad_alloc.
  LineBuffer(u64 bytes, HugePages pages, const PagePlacement& placement);
  ~LineBuffer();
  LineBuffer(const LineBuffer&) = delete;
  LineBuffer& operator=(const LineBuffer&) = delete;

  [[nodiscard]] Line* lines() const { return first_; }
  [[nodiscard]] u64 size() const { return lines_; }

 private:
  u64 bytes_;
  u64 lines_;
  Line* first_;
};

}  // namespace latchlab
