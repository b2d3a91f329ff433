#pragma once
// What an attempt has done to memory, so that it can be undone or made final.
//
// Between the beginning of an attempt and its end a body takes blocks (make) and unlinks others (retire). Neither is
// final before the attempt has committed, and both are only noted here:
//
//                        made blocks            retired blocks
//     abandon()          back to the pool       forgotten: they are still linked       restart, abort, kNoMemory
//     keep()             forgotten: linked now  stay noted                             commit
//     free_retired()                            back to the pool                       coarse policy, after commit
//     hand_retired_to()                         to the reclaimer                       optimistic policy, after commit
//
// A hardware abort rolls back the lists with everything else, so abandon finds them empty; where transactions are
// emulated it finds them as the body left them. Either way the policy calls it after every attempt that did not commit,
// so the lists are made outside of what can be rolled back. They are small arrays: noting a block cannot fail. They are
// part of the transaction and not of the thread, since what is local to an operation costs it nothing where the
// compiler sees that it begins empty and ends unread.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "src/memory/pool.h"

namespace latchlab {

template <class M>
class AttemptBlocks {
 public:
  /// Blocks that one attempt may make, and may retire. The largest user is `vip`, which copies a part of a chain.
  static constexpr u32 kMaxBlocks = 16;

  explicit AttemptBlocks(Pool<M>& pool) : pool_(&pool) {}
  AttemptBlocks(const AttemptBlocks&) = delete;
  AttemptBlocks& operator=(const AttemptBlocks&) = delete;

  /// A block for this attempt, see Pool::allocate; null when memory is out.
  [[nodiscard, gnu::always_inline]] inline void* make(u64 bytes) {
    void* const block = pool_->allocate(bytes);
    if (block == nullptr) [[unlikely]]
      return nullptr;
    if (made_count_ == kMaxBlocks) [[unlikely]]
      overflow("makes");
    made_[made_count_] = block;
    made_bytes_[made_count_++] = bytes;
    return block;
  }
  /// Notes a block that this attempt has unlinked.
  [[gnu::always_inline]] inline void retire(void* block, u64 bytes) {
    if (retired_count_ == kMaxBlocks) [[unlikely]]
      overflow("retires");
    retired_[retired_count_++] = {block, bytes};
  }

  /// The attempt did not happen: nobody has seen what it made, and what it unlinked is linked again.
  void abandon() {
    retired_count_ = 0;
    while (made_count_ != 0) {
      --made_count_;
      pool_->free(made_[made_count_], made_bytes_[made_count_]);
    }
  }
  /// The attempt has committed: what it made belongs to the index.
  void keep() { made_count_ = 0; }
  /// After commit, where nobody else can still be reading what was unlinked.
  void free_retired() {
    while (retired_count_ != 0) {
      const Block& block = retired_[--retired_count_];
      pool_->free(block.start, block.bytes);
    }
  }
  /// After commit, where others may still be reading what was unlinked. `reclaim` is a Reclaimer's Thread.
  template <class ReclaimThread>
  void hand_retired_to(ReclaimThread& reclaim) {
    for (const Block& block : take_retired()) reclaim.retire(block.start, block.bytes);
  }
  /// The same for somebody else: valid until the next retire; the list is empty from now on.
  [[nodiscard]] std::span<const Block> take_retired() { return {retired_, std::exchange(retired_count_, 0)}; }

 private:
  // A body with more than the lists hold is a mistake of the index's author that would otherwise overwrite memory.
  [[noreturn, gnu::noinline, gnu::cold]] static void overflow(const char* verb) {
    std::fprintf(stderr, "AttemptBlocks: one attempt %s more than %u blocks; raise AttemptBlocks::kMaxBlocks\n", verb,
                 kMaxBlocks);
    std::abort();
  }

  Pool<M>* pool_;
  u32 made_count_ = 0;
  u32 retired_count_ = 0;
  void* made_[kMaxBlocks];  // apart from their bytes: an index into words needs no instruction, and every insert makes
  u64 made_bytes_[kMaxBlocks];
  Block retired_[kMaxBlocks];
};

}  // namespace latchlab
