#pragma once
// The slab allocator of KV-Direct (Li et al., SOSP 2017), with its parameters: blocks of 32, 64, 128, 256 and 512
// bytes, of which each thread's cache keeps up to 2,048 a class, and moves 512 at a time. No code of the authors is
// public, so it was written from the paper. There a NIC has the cache, and each access to the shared part is a transfer
// by PCIe.
//
//     SlabCache    a thread's: for each class an array of entries (slab_entry.h)
//        |  ^
//       512 entries a move, under the mutex of the class's stack
//        v  |
//     Slabs        32 B    [ entries      ]
//                  64 B    [ entries ]            split: an entry of the next larger class becomes two
//                  ...                            merge: buddies become one of the next larger class
//                  512 B   [ entries        ]
//                  region  | blocks, in use and free | not in use yet |
//
//   1. A unit of the region that is in use belongs to exactly one block. That is a caller's, or one entry names it: in
//      a stack, in a cache or in the hands of a merge.
//   2. An entry is a copy. No call reads or writes a free block.
//   3. A stack never overflows: it has room for as many entries of its class as the region has room for blocks.
//
// A cache whose class is empty takes from the stack of the class, else it splits entries of the next larger class, and
// so on; of the largest, it takes blocks from the unused part of the region.
//
// Merging is lazy. Frees only put entries aside. A merge takes all entries but those of the largest class, sorts them
// by address, joins buddies, and puts the results back, so that low addresses are taken first. Three calls
// merge:
//
//     merge()       the caller decides when
//     SlabMerger    a thread of its own merges when the region grows and much has been given back since the last merge
//     allocate      a cache for which there is no memory gives its own entries back and merges, before it fails
//
// A merge holds a stack's mutex for one move at a time, and sorts without any. The others find fewer entries meanwhile.
// So they take blocks from the unused part of the region. If there is none, they wait until the merge has ended.
//
// Differences from the paper: the region grows, so a merge may come before memory is short. A stack has one end, and a
// mutex instead of two ends. Nothing is returned to the system before the end.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "src/base/owned_count.h"
#include "src/base/radix_sort.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/page_source.h"
#include "src/memory/range.h"
#include "src/memory/slab_entry.h"
#include "src/stats/counters.h"

namespace latchlab {

/// The work of a cache.
struct SlabCounts {
  u64 operations = 0;  ///< blocks taken and freed
  u64 accesses = 0;    ///< of the shared part: moves, looks at empty stacks, and growth of the used part
  u64 lines = 0;       ///< lines of 64 bytes that these accesses read or wrote: the entries, and one besides
  u64 splits = 0;      ///< entries that became two
  u64 merges = 0;      ///< merges because no memory was left

  static constexpr auto fields() {
    return std::array{CounterField{"operations", &SlabCounts::operations},
                      CounterField{"accesses", &SlabCounts::accesses}, CounterField{"lines", &SlabCounts::lines},
                      CounterField{"splits", &SlabCounts::splits}, CounterField{"merges", &SlabCounts::merges}};
  }
  void count_access(u64 entries) {
    ++accesses;
    lines += 1 + (entries * sizeof(u32) + kLineBytes - 1) / kLineBytes;
  }
};

/// The shared part. Any thread may call its functions.
template <class M>
class Slabs {
 public:
  static constexpr u64 kMostBytes = slab::kMostUnits * slab::kUnitBytes;  ///< 64 GiB
  static constexpr u64 kMostBlock = slab::bytes_of(slab::kLargest);       ///< bytes of the largest block
  static constexpr u32 kMoved = 512;                                      ///< entries that move at a time

