#pragma once
// The scalar reference: the plainest loop of each operation, which says what the operation is. The other kernels are
// tested against it. `opaque` hides the position from the compiler, so that it takes one element after the other.
#include <cstddef>

#include "src/arch/opaque.h"
#include "src/base/types.h"
#include "src/vector/element.h"

namespace latchlab::vectors::reference {

/// Calls each(i, element) for the elements of a vector, in order.
template <ElementType T, class Each>
void for_each(const std::byte* in, std::size_t count, const Each& each) {
  for (std::size_t i = 0; i < count; i = opaque(i) + 1) each(i, load<T>(in + i * sizeof(T)));
}

/// Sets each element of `out` to f(i, element).
template <ElementType T, class F>
void transform(const std::byte* in, std::byte* out, std::size_t count, const F& f) {
  for_each<T>(in, count, [&](std::size_t i, T element) { store<T>(out + i * sizeof(T), f(i, element)); });
}

/// Returns f(... f(f(start, element 0), element 1) ...).
template <ElementType T, class Result, class F>
Result fold(const std::byte* in, std::size_t count, Result start, const F& f) {
  for_each<T>(in, count, [&](std::size_t, T element) { start = f(start, element); });
  return start;
}

}  // namespace latchlab::vectors::reference
