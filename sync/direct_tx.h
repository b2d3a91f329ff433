#pragma once
// The transaction that validates nothing: its verbs compile away. Two kinds of operations use it:
//   - all operations of coarse policies, which exclude each other (by a lock, by a hardware transaction, or because
//     there is one thread);
//   - the readers of rowex, on an index that allows readers without a latch.
#include <span>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "sync/attempt.h"
#include "sync/make.h"

namespace latchlab {

template <class M>
class DirectTx {
 public:
  using Machine = M;

  explicit DirectTx(Pool<M>& pool) : blocks_(pool) {}

  template <class N>
  class Reader {
   public:
    Reader() = default;
    explicit Reader(N* node) : node_(node) {}
    N* operator->() const { return node_; }
    N* node() const { return node_; }
    [[nodiscard]] bool step_to(N* child) {
      node_ = child;
      return true;
    }
    [[nodiscard]] GuessResult step_to(N* child, u8 guess) {
      node_ = child;
      if (child->tag() == guess) [[likely]]
        return GuessResult::kGuessed;
      return GuessResult::kOther;
    }
    [[nodiscard]] bool follow(const void*) const { return true; }
    u64 word() const { return node_->word.load(); }

   private:
    N* node_ = nullptr;
  };

  template <class N>
  Reader<N> enter(N* node) {
    return Reader<N>(node);
  }
  // The readers of these two may be those of a derived transaction, which look at more.
  template <class ReaderOfN, class N, class Cell>
  [[nodiscard]] GuessResult enter_by(ReaderOfN& reader, N* node, u8 guess, const Cell&, u64) {
    return reader.step_to(node, guess);
  }
  template <class ReaderOfN, class N>
  [[nodiscard]] bool claim(ReaderOfN& at, N* child) {
    return at.step_to(child);
  }
  void unclaim() {}
  template <class T, class... Readers>
  Attempt<T> confirm(T value, const Readers&...) const {
    return value;
  }
  template <class... Readers>
  [[nodiscard]] bool upgrade(const Readers&...) {
    return true;
  }
  template <class N>
  [[nodiscard]] bool upgrade(std::span<const Reader<N>>) {
    return true;
  }
  template <class N>
  [[nodiscard]] bool upgrade_value(const Reader<N>&) {
    return true;
  }
  template <class N>
  void set_word(const Reader<N>& reader, u64 word) {
    reader->word.store(word);
  }
  template <class N, class... Args>
  [[nodiscard, gnu::always_inline]] N* make(Args&&... args) {
    return make_in<N>(blocks_, std::forward<Args>(args)...);
  }
  /// Returns the blocks of the attempt, which the policy undoes or makes final.
  AttemptBlocks<M>& blocks() { return blocks_; }
  template <class N>
  [[gnu::always_inline]] void retire(N* block, std::size_t bytes) {
    blocks_.template retire<kIsLeaf<N>>(block, bytes);
  }

 private:
  AttemptBlocks<M> blocks_;
};

}  // namespace latchlab
