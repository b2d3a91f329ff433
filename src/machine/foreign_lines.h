#pragma once
// Numbers for the lines outside a virtual machine's arena: on a stack, in the system's heap. They are numbered in the
// order in which they are first accessed. So what happens does not depend on the addresses of the system's allocator.
#include <optional>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

class ForeignLines {
 public:
  /// There are `most` numbers. If there are more lines, some share a number: that only adds conflicts.
  explicit ForeignLines(u32 most) : most_(most), slots_(1024) {}

  /// Returns the number of a line, `address` being its address in lines; a new one is numbered.
  u32 number(u64 address);
  /// Returns the number of a line if it has one.
  std::optional<u32> find(u64 address) const;
  void clear();

 private:
  struct Slot {
    u64 address1;  // one plus the line's address; 0 if the slot is empty
    u32 number;
  };

  u64 slot_of(u64 address) const;

  const u32 most_;
  std::vector<Slot> slots_;  // open addressing; the size is a power of two, at most half full
  std::vector<u32> used_;
};

}  // namespace latchlab
