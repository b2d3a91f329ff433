#pragma once
// Where the pools of one index get their memory from: mappings of the kernel's, known one by one so that all of them can be
// released at once, and their page size with them.
//
// A chunk is aligned to its page size: 2 MiB under thp (MADV_HUGEPAGE), otherwise MADV_NOHUGEPAGE, since a system whose
// default is "always" would silently measure huge pages. On which NUMA nodes it lies is decided before it is touched (numa.h). Untouched pages come zeroed and cost nothing until the first write.
// Everything here takes a mutex and may call the kernel: never inside a transaction, never on a hot path.
#include <atomic>
#include <mutex>
#include <vector>

#include "src/base/types.h"
#include "src/memory/memory_config.h"

namespace latchlab {

inline constexpr u64 kSmallPageBytes = 4096;
inline constexpr u64 kHugePageBytes = u64{2} << 20;

class ChunkSource {
 public:
  struct Chunk {
    void* start = nullptr;   ///< null: memory is out
    u64 bytes = 0;
  };

  explicit ChunkSource(const MemoryConfig& config);
  ~ChunkSource();
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;

  /// A chunk of `wanted` bytes, or of `least` where so much is not to be had; both are rounded up to whole pages. Its pages
  /// are touched by the calling thread if the configuration says so. Null when the limit is reached, the plan says so, or
  /// the kernel refuses.
  [[nodiscard]] Chunk take(u64 wanted, u64 least);

  /// Unmaps a chunk before its time. It must have come from take.
  void give_back(const Chunk& chunk);

  /// Whole pages for `bytes`.
  u64 rounded(u64 bytes) const { return (bytes + page_bytes_ - 1) & ~(page_bytes_ - 1); }

  /// Bytes of malloc's that a limit must know about; false if the limit is reached. Free without a limit.
  [[nodiscard]] bool charge(u64 bytes);
  /// Takes back what was charged for bytes that have been freed.
  void refund(u64 bytes);

  const MemoryConfig& config() const { return config_; }
  /// Fills in reserved, chunks and page_bytes.
  Footprint footprint() const;
  /// All that have not been given back.
  std::vector<Chunk> chunks() const;

 private:
  Chunk map(u64 bytes);

  const MemoryConfig config_;
  const u64 page_bytes_;       // what chunks are aligned to and rounded to
  bool huge_granted_;          // false once the kernel refuses the advice
  std::atomic<u64> charged_{0};
  mutable std::mutex mutex_;   // guards what follows
  u64 reserved_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace latchlab
