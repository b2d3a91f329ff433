#include "src/machine/modelled_memory.h"

#include <algorithm>
#include <bit>

#include "src/machine/reserve.h"

namespace latchlab {
namespace {

// Apart from the race finder's arena, and the same in every process, in case code orders or hashes addresses. The
// kernel may choose another one.
void* const kModelledHint = reinterpret_cast<void*>(u64{0x7ea000000000});

constexpr u64 up(u64 value, u64 to) { return (value + to - 1) & ~(to - 1); }

}  // namespace

ModelledMemory::ModelledMemory() : arena_(reserve<char>(kArenaBytes, kModelledHint)), heaps_(kMaxFibers + 1) {}

ModelledMemory::~ModelledMemory() { release_reserved(arena_, kArenaBytes); }

void ModelledMemory::reset() {
  clear_reserved(arena_, top_);
  starts_.clear(top_);
  top_ = kSmallPage;
  heaps_.assign(kMaxFibers + 1, {});
  unmapped_.clear();
  lines_.clear();
  foreign_.clear();
  names_.clear();
  named_.clear();
  live_blocks_ = 0;
  allocator_.reset();
}

void ModelledMemory::serve_malloc_by(ModelledMalloc allocator, const PagePlacement& placement) {
  placement_ = placement;
  const auto ground = [this](u64 bytes, u64 alignment) { return take(bytes, alignment); };
  allocator_ = make_allocator(allocator, {.start = arena_, .take = ground}, kMaxFibers + 1);
}

/// Returns the offset of so many bytes that were never used, or 0 if the arena is full.
u64 ModelledMemory::take(u64 bytes, u64 alignment) {
  const u64 begin = up(top_, alignment);
  if (bytes > kArenaBytes || begin > kArenaBytes - bytes) return 0;
  top_ = begin + bytes;
  return begin;
}

void* ModelledMemory::allocate(std::size_t bytes, u32 owner) {
  if (bytes > largest_small()) return map(up(bytes, kSmallPage), kSmallPage);
  const u64 size = asked(bytes);
  if (allocator_) {
    void* const block = at(allocator_->allocate(owner_of(owner), size));
    starts_.mark(offset_of(block), size);
    ++live_blocks_;
    return block;
  }
  Heap& heap = heaps_[owner_of(owner)];
  heap.free.resize(kLargestSmall / kUnitOfHeap + 1);
  std::vector<void*>& free = heap.free[size / kUnitOfHeap];
  void* block = nullptr;
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
  } else {
    u64 begin = up(heap.next, size >= kLineBytes ? kLineBytes : kUnitOfHeap);
    if (begin + size > heap.end) {
      begin = take(kSpanBytes, kSmallPage);
      if (begin == 0) return nullptr;
      heap.end = begin + kSpanBytes;
    }
    heap.next = begin + size;
    block = arena_ + begin;
  }
  starts_.mark(offset_of(block), size);
  ++live_blocks_;
  return block;
}

std::string ModelledMemory::deallocate(void* p, std::size_t bytes, u32 owner) {
  if (bytes > largest_small()) {
    unmap(p, up(bytes, kSmallPage));
    return {};
  }
  if (allocator_) {
    allocator_->deallocate(owner_of(owner), offset_of(p), asked(bytes));
    --live_blocks_;
    return {};
  }
  Heap& heap = heaps_[owner_of(owner)];
  heap.free.resize(kLargestSmall / kUnitOfHeap + 1);
  heap.free[asked(bytes) / kUnitOfHeap].push_back(p);
  --live_blocks_;
  return {};
}

void* ModelledMemory::map(u64 bytes, u64 alignment) {
  if (bytes > kMostMapped) return nullptr;
  std::vector<u64>& free = unmapped_[bytes];
  const auto fits = std::find_if(free.rbegin(), free.rend(), [&](u64 offset) { return offset % alignment == 0; });
  const u64 begin = fits == free.rend() ? take(bytes, alignment) : *fits;
  if (begin == 0) return nullptr;
  if (fits != free.rend()) free.erase(std::next(fits).base());
  starts_.mark(begin, bytes);
  ++live_blocks_;
  return arena_ + begin;
}

void ModelledMemory::unmap(void* p, u64 bytes) {
  clear_reserved(static_cast<char*>(p), bytes);
  unmapped_[bytes].push_back(offset_of(p));
  --live_blocks_;
}

std::optional<u32> ModelledMemory::known_line(const void* p) const {
  const u64 offset = offset_of(p);
  if (offset < kArenaBytes) return static_cast<u32>(offset / kLineBytes);
  const auto number = foreign_.find(reinterpret_cast<u64>(p) / kLineBytes);
  return number ? std::optional(kArenaLines + *number) : std::nullopt;
}

void ModelledMemory::name(const void* p, u64 bytes, std::string_view name) {
  if (offset_of(p) >= kArenaBytes) {
    named_.push_back({reinterpret_cast<u64>(p), bytes, name});
    return;
  }
  const u64 unit = asked(bytes) / kUnitOfHeap;
  if (unit > kMostBlock / kUnitOfHeap) return;
  if (unit >= names_.size()) names_.resize(unit + 1);
  std::vector<std::string_view>& names = names_[unit];
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string ModelledMemory::name_of_size(u64 bytes) const {
  std::string all;
  if (bytes / kUnitOfHeap >= names_.size()) return all;
  for (const std::string_view name : names_[bytes / kUnitOfHeap]) {
    if (!all.empty()) all += '/';
    all += name;
  }
  return all;
}

ModelledMemory::Place ModelledMemory::place_of_line(u64 address) const {
  const u64 line = address / kLineBytes;
  if (line < kArenaLines) {
    const u64 offset = line * kLineBytes;
    const u64 start = starts_.start_of(offset), bytes = starts_.end_of(start, kMostBlock) - start;
    return {name_of_size(bytes), bytes, offset - start};
  }
  for (const Named& named : named_) {
    for (u64 at = named.start / kLineBytes; at * kLineBytes < named.start + named.bytes; ++at) {
      if (foreign_.find(at) != static_cast<u32>(line - kArenaLines)) continue;
      return {std::string(named.name), named.bytes, at * kLineBytes - std::min(at * kLineBytes, named.start)};
    }
  }
  return {"", 0, 0};
}

std::string ModelledMemory::place(const void* p) const {
  const u64 offset = offset_of(p);
  if (offset < kArenaBytes) {
    const u64 start = starts_.start_of(offset);
    return "byte " + std::to_string(offset - start) + " of the block at " + std::to_string(start);
  }
  return "byte " + std::to_string(reinterpret_cast<u64>(p) % kLineBytes) + " of the foreign line " +
         std::to_string(foreign_.find(reinterpret_cast<u64>(p) / kLineBytes).value_or(0));
}

}  // namespace latchlab
