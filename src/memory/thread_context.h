#pragma once
// A thread's place in an index's memory: its pool, from joining to leaving.
#include <utility>

#include "src/memory/memory.h"

namespace latchlab {

template <class M>
class ThreadContext {
 public:
  using Machine = M;

  /// Joins `memory`, which must outlive this object. Takes a mutex. Throws std::bad_alloc.
  explicit ThreadContext(Memory<M>& memory) : memory_(&memory), pool_(&memory.join()) {}
  /// Between attempts only.
  ThreadContext(ThreadContext&& other) noexcept : memory_(other.memory_), pool_(std::exchange(other.pool_, nullptr)) {}
  ThreadContext& operator=(ThreadContext&&) = delete;
  ~ThreadContext() {
    if (pool_ != nullptr) memory_->leave(*pool_);
  }

  /// Before each attempt, outside transactions: see Pool::top_up.
  [[nodiscard, gnu::always_inline]] inline bool top_up(u64 extra = 0) { return pool_->top_up(extra); }

  Pool<M>& pool() { return *pool_; }

 private:
  Memory<M>* memory_;
  Pool<M>* pool_;
};

}  // namespace latchlab
