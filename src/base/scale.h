#pragma once

namespace latchlab {

/// The size of a structure's thresholds: how many keys, blocks or operations trigger a rare step. It is an argument of
/// every structure with large thresholds.
enum class Scale {
  kReal,  ///< the thresholds that perform best
  kTiny,  ///< one or two, so that a program of a few operations reaches the step
};

}  // namespace latchlab
