#pragma once
// The transaction of a small attempt, which changes one node at most. So it is held in registers, and a change takes
// few instructions: about 60 fewer than with a VersionedTx, which decide how many cache misses of successive operations
// the processor can overlap.
//
// A body that names a second node in an upgrade fails; then needs_more() is true, and the policy runs the body with a
// VersionedTx. A body may know earlier that it will: `if constexpr (kSmall<Tx>) return tx.ask_for_more();`. It should
// do so before it calls a function that is not inlined and takes the transaction or a reader by reference: that alone
// would keep both in memory. For the same reason its verbs are always inlined.
#include <span>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "sync/make.h"
#include "sync/versioned_reads.h"

namespace latchlab {

template <class M, class Bugs, class Latches>
class SmallTx : public VersionedReads<M, Bugs, Latches> {
  using Base = VersionedReads<M, Bugs, Latches>;

 public:
  static constexpr bool kIsSmall = true;
  template <class N>
  using Reader = typename Base::template Reader<N>;

  SmallTx(Pool<M>& pool, Latches latches) : Base(latches), blocks_(pool) {}
  SmallTx(const SmallTx&) = delete;
  SmallTx& operator=(const SmallTx&) = delete;

  template <class N>
  [[nodiscard, gnu::always_inline]] bool upgrade(const Reader<N>& reader) {
    if (Bugs::kDropUpgrade) return true;
    return lock(this->lock_of(reader));
  }
  template <class N, class... More>
    requires(sizeof...(More) != 0)
  [[nodiscard, gnu::always_inline]] bool upgrade(const Reader<N>&, const More&...) {
    needs_more_ = true;
    return false;
  }
  template <class N>
  [[nodiscard, gnu::always_inline]] bool upgrade(std::span<const Reader<N>>) {
    needs_more_ = true;
    return false;
  }
  template <class N>
  [[nodiscard, gnu::always_inline]] bool upgrade_value(const Reader<N>& reader) {
    if constexpr (Reader<N>::kWordIsLatch) {
      if (Bugs::kDropUpdateLatch) return true;
      using Latch = typename Reader<N>::Latch;
      const u64 version = reader.version_ & ~Latch::kUpdating;
      Latch& latch = this->latches_.of(reader.node_);
      return lock({&latch, version, version}, Latch::kUpdating);
    } else {
      return upgrade(reader);
    }
  }
  template <class N>
  [[gnu::always_inline]] void set_word(const Reader<N>& reader, u64 word) {
    if constexpr (Reader<N>::kWordIsLatch) {
      lock_.next = Reader<N>::Latch::changed(lock_.version, word);
    } else {
      reader.node()->word.store(word);
    }
  }

  template <class N, class... Args>
  [[nodiscard, gnu::always_inline]] N* make(Args&&... args) {
    return make_in<N>(blocks_, std::forward<Args>(args)...);
  }
  template <class N>
  [[gnu::always_inline]] void retire(N* block, std::size_t bytes) {
    blocks_.template retire<kIsLeaf<N>>(block, bytes);
  }
  AttemptBlocks<M>& blocks() { return blocks_; }

  [[gnu::always_inline]] void commit() {
    if (lock_.latch != nullptr) lock_.latch->unlock(lock_.next);
  }
  /// Unlocks the node with its old version, because nothing was stored.
  void release() {
    if (lock_.latch != nullptr) lock_.latch->unlock(lock_.version);
  }
  /// Returns the failure with which a body asks to run again with a VersionedTx.
  Failure ask_for_more() {
    needs_more_ = true;
    return kRestart;
  }
  /// Returns true if the body has failed because it changes more than one node.
  bool needs_more() const { return needs_more_; }

 private:
  using Lock = typename Base::Lock;
  [[gnu::always_inline]] bool lock(Lock wanted, u64 bit = LatchBase<M>::kLocked) {
    if (lock_.latch != nullptr) [[unlikely]] {  // a second upgrade: lock_ holds one lock
      needs_more_ = true;
      return false;
    }
    if (!wanted.latch->try_lock(wanted.version, bit)) return false;
    lock_ = wanted;
    return true;
  }

  // The lists of blocks come last: g++ keeps nothing that follows an array of unknown index in registers.
  Lock lock_{};
  bool needs_more_ = false;
  AttemptBlocks<M> blocks_;
};

}  // namespace latchlab