  /// Makes slabs of at most `most` bytes, 4 KiB to kMostBytes, rounded up to whole pages. Of the configuration, the
  /// source of memory counts: alloc (malloc is arena), thp, pages, limit and fail. The limit counts stacks too, but not
  /// the buffers of a merge. Throws std::bad_alloc if there is not even a first part of it.
  explicit Slabs(const MemoryConfig& config, u64 most = kMostBytes)
      : source_(config, M::pages()), stack_source_(for_stacks(config), M::pages()), most_(source_.rounded(most)) {
    if (!grow()) {
      release();
      throw std::bad_alloc();
    }
    start_ = reinterpret_cast<u64>(region_.space.start);
  }
  ~Slabs() { release(); }
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  /// Returns the block of an entry. Its alignment is its size, or 64 on a machine without pages.
  [[nodiscard, gnu::always_inline]] void* block_of(u32 entry) const {
    return reinterpret_cast<void*>(start_ + slab::unit_of(entry) * slab::kUnitBytes);
  }
  /// Returns the entry of a block.
  [[nodiscard, gnu::always_inline]] u32 entry_of(const void* block, u32 size_class) const {
    return slab::entry_of((reinterpret_cast<u64>(block) - start_) / slab::kUnitBytes, size_class);
  }

  /// Takes entries of a class, at most as many as `to` has places: a power of two, 16 to kMoved. Returns their number.
  /// It is 0 only if the shared part has no free block of the size, nor of a larger one. O(places).
  [[nodiscard]] u32 take(u32 size_class, std::span<u32> to, SlabCounts& counts) {
    const u32 got = stacks_[size_class].pop(to);
    counts.count_access(got);
    if (got != 0) return got;
    if (size_class == slab::kLargest) return take_unused(to, counts);
    // The larger entries come to the second half, so that each is read before the halves reach its place.
    const std::span<u32> large = to.subspan(to.size() / 2);
    const u32 split = take(size_class + 1, large, counts);
    counts.splits += split;
    for (u32 i = 0; i < split; ++i) {
      const u32 whole = large[i], half = slab::half_of(whole);
      to[2 * i] = whole + half;
      to[2 * i + 1] = whole - half;
    }
    return 2 * split;
  }
  /// Puts entries of a class back, at most kMoved.
  void give(u32 size_class, std::span<const u32> entries, SlabCounts& counts) {
    counts.count_access(entries.size());
    stacks_[size_class].push(entries);
    stacks_[size_class].given.fetch_add(entries.size(), kRelaxed);
  }

  /// The result of a merge.
  struct Merged {
    u64 entries = 0;  ///< those that were sorted
    u64 joins = 0;    ///< pairs of buddies that became one entry
  };
  /// Joins all buddies among the free entries of the shared part. Does nothing if none was given since the last merge,
  /// or if the machine refuses the memory: 8 bytes an entry, and 128 KiB. Waits for a merge that runs. O(entries).
  Merged merge() {
    const std::lock_guard one_at_a_time(merging_);
    return merge_alone();
  }
  /// Does what take does, and merges if that finds nothing. No other merge has entries then.
  [[nodiscard]] u32 take_or_merge(u32 size_class, std::span<u32> to, SlabCounts& counts) {
    const std::lock_guard one_at_a_time(merging_);
    if (const u32 got = take(size_class, to, counts); got != 0) return got;  // of a merge that has ended just now
    if (merge_alone().entries == 0) return 0;
    ++counts.merges;
    return take(size_class, to, counts);
  }

  /// Waits until growth has asked for a merge, or ask has been called since the last wait.
  void wait_until_asked() {
    asked_.wait(false, kRelaxed);
    (void)asked_.exchange(false, kAcquire);  // pairs with ask
  }
  /// Ends a wait. What the caller did before is seen by the thread that waited.
  void ask() {
    asked_.store(true, kRelease);  // pairs with wait_until_asked
    asked_.notify_one();
  }

  /// Returns the footprint; exact only while no operation runs. Entries in caches count as live.
  Footprint bytes() const {
    Footprint all = source_.footprint();
    const Footprint stacks = stack_source_.footprint();
    all.reserved += stacks.reserved;
    all.chunks += stacks.chunks;
    all.live = used_ - free_bytes();
    return all;
  }
  /// Returns the bytes of the region that have ever been in use; they are never given back.
  u64 used_bytes() const { return used_; }
  /// Returns how many merges have sorted entries.
  u64 merges() const { return merges_; }

 private:
  static constexpr u64 kLeastStep = 256 << 10, kMostStep = 32 << 20;  // bytes by which the region grows
  // A merge sorts entries into parts of the region by their highest bits: 32 MiB each. The other bits are the place in
  // a bit map of 128 KiB, which a second-level cache holds. So the sort has few digits, and 64 bits are joined at once.
  static constexpr u32 kBitsOfPart = 20, kMapsOfPart = (1u << kBitsOfPart) / slab::kEntriesOfMap;
  static constexpr u64 kUnmergedShare = 8;  // growth asks for a merge if this part of what is used was given since

