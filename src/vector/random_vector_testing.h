#pragma once
// Random vectors for tests of kernels.
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "src/testing/catch.h"
#include "src/vector/element.h"
#include "src/vector/kernel.h"

namespace latchlab::vectors {

/// The lengths of vectors that tests take: around each kernel's steps, and odd ones.
inline constexpr std::size_t kTestedCounts[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200, 517};

/// Returns a random element: often small, so that some are equal; of floats sometimes a zero, an infinity or a NaN.
template <ElementType T>
T random_element(Rng& rng) {
  if constexpr (std::floating_point<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {
        T{0}, -T{0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::denorm_min()};
    if (rng() % 16 == 0) return special[rng() % std::size(special)];
    const T small = static_cast<T>(rng() % 16) - T{8};
    return rng() % 2 == 0 ? small : small * static_cast<T>(unit(rng()));
  } else {
    return static_cast<T>(rng() % 2 == 0 ? rng() : rng() % 16 - 8);
  }
}

/// Bytes that begin `offset` bytes behind an aligned address, with eight bytes around them that no kernel may change.
class Surrounded {
 public:
  Surrounded(std::size_t size, std::size_t offset)
      : before_(8 + offset), size_(size), bytes_(before_ + size + 8, kAround) {}

  MutableBytes bytes() { return MutableBytes(bytes_).subspan(before_, size_); }
  Bytes bytes() const { return Bytes(bytes_).subspan(before_, size_); }
  bool is_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < before_ || i >= before_ + size_) && bytes_[i] != kAround) return false;
    }
    return true;
  }
  template <ElementType T>
  void fill(Rng& rng) {
    for (std::size_t i = 0; i + sizeof(T) <= size_; i += sizeof(T)) store(bytes().data() + i, random_element<T>(rng));
  }

 private:
  static constexpr std::byte kAround{0xa5};

  std::size_t before_, size_;
  std::vector<std::byte> bytes_;
};

/// Returns true for the same bytes, or for a NaN each.
template <ElementType T>
bool same(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return Number(a) == Number(b);
}
template <ElementType T>
bool same(Bytes a, Bytes b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); i += sizeof(T)) {
    if (!same(load<T>(a.data() + i), load<T>(b.data() + i))) return false;
  }
  return true;
}

/// Calls check(kernel) for the kernels that are compared with the reference.
template <class Check>
void for_fast_kernels(const Check& check) {
  for (const Kernel kernel : {Kernel::kSse42, Kernel::kAvx2, Kernel::kAvx512}) {
    if (runs_here(kernel)) {
      check(kernel);
    } else {
      WARN("skipped " << word(kernel) << ": the processor has no such instructions");
    }
  }
}

/// Calls check(std::type_identity<T>) for every type of elements.
template <class Check>
void for_types(const Check& check) {
  for (std::size_t i = 0; i < kElements; ++i) with_type(static_cast<Element>(i), check);
}

}  // namespace latchlab::vectors
