#pragma once
// Radix sort of numbers of 32 bits, digit by digit from the lowest. No comparison depends on the keys, so its time does
// not depend on their order. Each digit moves all keys to the other of two arrays.
//
// Digits have at most 6 bits. A pass then writes to at most 64 places by turns, whose pages the processor's first table
// of translations holds. With 8 bits a pass took 2.5 times as long on pages of 4 KiB, so two short ones are no slower.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "src/base/types.h"

namespace latchlab {

/// Sorts `keys` in ascending order of their bits from `lowest` on, 0 to 31. Keys that agree there keep their order.
/// Returns the sorted keys, which are in `keys` or in `scratch`; the other one has any contents then. `scratch` has as
/// many places. O(keys) for each digit.
[[nodiscard]] inline std::span<u32> radix_sort(std::span<u32> keys, std::span<u32> scratch, u32 lowest = 0) {
  constexpr u32 kMostBits = 6;
  if (keys.empty()) return keys;
  u32 differ = 0;
  for (const u32 key : keys) differ |= key ^ keys.front();
  const u32 bits = std::max(static_cast<u32>(std::bit_width(differ)), lowest) - lowest;
  const u32 digits = (bits + kMostBits - 1) / kMostBits;
  for (u32 digit = 0; digit < digits; ++digit) {
    const u32 begin = lowest + digit * bits / digits, end = lowest + (digit + 1) * bits / digits;
    const u32 mask = (1u << (end - begin)) - 1;
    std::array<u64, 1 << kMostBits> next{};  // the counts of the digit's values, and then their next places
    for (const u32 key : keys) ++next[key >> begin & mask];
    u64 sum = 0;
    for (u64& place : next) sum += std::exchange(place, sum);
    for (const u32 key : keys) scratch[next[key >> begin & mask]++] = key;
    std::swap(keys, scratch);
  }
  return keys;
}

}  // namespace latchlab
