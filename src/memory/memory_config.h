#pragma once
// How an index gets its memory, and how much it has.

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/memory/failure_plan.h"
#include "src/memory/numa.h"

namespace latchlab {

/// How an optimistic policy finds out that nobody can be reading what it has unlinked (src/reclaim/epochs.h).
enum class Reclaim : u8 {
  kEpoch,       ///< each operation stores its epoch; who frees makes everybody's processor fence
  kEpochFence,  ///< each operation stores its epoch and fences
  kQsbr,        ///< a thread says now and then that it is between operations
  kLeak,        ///< not before the index ends
};

template <>
inline constexpr std::array kWords<Reclaim>{"epoch"sv, "epoch-fence"sv, "qsbr"sv, "leak"sv};

struct MemoryConfig {
  enum class Alloc : u8 {
    kMalloc,      ///< a call of the machine's allocator per block: the slow curve of the paper
    kArena,       ///< per-thread chunks, whose pages fault at their first use
    kArenaTouch,  ///< per-thread chunks, whose pages are written by their thread before they are used
  };

  Alloc alloc = Alloc::kArenaTouch;
  bool thp = false;  ///< ask for transparent huge pages; otherwise they are refused, so that the page size is known
  PagePlacement pages{};              ///< of chunks; where the kernel refuses, the system's rule holds
  Reclaim reclaim = Reclaim::kEpoch;  ///< for policies that must wait before they free
  u64 limit = 0;                      ///< bytes that may be reserved; 0: no limit
  FailurePlan* fail = nullptr;        ///< for tests; must outlive the index
};

template <>
inline constexpr std::array kWords<MemoryConfig::Alloc>{"malloc"sv, "arena"sv, "arena+touch"sv};

/// The memory of one index. Exact when no operation is running.
struct Footprint {
  u64 live = 0;        ///< bytes of blocks in use, each rounded up to what it really takes
  u64 room = 0;        ///< of live: what stays when the last key is erased, the buckets of a table
  u64 reserved = 0;    ///< bytes taken from the system: live, free, and not yet used; equals live for malloc
  u64 chunks = 0;      ///< mappings; 0 for malloc
  u64 page_bytes = 0;  ///< page size asked for and granted in principle; 0: the allocator decides (malloc)
};

}  // namespace latchlab