  /// The free entries of a class.
  struct alignas(kFalseSharingBytes) Stack {
    /// Takes the newest entries. Returns their number.
    u32 pop(std::span<u32> to) {
      const std::lock_guard lock(mutex);
      const u64 got = std::min<u64>(count, to.size());
      count -= got;
      if (got != 0) std::memcpy(to.data(), entries + count, got * sizeof(u32));
      return static_cast<u32>(got);
    }
    void push(std::span<const u32> from) {
      const std::lock_guard lock(mutex);
      if (!from.empty()) std::memcpy(entries + count, from.data(), from.size_bytes());
      count += from.size();
    }

    typename M::Mutex mutex;    // guards the entries and all changes of the count
    u32* entries = nullptr;     // the start of the room, fixed before the first entry
    OwnedCount count;           // others read it without the mutex
    std::atomic<u64> given{0};  // entries since the last merge; relaxed, since it only says whether one is worth it
    Range<M> room;
  };

  /// The memory of a merge, for so many entries. It has huge pages if it is large and the machine grants them: on small
  /// ones, to fault them in would take as long as to sort. No entries: the machine refuses.
  struct Buffer {
    explicit Buffer(u64 size) : pages(M::pages()), is_large(pages != nullptr && size * sizeof(u32) >= kHugePageBytes) {
      const u64 page = is_large ? kHugePageBytes : kSmallPageBytes;
      bytes = (size * sizeof(u32) + page - 1) / page * page;
      entries = static_cast<u32*>(is_large ? pages->map(bytes, true, {}).start : M::allocate(bytes));
      if (entries != nullptr) M::unpoison(entries, bytes);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
      if (entries == nullptr) return;
      if (is_large) {
        pages->unmap(entries, bytes);
      } else {
        M::deallocate(entries, bytes);
      }
    }

    PageSource* const pages;
    const bool is_large;
    u64 bytes;
    u32* entries;
  };

  /// Entries of a class on their way from a merge to the stack, a move and those of a map.
  struct Outbox {
    static constexpr u32 kStep = 4;

    /// Adds the entries of a map whose first number is `first`. Writes a few at a time, and more than there are, since
    /// processors cannot guess how many there are.
    [[gnu::always_inline]] void add(u32 first, u64 map) {
      u32* to = entries.data() + count;
      count += static_cast<u32>(std::popcount(map));
      for (; map != 0; to += kStep) {
        for (u32 i = 0; i < kStep; ++i, map &= map - 1)
          to[i] = first + static_cast<u32>(std::countr_zero(map | u64{1} << 63));
      }
    }
    /// Puts a move on the stack.
    void send(Stack& stack) {
      stack.push(std::span(entries).template first<kMoved>());
      count -= kMoved;
      std::copy_n(entries.begin() + kMoved, count, entries.begin());
    }

    u32 count = 0;
    std::array<u32, kMoved + slab::kEntriesOfMap / 2 + kStep> entries;
  };

  static MemoryConfig for_stacks(MemoryConfig config) {
    config.alloc = MemoryConfig::Alloc::kArena;  // most of a stack is never used, so nothing touches it before
    config.thp = false;
    return config;
  }

