#pragma once
// The memory of one index: its chunks, and the pools through which its threads use them.
//
// A thread borrows a pool when it joins and returns it when it leaves, with all that is on its free lists and in its
// bump region; the next one to join goes on with it. So a phase that loads with other threads than it measures with
// wastes nothing, and an index has as many pools as it ever had threads at once. Pools never move: reclaimers keep
// references to theirs.
//
// A machine without pages (M::pages is null) has a model of an allocator instead: its pools pass every block on to
// that.
#include <memory>
#include <mutex>
#include <vector>

#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/pool.h"

namespace latchlab {

template <class M>
class Memory {
 public:
  explicit Memory(const MemoryConfig& config) : source_(config, M::pages()) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A pool for the calling thread alone, until leave. Takes a mutex. Throws std::bad_alloc.
  Pool<M>& join() {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Pool<M>& pool = *idle_.back();
      idle_.pop_back();
      return pool;
    }
    idle_.reserve(pools_.size() + 1);  // so that leave cannot throw
    pools_.push_back(std::make_unique<Pool<M>>(source_));
    return *pools_.back();
  }
  /// The thread that borrowed the pool is done with it. Takes a mutex; never fails.
  void leave(Pool<M>& pool) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(&pool);
  }

  /// Exact only while no operation runs.
  Footprint bytes() const {
    const std::lock_guard lock(mutex_);
    Footprint all = source_.footprint();
    for (const auto& pool : pools_) all.live += pool->live();
    if (config().alloc == MemoryConfig::Alloc::kMalloc) all.reserved = all.live;
    return all;
  }

  /// None with malloc.
  std::vector<ChunkSource::Chunk> chunks() const { return source_.chunks(); }

  /// Whether destroying this object releases every block. Otherwise (malloc) the index has to free its nodes one by
  /// one.
  bool releases_in_bulk() const { return config().alloc != MemoryConfig::Alloc::kMalloc; }

  const MemoryConfig& config() const { return source_.config(); }

 private:
  ChunkSource source_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Pool<M>>> pools_;
  std::vector<Pool<M>*> idle_;
};

}  // namespace latchlab
