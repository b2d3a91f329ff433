#include "src/machine/heap_allocator.h"

#include <algorithm>
#include <utility>

namespace latchlab {
namespace {

constexpr u64 up_to(u64 value, u64 to) { return (value + to - 1) & ~(to - 1); }

}  // namespace

u64 HeapAllocator::chunk_of(u64 bytes) { return std::max(kLeastChunk, up_to(bytes + 8, kUnit)); }

/// Returns the size of the chunk that is looked for: for an aligned block, one that has it in it wherever it begins.
u64 HeapAllocator::wanted_chunk(u64 bytes) {
  return bytes < kLineBytes ? chunk_of(bytes) : chunk_of(chunk_of(bytes) + kLineBytes + kLeastChunk);
}

/// Makes a chunk of this size that is in use.
void HeapAllocator::use(u64 chunk, u64 size) {
  set_size(chunk, size);
  word(chunk + size + 8) |= 1;
}

/// Makes a chunk of this size that is free, and whose neighbours are not.
void HeapAllocator::link(Arena& arena, u64 chunk, u64 size) {
  word(chunk + 8) = size | 1;
  word(chunk + size) = size;
  word(chunk + size + 8) &= ~u64{1};
  u64& newest = arena.free[size];
  word(chunk + kHeader) = newest;
  word(chunk + kHeader + 8) = 0;
  if (newest != 0) word(newest + kHeader + 8) = chunk;
  newest = chunk;
}

void HeapAllocator::unlink(Arena& arena, u64 chunk) {
  const u64 older = word(chunk + kHeader), newer = word(chunk + kHeader + 8);
  if (older != 0) word(older + kHeader + 8) = newer;
  if (newer != 0) {
    word(newer + kHeader) = older;
  } else if (older != 0) {
    arena.free[size(chunk)] = older;
  } else {
    arena.free.erase(size(chunk));
  }
}

/// Cuts a chunk that is in use, and frees the rest.
void HeapAllocator::split(u32 owner, Arena& arena, u64 chunk, u64 wanted) {
  const u64 rest = size(chunk) - wanted;
  if (rest <= kLeastChunk) return;
  set_size(chunk, wanted);
  word(chunk + wanted + 8) = rest | 1;
  free_chunk(owner, arena, chunk + wanted);
}

/// Frees a chunk, joined with its free neighbours.
void HeapAllocator::release(u32 owner, Arena& arena, u64 chunk) {
  u64 bytes = size(chunk);
  const u64 next = chunk + bytes;
  touch(owner, Kind::kLoad, next + 8);
  if (before_is_free(chunk)) {
    chunk -= word(chunk);
    bytes += size(chunk);
    touch(owner, Kind::kStore, chunk + 8);
    unlink(arena, chunk);
  }
  if (next == arena.top) {
    arena.top = chunk;
    word(chunk + 8) = 1;
    return;
  }
  const u64 of_next = size(next);
  // A heap that is no longer the newest ends with a chunk of size 0.
  if (of_next != 0 && before_is_free(next + of_next)) {
    touch(owner, Kind::kStore, next + kHeader);
    unlink(arena, next);
    bytes += of_next;
  }
  touch(owner, Kind::kStore, chunk + bytes);
  link(arena, chunk, bytes);
}

void HeapAllocator::free_chunk(u32 owner, Arena& arena, u64 chunk) {
  touch(owner, Kind::kStore, chunk + 8);
  const u64 bytes = size(chunk);
  if (bytes > kLargestFast) return release(owner, arena, chunk);
  touch(owner, Kind::kStore, arena.first + kListsInHeap + bytes / kUnit * 8);
  word(chunk + kHeader) = std::exchange(arena.fast[bytes / kUnit], chunk);
  arena.any_fast = true;
}

void HeapAllocator::consolidate(u32 owner, Arena& arena) {
  arena.any_fast = false;
  for (u64& list : arena.fast) {
    for (u64 chunk = std::exchange(list, 0); chunk != 0;) {
      const u64 next = word(chunk + kHeader);
      touch(owner, Kind::kLoad, chunk + kHeader);
      release(owner, arena, chunk);
      chunk = next;
    }
  }
}

/// Returns true if a chunk of this size can be taken without the kernel. The top keeps room for one more header.
bool HeapAllocator::fits(const Arena& arena, u64 wanted) const {
  return (wanted <= kLargestFast && arena.fast[wanted / kUnit] != 0) ||
         arena.free.lower_bound(wanted) != arena.free.end() || arena.usable - arena.top >= wanted + kLeastChunk;
}

std::optional<KernelCall> HeapAllocator::needs(u32 owner, u64 bytes) {
  Arena& arena = arenas_[owner];
  const u64 wanted = wanted_chunk(bytes);
  if (arena.any_fast && (wanted >= kLeastLarge || !fits(arena, wanted))) consolidate(owner, arena);
  if (fits(arena, wanted)) return std::nullopt;
  const bool has_room = arena.end - arena.top >= wanted + 2 * kLeastChunk;
  return has_room ? KernelCall::kProtect : KernelCall::kMap;
}

std::optional<AllocatorModel::Addresses> HeapAllocator::grown(u32 owner, u64 bytes) {
  Arena& arena = arenas_[owner];
  const u64 wanted = wanted_chunk(bytes);
  if (arena.end - arena.top >= wanted + 2 * kLeastChunk) {
    const bool fresh = arena.usable == arena.top;  // any other top has room for a header
    const u64 to = arena.top + wanted + kLeastChunk + (fresh ? kTopPad : 0);
    arena.usable = std::min(up_to(to, kPage), arena.end);
    return Addresses{0, 0};
  }
  const u64 heap = ground_.take(kHeapBytes, kHeapBytes);
  if (heap == 0) return std::nullopt;
  if (arena.first == 0) {
    arena.first = heap;
  } else {
    word(arena.top + 8) = 1;  // a chunk of size 0, at which nothing joins; what is left of the heap is lost
  }
  arena.end = heap + kHeapBytes;
  arena.top = arena.usable = heap + kHeapHeader;
  word(arena.top + 8) = 1;
  const u64 number = heap / kHeapBytes;
  if (arena_of_heap_.size() <= number) arena_of_heap_.resize(number + 1);
  arena_of_heap_[number] = owner;
  return Addresses{heap, kHeapBytes};
}

/// Takes a chunk of at least `wanted`; one that fits is there.
u64 HeapAllocator::take(u32 owner, Arena& arena, u64 wanted) {
  if (wanted <= kLargestFast && arena.fast[wanted / kUnit] != 0) {
    const u64 chunk = arena.fast[wanted / kUnit];
    touch(owner, Kind::kLoad, chunk + 8);
    arena.fast[wanted / kUnit] = word(chunk + kHeader);
    return chunk;
  }
  if (const auto best = arena.free.lower_bound(wanted); best != arena.free.end()) {
    const u64 chunk = best->second, bytes = best->first;
    touch(owner, Kind::kLoad, chunk + 8);
    touch(owner, Kind::kStore, chunk + bytes + 8);
    unlink(arena, chunk);
    const u64 rest = bytes - wanted;
    if (rest < kLeastChunk) {
      use(chunk, bytes);
    } else {
      set_size(chunk, wanted);
      link(arena, chunk + wanted, rest);
    }
    return chunk;
  }
  const u64 chunk = arena.top;
  arena.top += wanted;
  set_size(chunk, wanted);
  word(arena.top + 8) = 1;
  touch(owner, Kind::kStore, chunk + 8);
  touch(owner, Kind::kStore, arena.top + 8);
  return chunk;
}

u64 HeapAllocator::allocate(u32 owner, u64 bytes) {
  Arena& arena = arenas_[owner];
  const u64 lock = arena.first + kLockInHeap;
  touch(owner, Kind::kLock, lock);
  u64 chunk = take(owner, arena, wanted_chunk(bytes));
  if (bytes >= kLineBytes) {
    u64 aligned = up_to(chunk + kHeader, kLineBytes) - kHeader;
    if (aligned != chunk && aligned - chunk < kLeastChunk) aligned += kLineBytes;
    if (const u64 before = aligned - chunk; before != 0) {
      word(aligned + 8) = (size(chunk) - before) | 1;
      set_size(chunk, before);
      touch(owner, Kind::kStore, aligned + 8);
      free_chunk(owner, arena, std::exchange(chunk, aligned));
    }
    split(owner, arena, chunk, chunk_of(bytes));
  }
  touch(owner, Kind::kUnlock, lock);
  return chunk + kHeader;
}

void HeapAllocator::deallocate(u32 owner, u64 block, u64) {
  Arena& arena = arenas_[arena_of_heap_[block / kHeapBytes]];
  touch(owner, Kind::kLock, arena.first + kLockInHeap);
  free_chunk(owner, arena, block - kHeader);
  touch(owner, Kind::kUnlock, arena.first + kLockInHeap);
}

}  // namespace latchlab
