// A buffer of cache lines that hold nothing but links to one another: memory as an index would use it, without an
// index.
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

/// Lines mapped straight from the kernel, so that the caller chooses the page size. Their `next` links form one cycle
/// through all lines, in random order.
class LineBuffer {
 public:
  /// Maps and links the lines; takes a second per GiB. Throws std::bad_alloc.
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
