#pragma once
// The lease of a pool: a thread's part of an index's memory from joining to leaving.
#include <utility>

#include "src/memory/memory.h"

namespace latchlab {

template <class M>
class PoolLease {
 public:
  /// Joins `memory`, which must outlive the lease. Takes a mutex. Throws std::bad_alloc.
  explicit PoolLease(Memory<M>& memory) : memory_(&memory), pool_(&memory.join()) {}
  /// Moves the lease; only between attempts.
  PoolLease(PoolLease&& other) noexcept : memory_(other.memory_), pool_(std::exchange(other.pool_, nullptr)) {}
  PoolLease& operator=(PoolLease&&) = delete;
  ~PoolLease() {
    if (pool_ != nullptr) memory_->leave(*pool_);
  }

  Pool<M>& operator*() const { return *pool_; }
  Pool<M>* operator->() const { return pool_; }

 private:
  Memory<M>* memory_;
  Pool<M>* pool_;
};

}  // namespace latchlab
