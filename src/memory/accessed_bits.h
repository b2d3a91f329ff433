#pragma once
// The Accessed bits of page tables. The processor sets the bit of a page as it walks to it; the kernel clears bits to
// see which pages are in use (reclaim, DAMON), and then the next access that misses the TLB sets them again: an assist
// of the processor's for plain code, and the end of a hardware transaction, with status 0, as often as it is tried.
// What a kernel does to others some day a process can do to itself at any time by /proc/self/clear_refs, without a TLB
// being flushed, as DAMON does it.
#include <optional>
#include <string>

namespace latchlab {

inline constexpr const char* kClearRefs = "/proc/self/clear_refs";

/// Why this process cannot clear the Accessed bits of its pages, as one clause; nothing if it can. Clears none.
[[nodiscard]] std::optional<std::string> why_accessed_stay(const char* file = kClearRefs);

/// Clears those of all its pages. False with errno where the kernel refuses. Takes milliseconds a gigabyte of 4K pages,
/// in which no other thread can map memory or fault a page in.
[[nodiscard]] bool clear_accessed(const char* file = kClearRefs);

}  // namespace latchlab
