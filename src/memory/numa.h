#pragma once
// On which NUMA nodes memory is to lie, and on which it lies.
//
// A page gets its node when it is touched first: by the system's rule that of the processor which touches it, or
// another one where that is full. There are two ways to have another rule:
//
//   place_mapping   for the pages of one mapping, whoever touches them (mbind): the chunks of an index and nothing else
//   place_thread    for what a thread touches first, from whomever it has it (set_mempolicy): all that can be done for
//                   memory of malloc's, and it holds for whatever else the thread takes
//
// By libnuma's wrappers of the system calls: hwloc, which finds the topology, would want it at each call and asks for
// the node of one page at a time. A container may forbid all of these calls (EPERM), and a kernel without NUMA has none
// of them (ENOSYS).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

struct PagePlacement {
  enum class Kind : u8 {
    kFirstTouch,  ///< the system's rule
    kLocal,       ///< the node of the thread that asks for the memory, and no other
    kInterleave,  ///< `nodes` in turn, page by page
    kBind,        ///< `nodes`, the nearest first, and no other
  };

  Kind kind = Kind::kFirstTouch;
  std::vector<u32>
      nodes;  ///< the kernel's numbers, less than kMostNodes; of kLocal those of the threads, as far as they are known
};

inline constexpr u32 kMostNodes = 1024;  // as many as Linux can be built for

/// Sees to it that pages of the mapping, none of which has been touched, will lie so. `start` is the start of a page.
/// False with errno where the kernel refuses.
[[nodiscard]] bool place_mapping(void* start, u64 bytes, const PagePlacement& placement);

/// Why the kernel does not let this process place memory so, as one clause; nothing if it does.
[[nodiscard]] std::optional<std::string> why_not_placed(const PagePlacement& placement);

/// Why the kernel refuses these calls even where they change nothing, as the error's text; nothing if it allows them.
[[nodiscard]] std::optional<std::string> why_mbind_refused();
[[nodiscard]] std::optional<std::string> why_move_pages_refused();

/// From now on what the calling thread touches first will lie so, but for mappings that have been placed. False with
/// errno where the kernel refuses.
[[nodiscard]] bool place_thread(const PagePlacement& placement);

/// The node of each page: -1 for one that has none, as it was never touched. Nothing with errno where the kernel does
/// not say.
[[nodiscard]] std::optional<std::vector<int>> nodes_of(std::span<void* const> pages);

}  // namespace latchlab
