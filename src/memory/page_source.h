#pragma once
// The source of a machine's chunks, in whole pages. Native takes them from the kernel. A modelled machine has a source
// of its own. So it sees each chunk with its page size, its nodes and the thread that touches it.
//
// Everything here may call the kernel: never call it inside a transaction or on a hot path.

#include "src/base/types.h"

namespace latchlab {

struct PagePlacement;

inline constexpr u64 kSmallPageBytes = 4096;
inline constexpr u64 kHugePageBytes = u64{2} << 20;

class PageSource {
 public:
  struct Mapping {
    void* start = nullptr;  ///< null if refused
    bool huge = false;      ///< true if the mapping gets huge pages, in principle
  };

  /// Returns true if a mapping that asks for huge pages gets them, in principle.
  [[nodiscard]] virtual bool grants_huge_pages() = 0;
  /// Maps `bytes` of untouched zero pages, aligned to the page size asked for. The pages are huge if `huge` is set and
  /// the machine grants it. They lie as `placement` says or, if that is refused, by the machine's own rule.
  [[nodiscard]] virtual Mapping map(u64 bytes, bool huge, const PagePlacement& placement) = 0;
  /// Writes to every page of a mapping, from the calling thread.
  virtual void populate(void* start, u64 bytes) = 0;
  /// Unmaps a whole mapping or reservation.
  virtual void unmap(void* start, u64 bytes) = 0;

  /// Reserves addresses without memory, aligned to huge pages. Returns null if refused.
  [[nodiscard]] virtual void* reserve(u64 bytes) = 0;
  /// Makes a part of a reservation usable, as `map` maps: untouched zero pages. Both ends are aligned to the page size
  /// asked for. Returns false if refused.
  [[nodiscard]] virtual bool commit(void* start, u64 bytes, bool huge, const PagePlacement& placement) = 0;

 protected:
  PageSource() = default;
  ~PageSource() = default;
};

/// Returns the kernel's pages.
[[nodiscard]] PageSource& system_pages();

}  // namespace latchlab
