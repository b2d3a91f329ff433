#pragma once
// The memory of one index: its chunks, and the pools through which its threads use them.
//
// A thread borrows a pool when it joins and returns it when it leaves, with its free lists and its bump region. The
// next thread that joins continues with it. So nothing is wasted if one set of threads loads and another measures. An
// index has as many pools as it ever had threads at once. Pools never move, because reclaimers keep references to them.
//
// A memory may have a far one beside it, for blocks on a slower medium: large ones of its user, or the leaves of a
// tree. Then each of its pools has one of the far memory's (pool.h).
//
// On a machine without pages (M::pages is null), pools pass every block on to the machine's allocator.
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/pool.h"
#include "src/memory/sharing.h"

namespace latchlab {

template <class M>
class Memory {
 public:
  /// Makes the memory. With a `sharing` its pools count the free blocks that they pass on to each other (pool.h), so no
  /// attempt may use it. `far` must outlive it, and serve it alone; null: there is no far memory, except that which the
  /// configuration has for leaves.
  explicit Memory(const MemoryConfig& config, const std::optional<Sharing>& sharing = {}, Memory* far = nullptr)
      : source_(config, M::pages()),
        exchange_(sharing),
        leaves_(config.far_leaves != nullptr ? std::make_unique<Memory>(*config.far_leaves) : nullptr),
        far_(leaves_ != nullptr ? leaves_.get() : far) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Lends a pool to the calling thread alone, until leave. Takes a mutex. Throws std::bad_alloc.
  Pool<M>& join() {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Pool<M>& pool = *idle_.back();
      idle_.pop_back();
      return pool;
    }
    idle_.reserve(pools_.size() + 1);  // so that leave cannot throw
    pools_.push_back(std::make_unique<Pool<M>>(source_, exchange_, far_ == nullptr ? nullptr : &far_->join()));
    return *pools_.back();
  }
  /// Takes back a pool from the thread that borrowed it, and passes on what it has too much of. Takes mutexes; never
  /// fails.
  void leave(Pool<M>& pool) {
    pool.pass_on_excess();
    const std::lock_guard lock(mutex_);
    idle_.push_back(&pool);
  }

  /// Returns the footprint, without that of the far memory; exact only while no operation runs.
  Footprint bytes() const {
    const std::lock_guard lock(mutex_);
    Footprint all = source_.footprint();
    for (const auto& pool : pools_) all.live += pool->live();
    if (config().alloc == MemoryConfig::Alloc::kMalloc) all.reserved = all.live;
    return all;
  }

  /// Returns the memory of far leaves; null if leaves lie here.
  const Memory* leaves() const { return leaves_.get(); }

  /// Returns all chunks, and the used parts of ranges; with malloc, only the latter.
  std::vector<ChunkSource::Chunk> chunks() const { return source_.chunks(); }

  /// Returns true if destroying this object releases every block. With malloc the index must free its nodes one by one.
  bool releases_in_bulk() const { return config().alloc != MemoryConfig::Alloc::kMalloc; }

  const MemoryConfig& config() const { return source_.config(); }

 private:
  ChunkSource source_;
  typename Pool<M>::Exchange exchange_;
  const std::unique_ptr<Memory> leaves_;
  Memory* const far_;
  mutable std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<Pool<M>>> pools_;
  std::vector<Pool<M>*> idle_;
};

}  // namespace latchlab
