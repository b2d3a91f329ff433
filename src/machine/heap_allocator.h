#pragma once
// A model of glibc's malloc (2.19, which has no cache of a thread): an arena a thread, of heaps that grow page by page.
//
//     heap    | header, lock | chunk | chunk | ... | top |  usable until here  | reserved, 64 MiB in all
//     chunk   | size of the one before, if free | size, bit 0: the one before is in use | block ...
//
// A block begins 16 bytes after its chunk, and may use the first word of the next chunk. So a chunk takes 8 bytes more
// than its block, in units of 16, and at least 32.
//
//     taken from   fast list of its size (up to 128 bytes) | smallest free chunk that is large enough, split | top
//     freed to     fast list, as it is                     | joined with free neighbours, or with top
//
// Before the top grows, the fast lists are emptied and their chunks joined. The top grows by what is missing, up to the
// next page: one mprotect, and one page fault by first touch. An aligned block is cut out of a larger chunk, whose
// remainders are freed: they are why a node of one line takes three.
//
// Left out: the unsorted list, which only delays the search for the smallest chunk; giving memory back to the kernel.
//
// Source: glibc's malloc/malloc.c and malloc/arena.c.
#include <map>

#include "src/machine/allocator_model.h"

namespace latchlab {

class HeapAllocator final : public AllocatorModel {
 public:
  HeapAllocator(Ground ground, u32 owners) : AllocatorModel(std::move(ground), owners), arenas_(owners) {}

  u64 largest() const override { return kMmapThreshold - 1; }
  u64 ns_of_call() const override { return kCallNs; }
  std::optional<KernelCall> needs(u32 owner, u64 bytes) override;
  std::optional<Addresses> grown(u32 owner, u64 bytes) override;
  u64 allocate(u32 owner, u64 bytes) override;
  void deallocate(u32 owner, u64 block, u64 bytes) override;

 private:
  static constexpr u64 kUnit = 16, kHeader = 16, kLeastChunk = 32;
  static constexpr u64 kLargestFast = 128;          // DEFAULT_MXFAST, as a chunk
  static constexpr u64 kLeastLarge = 1024;          // MIN_LARGE_SIZE: such a request empties the fast lists
  static constexpr u64 kMmapThreshold = 128 << 10;  // DEFAULT_MMAP_THRESHOLD
  static constexpr u64 kTopPad = 128 << 10;         // DEFAULT_TOP_PAD, of a new heap only
  static constexpr u64 kHeapBytes = u64{64} << 20;  // HEAP_MAX_SIZE
  static constexpr u64 kHeapHeader = 2256;          // heap_info and malloc_state
  static constexpr u64 kLockInHeap = 32, kListsInHeap = 48;
  static constexpr u64 kPage = 4096;
  // Half of a pair of calls for 64 bytes in warm memory took 31 ns on a virtual machine at about 3 GHz; two locked
  // instructions, which are references, are 10 of them.
  static constexpr u64 kCallNs = 20;

  struct Arena {
    u64 first = 0;                         // its first heap, which has the lock; 0: none
    u64 top = 0, usable = 0, end = 0;      // of the newest heap
    u64 fast[kLargestFast / kUnit + 1]{};  // the newest chunk of each list
    bool any_fast = false;
    std::map<u64, u64> free;  // by size: the newest chunk
  };

  static u64 chunk_of(u64 bytes);
  static u64 wanted_chunk(u64 bytes);
  u64 size(u64 chunk) { return word(chunk + 8) & ~u64{15}; }
  bool before_is_free(u64 chunk) { return (word(chunk + 8) & 1) == 0; }
  void set_size(u64 chunk, u64 size) { word(chunk + 8) = size | (word(chunk + 8) & 1); }
  void use(u64 chunk, u64 size);
  void link(Arena& arena, u64 chunk, u64 size);
  void unlink(Arena& arena, u64 chunk);
  void split(u32 owner, Arena& arena, u64 chunk, u64 wanted);
  void release(u32 owner, Arena& arena, u64 chunk);
  void free_chunk(u32 owner, Arena& arena, u64 chunk);
  void consolidate(u32 owner, Arena& arena);
  bool fits(const Arena& arena, u64 wanted) const;
  u64 take(u32 owner, Arena& arena, u64 wanted);

  std::vector<Arena> arenas_;
  std::vector<u32> arena_of_heap_;  // by offset / kHeapBytes
};

}  // namespace latchlab
