#pragma once

namespace latchlab {

/// How many keys, blocks or operations it takes until something happens in a structure: an argument of those where it
/// takes many.
enum class Scale {
  kReal,  ///< as many as serve best
  kTiny,  ///< one or two, so that a program of a few operations comes to it
};

}  // namespace latchlab
