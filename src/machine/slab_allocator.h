#pragma once
// A model of the allocators that divide memory into slabs of blocks of one size: tcmalloc, jemalloc, mimalloc, oneTBB.
//
//     cache     blocks of each size                         one a thread (tcmalloc, jemalloc), or none
//       |       a batch at a time, under the bin's lock
//     bin       blocks of a size, and a slab to cut         one for all threads (tcmalloc), or one a thread
//       |       a slab
//     region    | slab | slab | page of descriptors | ...   one for all threads (tcmalloc, tbb), or one a thread
//       |
//     kernel    maps a region, or makes a part of it usable
//
// An allocator is a row of `Rules`. A block that another thread than the slab's frees goes
//     to that thread's cache, and with a batch on to a bin    tcmalloc (the one for all), jemalloc (the slab's owner's)
//     to the owner at once, by an atomic push to the slab     mimalloc, tbb
//
// Left out: a slab stays with its size when all its blocks are free; thread caches do not grow and shrink; a block
// of more than 8 KiB is a mapping of its own.
#include <vector>

#include "src/machine/allocator_model.h"

namespace latchlab {

class SlabAllocator final : public AllocatorModel {
 public:
  struct Rules {
    u64 (*size_of)(u64 bytes);       // the size of the block for a request
    u64 (*slab_bytes_of)(u64 size);  // a multiple of 4096
    u64 slab_alignment;              // at least 4096
    u64 header;                      // the first bytes of a slab, which are no blocks
    u64 descriptor;                  // bytes elsewhere that describe a slab
    u64 linked;                      // bytes of a new slab whose blocks are linked at once; 0: none are
    u32 batch;                       // blocks that move between a thread's cache and a bin; 0: threads have no cache
    u32 most_kept;                   // blocks of a size in a thread's cache
    bool one_bin, one_region;        // for all threads
    bool links_blocks;               // a free block has the link of its list, so that both ends of its use touch it
    bool counts_in_slab;             // every call writes the slab's header or descriptor
    u64 region, step;                // bytes that are mapped, and that are made usable at a time
    KernelCall step_call;            // the call that makes them usable, if the step is smaller than the region
    bool regions_grow;               // each region is a quarter of a power of two larger than the one before
    u64 ns_of_call;
  };

  SlabAllocator(const Rules& rules, Ground ground, u32 owners);

  u64 largest() const override { return kLargest; }
  u64 ns_of_call() const override { return rules_.ns_of_call; }
  std::optional<KernelCall> needs(u32 owner, u64 bytes) override;
  std::optional<Addresses> grown(u32 owner, u64 bytes) override;
  u64 allocate(u32 owner, u64 bytes) override;
  void deallocate(u32 owner, u64 block, u64 bytes) override;

 private:
  static constexpr u64 kLargest = 8 << 10;
  static constexpr u64 kUnit = 16, kPage = 4096;
  static constexpr u64 kSizes = 2 * kLargest / kUnit;  // a size of tcmalloc's may exceed the request by an eighth

  /// A list of free blocks, the newest first.
  struct List {
    u64 newest = 0, count = 0;
  };
  struct Bin {
    List free;
    u64 next = 0, end = 0;  // the rest of its newest slab
    u64 linked = 0;         // the blocks below are linked
  };
  struct Region {
    u64 next = 0, usable = 0, end = 0;
    u64 descriptors = 0, descriptors_end = 0;
    u64 mapped = 0;  // the bytes of the newest
  };
  struct Slab {
    u64 line;  // that its header or descriptor begins
    u32 owner;
  };
  /// What an owner has; the first owner's bins and region are those of all, if there are such.
  struct Owner {
    u64 page = 0;  // its words: those of the caches, the locks of the bins
    std::vector<List> caches;
    std::vector<Bin> bins;
    Region region;
  };

  Owner& bins_of(u32 owner) { return owners_[rules_.one_bin ? 0 : owner]; }
  Region& region_of(u32 owner) { return owners_[rules_.one_region ? 0 : owner].region; }
  u64 cache_word(u32 owner, u64 size) { return owners_[owner].page + size / kUnit * 16; }
  u64 lock_of(const Owner& bins, u64 size) const { return bins.page + kLocks + size / kUnit * kLineBytes; }
  Slab& slab_of(u64 block) { return slabs_[slab_of_page_[block / kPage]]; }
  void prepare(u32 owner);
  u64 next_end(const Region& region, u64 size) const;
  u32 batch_of(u64 size) const;
  void push(List& list, u64 block);
  u64 pop(List& list);
  void add_slab(u32 owner, Bin& bin, u64 size);
  u64 from_bin(u32 owner, Bin& bin, u64 size);
  void fill(u32 owner, u64 size);
  void flush(u32 owner, u64 size);

  static constexpr u64 kLocks = kSizes * 16, kOwnersBytes = kLocks + kSizes * kLineBytes;

  const Rules rules_;
  std::vector<Owner> owners_;
  std::vector<Slab> slabs_;
  std::vector<u32> slab_of_page_;  // by offset / kPage
};

}  // namespace latchlab
