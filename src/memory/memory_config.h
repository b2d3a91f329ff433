#pragma once
// The configuration of an index's memory, and its footprint.

#include <memory>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/memory/failure_plan.h"
#include "src/memory/memory_budget.h"
#include "src/memory/numa.h"
#include "src/memory/sharing.h"

namespace latchlab {

class PageSource;

/// The way in which an optimistic policy learns that no thread can still be reading a block that it has unlinked
/// (src/reclaim/epochs.h).
enum class Reclaim : u8 {
  kEpoch,       ///< each operation stores its epoch; the thread that frees makes every processor fence
  kEpochFence,  ///< each operation stores its epoch and fences
  kQsbr,        ///< a thread announces from time to time that it is between operations
  kLeak,        ///< never: blocks are freed when the index ends
};

template <>
inline constexpr std::array kWords<Reclaim>{"epoch"sv, "epoch-fence"sv, "qsbr"sv, "leak"sv};

struct MemoryConfig {
  enum class Alloc : u8 {
    kMalloc,      ///< one call of the machine's allocator per block: the slow curve of the paper
    kArena,       ///< chunks per thread; a page faults at its first use
    kArenaTouch,  ///< chunks per thread; the thread writes their pages before it uses them
  };

  Alloc alloc = Alloc::kArenaTouch;
  bool thp = false;       ///< true asks for transparent huge pages; false refuses them, so that the page size is known
  PagePlacement pages{};  ///< the placement of chunks; if the kernel refuses it, the system's rule holds
  Reclaim reclaim = Reclaim::kEpoch;  ///< for policies that must wait before they free
  MemoryBudget limit{};  ///< bytes that may be reserved, by all memories of this configuration and its copies together
  u32 malloc_alignment = kLineBytes;  ///< of blocks of malloc with 64 bytes or more: 16 or 64
  Sharing sharing{};                  ///< for memory that no attempt uses: that of sized values
  PageSource* source = nullptr;       ///< of chunks, if the machine has pages; must outlive the index; null: its own
  FailurePlan* fail = nullptr;        ///< for tests; must outlive the index
  /// The far memory for leaves, of a tree that tells them from its inner nodes (kIsLeaf, sync/make.h). It has none of
  /// its own. Null: leaves lie with the inner nodes.
  std::shared_ptr<const MemoryConfig> far_leaves{};
};

template <>
inline constexpr std::array kWords<MemoryConfig::Alloc>{"malloc"sv, "arena"sv, "arena+touch"sv};

/// The memory of one index. Exact when no operation is running.
struct Footprint {
  u64 live = 0;        ///< bytes of blocks in use, each rounded up to its size in the pool
  u64 room = 0;        ///< the part of live that stays when the last key is erased: the buckets of a table
  u64 reserved = 0;    ///< bytes taken from the system: live, free, and not yet used; equals live for malloc
  u64 chunks = 0;      ///< number of mappings; 0 for malloc
  u64 page_bytes = 0;  ///< page size asked for and granted in principle; 0 if the allocator decides (malloc)

  /// Adds a part of the same index, whose pages are those of all parts.
  Footprint& operator+=(const Footprint& part) {
    live += part.live;
    room += part.room;
    reserved += part.reserved;
    chunks += part.chunks;
    page_bytes = part.page_bytes;
    return *this;
  }
};

}  // namespace latchlab
