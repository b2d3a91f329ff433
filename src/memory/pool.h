#pragma once
// The memory of one thread in one index. Taking a block and giving it back are a handful of instructions, none of them
// atomic. Inside a hardware transaction they neither trap, nor call the kernel, nor run dry unexpectedly.
//
//     free lists   one per size class, linked through the first word of each free block
//     bump region  [next_, end_) of the newest chunk; whole lines only
//     scrap        a free block that is being split into lines: old blocks of nodes that have grown become leaves
//     spares       regions to carve once the bump region is used up, linked through their first words
//
//     16, 32, 48 | 64, 128, 192 ... 4096 | 5K, 6K, 7K, 8K, 10K ... 1M | more: a mapping of its own
//     split line   whole lines             ---- carved ----
//
// A block of less than 64 bytes is a piece of one line. A line holds four of 16, two of 32, or one of 48 and one of 16.
// All other blocks begin on a line. So no small block straddles two lines, which would double its misses and, inside a
// transaction, its part of the write set.
//
// A transaction is safe for these reasons:
//   1. All state is plain memory of this thread. When the processor rolls an attempt back, it rolls the pool back too.
//      On machines that do not, AttemptBlocks gives the blocks back.
//   2. A policy calls top_up before it speculates. Then kAttemptBytes can be served from memory that is mapped and
//      (with arena+touch) written. Blocks on a free list have been written before.
//   3. An attempt that needs more aborts its transaction with kArenaCode and gets its chunk outside.
//
// A thread may free blocks that it did not take. What one pool gains, another loses: all pools together would grow with
// the square root of the number of replaced blocks, and with every pair that one thread inserts and another erases. So
// the pools of a memory have an exchange, with a list per class. It has a mutex, which a hardware transaction must not
// take. There are two ways to it:
//
//     by balance   every class of attempts' memory. Between attempts a pool compares its live bytes with those at the
//                  last comparison. If kUnsharedBytes have been freed since, it passes on what its lists have beyond
//                  one move
//     by count     the classes that a Sharing names, in memory that no attempt uses. A pool counts their free blocks,
//                  and passes some on as soon as it has more than it may keep. Small blocks that are counted leave the
//                  fast path. All other classes of such a memory go by balance
//
// A pool whose list is empty takes from the exchange before it carves. Inside a hardware transaction it carves, and
// takes at the next balance. When memory is out, a larger free block is carved, of this pool or of the exchange. Small
// blocks are never joined.
//
// Live bytes are counted in plain words per thread. A block may be freed into another thread's pool than it came from.
// So only the sum over all pools is meaningful, and one pool's count may wrap below zero. A rollback also undoes the
// count of the transaction's blocks.
//
// A pool may have a far pool beside it, for blocks on another medium (memory.h). The number of bytes of such a block
// carries kFarBlock, when it is taken and when it is freed. In a memory of far leaves (MemoryConfig::far_leaves) every
// attempt's leaf is such a block: placed() adds the mark. There the far pool is topped up and balanced with this one.
// Such a pool leaves its fast paths, so all other pools keep theirs.
//
// A free block is poisoned except for its link. With malloc every block is a call of M::allocate, also inside a
// transaction: the paper's curve for malloc shows the aborts that this causes.
#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "src/arch/rtm_status.h"
#include "src/base/owned_count.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/range.h"
#include "src/memory/sharing.h"

namespace latchlab {

/// A block and the number of bytes that were asked for.
struct Block {
  void* start;
  u64 bytes;
};

/// The mark of a block of the far pool, in the number of its bytes.
inline constexpr u64 kFarBlock = u64{1} << 62;

template <class M>
class alignas(kFalseSharingBytes) Pool {
 public:
  /// The bytes that one attempt can allocate after top_up(), in blocks of at most kLargestFitted each.
  static constexpr u64 kAttemptBytes = 16 << 10;
  static constexpr u64 kLargestFitted = 4096;  // classes are whole lines up to here, then quarters of powers of two
  static constexpr u64 kLargestCarved = u64{1} << 20;  // a larger block has a mapping of its own
  static constexpr u64 kMallocHeader = 16;             // the bytes that malloc is assumed to add to a block

  /// Free blocks for all pools of a memory.
  class Exchange;

  using Range = latchlab::Range<M>;

