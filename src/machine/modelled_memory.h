#pragma once
// The memory of a modelled machine. Unlike the race finder's it is large, it is used again, and it is not checked.
//
//     arena    | span of fiber 0 | chunk | span of fiber 1 | large block | ...
//     span     |block|block|block|                 small blocks of one fiber; freed ones wait in lists by size
//
// A fiber's list gets what it frees itself, like the caches of common allocators. There are no bytes between blocks.
// The model of an allocator may take the place of these lists (serve_malloc_by).
//
// The model knows memory by addresses that are the same in every run: the offset in the arena, and beyond it the lines
// elsewhere, in the order of their first use.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "src/machine/allocator_model.h"
#include "src/machine/block_starts.h"
#include "src/machine/fiber_set.h"
#include "src/machine/foreign_lines.h"
#include "src/machine/sparse_lines.h"
#include "src/memory/numa.h"

namespace latchlab {

class ModelledMemory {
 public:
  static constexpr u32 kMaxFibers = 256;
  using Line = LineState<kMaxFibers>;

  ModelledMemory();
  ~ModelledMemory();
  ModelledMemory(const ModelledMemory&) = delete;
  ModelledMemory& operator=(const ModelledMemory&) = delete;

  /// Forgets every block, every mapping, every line and the model of an allocator.
  void reset();

  /// Lets a model serve all blocks from now on, from pages that are placed so; call it when there are no blocks.
  void serve_malloc_by(ModelledMalloc allocator, const PagePlacement& placement = {});
  /// Returns that model, or null.
  AllocatorModel* allocator() { return allocator_.get(); }
  /// Returns where the program wants the pages of that model.
  const PagePlacement& placement() const { return placement_; }
  /// Returns the number by which a model knows a fiber.
  static u32 owner_of(u32 fiber) { return std::min(fiber, kMaxFibers); }
  /// Returns the nanoseconds of the instructions of an allocation or a deallocation.
  u64 ns_of_call() const { return allocator_ ? allocator_->ns_of_call() : kCallNs; }
  /// Returns the bytes that an allocator is asked for, for a block of `bytes`.
  static constexpr u64 asked(u64 bytes) {
    const u64 unit = bytes >= kLineBytes ? kLineBytes : kUnitOfHeap;
    return (std::max<u64>(bytes, 1) + unit - 1) & ~(unit - 1);
  }
  /// Returns the largest block that is not a mapping of its own.
  u64 largest_small() const { return allocator_ ? allocator_->largest() : kLargestSmall; }
  /// Returns the address of an offset.
  char* at(u64 offset) { return arena_ + offset; }

  /// Allocates a block, or returns null if the arena is full. Blocks of 64 bytes or more are aligned to 64, others to
  /// 16. Contents are undefined. `owner`: the fiber; ~0u outside virtual time. A model must need no call of the kernel.
  [[nodiscard]] void* allocate(std::size_t bytes, u32 owner);
  /// Frees a block of as many bytes; returns "".
  std::string deallocate(void* p, std::size_t bytes, u32 owner);
  /// Maps zero pages, aligned to `alignment`, a power of two of at least 4096. Returns null if the arena is full, or
  /// for more than 16 GiB.
  [[nodiscard]] void* map(u64 bytes, u64 alignment);
  /// Unmaps a whole mapping, whose addresses are used again.
  void unmap(void* p, u64 bytes);

  void poison(const void*, std::size_t) {}
  /// Tells that a pool hands out this block.
  void unpoison(const void* p, std::size_t bytes) {
    if (const u64 offset = offset_of(p); offset < kArenaBytes) starts_.mark(offset, bytes);
  }

  // Nothing is checked here.
  static constexpr bool accessible(const void*, std::size_t) { return true; }
  static std::string complaint(const void*, std::size_t) { return {}; }
  /// Returns a readable position of p.
  std::string place(const void* p) const;

