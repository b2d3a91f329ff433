#pragma once

// A flame graph (B. Gregg) as SVG: a box for each function that was sampled, as wide as its share of the samples. A box
// stands on the box of its caller, and siblings are in the order of their names, so that equal samples draw an equal
// picture:
//
//                 |  find_child  |
//     | key_byte ||  find_in           ||  __memcpy  |
//     |  look_up                                     ||  insert  |
//     |  all samples                                             |
//
// The picture needs neither a script nor the network. It follows the light or dark scheme of its reader, and prints
// black on light. The tooltip of a box is its function's whole name, with samples and share.

#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

/// A function on a stack.
struct StackFrame {
  /// The place of the function's code, which gives the box its colour.
  enum class Where { kProgram, kLibrary, kKernel };

  std::string function;  ///< its whole name
  Where where = Where::kProgram;

  bool operator==(const StackFrame&) const = default;
};

/// A stack, the outermost function first, and its number of samples.
struct SampledStack {
  std::vector<StackFrame> frames;
  u64 samples = 0;
};

/// Returns a C++ function's name in short: without the namespace latchlab, return type, parameters and the arguments of
/// templates. "latchlab::Art<L>::find_in<Tx>(Tx&) const" becomes "Art<...>::find_in<...>".
[[nodiscard]] std::string short_function(std::string_view function);

/// Returns the picture. `lines` stand under it, each in one line. There must be at least one sample.
[[nodiscard]] std::string flame_graph(const std::vector<SampledStack>& stacks, const std::vector<std::string>& lines);

}  // namespace latchlab
