#pragma once
// The source of memory for the pools of one index: mappings of the machine (page_source.h). It records each mapping, so
// that all can be released at once and their page size is known. A machine without pages has no chunks either. There
// each block is a call of the machine's allocator, whatever the configuration says.
//
// A chunk is aligned to its page size. Under thp that is 2 MiB (MADV_HUGEPAGE). Otherwise huge pages are refused
// (MADV_NOHUGEPAGE), because a system whose default is "always" would silently measure huge pages. The NUMA nodes of a
// chunk are chosen before it is touched (numa.h). Untouched pages are zero and cost nothing until the first write.
//
// Everything here takes a mutex and may call the kernel: never call it inside a transaction or on a hot path.
#include <mutex>
#include <vector>

#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/memory/page_source.h"

namespace latchlab {

class ChunkSource {
 public:
  struct Chunk {
    void* start = nullptr;  ///< null if memory is out
    u64 bytes = 0;
  };

  /// Takes chunks from the configuration's source, or from `pages`, the machine's, which must outlive this. Null if the
  /// machine has none: then it takes none.
  ChunkSource(const MemoryConfig& config, PageSource* pages);
  ~ChunkSource();
  ChunkSource(const ChunkSource&) = delete;
  ChunkSource& operator=(const ChunkSource&) = delete;

  /// Returns a chunk of `wanted` bytes, or of `least` if `wanted` is refused; both are rounded up to whole pages. The
  /// calling thread touches its pages if the configuration says so. The chunk is null when the limit is reached, the
  /// failure plan says so, or the machine refuses.
  [[nodiscard]] Chunk take(u64 wanted, u64 least);

  /// Reserves `bytes` of addresses for a range that grows or, if that is refused, a half of it, a quarter, and so on.
  /// The machine must have pages. Returns the range without memory; null if even 1 MiB is refused.
  [[nodiscard]] Chunk reserve(u64 bytes);
  /// Makes bytes [from, to) of a reserved range usable: zero pages, which the calling thread touches if the
  /// configuration says so. Both must be whole pages (rounded). Returns false when the limit is reached, the failure
  /// plan says so, or the machine refuses.
  [[nodiscard]] bool commit(const Chunk& range, u64 from, u64 to);
  /// Unmaps a range early, of which `usable` bytes are usable.
  void release(const Chunk& range, u64 usable);
  /// Returns true if the machine has pages, and so ranges.
  bool has_pages() const { return pages_ != nullptr; }

  /// Unmaps one chunk early. It must have come from take.
  void give_back(const Chunk& chunk);

  /// Returns `bytes` rounded up to whole pages.
  u64 rounded(u64 bytes) const { return (bytes + page_bytes() - 1) & ~(page_bytes() - 1); }

  /// Charges bytes of the machine's allocator to the limit; returns false if the limit is reached.
  [[nodiscard]] bool charge(u64 bytes) const;
  /// Takes back the charge for bytes that have been freed.
  void refund(u64 bytes) const;

  /// Returns the configuration asked for, but with `alloc` = kMalloc if the machine has no pages.
  const MemoryConfig& config() const { return config_; }
  /// Returns a footprint with reserved, chunks and page_bytes filled in.
  Footprint footprint() const;
  /// Returns the chunks that have not been given back, and the usable part of each range.
  std::vector<Chunk> chunks() const;

 private:
  struct Range {
    Chunk reserved;
    u64 usable = 0;
  };
  Range& range_at(const void* start);
  Chunk map(u64 bytes);
  /// Returns the alignment of chunks, and the unit of their size.
  u64 page_bytes() const { return config_.thp ? kHugePageBytes : kSmallPageBytes; }

  const MemoryConfig config_;
  PageSource* const pages_;
  bool huge_granted_;         // false once the machine refuses huge pages
  mutable std::mutex mutex_;  // guards the members below
  u64 reserved_ = 0;          // charged to the limit
  std::vector<Chunk> chunks_;
  std::vector<Range> ranges_;
};

}  // namespace latchlab
