#pragma once
// The side table of one thread: its entry for each lock, found by the lock's address.
//
//     index: slots, open addressing         chunks of entries, which never move
//     [ - | * | - | * | ... ]  ---------->  [entry entry entry ...] [entry ...]
//
// One thread inserts, and any thread may read the entries for a report, while the table grows. So entries never move
// and are never removed, and only the owner uses the index. Memory comes from mmap: malloc may itself lock a mutex of
// the program. An entry may be inserted inside a transaction. If that needs memory, the system call aborts the
// transaction, and the lock's next acquisition, outside, inserts the entry.
//
// A lock is an address. A mutex that is destroyed leaves its entry to the next one at its address.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <new>

#include "services/elide/lock_entry.h"
#include "src/base/hash.h"

namespace latchlab::elide {

/// Returns zeroed pages, or null if there are none. Keeps errno, as the pthread functions do.
inline void* new_pages(std::size_t bytes) {
  const int error = errno;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = error;
  return pages == MAP_FAILED ? nullptr : pages;
}

class LockTable {
 public:
  static constexpr u32 kChunk = 256;            // entries
  static constexpr u32 kMostLocks = 64 * 1024;  // of one thread: 16 MiB

  LockTable() = default;
  LockTable(const LockTable&) = delete;
  LockTable& operator=(const LockTable&) = delete;

  /// Returns the entry of a lock, a new one at its first call. Without room or memory: the one that the other locks
  /// share. Only for the owner. O(1).
  LockEntry& at(const pthread_mutex_t* lock) {
    const u32 size = size_.load(kRelaxed);
    if (size * 2 >= slots_ && !grow()) return find(lock, size);
    u64 slot = slot_of(lock);
    for (; index_[slot] != nullptr; slot = (slot + 1) & (slots_ - 1)) {
      if (index_[slot]->lock == lock) return *index_[slot];
    }
    LockEntry* room = size < kMostLocks ? room_for(size) : nullptr;
    if (room == nullptr) return others_;
    index_[slot] = new (room) LockEntry(lock);
    // (1) Pairs with for_each: a reader that sees the number sees the entry.
    size_.store(size + 1, kRelease);
    return *room;
  }

  /// Calls visit(entry) for each entry, from any thread.
  template <class Visit>
  void for_each(Visit&& visit) {
    const u32 size = size_.load(kAcquire);  // pairs with (1)
    for (u32 i = 0; i < size; ++i) visit(chunks_[i / kChunk].load(kRelaxed)[i % kChunk]);
    visit(others_);
  }

 private:
  static constexpr u32 kFirstSlots = 512;

  u64 slot_of(const pthread_mutex_t* lock) const {
    return mix64(reinterpret_cast<std::uintptr_t>(lock)) & (slots_ - 1);
  }

  LockEntry* room_for(u32 number) {
    std::atomic<LockEntry*>& chunk = chunks_[number / kChunk];
    if (number % kChunk == 0) chunk.store(static_cast<LockEntry*>(new_pages(kChunk * sizeof(LockEntry))), kRelaxed);
    LockEntry* entries = chunk.load(kRelaxed);
    return entries == nullptr ? nullptr : &entries[number % kChunk];
  }

  /// Finds a lock in an index that could not grow.
  LockEntry& find(const pthread_mutex_t* lock, u32 size) {
    if (size == 0) return others_;
    for (u64 slot = slot_of(lock); index_[slot] != nullptr; slot = (slot + 1) & (slots_ - 1)) {
      if (index_[slot]->lock == lock) return *index_[slot];
    }
    return others_;
  }

  /// Doubles the index. The old one is kept by nobody, since only the owner has ever read it.
  [[nodiscard]] bool grow() {
    const u32 slots = slots_ == 0 ? kFirstSlots : 2 * slots_;
    auto* index = static_cast<LockEntry**>(new_pages(slots * sizeof(LockEntry*)));
    if (index == nullptr) return false;
    for (u32 i = 0; i < slots_; ++i) {
      if (index_[i] == nullptr) continue;
      u64 slot = mix64(reinterpret_cast<std::uintptr_t>(index_[i]->lock)) & (slots - 1);
      while (index[slot] != nullptr) slot = (slot + 1) & (slots - 1);
      index[slot] = index_[i];
    }
    if (index_ != nullptr) {
      const int error = errno;
      munmap(static_cast<void*>(index_), slots_ * sizeof(LockEntry*));
      errno = error;
    }
    index_ = index;
    slots_ = slots;
    return true;
  }

  LockEntry** index_ = nullptr;
  u32 slots_ = 0;  // a power of two, at most half of which are used
  std::atomic<u32> size_{0};
  LockEntry others_{nullptr};
  std::array<std::atomic<LockEntry*>, kMostLocks / kChunk> chunks_{};
};

}  // namespace latchlab::elide
