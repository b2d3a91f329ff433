#include "src/vector/filter.h"

#include <array>
#include <bit>
#include <cstring>

#include "src/vector/functions.h"
#include "src/vector/reference.h"
#include "src/vector/update_table.h"

namespace latchlab::vectors {
namespace {

struct Lt {
  static bool holds(auto a, auto b) { return a < b; }
};
struct Le {
  static bool holds(auto a, auto b) { return a <= b; }
};
struct Eq {
  static bool holds(auto a, auto b) { return a == b; }
};
struct Ne {
  static bool holds(auto a, auto b) { return a != b; }
};
struct Ge {
  static bool holds(auto a, auto b) { return a >= b; }
};
struct Gt {
  static bool holds(auto a, auto b) { return a > b; }
};

constexpr std::size_t kBlock = 64;  // elements that are compared at once: a word of the bitmap

/// Returns the low bits of eight bytes that are 0 or 1, byte i as bit i. The factor moves byte i to bit 56 + i, and no
/// two of its products meet.
u64 gathered(u64 bytes) { return (bytes * 0x0102'0408'1020'4080u) >> 56; }

/// Calls take(first, bits, elements) for each block: bit i says whether element first + i matches.
template <class Compare, ElementType T, class Take>
[[gnu::always_inline]] inline void compare_blocks(const std::byte* in, std::size_t count, T operand, const Take& take) {
  const Loose<T>* const x = reinterpret_cast<const Loose<T>*>(in);
  std::size_t first = 0;
  for (; first + kBlock <= count; first += kBlock) {
    std::array<u8, kBlock> holds;
    for (std::size_t i = 0; i < kBlock; ++i) holds[i] = Compare::holds(x[first + i].value, operand) ? 1 : 0;
    std::array<u64, kBlock / 8> words;
    std::memcpy(words.data(), holds.data(), sizeof words);
    u64 bits = 0;
    for (std::size_t i = 0; i < words.size(); ++i) bits |= gathered(words[i]) << (8 * i);
    take(first, bits, kBlock);
  }
  if (first == count) return;
  u64 bits = 0;
  for (std::size_t i = first; i < count; ++i) bits |= u64{Compare::holds(x[i].value, operand)} << (i - first);
  take(first, bits, count - first);
}

using FilterLoop = std::size_t (*)(const std::byte* in, std::size_t count, const std::byte* operand, std::byte* out);

/// Puts matching elements into `out`.
template <class Compare, ElementType T, Kernel kernel>
std::size_t matches_loop(const std::byte* in, std::size_t count, const std::byte* operand, std::byte* out) {
  const T compared = load<T>(operand);
  std::size_t matches = 0;
  if constexpr (kernel == Kernel::kScalar) {
    reference::for_each<T>(in, count, [&](std::size_t, T element) {
      if (Compare::holds(element, compared)) store<T>(out + matches++ * sizeof(T), element);
    });
  } else {
    run_in<kernel>([in, count, compared, out, &matches] {
      std::byte* to = out;
      compare_blocks<Compare, T>(in, count, compared, [&](std::size_t first, u64 bits, std::size_t) {
        if (bits == ~u64{0}) {
          std::memcpy(to, in + first * sizeof(T), kBlock * sizeof(T));
          to += kBlock * sizeof(T);
          return;
        }
        for (; bits != 0; bits &= bits - 1) {
          std::memcpy(to, in + (first + static_cast<std::size_t>(std::countr_zero(bits))) * sizeof(T), sizeof(T));
          to += sizeof(T);
        }
      });
      matches = static_cast<std::size_t>(to - out) / sizeof(T);
    });
  }
  return matches;
}

/// Puts a bit for each element into `out`.
template <class Compare, ElementType T, Kernel kernel>
std::size_t bitmap_loop(const std::byte* in, std::size_t count, const std::byte* operand, std::byte* out) {
  const T compared = load<T>(operand);
  std::size_t matches = 0;
  if constexpr (kernel == Kernel::kScalar) {
    std::memset(out, 0, (count + 7) / 8);
    reference::for_each<T>(in, count, [&](std::size_t i, T element) {
      const bool holds = Compare::holds(element, compared);
      out[i / 8] |= static_cast<std::byte>(holds) << (i % 8);
      matches += holds;
    });
  } else {
    run_in<kernel>([in, count, compared, out, &matches] {
      std::size_t all = 0;
      compare_blocks<Compare, T>(in, count, compared, [&](std::size_t first, u64 bits, std::size_t elements) {
        std::memcpy(out + first / 8, &bits, (elements + 7) / 8);
        all += static_cast<std::size_t>(std::popcount(bits));
      });
      matches = all;
    });
  }
  return matches;
}

using FilterLoops = std::array<std::array<FilterLoop, kElements>, kKernels.size()>;
/// The loops of a comparison.
struct FilterEntry {
  FilterLoops bitmap{}, matches{};
};

template <class Compare>
constexpr FilterEntry filter_entry() {
  FilterEntry entry;
  const auto add = [&]<Kernel kernel, class... T>(TypeList<T...>) {
    constexpr auto k = static_cast<std::size_t>(kernel);
    ((entry.bitmap[k][static_cast<std::size_t>(kElementOf<T>)] = bitmap_loop<Compare, T, kernel>), ...);
    ((entry.matches[k][static_cast<std::size_t>(kElementOf<T>)] = matches_loop<Compare, T, kernel>), ...);
  };
  using All = TypeList<i32, u32, i64, u64, f32, f64>;
  add.template operator()<Kernel::kScalar>(All());
  add.template operator()<Kernel::kSse42>(All());
  add.template operator()<Kernel::kAvx2>(All());
  add.template operator()<Kernel::kAvx512>(All());
  return entry;
}

constexpr std::array<FilterEntry, 6> kComparisons{filter_entry<Lt>(), filter_entry<Le>(), filter_entry<Eq>(),
                                                  filter_entry<Ne>(), filter_entry<Ge>(), filter_entry<Gt>()};

Filtered filtered(const FilterLoops& loops, const Filter& filter, Bytes bytes, MutableBytes out, std::size_t room,
                  Kernel kernel) {
  const Element element = filter.operand.element();
  if (bytes.size() % size_of(element) != 0) return {Status::kRagged};
  if (out.size() < room) return {Status::kTooLittleRoom};
  const FilterLoop loop = loops[static_cast<std::size_t>(kernel)][static_cast<std::size_t>(element)];
  return {Status::kDone,
          loop(bytes.data(), bytes.size() / size_of(element), filter.operand.bytes().data(), out.data())};
}

const FilterEntry& entry_of(const Filter& filter) { return kComparisons[static_cast<std::size_t>(filter.comparison)]; }

}  // namespace

Filtered filter_bitmap(const Filter& filter, Bytes bytes, MutableBytes out, Kernel kernel) {
  const std::size_t room = bitmap_bytes(filter.operand.element(), bytes.size());
  return filtered(entry_of(filter).bitmap, filter, bytes, out, room, kernel);
}

Filtered filter_matches(const Filter& filter, Bytes bytes, MutableBytes out, Kernel kernel) {
  return filtered(entry_of(filter).matches, filter, bytes, out, bytes.size(), kernel);
}

}  // namespace latchlab::vectors
