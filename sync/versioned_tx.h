#pragma once
// The transaction of optimistic lock coupling. Its readers hold versions (versioned_reads.h). `upgrade` locks the nodes
// that will be changed, and the transaction owns the locks until the policy commits or releases it.
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "sync/make.h"
#include "sync/versioned_reads.h"

namespace latchlab {

template <class M, class Bugs = NoBugs, class Latches = LatchInNode<M>>
class VersionedTx : public VersionedReads<M, Bugs, Latches> {
  using Base = VersionedReads<M, Bugs, Latches>;

 public:
  template <class N>
  using Reader = typename Base::template Reader<N>;
  /// The number of nodes that one attempt may lock.
  static constexpr u32 kMaxLocks = 16;

  using Queue = typename Latches::Queue;

  explicit VersionedTx(Pool<M>& pool, Latches latches = {}, Queue queue = {})
      : Base(latches), blocks_(pool), queue_(queue) {}
  VersionedTx(const VersionedTx&) = delete;
  VersionedTx& operator=(const VersionedTx&) = delete;

  /// Goes on to a child of this node as step_to does, and takes its latch, for a body that will most likely change it.
  /// If latches have queues, it waits in the child's, and reads the child afterwards. So it must be the first lock of
  /// the attempt: a thread that waits holds nothing.
  ///
  /// The parent is validated after the latch was taken. A node is unlinked only by a thread that has its latch. So the
  /// child was linked below the parent then. It stays linked until the attempt ends, perhaps below another parent: a
  /// split of the parent needs no latch of the child.
  template <class N>
  [[nodiscard, gnu::always_inline]] bool claim(Reader<N>& at, N* child) {
    if constexpr (std::same_as<Queue, NoQueue>) {
      return at.step_to(child);
    } else {
      if (locks_ != 0) [[unlikely]]
        claimed_late();
      lock_[0] = Lock::claimed(this->latches_.of(child), queue_);
      if (!Bugs::kTrustClaim && !at.unchanged()) [[unlikely]] {
        lock_[0].release(queue_);
        return false;
      }
      locks_ = 1;
      at.node_ = child;
      at.version_ = lock_[0].version;
      return true;
    }
  }
  /// Gives up a claim before the first upgrade. So the body may wait for latches again. The reader that claimed proves
  /// nothing any more: its version is that of a latch that the attempt holds.
  void unclaim() {
    if constexpr (!std::same_as<Queue, NoQueue>) release();
  }

  /// Locks the nodes of all readers or of none; a latch that is named twice is locked once. After success, all that was
  /// read through the readers holds until the commit, and the body must not restart. More than kMaxLocks nodes end the
  /// process.
  template <class... Readers>
  [[nodiscard]] bool upgrade(const Readers&... readers) {
    return (lock(this->lock_of(readers)) && ...) || give_up();
  }
  template <class N>
  [[nodiscard]] bool upgrade(std::span<const Reader<N>> readers) {
    for (const Reader<N>& reader : readers) {
      if (!lock(this->lock_of(reader))) return give_up();
    }
    return true;
  }
  /// Does the same for one node of which only values will be changed, each by one store. If the node's latch is in its
  /// word, its readers need not restart.
  template <class N>
  [[nodiscard]] bool upgrade_value(const Reader<N>& reader) {
    if constexpr (Reader<N>::kWordIsLatch) {
      const u64 version = reader.version_ & ~Reader<N>::Latch::kUpdating;
      if (Bugs::kDropUpdateLatch) return true;
      if (!this->latches_.of(reader.node_).try_lock(version, Reader<N>::Latch::kUpdating)) return false;
      lock_[locks_++] = {&this->latches_.of(reader.node_), version, version};
      return true;
    } else {
      return upgrade(reader);
    }
  }
  /// Gives an upgraded node another word. It may be called several times; the last word counts.
  template <class N>
  void set_word(const Reader<N>& reader, u64 word) {
    if constexpr (Reader<N>::kWordIsLatch) {
      for (u32 i = 0; i < locks_; ++i) {
        if (lock_[i].latch == &this->latches_.of(reader.node_)) {
          lock_[i].next = Reader<N>::Latch::changed(lock_[i].version, word);
        }
      }
    } else {
      reader.node_->word.store(word);
    }
  }

  template <class N, class... Args>
  [[nodiscard]] N* make(Args&&... args) {
    return make_in<N>(blocks_, std::forward<Args>(args)...);
  }
  template <class N>
  void retire(N* block, std::size_t bytes) {
    blocks_.template retire<kIsLeaf<N>>(block, bytes);
  }

  /// Returns the blocks of the attempt, which the policy undoes or makes final.
  AttemptBlocks<M>& blocks() { return blocks_; }

  /// Unlocks all nodes with new versions, which publishes the stores. The policy calls commit or release when the body
  /// has returned.
  void commit() {
    for (u32 i = 0; i < locks_; ++i) lock_[i].commit(queue_);
    locks_ = 0;
  }
  /// Unlocks all nodes with their old versions, because nothing was stored. So other readers need not restart. (A latch
  /// with a queue has no way back.)
  void release() {
    for (u32 i = 0; i < locks_; ++i) lock_[i].release(queue_);
    locks_ = 0;
  }

 protected:
  using typename Base::Lock;
  // Ends the process: a restart would fail here for ever.
  [[noreturn, gnu::noinline, gnu::cold]] static void overflow() {
    std::fprintf(stderr, "VersionedTx: one attempt locks more than %u nodes; raise VersionedTx::kMaxLocks\n",
                 kMaxLocks);
    std::abort();
  }
  // Ends the process: threads that wait while they hold a latch may wait for each other.
  [[noreturn, gnu::noinline, gnu::cold]] static void claimed_late() {
    std::fprintf(stderr, "VersionedTx: an attempt claims a node while it holds a latch; call unclaim before\n");
    std::abort();
  }

 private:
  // Locks one latch. Not inlined: the cost of a call is negligible beside a locked instruction.
  [[nodiscard, gnu::noinline]] bool lock(Lock wanted) {
    if (Bugs::kDropUpgrade) return true;
    for (u32 i = 0; i < locks_; ++i) {
      if (lock_[i].latch == wanted.latch) return lock_[i].version == wanted.version;
    }
    if (locks_ == kMaxLocks) [[unlikely]]
      overflow();
    if (!wanted.try_lock(queue_)) return false;
    lock_[locks_++] = wanted;
    return true;
  }
  bool give_up() {
    if (!Bugs::kDropUnlockAfterFailedUpgrade) release();
    locks_ = 0;
    return false;
  }

  AttemptBlocks<M> blocks_;
  [[no_unique_address]] Queue queue_;
  u32 locks_ = 0;
  Lock lock_[kMaxLocks];
};

}  // namespace latchlab
