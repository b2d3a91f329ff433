#pragma once
// The memory of one thread in one index: taking a block and giving it back are a handful of instructions without an atomic
// one, and inside a hardware transaction they can neither trap, nor call the kernel, nor run dry unexpectedly.
//
//     free lists   one per size class, linked through the first word of each free block
//     bump region  [next_, end_) of the newest chunk; whole lines only
//     spares       regions that wait behind it, linked through their first words
//
//     16 | 32 | 64, 128, 192 ... 4096 | 8K, 16K ... 1M | more: a mapping of its own
//     ---- a line is split ----------   ---- carved ----
//
// Blocks of 16 and 32 bytes are pieces of one 64-byte line, all others begin on a line: a small block never straddles one,
// which would double its misses and, inside a transaction, its part of the write set.
//
// Why a transaction is safe. All state is plain memory of this thread: when the processor rolls an attempt back, it rolls
// the pool back with it; on machines that do not, the ThreadContext gives the blocks back. The policy calls top_up before
// every attempt; after that, kAttemptBytes can be served from memory that is mapped and (with arena+touch) written. What needs
// more aborts the transaction with kArenaCode and gets its chunk outside. Blocks on a free list have been written before.
//
// Live bytes are counted here, plainly and per thread; a block may be freed into another thread's pool than it came from, so
// only the sum over all pools means something, and one pool's count may wrap below zero. What a transaction took is
// uncounted by its rollback.
//
// A free block is poisoned except for its link. With malloc every block is a call of M::allocate, inside a transaction too:
// the abort that this causes is what that curve of the paper shows.
#include <algorithm>
#include <bit>
#include <new>

#include "src/arch/rtm_status.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"

namespace latchlab {

template <class M>
class alignas(kFalseSharingBytes) Pool {
 public:
  /// What one attempt can allocate after top_up(), in blocks of at most kLargestFitted each.
  static constexpr u64 kAttemptBytes = 16 << 10;
  static constexpr u64 kLargestFitted = 4096;          // classes of whole lines up to here, then powers of two
  static constexpr u64 kLargestCarved = u64{1} << 20;  // above: one mapping a block
  static constexpr u64 kMallocHeader = 16;             // what malloc is assumed to add

