#pragma once
// Where a machine's chunks come from: whole pages at a time. Native's are the kernel's; a modelled machine has its own,
// and so sees each chunk with its page size, its nodes and who touches it.
//
// Everything here may call the kernel: never inside a transaction, never on a hot path.

#include "src/base/types.h"

namespace latchlab {

struct PagePlacement;

inline constexpr u64 kSmallPageBytes = 4096;
inline constexpr u64 kHugePageBytes = u64{2} << 20;

class PageSource {
 public:
  struct Mapping {
    void* start = nullptr;  ///< null: refused
    bool huge = false;      ///< of huge pages, in principle
  };

  /// Whether a mapping that asks for huge pages gets them, in principle.
  [[nodiscard]] virtual bool grants_huge_pages() = 0;
  /// `bytes` of zeros that nobody has touched: whole pages, huge ones if `huge` says so and they are to be had, and
  /// aligned to the size that was asked for. They will lie as `placement` says; where that is refused, where the
  /// machine puts pages by itself.
  [[nodiscard]] virtual Mapping map(u64 bytes, bool huge, const PagePlacement& placement) = 0;
  /// Writes to every page of a mapping, as the calling thread.
  virtual void populate(void* start, u64 bytes) = 0;
  /// Takes a mapping back, whole.
  virtual void unmap(void* start, u64 bytes) = 0;

 protected:
  PageSource() = default;
  ~PageSource() = default;
};

/// The kernel's.
[[nodiscard]] PageSource& system_pages();

}  // namespace latchlab
