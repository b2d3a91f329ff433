#include "src/machine/slab_allocator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "src/machine/heap_allocator.h"

namespace latchlab {
namespace {

using Rules = SlabAllocator::Rules;

constexpr u32 kLargestBatch = 64;
constexpr u64 kLargestMove = 64 << 10;  // bytes of a batch: of tcmalloc, and about those of jemalloc
constexpr u64 kPageHeap = 0;            // the size whose lock is that of the regions of all threads

/// Returns the least multiple of `to` that is not less.
constexpr u64 whole(u64 value, u64 to) { return (value + to - 1) / to * to; }

/// Returns multiples of 16 up to 64, and then four sizes for each power of two.
u64 quarters(u64 bytes) {
  return bytes <= 64 ? whole(std::max<u64>(bytes, 1), 16) : whole(bytes, std::bit_floor(bytes - 1) / 4);
}

/// Returns multiples of 16 up to 256, and then eight sizes for each power of two (AlignmentForSize).
u64 eighths(u64 bytes) { return whole(std::max<u64>(bytes, 1), std::max<u64>(16, std::bit_floor(bytes) / 8)); }
/// Returns pages of 8 KiB that lose at most an eighth, and have blocks for a quarter of a batch (SizeMap::Init).
u64 span(u64 size) {
  const u64 blocks = std::clamp<u64>(kLargestMove / size, 2, 32) / 4;
  u64 bytes = 8192;
  while (bytes % size > bytes / 8 || bytes / size < blocks) bytes += 8192;
  return bytes;
}

/// Returns the least number of pages that has no rest.
u64 whole_pages(u64 size) { return std::lcm(size, u64{4096}); }

/// A larger block may be aligned where it lies; otherwise mimalloc makes one of 63 bytes more, and it finds the list of
/// the other size empty from then on.
u64 with_room_to_align(u64 bytes) { return quarters(bytes > 128 ? bytes + kLineBytes - 1 : bytes); }
u64 small_page(u64) { return 64 << 10; }

/// Returns four sizes for each power of two up to 1024, and then the sizes of which a slab has whole numbers.
u64 fitting(u64 bytes) {
  if (bytes <= 1024) return quarters(bytes);
  for (const u64 size : {1792, 2688, 4032, 5376, 8128}) {
    if (bytes <= size) return size;
  }
  return bytes;
}
u64 slab_of_tbb(u64) { return 16 << 10; }

// The nanoseconds of a call are half of a pair of calls for 16 or 64 bytes in warm memory, on a virtual machine at
// about 3 GHz: the libraries of Debian 12.

// gperftools 2.10: src/common.cc, central_freelist.cc, page_heap.cc, system-alloc.cc.
constexpr Rules kTcmallocRules{
    .size_of = eighths,
    .slab_bytes_of = span,
    .slab_alignment = 8192,
    .header = 0,
    .descriptor = 48,   // Span
    .linked = ~u64{0},  // Populate links a whole span
    .batch = 32,        // kDefaultTransferNumObjecs
    .most_kept = 64,    // the limit of a list, which grows and shrinks by batches
    .one_bin = true,
    .one_region = true,
    .links_blocks = true,
    .counts_in_slab = false,
    .region = u64{1} << 30,
    .step = 1 << 20,  // kMinSystemAlloc, by brk
    .step_call = KernelCall::kMap,
    .regions_grow = false,
    .ns_of_call = 4,
};
// jemalloc 5.3: sc.c, tcache.c, extent.c. A slab of one page was measured to take 265 bytes of descriptors: two of 128
// bytes (edata_t), one of them for the rest of the extent that was split.
constexpr Rules kJemallocRules{
    .size_of = quarters,
    .slab_bytes_of = whole_pages,
    .slab_alignment = 4096,
    .header = 0,
    .descriptor = 256,
    .linked = 0,
    .batch = 64,       // half of most_kept (opt.lg_tcache_flush_small_div)
    .most_kept = 128,  // twice a slab's blocks of 64 bytes, 200 at most (opt.tcache_nslots_small_max)
    .one_bin = false,
    .one_region = false,
    .links_blocks = false,
    .counts_in_slab = false,
    .region = 2 << 20,  // HUGEPAGE
    .step = 0,
    .step_call = KernelCall::kMap,
    .regions_grow = true,  // extent_grow_retained
    .ns_of_call = 6,
};
// mimalloc 2.0.9: page.c, segment.c, alloc-aligned.c.
constexpr Rules kMimallocRules{
    .size_of = with_room_to_align,
    .slab_bytes_of = small_page,
    .slab_alignment = 64 << 10,
    .header = 0,
    .descriptor = 96,  // mi_page_t
    .linked = 4096,    // MI_MAX_EXTEND_SIZE
    .batch = 0,
    .most_kept = 0,
    .one_bin = false,
    .one_region = false,
    .links_blocks = true,
    .counts_in_slab = true,
    .region = 32 << 20,  // MI_SEGMENT_SIZE
    .step = 1 << 20,     // MI_MINIMAL_COMMIT_SIZE
    .step_call = KernelCall::kProtect,
    .regions_grow = false,
    .ns_of_call = 5,
};
// oneTBB 2021.8: src/tbbmalloc/frontend.cpp, backend.cpp.
constexpr Rules kTbbRules{
    .size_of = fitting,
    .slab_bytes_of = slab_of_tbb,
    .slab_alignment = 16 << 10,
    .header = 128,  // Block: a line for its owner and one for other threads
    .descriptor = 0,
    .linked = 0,
    .batch = 0,
    .most_kept = 0,
    .one_bin = false,
    .one_region = true,
    .links_blocks = true,
    .counts_in_slab = true,
    .region = 1 << 20,
    .step = 0,
    .step_call = KernelCall::kMap,
    .regions_grow = false,
    .ns_of_call = 12,
};

const Rules& rules_of(ModelledMalloc allocator) {
  switch (allocator) {
    case ModelledMalloc::kJemalloc: return kJemallocRules;
    case ModelledMalloc::kMimalloc: return kMimallocRules;
    case ModelledMalloc::kTbb: return kTbbRules;
    default: return kTcmallocRules;
  }
}

}  // namespace

SlabAllocator::SlabAllocator(const Rules& rules, Ground ground, u32 owners)
    : AllocatorModel(std::move(ground), owners), rules_(rules), owners_(owners) {}

void SlabAllocator::prepare(u32 owner) {
  Owner& fresh = owners_[owner];
  if (fresh.page != 0) return;
  fresh.page = ground_.take(kOwnersBytes, kPage);
  fresh.caches.resize(kSizes);
  fresh.bins.resize(kSizes);
}

/// Returns where the next slab of a region ends.
u64 SlabAllocator::next_end(const Region& region, u64 size) const {
  const bool page = rules_.descriptor != 0 && region.descriptors + rules_.descriptor > region.descriptors_end;
  return whole(region.next + (page ? kPage : 0), rules_.slab_alignment) + rules_.slab_bytes_of(size);
}

std::optional<KernelCall> SlabAllocator::needs(u32 owner, u64 bytes) {
  prepare(owner);
  prepare(0);
  const u64 size = rules_.size_of(bytes);
  if (owners_[owner].caches[size / kUnit].count != 0) return std::nullopt;
  const Bin& bin = bins_of(owner).bins[size / kUnit];
  if (bin.free.count != 0 || bin.next != bin.end) return std::nullopt;
  const Region& region = region_of(owner);
  const u64 end = next_end(region, size);
  if (end <= region.usable) return std::nullopt;
  return end <= region.end ? rules_.step_call : KernelCall::kMap;
}

std::optional<AllocatorModel::Addresses> SlabAllocator::grown(u32 owner, u64 bytes) {
  Region& region = region_of(owner);
  const u64 end = next_end(region, rules_.size_of(bytes));
  if (end <= region.end) {
    region.usable = std::min(region.end, region.usable + whole(end - region.usable, rules_.step));
    return Addresses{0, 0};
  }
  const bool grows = rules_.regions_grow && region.mapped != 0;
  const u64 mapped = grows ? region.mapped + std::bit_floor(region.mapped) / 4 : rules_.region;
  const u64 begin = ground_.take(mapped, rules_.slab_alignment);
  if (begin == 0) return std::nullopt;
  region = {
      .next = begin, .usable = rules_.step == 0 ? begin + mapped : begin, .end = begin + mapped, .mapped = mapped};
  return Addresses{begin, mapped};
}

void SlabAllocator::push(List& list, u64 block) {
  word(block) = std::exchange(list.newest, block);
  ++list.count;
}

u64 SlabAllocator::pop(List& list) {
  --list.count;
  return std::exchange(list.newest, word(list.newest));
}

void SlabAllocator::add_slab(u32 owner, Bin& bin, u64 size) {
  Region& region = region_of(owner);
  const u64 lock = lock_of(owners_[0], kPageHeap);
  if (rules_.one_region) touch(owner, Kind::kLock, lock);
  const u64 end = next_end(region, size);
  if (rules_.descriptor != 0 && region.descriptors + rules_.descriptor > region.descriptors_end) {
    region.descriptors = region.next;
    region.descriptors_end = region.next + kPage;
  }
  const u64 bytes = rules_.slab_bytes_of(size), begin = end - bytes;
  region.next = end;
  const u64 line = rules_.descriptor == 0 ? begin : region.descriptors;
  region.descriptors += rules_.descriptor;
  touch(owner, Kind::kStore, line);
  if (rules_.one_region) touch(owner, Kind::kUnlock, lock);
  slab_of_page_.resize(std::max<u64>(slab_of_page_.size(), end / kPage));
  std::fill(slab_of_page_.begin() + static_cast<i64>(begin / kPage),
            slab_of_page_.begin() + static_cast<i64>(end / kPage), static_cast<u32>(slabs_.size()));
  slabs_.push_back({line, owner});
  bin.next = bin.linked = end - (bytes - rules_.header) / size * size;
  bin.end = end;
}

/// Takes a block of a bin, for which there is one or room for a slab.
u64 SlabAllocator::from_bin(u32 owner, Bin& bin, u64 size) {
  if (bin.free.count != 0) {
    if (rules_.links_blocks) touch(owner, Kind::kLoad, bin.free.newest);
    return pop(bin.free);
  }
  if (bin.next == bin.end) add_slab(owner, bin, size);
  if (rules_.linked != 0 && bin.next == bin.linked) {
    bin.linked = bin.next + std::min(std::max<u64>(rules_.linked / size, 1), (bin.end - bin.next) / size) * size;
    for (u64 at = bin.next; at < bin.linked; at += std::max<u64>(size, kLineBytes)) touch(owner, Kind::kStore, at);
  } else if (rules_.linked != 0) {
    touch(owner, Kind::kLoad, bin.next);
  }
  return std::exchange(bin.next, bin.next + size);
}

u32 SlabAllocator::batch_of(u64 size) const {
  return static_cast<u32>(std::clamp<u64>(kLargestMove / size, 2, rules_.batch));
}

/// Moves a batch from the bin to the cache of its owner; at least one block, and no second slab.
void SlabAllocator::fill(u32 owner, u64 size) {
  Owner& shared = bins_of(owner);
  Bin& bin = shared.bins[size / kUnit];
  touch(owner, Kind::kLock, lock_of(shared, size));
  std::array<u64, kLargestBatch> blocks;
  u32 count = 0;
  do blocks[count++] = from_bin(owner, bin, size);
  while (count < batch_of(size) && (bin.free.count != 0 || bin.next != bin.end));
  while (count != 0) push(owners_[owner].caches[size / kUnit], blocks[--count]);
  touch(owner, Kind::kUnlock, lock_of(shared, size));
}

/// Moves a batch from a cache to the bins of the slabs' owners.
void SlabAllocator::flush(u32 owner, u64 size) {
  std::array<u64, kLargestBatch> blocks;
  const u32 count = batch_of(size);
  for (u32 i = 0; i < count; ++i) blocks[i] = pop(owners_[owner].caches[size / kUnit]);
  for (u32 i = 0; i < count; ++i) {
    if (blocks[i] == 0) continue;
    Owner& to = bins_of(slab_of(blocks[i]).owner);
    touch(owner, Kind::kLock, lock_of(to, size));
    for (u32 j = i; j < count; ++j) {
      if (blocks[j] == 0 || &bins_of(slab_of(blocks[j]).owner) != &to) continue;
      touch(owner, Kind::kStore, rules_.links_blocks ? blocks[j] : slab_of(blocks[j]).line);
      push(to.bins[size / kUnit].free, std::exchange(blocks[j], 0));
    }
    touch(owner, Kind::kUnlock, lock_of(to, size));
  }
}

u64 SlabAllocator::allocate(u32 owner, u64 bytes) {
  const u64 size = rules_.size_of(bytes);
  touch(owner, Kind::kStore, cache_word(owner, size));
  u64 block = 0;
  if (rules_.batch == 0) {
    block = from_bin(owner, bins_of(owner).bins[size / kUnit], size);
  } else {
    List& cache = owners_[owner].caches[size / kUnit];
    if (cache.count == 0) fill(owner, size);
    block = pop(cache);
    if (rules_.links_blocks) touch(owner, Kind::kLoad, block);
  }
  if (rules_.counts_in_slab) touch(owner, Kind::kStore, slab_of(block).line);
  return block;
}

void SlabAllocator::deallocate(u32 owner, u64 block, u64 bytes) {
  prepare(owner);
  const u64 size = rules_.size_of(bytes);
  touch(owner, Kind::kStore, cache_word(owner, size));
  if (rules_.links_blocks) touch(owner, Kind::kStore, block);
  if (rules_.batch == 0) {
    const Slab& slab = slab_of(block);
    touch(owner, slab.owner == owner ? Kind::kStore : Kind::kChange, slab.line);
    push(bins_of(slab.owner).bins[size / kUnit].free, block);
    return;
  }
  List& cache = owners_[owner].caches[size / kUnit];
  push(cache, block);
  if (cache.count > rules_.most_kept) flush(owner, size);
}

std::unique_ptr<AllocatorModel> make_allocator(ModelledMalloc allocator, AllocatorModel::Ground ground, u32 owners) {
  if (allocator == ModelledMalloc::kGlibc) return std::make_unique<HeapAllocator>(std::move(ground), owners);
  return std::make_unique<SlabAllocator>(rules_of(allocator), std::move(ground), owners);
}

}  // namespace latchlab
