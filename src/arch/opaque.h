#pragma once
// A value that the compiler must not reason about.

namespace latchlab {

/// `value`, but not known to be. After `if (loaded != computed) {...}` a compiler may go on with `loaded` in place of
/// `computed`, and what hangs on it then waits for the load; comparing with opaque(computed) keeps the branch a guess.
template <class T>
[[gnu::always_inline]] inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

}  // namespace latchlab
