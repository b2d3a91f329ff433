#pragma once
// The blocks that an attempt has made and retired, noted so that they can be undone or made final.
//
// During an attempt a body takes blocks (make) and unlinks others (retire). Neither is final before the attempt has
// committed, so both are only noted here:
//
//                        made blocks            retired blocks                         called after
//     abandon()          back to the pool       forgotten: they are still linked       restart, abort, kNoMemory
//     keep()             forgotten: linked now  stay noted                             commit
//     free_retired()                            back to the pool                       commit, by a coarse policy
//     hand_retired_to()                         to the reclaimer                       commit, with a grace period
//
// A hardware abort rolls back the lists with everything else, so abandon() finds them empty. On machines that emulate
// transactions it finds them as the body left them. The policy calls it after every attempt that did not commit, so the
// lists are constructed outside the transaction, where no abort takes them back.
//
// The lists are small arrays, so noting a block cannot fail. They belong to the operation, not to the thread. A local
// list costs nothing where the compiler sees that it begins empty and is never read.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "src/memory/pool.h"

namespace latchlab {

template <class M>
class AttemptBlocks {
 public:
  /// The number of blocks that one attempt may make, and may retire. `vip` needs most: it copies a part of a chain.
  static constexpr u32 kMaxBlocks = 16;

  explicit AttemptBlocks(Pool<M>& pool) : pool_(&pool) {}
  AttemptBlocks(const AttemptBlocks&) = delete;
  AttemptBlocks& operator=(const AttemptBlocks&) = delete;

  /// Returns a block for this attempt (see Pool::allocate), or null when memory is out. That of a leaf lies in far
  /// memory if the pool has its leaves there.
  template <bool kLeaf = false>
  [[nodiscard, gnu::always_inline]] inline void* make(u64 bytes) {
    void* const block = kLeaf ? pool_->allocate_leaf(bytes) : pool_->allocate(bytes);
    if (block == nullptr) [[unlikely]]
      return nullptr;
    if (made_count_ == kMaxBlocks) [[unlikely]]
      overflow("makes");
    made_[made_count_] = block;
    made_bytes_[made_count_++] = kLeaf ? ~bytes : bytes;  // a constant, usually
    return block;
  }
  /// Notes a block that this attempt has unlinked.
  template <bool kLeaf = false>
  [[gnu::always_inline]] inline void retire(void* block, u64 bytes) {
    if constexpr (kLeaf) bytes = pool_->placed(bytes);
    if (retired_count_ == kMaxBlocks) [[unlikely]]
      overflow("retires");
    retired_[retired_count_++] = {block, bytes};
  }

  /// Undoes the attempt: no other thread has seen the blocks that it made, and the blocks that it unlinked are linked
  /// again.
  [[gnu::always_inline]] inline void abandon() {
    retired_count_ = 0;
    while (made_count_ != 0) {
      const u64 bytes = made_bytes_[--made_count_];
      const bool is_leaf = bytes > ~u64{0} / 2;
      pool_->free(made_[made_count_], is_leaf ? pool_->placed(~bytes) : bytes);
    }
  }
  /// Confirms the attempt after its commit: the blocks that it made belong to the index.
  void keep() { made_count_ = 0; }
  /// Frees the retired blocks after the commit, if no other thread can still be reading them.
  void free_retired() {
    while (retired_count_ != 0) {
      const Block& block = retired_[--retired_count_];
      pool_->free(block.start, block.bytes);
    }
  }
  /// Hands the retired blocks to the reclaimer after the commit, if other threads may still be reading them. `reclaim`
  /// is a Reclaimer's ThreadState. Inlined whatever else calls it: a call would keep the lists in memory. An
  /// update of cuckoo under olc took 153 instructions then, and takes 134.
  template <class ReclaimThread>
  [[gnu::always_inline]] void hand_retired_to(ReclaimThread& reclaim) {
    // By index: a pointer into the list would keep the whole of it in memory.
    for (u32 i = 0; i < retired_count_; ++i) reclaim.retire(retired_[i].start, retired_[i].bytes);
    retired_count_ = 0;
  }
  /// Returns the retired blocks and empties the list. The result is valid until the next retire.
  [[nodiscard]] std::span<const Block> take_retired() { return {retired_, std::exchange(retired_count_, 0)}; }

 private:
  // Ends the process. A body with more blocks than the lists hold is an error in the index, and would overwrite memory.
  [[noreturn, gnu::noinline, gnu::cold]] static void overflow(const char* verb) {
    std::fprintf(stderr, "AttemptBlocks: one attempt %s more than %u blocks; raise AttemptBlocks::kMaxBlocks\n", verb,
                 kMaxBlocks);
    std::abort();
  }

  Pool<M>* pool_;
  u32 made_count_ = 0;
  u32 retired_count_ = 0;
  void* made_[kMaxBlocks];      // two arrays, not pairs: every insert indexes them, and words need no multiplication
  u64 made_bytes_[kMaxBlocks];  // of a leaf, the complement
  Block retired_[kMaxBlocks];
};

}  // namespace latchlab
