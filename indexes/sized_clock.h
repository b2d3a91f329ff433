#pragma once
// The clock of the values in near memory (indexes/sized_tiers.h): entries that say which value of which key lies there,
// first in, first out. So a hand looks at near values alone, however many are far.
//
//     a value is published --> open chunk of the thread --full--> list of its size class
//                                  ^                                   |
//                                  `-- used, too small, or in use <-- hand --> cold: moves to far memory
//                                                                       `----> gone: the entry is dropped
//
// 1. An entry is added after its word has been published. So a key that has another word, or none, says that the value
//    of the entry has gone.
// 2. An entry holds a word, not a block. Its reader finds the key again, inside an epoch, before it follows the word.
//    If the word has come back, it is that of a near value all the same.
// 3. A hand that lacks room of some size looks in the list of that size, then in those of larger ones. So it moves no
//    values whose blocks would not help.
// 4. An entry whose value was replaced or erased goes when a hand comes by. When the lists hold twice as many entries
//    as values are near, each chunk that comes makes its thread look at two. So lists stay proportional to near memory:
//    16 bytes an entry, for keys that are numbers.
//
// The hand of a thread sees the lists, and its own open chunks if these are empty. What other threads have in theirs,
// up to a chunk for each size, stays near until they fill it or end.
//
// The clock algorithm: sized_evict.h.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/types.h"

namespace latchlab::sized {

/// The entries of an index. `kEntries` is the number in a chunk.
template <class M, class Raw, u32 kEntries>
class Clock {
 public:
  using Key = std::conditional_t<std::is_same_v<Raw, std::string_view>, std::string, Raw>;
  struct Entry {
    Key key{};
    u64 word = 0;
  };
  struct Chunk {
    Chunk* next = nullptr;
    u32 count = 0;
    std::array<Entry, kEntries> entries;
  };
  using ChunkPtr = std::unique_ptr<Chunk>;

  /// The size classes: class c has the blocks of more than 2^(c - 1) and up to 2^c bytes.
  static constexpr u32 kClasses = 26;
  static constexpr u32 kMost = kEntries;
  [[nodiscard]] static u32 class_of(u64 bytes) {
    return std::min(static_cast<u32>(std::bit_width(bytes - 1)), kClasses - 1);
  }

  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  ~Clock() {
    for (List& list : lists_) {
      while (take(list) != nullptr) {}
    }
  }

  /// A thread's part. It ends before the clock does.
  class Thread {
   public:
    explicit Thread(Clock& clock) : clock_(clock) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    ~Thread() {
      for (u32 c = 0; c < kClasses; ++c) {
        if (open_[c] != nullptr) give(c, std::move(open_[c]));
      }
      tell();
    }

    /// Adds an entry. Without memory for it the clock does not know the value, which then stays near until it is
    /// replaced.
    void add(u32 size_class, const Raw& key, u64 word) noexcept {
      ++lived_;
      try {
        ChunkPtr& open = open_[size_class];
        if (open != nullptr && open->count == kEntries) give(size_class, std::exchange(open, nullptr));
        if (open == nullptr) open = std::make_unique<Chunk>();
        open->entries[open->count] = {Key(key), word};
        ++open->count;
      } catch (const std::bad_alloc&) {  // the clock does not know the value
      }
    }
    /// Notes that a near value has been replaced, erased or moved.
    void gone() {
      if (--lived_ == -static_cast<i64>(kEntries)) tell();
    }

    /// Returns the oldest chunk of a class, or of the next larger one that has any, and its class; null if there is
    /// none.
    [[nodiscard]] std::pair<u32, ChunkPtr> take(u32 size_class) {
      for (u32 c = size_class; c < kClasses; ++c) {
        if (ChunkPtr chunk = clock_.take(clock_.lists_[c])) return {c, std::move(chunk)};
        if (open_[c] != nullptr && open_[c]->count != 0) return {c, std::move(open_[c])};
      }
      return {};
    }
    /// Takes a chunk back whose entries have been looked at: some may be gone.
    void put_back(u32 size_class, ChunkPtr chunk) noexcept {
      if (chunk->count == 0) return;
      ChunkPtr& open = open_[size_class];
      if (open == nullptr) {
        open = std::move(chunk);
      } else if (open->count + chunk->count <= kEntries) {
        std::move(chunk->entries.begin(), chunk->entries.begin() + chunk->count, open->entries.begin() + open->count);
        open->count += chunk->count;
      } else {
        clock_.give(clock_.lists_[size_class], std::move(chunk));
      }
    }

    /// The chunks that this thread should look at, for entries that are gone.
    u32 due() const { return due_; }
    u32 due_class() const { return due_class_; }
    void looked() { --due_; }

   private:
    void give(u32 size_class, ChunkPtr chunk) noexcept {
      clock_.give(clock_.lists_[size_class], std::move(chunk));
      tell();
      if (!clock_.is_stale()) return;
      due_ = 2;
      due_class_ = size_class;
    }
    /// Adds this thread's count of near values to that of all.
    void tell() { clock_.live_.fetch_add(std::exchange(lived_, 0), kRelaxed); }

    Clock& clock_;
    std::array<ChunkPtr, kClasses> open_;
    i64 lived_ = 0;  // near values that have come, less those that have gone, since the last tell
    u32 due_ = 0, due_class_ = 0;
  };

  /// Returns the bytes of the lists, but those of long keys.
  [[nodiscard]] u64 bytes() const { return chunks_.load(kRelaxed) * sizeof(Chunk); }

 private:
  struct List {
    typename M::Mutex mutex;  // guards all changes
    std::atomic<Chunk*> first{nullptr};
    Chunk* last = nullptr;
  };

  void give(List& list, ChunkPtr chunk) noexcept {
    entries_.fetch_add(chunk->count, kRelaxed);
    chunks_.fetch_add(1, kRelaxed);
    const std::lock_guard lock(list.mutex);
    Chunk* const added = chunk.release();
    added->next = nullptr;
    if (list.first.load(kRelaxed) == nullptr) {
      list.first.store(added, kRelaxed);
    } else {
      list.last->next = added;
    }
    list.last = added;
  }
  [[nodiscard]] ChunkPtr take(List& list) {
    if (list.first.load(kRelaxed) == nullptr) return nullptr;  // relaxed: it only saves the mutex
    const std::lock_guard lock(list.mutex);
    ChunkPtr chunk(list.first.load(kRelaxed));
    if (chunk == nullptr) return nullptr;
    list.first.store(chunk->next, kRelaxed);
    entries_.fetch_sub(chunk->count, kRelaxed);
    chunks_.fetch_sub(1, kRelaxed);
    return chunk;
  }
  bool is_stale() const {
    const i64 live = std::max(live_.load(kRelaxed), i64{0});
    return entries_.load(kRelaxed) > 2 * static_cast<u64>(live) + 4 * kEntries;
  }

  std::array<List, kClasses> lists_;
  // Relaxed: they say when it pays to look, and how much memory there is.
  std::atomic<u64> entries_{0}, chunks_{0};
  std::atomic<i64> live_{0};
};

}  // namespace latchlab::sized