  /// Returns the number of p's line; the same in every run.
  u32 line_number(const void* p) {
    const u64 offset = offset_of(p);
    return offset < kArenaBytes ? static_cast<u32>(offset / kLineBytes)
                                : kArenaLines + foreign_.number(reinterpret_cast<u64>(p) / kLineBytes);
  }
  /// Returns that number unless p is outside of the arena and of all lines that were used.
  std::optional<u32> known_line(const void* p) const;
  /// Returns the address by which a model knows p, and that of the block that p is in. `line` is p's.
  static u64 address_of(const void* p, u32 line) {
    return u64{line} * kLineBytes + reinterpret_cast<u64>(p) % kLineBytes;
  }
  u64 address_of(const void* p) { return address_of(p, line_number(p)); }
  u64 block_of(const void* p, u32 line) const {
    return line < kArenaLines ? starts_.start_of(offset_of(p)) : u64{line} * kLineBytes;
  }

  /// Returns the bytes of the block that p is in, as far as the blocks after it tell, but at most 64 KiB; 0 outside of
  /// the arena.
  u64 block_bytes(const void* p) const {
    const u64 offset = offset_of(p);
    if (offset >= kArenaBytes) return 0;
    const u64 start = starts_.start_of(offset);
    return starts_.end_of(start, kMostBlock) - start;
  }

  /// Gives a name to these bytes. In the arena it is one of all blocks of this size.
  void name(const void* p, u64 bytes, std::string_view name);
  /// Returns the names of the blocks of a size, "/" between them; "" if there are none.
  std::string name_of_size(u64 bytes) const;
  /// The block or the named bytes of a line.
  struct Place {
    std::string name;   // "" if it has none
    u64 bytes, offset;  // bytes: 0 if they are unknown; offset: of the line's first byte
  };
  /// Returns the place of the line with an address by which a model knows it. O(bytes with a name outside the arena).
  Place place_of_line(u64 address) const;

  Line& line(u32 number) { return lines_.of(number); }
  /// Returns the line that an access affects, or null if it affects none: no transaction has it, and no fiber waits.
  Line* line_of_access(u32 number, bool in_transaction) {
    return in_transaction ? &lines_.of(number) : lines_.find(number);
  }

  /// Returns the blocks and the mappings that have not been freed.
  u64 live_blocks() const { return live_blocks_; }

 private:
  static constexpr u64 kArenaBytes = u64{128} << 30;
  static constexpr u32 kArenaLines = kArenaBytes / kLineBytes;
  static constexpr u32 kForeignLines = 1u << 30;
  static constexpr u64 kMostMapped = u64{16} << 30;
  static constexpr u64 kSpanBytes = 64 << 10;
  static constexpr u64 kUnitOfHeap = 16;
  static constexpr u64 kLargestSmall = 8 << 10;
  static constexpr u64 kSmallPage = 4096;
  static constexpr u64 kCallNs = 20;  // the fast path of a common allocator
  static constexpr u64 kMostBlock = 64 << 10;

  /// The small blocks of one fiber.
  struct Heap {
    u64 next = 0, end = 0;                 // its span
    std::vector<std::vector<void*>> free;  // by size in units of 16 bytes
  };

  /// Named bytes outside of the arena.
  struct Named {
    u64 start, bytes;
    std::string_view name;
  };

  u64 offset_of(const void* p) const { return static_cast<u64>(static_cast<const char*>(p) - arena_); }
  u64 take(u64 bytes, u64 alignment);

  char* arena_;
  u64 top_ = kSmallPage;
  std::vector<Heap> heaps_;                   // of each fiber; the last is that of code outside virtual time
  std::map<u64, std::vector<u64>> unmapped_;  // offsets by bytes
  BlockStarts starts_{kArenaBytes};
  SparseLines<Line> lines_;
  ForeignLines foreign_{kForeignLines};
  std::vector<std::vector<std::string_view>> names_;  // of blocks, by their size in units of 16 bytes
  std::vector<Named> named_;
  u64 live_blocks_ = 0;
  std::unique_ptr<AllocatorModel> allocator_;  // null: heaps_
  PagePlacement placement_;
};

}  // namespace latchlab
