#pragma once
// The transaction of coarse policies: the policy excludes everybody (by a lock, by a hardware transaction, or because
// there is one thread), so entering and confirming are nothing at all and the verbs compile away.
#include <new>
#include <span>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "src/memory/thread_context.h"
#include "sync/attempt.h"
#include "sync/make.h"

namespace latchlab {

template <class M>
class DirectTx {
 public:
  using Machine = M;

  explicit DirectTx(ThreadContext<M>& context) : blocks_(context.pool()) {}

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
    [[nodiscard]] Arrival step_to(N* child, u8 guess) {
      node_ = child;
      if (child->tag() == guess) [[likely]] return Arrival::kGuessed;
      return Arrival::kOther;
    }
    template <class Cell>
    [[nodiscard]] Arrival begin(N* child, u8 guess, const Cell&, u64) {
      return step_to(child, guess);
    }
    [[nodiscard]] bool follow(const void*) const { return true; }

   private:
    N* node_ = nullptr;
  };

  template <class N>
  Reader<N> enter(N* node) {
    return Reader<N>(node);
  }
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
  template <class N, class... Args>
  [[nodiscard, gnu::always_inline]] N* make(Args&&... args) {
    return make_in<N>(blocks_, std::forward<Args>(args)...);
  }
  /// For the policy: what is to be undone or made final.
  AttemptBlocks<M>& blocks() { return blocks_; }
  [[gnu::always_inline]] void retire(void* block, std::size_t bytes) { blocks_.retire(block, bytes); }

 private:
  AttemptBlocks<M> blocks_;
};

}  // namespace latchlab
