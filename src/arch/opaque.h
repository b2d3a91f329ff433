#pragma once
// A value that the compiler must not reason about.

namespace latchlab {

/// Returns `value` so that the compiler does not know it. After `if (loaded != computed) {...}` a compiler may use
/// `loaded` in place of `computed`, and later instructions then wait for the load. A comparison with opaque(computed)
/// leaves them dependent on `computed` only, behind a predicted branch.
template <class T>
[[gnu::always_inline]] inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

}  // namespace latchlab
