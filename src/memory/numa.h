#pragma once
// The NUMA nodes of memory: those that it is to lie on, and those that it lies on.
//
// A page gets its node when it is first touched. By the system's rule that is the node of the touching processor, or
// another one if that is full. There are two ways to set another rule:
//
//   place_mapping   for the pages of one mapping, whichever thread touches them (mbind): only the chunks of an index
//   place_thread    for every page that a thread touches first (set_mempolicy). For memory of malloc nothing else is
//                   possible, and the rule covers all other memory of that thread too
//
// The code calls libnuma's wrappers of the system calls. hwloc, which finds the topology, would need the topology at
// each call, and reports the node of only one page at a time. A container may forbid all these calls (EPERM), and a
// kernel without NUMA has none of them (ENOSYS).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

struct PagePlacement {
  enum class Kind : u8 {
    kFirstTouch,  ///< the system's rule
    kLocal,       ///< only the node of the thread that asks for the memory
    kInterleave,  ///< `nodes` in turn, page by page
    kBind,        ///< only `nodes`, the nearest first
  };

  Kind kind = Kind::kFirstTouch;
  /// The kernel's numbers of the nodes, less than kMostNodes. For kLocal these are the threads' nodes, if known.
  std::vector<u32> nodes;
  /// True keeps the kernel from moving or swapping out the pages once they are touched (mlock2), as far as it lets this
  /// process: memory tiering and swapping would undo a placement. NUMA balancing leaves bound pages alone anyway.
  bool stays = false;
};

inline constexpr u32 kMostNodes = 1024;  // as many nodes as Linux can be built for

/// Sets the placement of a mapping, none of whose pages has been touched yet. `start` must be the start of a page.
/// Returns false, with errno, if the kernel refuses.
[[nodiscard]] bool place_mapping(void* start, u64 bytes, const PagePlacement& placement);

/// Returns the reason why the kernel does not let this process place memory so, as one clause, or nothing if it does.
[[nodiscard]] std::optional<std::string> why_not_placed(const PagePlacement& placement);

/// Returns the nodes on which this process may have memory, by the kernel's numbers; node 0 if the kernel has no NUMA.
[[nodiscard]] std::vector<u32> nodes_with_memory();

/// Returns the error with which the kernel refuses even a call of mbind that changes nothing, or nothing if it allows
/// it.
[[nodiscard]] std::optional<std::string> why_mbind_refused();
/// Returns the same for move_pages.
[[nodiscard]] std::optional<std::string> why_move_pages_refused();

/// Sets the placement of all pages that the calling thread touches first from now on, except in mappings that have a
/// placement of their own. Returns false, with errno, if the kernel refuses.
[[nodiscard]] bool place_thread(const PagePlacement& placement);

/// Returns the node of each page, or -1 for a page that was never touched. Returns nothing, with errno, if the kernel
/// refuses to tell.
[[nodiscard]] std::optional<std::vector<int>> nodes_of(std::span<void* const> pages);

}  // namespace latchlab
