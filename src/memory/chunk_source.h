#pragma once
// Where the pools of one index get their memory from: mappings of the machine's (page_source.h), known one by one so
// that all of them can be released at once, and their page size with them. A machine without pages has no chunks
// either: there each block is a call of its allocator, whatever the configuration says.
//
// A chunk is aligned to its page size: 2 MiB under thp (MADV_HUGEPAGE), otherwise MADV_NOHUGEPAGE, since a system whose
// default is "always" would silently measure huge pages. On which NUMA nodes it lies is decided before it is touched
// (numa.h). Untouched pages come zeroed and cost nothing until the first write. Everything here takes a mutex and may
// call the kernel: never inside a transaction, never on a hot path.
#include <atomic>
#include <mutex>
#include <vector>

#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/memory/page_source.h"

namespace latchlab {

class ChunkSource {
 public:
  struct Chunk {
    void* start = nullptr;  ///< null: memory is out
    u64 bytes = 0;
  };

  /// `pages`: the machine's, which outlive this; null where it has none.
  ChunkSource(const MemoryConfig& config, PageSource* pages);
  ~ChunkSource();
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;

  /// A chunk of `wanted` bytes, or of `least` where so much is not to be had; both are rounded up to whole pages. Its
  /// pages are touched by the calling thread if the configuration says so. Null when the limit is reached, the plan
  /// says so, or the machine refuses.
  [[nodiscard]] Chunk take(u64 wanted, u64 least);

  /// Unmaps a chunk before its time. It must have come from take.
  void give_back(const Chunk& chunk);

  /// Whole pages for `bytes`.
  u64 rounded(u64 bytes) const { return (bytes + page_bytes() - 1) & ~(page_bytes() - 1); }

  /// Bytes of malloc's that a limit must know about; false if the limit is reached. Free without a limit.
  [[nodiscard]] bool charge(u64 bytes);
  /// Takes back what was charged for bytes that have been freed.
  void refund(u64 bytes);

  /// As asked for, but for `alloc` where there are no pages.
  const MemoryConfig& config() const { return config_; }
  /// Fills in reserved, chunks and page_bytes.
  Footprint footprint() const;
  /// All that have not been given back.
  std::vector<Chunk> chunks() const;

 private:
  Chunk map(u64 bytes);
  /// What chunks are aligned to and rounded to.
  u64 page_bytes() const { return config_.thp ? kHugePageBytes : kSmallPageBytes; }

  const MemoryConfig config_;
  PageSource* const pages_;
  bool huge_granted_;  // false once the machine refuses them
  std::atomic<u64> charged_{0};
  mutable std::mutex mutex_;  // guards what follows
  u64 reserved_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace latchlab