  /// Takes entries of the largest class from the part of the region that was never used.
  [[nodiscard]] u32 take_unused(std::span<u32> to, SlabCounts& counts) {
    const std::lock_guard lock(growth_);
    counts.count_access(0);
    if (used_ == region_.usable) {
      if (!grow()) return 0;
      if (is_worth_merging()) ask();
    }
    const u64 got = std::min<u64>(to.size(), (region_.usable - used_) / kMostBlock);
    // As everywhere, the last entry is taken first. It has the lowest address.
    for (u64 i = got; i != 0; --i) {
      to[i - 1] = slab::entry_of(used_ / slab::kUnitBytes, slab::kLargest);
      used_ += kMostBlock;
    }
    return static_cast<u32>(got);
  }
  /// Makes more of the region usable, and as much of the stacks as it can need. Returns false when memory is out. The
  /// caller holds growth_, or is alone.
  [[nodiscard]] bool grow() {
    const u64 usable = region_.usable;
    for (u64 step = std::clamp(std::bit_floor(usable) / 4, kLeastStep, kMostStep); step >= kSmallPageBytes; step /= 2) {
      const u64 wanted = source_.rounded(std::min(usable + step, most_));
      if (wanted > usable && has_stacks_for(wanted) && region_.extend(source_, wanted, most_).usable > usable) {
        M::poison(static_cast<char*>(region_.space.start) + usable, region_.usable - usable);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool has_stacks_for(u64 bytes) {
    for (u32 size_class = 0; size_class < slab::kClasses; ++size_class) {
      Stack& stack = stacks_[size_class];
      const u64 of_entry = slab::bytes_of(size_class), wanted = bytes / of_entry * sizeof(u32);
      if (stack.room.extend(stack_source_, wanted, most_ / of_entry * sizeof(u32)).usable < wanted) return false;
      if (stack.entries == nullptr) stack.entries = static_cast<u32*>(stack.room.space.start);
    }
    return true;
  }
  void release() {
    M::unpoison(region_.space.start, region_.usable);
    region_.release(source_);
    for (Stack& stack : stacks_) stack.room.release(stack_source_);
  }
  bool is_worth_merging() const {
    u64 given = 0;
    for (u32 size_class = 0; size_class < slab::kLargest; ++size_class)
      given += stacks_[size_class].given.load(kRelaxed) * slab::bytes_of(size_class);
    return given >= used_ / kUnmergedShare;
  }
  /// Merges. The caller holds merging_.
  Merged merge_alone();
  u64 free_bytes() const {
    u64 bytes = 0;
    for (u32 size_class = 0; size_class < slab::kClasses; ++size_class)
      bytes += stacks_[size_class].count * slab::bytes_of(size_class);
    return bytes;
  }

  ChunkSource source_, stack_source_;
  const u64 most_;
  u64 start_ = 0;  // address of the region
  std::array<Stack, slab::kClasses> stacks_;
  alignas(kFalseSharingBytes) typename M::Mutex growth_;  // guards the next two
  Range<M> region_;
  OwnedCount used_;            // bytes of the region; others read it without the mutex
  typename M::Mutex merging_;  // held during a merge; guards the next
  OwnedCount merges_;          // others read it without the mutex
  std::atomic<bool> asked_{false};
};

template <class M>
typename Slabs<M>::Merged Slabs<M>::merge_alone() {
  u64 most = 0, given = 0;
  for (u32 size_class = 0; size_class < slab::kLargest; ++size_class) {
    most += stacks_[size_class].count;
    given += stacks_[size_class].given.load(kRelaxed);
  }
  if (given == 0 || most == 0) return {};
  const Buffer buffer(2 * most);
  const std::unique_ptr<u64[]> maps(new (std::nothrow) u64[kMapsOfPart]());
  if (buffer.entries == nullptr || maps == nullptr) return {};

  // The buffer ends at the number of the beginning. What others give meanwhile may be left for the next merge.
  u64 size = 0;
  for (u32 size_class = 0; size_class < slab::kLargest; ++size_class) {
    Stack& stack = stacks_[size_class];
    stack.given.store(0, kRelaxed);
    for (u64 got = kMoved; got != 0; size += got)
      got = stack.pop(std::span(buffer.entries + size, std::min<u64>(kMoved, most - size)));
    if (stack.count != 0) stack.given.fetch_add(1, kRelaxed);
  }
  const auto sorted = radix_sort(std::span(buffer.entries, size), std::span(buffer.entries + most, size), kBitsOfPart);

  std::array<Outbox, slab::kClasses> outboxes;
  u64 left = 0;
  // From the highest map to the lowest, so that low addresses are taken first.
  for (u64 at = size; at != 0;) {
    const u32 part = sorted[at - 1] >> kBitsOfPart;
    for (; at != 0 && sorted[at - 1] >> kBitsOfPart == part; --at) {
      const u32 entry = sorted[at - 1] & ((1u << kBitsOfPart) - 1);
      maps[entry / slab::kEntriesOfMap] |= u64{1} << entry % slab::kEntriesOfMap;
    }
    for (u32 number = kMapsOfPart; number-- != 0;) {
      if (maps[number] == 0) continue;
      const u64 map = slab::join_buddies(std::exchange(maps[number], 0));
      left += static_cast<u64>(std::popcount(map));
      for (u32 size_class = 0; size_class < slab::kClasses; ++size_class) {
        outboxes[size_class].add((part << kBitsOfPart) + number * slab::kEntriesOfMap,
                                 map & slab::kOfClass[size_class]);
        if (outboxes[size_class].count >= kMoved) outboxes[size_class].send(stacks_[size_class]);
      }
    }
  }
  for (u32 size_class = 0; size_class < slab::kClasses; ++size_class)
    stacks_[size_class].push(std::span(outboxes[size_class].entries).first(outboxes[size_class].count));
  merges_ += size != 0;
  return {.entries = size, .joins = size - left};
}

/// A thread's part of slabs. One thread uses it at a time.
template <class M>
class SlabCache {
 public:
  static constexpr u32 kKept = 2048;  ///< entries of a class that a cache keeps

  /// Makes an empty cache. `slabs` must outlive it.
  explicit SlabCache(Slabs<M>& slabs) : slabs_(slabs) {}
  /// Gives all entries back.
  ~SlabCache() { give_all(); }
  SlabCache(const SlabCache&) = delete;
  SlabCache& operator=(const SlabCache&) = delete;

  /// Returns a block for `bytes`, 1 to Slabs::kMostBlock, rounded up to a power of two from 32 on, which is its
  /// alignment too. Returns null when memory is out: the shared part, this cache and the unused part of the region have
  /// no block of the size, even after a merge. Other caches may have some. O(1), or a move once in many calls, or a
  /// merge when memory is short.
  [[nodiscard, gnu::always_inline]] inline void* allocate(u64 bytes) {
    const u32 size_class = slab::class_for(bytes);
    Kept& kept = kept_[size_class];
    if (kept.count == 0) [[unlikely]] {
      if (!refill(size_class)) return nullptr;
    }
    ++counts_.operations;
    void* const block = slabs_.block_of(kept.entries[--kept.count]);
    M::unpoison(block, bytes);
    return block;
  }
  /// Frees a block of any cache of these slabs. `bytes` is the number that was asked for. Never fails. O(1), or a move
  /// once in many calls.
  [[gnu::always_inline]] inline void free(void* block, u64 bytes) {
    const u32 size_class = slab::class_for(bytes);
    Kept& kept = kept_[size_class];
    if (kept.count == kKept) [[unlikely]]
      give(size_class, Slabs<M>::kMoved);
    ++counts_.operations;
    M::poison(block, slab::bytes_of(size_class));
    kept.entries[kept.count++] = slabs_.entry_of(block, size_class);
  }

  /// Gives all entries back to the shared part.
  void give_all() {
    for (u32 size_class = 0; size_class < slab::kClasses; ++size_class) {
      while (kept_[size_class].count != 0) give(size_class, Slabs<M>::kMoved);
    }
  }

  const SlabCounts& counts() const { return counts_; }

 private:
  struct Kept {
    u32 count = 0;
    std::array<u32, kKept> entries;
  };

  /// Takes a move of a class. Returns false when memory is out.
  [[nodiscard, gnu::noinline]] bool refill(u32 size_class) {
    Kept& kept = kept_[size_class];
    const auto place = std::span(kept.entries).template first<Slabs<M>::kMoved>();
    kept.count = slabs_.take(size_class, place, counts_);
    if (kept.count == 0) {
      give_all();
      kept.count = slabs_.take_or_merge(size_class, place, counts_);
    }
    return kept.count != 0;
  }
  /// Gives up to `most` of the newest entries of a class back.
  [[gnu::noinline]] void give(u32 size_class, u32 most) {
    Kept& kept = kept_[size_class];
    const u32 gone = std::min(most, kept.count);
    kept.count -= gone;
    slabs_.give(size_class, std::span(kept.entries).subspan(kept.count, gone), counts_);
  }

  Slabs<M>& slabs_;
  SlabCounts counts_;
  std::array<Kept, slab::kClasses> kept_;
};

}  // namespace latchlab
