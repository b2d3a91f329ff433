#include "src/arch/cache_kind.h"

#include <cpuid.h>

#include <array>

#include "src/base/types.h"

namespace latchlab {

std::optional<bool> l3_is_inclusive() {
  // The same registers in a leaf of each vendor. The other vendor's processors have no cache in it.
  constexpr std::array<u32, 2> kLeaves{0x4, 0x8000001d};
  for (const u32 leaf : kLeaves) {
    u32 a = 0, b = 0, c = 0, d = 0;
    for (u32 cache = 0; __get_cpuid_count(leaf, cache, &a, &b, &c, &d) != 0 && (a & 31) != 0; ++cache) {
      if ((a >> 5 & 7) == 3) return (d >> 1 & 1) != 0;
    }
  }
  return std::nullopt;
}

}  // namespace latchlab