  explicit Pool(ChunkSource& source)
      : careful_(source.config().fail != nullptr || source.config().alloc == MemoryConfig::Alloc::kMalloc),
        malloc_(source.config().alloc == MemoryConfig::Alloc::kMalloc),
        chunk_bytes_(source.config().thp ? kHugePageBytes : kFirstChunkBytes),
        source_(source) {
    if (malloc_) end_ = ~u64{0};   // never short of room: top_up stays one compare
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// A block of at least `bytes`, aligned to 16, 32 (from 17 bytes on) or 64 (from 33 on); contents undefined. Null when
  /// memory is out. Inside a transaction a dry pool aborts it with kArenaCode instead.
  [[nodiscard, gnu::always_inline]] inline void* allocate(u64 bytes) {
    if (careful_) [[unlikely]] return allocate_carefully(bytes);
    return allocate_block(bytes);
  }

  /// Takes back a block of any pool of this index, with the `bytes` that were asked for.
  [[gnu::always_inline]] inline void free(void* block, u64 bytes) {
    if (malloc_ || bytes > kLargestCarved) [[unlikely]] return free_elsewhere(block, bytes);
    const u32 size_class = class_of(bytes);
    live_ -= bytes_of(size_class);
    push(block, size_class);
  }

  /// Makes sure that the next attempt finds kAttemptBytes, and one more block of `extra` bytes, without calling the kernel.
  /// False when memory is out; what is left can still be allocated. Must not be called inside a transaction.
  [[nodiscard, gnu::always_inline]] inline bool top_up(u64 extra = 0) {
    if (end_ - next_ >= kAttemptBytes + room_for(extra)) [[likely]] return true;
    return refill(extra);
  }

  /// Bytes taken minus bytes given back by this thread, modulo 2^64.
  u64 live() const { return live_; }

 private:
  static constexpr u64 kFirstChunkBytes = 64 << 10;   // doubles up to kHugePageBytes: small indexes of many threads stay small
  static constexpr u32 kFittedClasses = 2 + kLargestFitted / kLineBytes;
  static constexpr u32 kClasses = kFittedClasses + std::bit_width(kLargestCarved / kLargestFitted) - 1;

  struct Free {
    Free* next;
  };
  struct Spare {
    Spare* next;
    u64 end;
    u64 bytes() const { return end - reinterpret_cast<u64>(this); }
  };

  static constexpr u32 class_of(u64 bytes) {
    if (bytes <= kLineBytes) return (bytes > 16) + (bytes > 32);   // no branch: leaves have all three sizes
    if (bytes <= kLargestFitted) return 1 + static_cast<u32>((bytes + kLineBytes - 1) / kLineBytes);
    return kFittedClasses + static_cast<u32>(std::bit_width((bytes - 1) / kLargestFitted)) - 1;
  }
  static constexpr u64 bytes_of(u32 size_class) {
    if (size_class <= 2) return u64{16} << size_class;
    if (size_class < kFittedClasses) return (size_class - 1) * u64{kLineBytes};
    return 2 * kLargestFitted << (size_class - kFittedClasses);
  }
  static constexpr u64 room_for(u64 extra) {
    return extra == 0 || extra > kLargestCarved ? extra : bytes_of(class_of(extra));
  }
  static_assert(bytes_of(class_of(33)) == 64 && bytes_of(class_of(4096)) == 4096 && class_of(4096) + 1 == class_of(4097));
  static_assert(bytes_of(class_of(4097)) == 8192 && bytes_of(class_of(8193)) == 16384);
  static_assert(class_of(kLargestCarved) == kClasses - 1 && bytes_of(kClasses - 1) == kLargestCarved);

  [[gnu::always_inline]] inline void* allocate_block(u64 bytes) {
    if (bytes <= kLargestCarved) [[likely]] {
      const u32 size_class = class_of(bytes);
      if (Free* const block = free_[size_class]; block != nullptr) {
        free_[size_class] = block->next;
        live_ += bytes_of(size_class);
        M::unpoison(block, bytes);
        return block;
      }
      if (const u64 size = bytes_of(size_class); size >= kLineBytes && end_ - next_ >= size) [[likely]] {
        void* const block = reinterpret_cast<void*>(next_);
        next_ += size;
        live_ += size;
        M::unpoison(block, bytes);
        return block;
      }
    }
    return allocate_slowly(bytes);
  }

  [[gnu::noinline]] void* allocate_carefully(u64 bytes) {
    if (FailurePlan* const plan = source_.config().fail; plan != nullptr && plan->fails()) return nullptr;
    if (!malloc_) return allocate_block(bytes);
    if (!source_.charge(bytes + kMallocHeader)) return nullptr;
    void* const block = M::allocate(malloc_bytes(bytes));
    if (block == nullptr) {
      source_.refund(bytes + kMallocHeader);
      return nullptr;
    }
    M::unpoison(block, bytes);
    live_ += bytes + kMallocHeader;
    return block;
  }

  [[gnu::noinline]] void* allocate_slowly(u64 bytes) {
    if (bytes > kLargestCarved) return allocate_mapping(bytes);
    const u32 size_class = class_of(bytes);
    const u64 size = bytes_of(size_class);
    char* const block = carve(std::max<u64>(size, kLineBytes));
    if (block == nullptr) return nullptr;
    // The rest of a split line; the lowest piece is taken next.
    for (u64 offset = kLineBytes - size; size < kLineBytes && offset > 0; offset -= size) push(block + offset, size_class);
    live_ += size;
    M::unpoison(block, bytes);
    return block;
  }

  // Lines from the bump region, or else from a spare, or else from a new chunk.
  char* carve(u64 size) {
    for (;;) {
      if (end_ - next_ >= size) {
        next_ += size;
        return reinterpret_cast<char*>(next_ - size);
      }
      for (Spare** link = &spares_; *link != nullptr; link = &(*link)->next) {
        Spare* const spare = *link;
        if (spare->bytes() < size) continue;
        if (size > kLargestFitted && spare->bytes() - size >= kLineBytes) {   // from its end: the bump region stays
          spare->end -= size;
          return reinterpret_cast<char*>(spare->end);
        }
        *link = spare->next;
        change_region(reinterpret_cast<u64>(spare), spare->end);
        break;
      }
      if (end_ - next_ >= size) continue;
      if (M::in_transaction()) M::template abort<kArenaCode>();
      if (!add_spare(size)) return nullptr;
    }
  }

  // What is left of the old region is not lost: a short tail is a free block of just that size.
  void change_region(u64 start, u64 end) {
    const u64 tail = end_ - next_;
    char* const at = reinterpret_cast<char*>(next_);
    next_ = start;
    end_ = end;
    if (tail == 0) return;
    if (tail <= kLargestFitted) return push(at, class_of(tail));
    push_spare(at, tail);
  }

  void push(void* at, u32 size_class) {
    M::unpoison(at, sizeof(Free));   // before the link is written: the block may be fresh, or end inside its first word
    free_[size_class] = new (at) Free{free_[size_class]};
    M::poison(static_cast<char*>(at) + sizeof(Free), bytes_of(size_class) - sizeof(Free));
  }
  void push_spare(void* at, u64 bytes) {
    M::unpoison(at, sizeof(Spare));
    spares_ = new (at) Spare{spares_, reinterpret_cast<u64>(at) + bytes};
  }

  // Outside transactions.
  [[nodiscard]] bool add_spare(u64 least) {
    const ChunkSource::Chunk chunk = source_.take(std::max(chunk_bytes_, least), least);
    if (chunk.start == nullptr) return false;
    chunk_bytes_ = std::min(2 * chunk_bytes_, kHugePageBytes);
    M::poison(chunk.start, chunk.bytes);
    push_spare(chunk.start, chunk.bytes);
    return true;
  }

  [[gnu::noinline]] bool refill(u64 extra) {
    u64 least = kAttemptBytes + room_for(extra);
    if (extra > kLargestCarved) {
      if (ready_.bytes != source_.rounded(extra)) {
        if (ready_.start != nullptr) source_.give_back(ready_);
        ready_ = source_.take(extra, extra);
        if (ready_.start == nullptr) return false;
      }
      least = kAttemptBytes;
      if (end_ - next_ >= least) return true;
    }
    for (const Spare* spare = spares_; spare != nullptr; spare = spare->next) {
      if (spare->bytes() >= least) return true;
    }
    return add_spare(least);
  }

  void* allocate_mapping(u64 bytes) {
    const u64 size = source_.rounded(bytes);
    ChunkSource::Chunk chunk = ready_;
    if (chunk.bytes == size) {
      ready_ = {};
    } else {
      if (M::in_transaction()) M::template abort<kArenaCode>();
      chunk = source_.take(size, size);
      if (chunk.start == nullptr) return nullptr;
    }
    live_ += size;
    return chunk.start;
  }

  [[gnu::noinline]] void free_elsewhere(void* block, u64 bytes) {
    if (malloc_) {
      live_ -= bytes + kMallocHeader;
      source_.refund(bytes + kMallocHeader);
      M::poison(block, bytes);
      M::deallocate(block, malloc_bytes(bytes));
    } else {
      live_ -= source_.rounded(bytes);
      source_.give_back({block, source_.rounded(bytes)});
    }
  }
  // The allocator aligns to 64 from 64 bytes on and to 16 below: blocks that must have more than that ask for a line.
  static constexpr u64 malloc_bytes(u64 bytes) { return bytes > 16 && bytes < kLineBytes ? kLineBytes : bytes; }

  u64 next_ = 0;
  u64 end_ = 0;
  u64 live_ = 0;
  const bool careful_;   // a malloc pool, or one with a failure plan: the fast path asks once for both
  const bool malloc_;
  Free* free_[kClasses]{};
  Spare* spares_ = nullptr;
  u64 chunk_bytes_;
  ChunkSource::Chunk ready_;   // the large block that top_up promised
  ChunkSource& source_;
};

}  // namespace latchlab
