#pragma once
// The Accessed bits of page tables. The processor sets a page's bit when a page walk reaches the page. The kernel
// clears bits to see which pages are in use (reclaim, DAMON). Then the next access that misses the TLB sets the bit
// again. For plain code that is a microcode assist. A hardware transaction aborts there with status 0, however often it
// retries.
//
// A process can clear its own bits at any time through /proc/self/clear_refs. Like DAMON, that does not flush the TLB.
#include <optional>
#include <string>

namespace latchlab {

inline constexpr const char* kClearRefs = "/proc/self/clear_refs";

/// Returns the reason why this process cannot clear the Accessed bits of its pages, as one clause, or nothing if it
/// can. Clears none.
[[nodiscard]] std::optional<std::string> why_accessed_stay(const char* file = kClearRefs);

/// Clears the Accessed bits of all pages of this process. Returns false, with errno, if the kernel refuses. Takes
/// milliseconds for each gigabyte of 4K pages, during which no other thread can map memory or fault a page in.
[[nodiscard]] bool clear_accessed(const char* file = kClearRefs);

}  // namespace latchlab