  /// Makes a pool; `far` may be null.
  Pool(ChunkSource& source, Exchange& exchange, Pool* far = nullptr)
      : malloc_(source.config().alloc == MemoryConfig::Alloc::kMalloc),
        first_counted_(exchange.counts() ? class_of(exchange.least()) : kClasses),
        leaf_mark_(source.config().far_leaves != nullptr ? kFarBlock : 0),
        ready_bytes_(leaf_mark_ != 0 ? kNeverReady : kAttemptBytes),
        fast_(malloc_ || source.config().fail != nullptr || first_counted_ < kSmallClasses ||
                      least_power(exchange) != 0 || leaf_mark_ != 0
                  ? 0
                  : kLineBytes),
        chunk_bytes_(source.config().thp ? kHugePageBytes : kFirstChunkBytes),
        source_(source),
        exchange_(exchange),
        least_power_(least_power(exchange)),
        far_(far) {
    if (malloc_ && leaf_mark_ == 0) end_ = ~u64{0};  // the region never looks short of room: top_up stays one compare
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns a block of at least `bytes`, or null when memory is out. Its alignment is 16, or 32 from 17 bytes on, or
  /// 64 from 33 bytes on; its contents are undefined. Inside a transaction a dry pool aborts with kArenaCode instead.
  [[nodiscard, gnu::always_inline]] inline void* allocate(u64 bytes) {
    if (!is_fast(bytes)) [[unlikely]]
      return allocate_slowly(bytes);
    return allocate_small(bytes);
  }

  /// Does the same for a leaf, which is freed with placed(bytes).
  [[nodiscard, gnu::always_inline]] inline void* allocate_leaf(u64 bytes) {
    if (!is_fast(bytes)) [[unlikely]]
      return allocate_slowly(placed(bytes));
    return allocate_small(bytes);
  }
  /// Returns the number of bytes of a leaf, with kFarBlock if leaves are far.
  [[nodiscard]] u64 placed(u64 bytes) const { return bytes | leaf_mark_; }

  /// Frees a block of any pool of this index; `bytes` is the number that was asked for.
  [[gnu::always_inline]] inline void free(void* block, u64 bytes) {
    if (!is_fast(bytes)) [[unlikely]]
      return free_slowly(block, bytes);
    const u32 size_class = class_of_small(bytes);
    live_ -= bytes_of_small(size_class);
    push(block, size_class);
  }

  /// Makes at least `wanted` bytes of a range usable and zero, for which at most `most` addresses are ever wanted.
  /// Returns the number of usable bytes, which is less than `wanted` when memory is out. Any thread may extend a range
  /// that others use or extend. Must not be called inside a transaction.
  [[nodiscard]] u64 extend(Range& range, u64 wanted, u64 most) {
    const auto extended = range.extend(source_, wanted, most);
    live_ += extended.gained;
    return extended.usable;
  }
  /// Frees a range, which no other thread uses.
  void free(Range& range) {
    live_ -= range.usable;
    range.release(source_);
  }

  /// Makes sure that the next attempt finds kAttemptBytes, and one more block of `extra` bytes, without calling the
  /// kernel: of each memory, if leaves are far. Returns false when memory is out; the rest can still be allocated. Must
  /// not be called inside a transaction.
  [[nodiscard, gnu::always_inline]] inline bool top_up(u64 extra = 0) {
    if (end_ - next_ >= ready_bytes_ + room_for(extra)) [[likely]]
      return true;
    return leaf_mark_ == 0 ? refill(extra) : top_up_both(extra);
  }

  /// Passes free blocks on to the other pools if many bytes have been freed here since the last time. Takes blocks of
  /// the class of which a transaction found none. Call it between attempts. O(1), or a mutex and a walk over free
  /// blocks once in kUnsharedBytes taken or freed.
  [[gnu::always_inline]] inline void balance() {
    if (live_ - balanced_from_ > 2 * kUnsharedBytes) [[unlikely]]
      rebalance();
  }
  /// Does so for the far pool, if there is one. The balance of this pool says nothing of it.
  void balance_far() {
    if (far_ != nullptr) far_->balance();
  }
  /// Passes on all free blocks beyond one move of each class. Must not be called inside a transaction.
  [[gnu::noinline]] void pass_on_excess() {
    if (far_ != nullptr) far_->pass_on_excess();
    for (u32 size_class = 0; size_class < first_counted_; ++size_class) {
      if (free_[size_class] == nullptr) continue;
      Free* const last_kept = last_of(free_[size_class], exchange_.sharing().moved(bytes_of(size_class)));
      Free* const first = std::exchange(last_kept->next, nullptr);
      if (first == nullptr) continue;
      u64 gone = 1;
      Free* last = first;
      for (; last->next != nullptr; last = last->next) ++gone;
      if (size_class >= kSmallClasses) free_lines_ -= gone * lines_of(size_class);
      exchange_.give(size_class, first, last);
    }
  }

  /// Returns true if blocks may be taken from a far pool.
  bool has_far() const { return far_ != nullptr; }
  /// Returns the bytes taken minus the bytes freed by this thread, modulo 2^64. Any thread may call it.
  u64 live() const { return live_; }

 private:
  // Chunks double from here up to kHugePageBytes, so that a small index of many threads stays small.
  static constexpr u64 kFirstChunkBytes = 64 << 10;
  // A pool has its balance looked at again when its live bytes have changed by so much.
  static constexpr u64 kUnsharedBytes = 64 << 10;
  // More bytes than a region has, with those of any block added.
  static constexpr u64 kNeverReady = kFarBlock;
  // A block is split only while at least so many lines are free, so that nodes that come and go find theirs again.
  static constexpr u64 kScrapLines = 256;
  static constexpr u32 kSmallClasses = kLineBytes / 16;
  static constexpr u32 kFittedClasses = kSmallClasses - 1 + kLargestFitted / kLineBytes;
  static constexpr u32 kClasses = kFittedClasses + 4 * (std::bit_width(kLargestCarved / kLargestFitted) - 1);

  struct Free {
    Free* next;
  };
  struct Spare {
    Spare* next;
    u64 end;
    u64 bytes() const { return end - reinterpret_cast<u64>(this); }
  };

  /// Returns the class of a block of 1 to 64 bytes.
  static constexpr u32 class_of_small(u64 bytes) { return static_cast<u32>((bytes - 1) / 16); }
  static constexpr u64 bytes_of_small(u32 size_class) { return (size_class + u64{1}) * 16; }

  static constexpr u32 class_of(u64 bytes) {
    if (bytes <= kLineBytes) return class_of_small(bytes);
    if (bytes <= kLargestFitted) return kSmallClasses - 2 + static_cast<u32>((bytes + kLineBytes - 1) / kLineBytes);
    const u32 doublings = static_cast<u32>(std::bit_width((bytes - 1) / kLargestFitted)) - 1;
    const u64 beyond = bytes - 1 - (kLargestFitted << doublings);
    return kFittedClasses + 4 * doublings + static_cast<u32>(beyond / (kLargestFitted / 4 << doublings));
  }
  static constexpr u64 bytes_of(u32 size_class) {
    if (size_class < kSmallClasses) return bytes_of_small(size_class);
    if (size_class < kFittedClasses) return (size_class - kSmallClasses + 2) * u64{kLineBytes};
    const u32 quarters = 4 + (size_class - kFittedClasses) % 4 + 1;
    return kLargestFitted / 4 * quarters << (size_class - kFittedClasses) / 4;
  }
  static constexpr u64 lines_of(u32 size_class) { return bytes_of(size_class) / kLineBytes; }
  static constexpr u64 room_for(u64 extra) {
    return extra == 0 || extra > kLargestCarved ? extra : bytes_of(class_of(extra));
  }
  static_assert(bytes_of(class_of(33)) == 48 && bytes_of(class_of(64)) == 64 && bytes_of(class_of(65)) == 128);
  static_assert(class_of(64) + 1 == class_of(65) && class_of(4096) + 1 == class_of(4097) &&
                bytes_of(class_of(4096)) == 4096);
  static_assert(bytes_of(class_of(4097)) == 5120 && bytes_of(class_of(8192)) == 8192 &&
                bytes_of(class_of(8193)) == 10240);
  static_assert(class_of(kLargestCarved) == kClasses - 1 && bytes_of(kClasses - 1) == kLargestCarved);

  /// Returns true if a block is a line or a piece of one, and is taken and freed on the fast path.
  bool is_fast(u64 bytes) const { return bytes <= kLineBytes && bytes <= fast_; }

  [[gnu::always_inline]] inline void* allocate_small(u64 bytes) { return take_small(class_of_small(bytes), bytes); }
  [[gnu::always_inline]] inline void* take_small(u32 size_class, u64 bytes) {
    if (free_[size_class] == nullptr) [[unlikely]] {
      void* const block = refill_small(size_class);
      if (block != nullptr) M::unpoison(block, bytes);
      return block;
    }
    Free* const block = pop_small(size_class);
    M::unpoison(block, bytes);
    return block;
  }
  [[gnu::always_inline]] inline Free* pop_small(u32 size_class) {
    live_ += bytes_of_small(size_class);
    return std::exchange(free_[size_class], free_[size_class]->next);
  }

  [[gnu::noinline]] void* refill_small(u32 size_class) {
    return take_shared(size_class) ? pop_small(size_class) : split_lines(size_class);
  }
  void* split_lines(u32 size_class) {
    switch (size_class) {
      case 0: return split_lines<16>();
      case 1: return split_lines<32>();
      case 2: return split_line_48();
      default: return split_lines<64>();
    }
  }
  /// Returns a block of kBytes from new lines. The other pieces go to the free list, from which the lowest is taken
  /// next. Splits several lines at once, so that the list is seldom empty and the branch on it is predicted.
  template <u64 kBytes>
  [[gnu::noinline]] void* split_lines() {
    u64 lines = 4;
    char* const start = take_lines(lines);
    if (start == nullptr) return nullptr;
    constexpr u32 kSizeClass = class_of_small(kBytes);
    Free* next = free_[kSizeClass];
    for (u64 offset = lines * kLineBytes - kBytes; offset != 0; offset -= kBytes)
      next = link(start + offset, kSizeClass, next);
    free_[kSizeClass] = next;
    live_ += kBytes;
    return start;
  }
  [[gnu::noinline]] void* split_line_48() {
    u64 lines = 1;
    char* const line = take_lines(lines);
    if (line == nullptr) return nullptr;
    push(line + 48, class_of_small(16));
    live_ += 48;
    return line;
  }

  /// Takes at most `lines` lines and stores their number there: from the scrap, or else from the bump region. The last
  /// kAttemptBytes of the region are taken line by line, so that an attempt can use all of them.
  char* take_lines(u64& lines) {
    if (scrap_lines_ == 0 && free_lines_ >= kScrapLines) [[unlikely]]
      open_scrap();
    if (scrap_lines_ != 0) {
      lines = std::min(lines, scrap_lines_);
      scrap_lines_ -= lines;
      return std::exchange(scrap_, scrap_ + lines * kLineBytes);
    }
    if (end_ - next_ < kAttemptBytes + lines * kLineBytes) [[unlikely]]
      lines = 1;
    return carve(lines * kLineBytes);
  }
  [[gnu::noinline]] void open_scrap() {
    while (free_[largest_] == nullptr) --largest_;  // ends, because free_lines_ is not 0
    scrap_ = reinterpret_cast<char*>(pop_lines(largest_));
    scrap_lines_ = lines_of(largest_);
  }
  Free* pop_lines(u32 size_class) {
    free_lines_ -= lines_of(size_class);
    if (size_class >= first_counted_) --kept_[size_class];
    return std::exchange(free_[size_class], free_[size_class]->next);
  }
  /// Keeps a free block, and passes on what is too many of a shared class.
  [[gnu::always_inline]] inline void keep(void* at, u32 size_class) {
    if (size_class >= kSmallClasses) {
      free_lines_ += lines_of(size_class);
      largest_ = std::max(largest_, size_class);
    }
    push(at, size_class);
    if (size_class >= first_counted_) [[unlikely]]
      keep_shared(size_class);
  }
  // Not inlined, so that memory without an exchange does not save registers for it.
  [[gnu::noinline]] void keep_shared(u32 size_class) {
    ++kept_[size_class];
    pass_on(size_class);
  }
  void pass_on(u32 size_class) {
    const Sharing& sharing = exchange_.sharing();
    while (kept_[size_class] > sharing.kept(bytes_of(size_class))) share(size_class);
  }
  /// Gives free blocks of a class to the other pools.
  [[gnu::noinline]] void share(u32 size_class) {
    const u32 gone = exchange_.sharing().moved(bytes_of(size_class));
    Free* const first = free_[size_class];
    Free* const last = last_of(first, gone);
    free_[size_class] = last->next;
    kept_[size_class] -= gone;
    if (size_class >= kSmallClasses) free_lines_ -= gone * lines_of(size_class);
    exchange_.give(size_class, first, last);
  }
  /// Returns the block at place `count` of a list, or the last one of a shorter list.
  static Free* last_of(Free* list, u32 count) {
    for (u32 i = 1; i < count && list->next != nullptr; ++i) list = list->next;
    return list;
  }
  [[gnu::noinline]] void rebalance() {
    const bool has_shrunk = live_ - balanced_from_ > ~u64{0} / 2;
    balanced_from_ = live_ - kUnsharedBytes;
    if (has_shrunk) {
      pass_on_excess();
    } else if (wanted_ != kClasses) {
      take_shared(std::exchange(wanted_, kClasses));
    }
  }
  /// Takes free blocks of a class that other pools have given. Returns false if there are none, or if that must wait
  /// for the end of a transaction.
  [[gnu::always_inline]] inline bool take_shared(u32 size_class) {
    // A transaction reads the list's head here, so it may abort when another pool gives: once in kUnsharedBytes.
    return !exchange_.seems_empty(size_class) && take_from_exchange(size_class);
  }
  [[gnu::noinline]] bool take_from_exchange(u32 size_class) {
    if (M::in_transaction()) {
      wanted_ = size_class;
      balanced_from_ = live_ - 3 * kUnsharedBytes;  // so that the next balance is one
      return false;
    }
    Free* block = exchange_.take(size_class);
    if (block == nullptr) return false;
    while (block != nullptr) {
      Free* const next = block->next;
      keep(block, size_class);
      block = next;
    }
    return true;
  }
  /// Takes a line or a piece of one, of a shared class.
  [[gnu::noinline]] void* take_counted(u32 size_class, u64 bytes) {
    if (free_[size_class] != nullptr || take_shared(size_class)) {
      --kept_[size_class];
      return take_small(size_class, bytes);
    }
    void* const block = take_small(size_class, bytes);
    // The split has left pieces on the list, which was empty. That of a line into 48 and 16 bytes left the latter.
    kept_[size_class] = 0;
    for (const Free* piece = free_[size_class]; piece != nullptr; piece = piece->next) ++kept_[size_class];
    pass_on(size_class);
    if (size_class == class_of_small(48) && first_counted_ == class_of_small(16) && block != nullptr)
      keep_shared(first_counted_);
    return block;
  }

  /// Returns the class of a block of up to kLargestCarved bytes. (What only attempts use takes class_of: their memory
  /// has no Sharing.)
  [[gnu::always_inline]] inline u32 class_for(u64 bytes) const {
    if (least_power_ != 0) [[unlikely]]
      bytes = std::bit_ceil(std::max(bytes, least_power_));
    return class_of(bytes);
  }
  static u64 least_power(const Exchange& exchange) {
    return exchange.sharing().classes == Sharing::Classes::kPowers ? exchange.least() : 0;
  }

  [[gnu::noinline]] void* allocate_slowly(u64 bytes) {
    if ((bytes & kFarBlock) != 0) return far_->allocate(bytes ^ kFarBlock);
    if (FailurePlan* const plan = source_.config().fail; plan != nullptr && plan->fails()) return nullptr;
    if (malloc_) return allocate_by_malloc(bytes);
    if (bytes > kLargestCarved) return allocate_mapping(bytes);
    const u32 size_class = class_for(bytes);
    if (size_class < kSmallClasses)
      return size_class < first_counted_ ? take_small(size_class, bytes) : take_counted(size_class, bytes);
    const u64 size = bytes_of(size_class);
    const bool kept = free_[size_class] != nullptr || take_shared(size_class);
    void* const block = kept ? static_cast<void*>(pop_lines(size_class)) : carve(size);
    if (block == nullptr) return nullptr;
    live_ += size;
    M::unpoison(block, bytes);
    return block;
  }

  void* allocate_by_malloc(u64 bytes) {
    if (!source_.charge(bytes + kMallocHeader)) return nullptr;
    void* const block = M::allocate(malloc_bytes(bytes), source_.config().malloc_alignment);
    if (block == nullptr) {
      source_.refund(bytes + kMallocHeader);
      return nullptr;
    }
    M::unpoison(block, bytes);
    live_ += bytes + kMallocHeader;
    return block;
  }

  // Takes lines from the bump region, or else from a spare, or else from a new chunk.
  [[gnu::always_inline]] inline char* carve(u64 size) {
    if (end_ - next_ >= size) [[likely]] {
      next_ += size;
      return reinterpret_cast<char*>(next_ - size);
    }
    return carve_elsewhere(size);
  }
  [[gnu::noinline]] char* carve_elsewhere(u64 size) {
    for (;;) {
      for (Spare** link = &spares_; *link != nullptr; link = &(*link)->next) {
        Spare* const spare = *link;
        if (spare->bytes() < size) continue;
        if (size > kLargestFitted && spare->bytes() - size >= kLineBytes) {  // from its end: the bump region stays
          spare->end -= size;
          return reinterpret_cast<char*>(spare->end);
        }
        *link = spare->next;
        change_region(reinterpret_cast<u64>(spare), spare->end);
        return carve(size);
      }
      if (M::in_transaction()) M::template abort<kArenaCode>();
      if (!add_spare(size) && !spare_larger(size)) return nullptr;
    }
  }

  /// Makes a spare of the smallest free block of at least `size` bytes, if there is one: of this pool, or of the
  /// exchange.
  [[nodiscard]] bool spare_larger(u64 size) {
    for (u32 size_class = class_of(size); size_class < kClasses; ++size_class) {
      if (free_[size_class] == nullptr && !take_shared(size_class)) continue;
      if (size_class >= kSmallClasses) {
        push_spare(pop_lines(size_class), bytes_of(size_class));
      } else {
        push_spare(std::exchange(free_[size_class], free_[size_class]->next), bytes_of(size_class));
        if (size_class >= first_counted_) --kept_[size_class];
      }
      return true;
    }
    return false;
  }

  // Changes the bump region. The rest of the old one is not lost: a short tail becomes a free block of its size, or
  // several if the classes are powers.
  void change_region(u64 start, u64 end) {
    const u64 tail = end_ - next_;
    char* const at = reinterpret_cast<char*>(next_);
    next_ = start;
    end_ = end;
    if (tail > kLargestFitted) return push_spare(at, tail);
    for (u64 done = 0, size = tail; done != tail; done += size) {
      if (least_power_ != 0) size = std::bit_floor(tail - done);
      keep(at + done, class_of(size));
    }
  }

  void push(void* at, u32 size_class) { free_[size_class] = link(at, size_class, free_[size_class]); }
  static Free* link(void* at, u32 size_class, Free* next) {
    M::unpoison(at, sizeof(Free));  // before the write: the block may be fresh, or shorter than a word
    Free* const block = new (at) Free{next};
    M::poison(static_cast<char*>(at) + sizeof(Free), bytes_of(size_class) - sizeof(Free));
    return block;
  }
  void push_spare(void* at, u64 bytes) {
    M::unpoison(at, sizeof(Spare));
    spares_ = new (at) Spare{spares_, reinterpret_cast<u64>(at) + bytes};
  }

  // Takes a new chunk as a spare. Never called inside a transaction.
  [[nodiscard]] bool add_spare(u64 least) {
    const ChunkSource::Chunk chunk = source_.take(std::max(chunk_bytes_, least), least);
    if (chunk.start == nullptr) return false;
    chunk_bytes_ = std::min(2 * chunk_bytes_, kHugePageBytes);
    M::poison(chunk.start, chunk.bytes);
    push_spare(chunk.start, chunk.bytes);
    return true;
  }

  [[gnu::noinline]] bool top_up_both(u64 extra) {
    far_->balance();
    const bool far_is_ready = far_->top_up(extra);
    const bool is_ready = malloc_ || end_ - next_ >= kAttemptBytes + room_for(extra) || refill(extra);
    return is_ready && far_is_ready;
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

  [[gnu::noinline]] void free_slowly(void* block, u64 bytes) {
    if ((bytes & kFarBlock) != 0) {
      far_->free(block, bytes ^ kFarBlock);
      if (leaf_mark_ != 0) far_->balance();  // attempts' blocks are freed after them, and nothing else looks at it
      return;
    }
    if (!malloc_ && bytes <= kLargestCarved) {
      const u32 size_class = class_for(bytes);
      live_ -= bytes_of(size_class);
      keep(block, size_class);
    } else if (malloc_) {
      live_ -= bytes + kMallocHeader;
      source_.refund(bytes + kMallocHeader);
      M::poison(block, bytes);
      M::deallocate(block, malloc_bytes(bytes));
    } else {
      live_ -= source_.rounded(bytes);
      source_.give_back({block, source_.rounded(bytes)});
    }
  }
  // The machine's allocator aligns to 64 from 64 bytes on, and to 16 below. So a block that needs more asks for a line.
  static constexpr u64 malloc_bytes(u64 bytes) { return bytes > 16 && bytes < kLineBytes ? kLineBytes : bytes; }

  const bool malloc_;
  const u32 first_counted_;  // the smallest class that is shared by count; kClasses if there is none
  const u64 leaf_mark_;      // kFarBlock if leaves are far; otherwise 0
  const u64 ready_bytes_;    // the bytes from which on a region needs no look: kAttemptBytes, or kNeverReady
  const u64 fast_;  // the largest fast block: a line, or 0 if malloc, a failure plan, the Sharing or placed() needs it
  u64 next_ = 0;
  u64 end_ = 0;
  OwnedCount live_;                              // other threads read it (Memory::bytes)
  u64 balanced_from_ = u64{0} - kUnsharedBytes;  // the live bytes at the last balance, less kUnsharedBytes
  Free* free_[kClasses]{};
  u32 kept_[kClasses]{};   // the lengths of the lists that are counted
  u32 wanted_ = kClasses;  // the class of which a transaction found no block; kClasses: none
  u64 free_lines_ = 0;     // lines of the free blocks of 128 bytes or more
  u32 largest_ = 0;        // the lists of all larger classes are empty
  char* scrap_ = nullptr;
  u64 scrap_lines_ = 0;
  Spare* spares_ = nullptr;
  u64 chunk_bytes_;
  ChunkSource::Chunk ready_;  // the large block that top_up has promised
  ChunkSource& source_;
  Exchange& exchange_;
  const u64 least_power_;  // the smallest class, if the classes are powers of two; otherwise 0
  Pool* const far_;        // for the same thread; null if there is none
};

template <class M>
class Pool<M>::Exchange {
 public:
  /// Makes the exchange. With a Sharing the pools count the classes that it names.
  explicit Exchange(const std::optional<Sharing>& sharing)
      : counts_(sharing.has_value()), sharing_(sharing.value_or(Sharing())) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool counts() const { return counts_; }
  const Sharing& sharing() const { return sharing_; }
  /// Returns the size of the smallest shared block.
  u64 least() const {
    const bool powers = sharing_.classes == Sharing::Classes::kPowers;
    return std::clamp(powers ? std::bit_ceil(sharing_.least) : sharing_.least, u64{1}, kLargestCarved);
  }

  /// Takes over a list of free blocks of a class, whose last one is `last`. Takes a mutex.
  void give(u32 size_class, Free* first, Free* last) {
    const std::lock_guard lock(mutex_);
    last->next = lists_[size_class].load(kRelaxed);
    lists_[size_class].store(first, kRelaxed);
  }
  /// Returns a list of as many free blocks of a class as move at a time, or of those there are. Null: none. Takes a
  /// mutex.
  [[nodiscard]] Free* take(u32 size_class) {
    const u32 most = sharing_.moved(bytes_of(size_class));
    const std::lock_guard lock(mutex_);
    Free* const first = lists_[size_class].load(kRelaxed);
    if (first == nullptr) return nullptr;
    Free* const last = last_of(first, most);
    lists_[size_class].store(std::exchange(last->next, nullptr), kRelaxed);
    return first;
  }
  /// Returns true if there was no block of the class a moment ago. Relaxed: it only saves the mutex.
  [[nodiscard]] bool seems_empty(u32 size_class) const { return lists_[size_class].load(kRelaxed) == nullptr; }

 private:
  const bool counts_;
  const Sharing sharing_;
  // Guards all changes of the lists, and the blocks on them. So it orders all but seems_empty, and the lists are
  // relaxed.
  typename M::Mutex mutex_;
  std::atomic<Free*> lists_[kClasses]{};
};

}  // namespace latchlab
