#pragma once
// Updates: functions that change every element of a vector (functions.h says which, and what they do with NaN).
//
//     const Update more(UpdateFunction::kAdd, f32{.5});                 // one operand for all elements
//     const Update clip(UpdateFunction::kClip, i32{-10}, i32{10});      // a pair for all
//     const Update step(UpdateFunction::kSub, std::span(gradients));    // an operand for each
//     Status status = apply(more, old, out);                            // out may be old itself
//
// An update is a value: it names its function, the type of the elements and the operands, and knows no vector yet. So a
// server can make one from the bytes of a request, and apply it to what it finds.
//
//     operands for all     element | or: first, second
//     operands for each    n elements | or: the first ones of all n elements, then the second ones
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/vector/element.h"
#include "src/vector/functions.h"
#include "src/vector/kernel.h"

namespace latchlab::vectors {

/// The shape of an update's operands.
enum class Operands : u8 {
  kForAll,   ///< one for all elements, or one pair
  kForEach,  ///< one for each element, or one pair
};

class Update {
 public:
  /// Makes an update with this operand for all elements; with this pair for a function that takes two.
  template <ElementType T>
  Update(UpdateFunction function, T operand) : Update(kElementOf<T>, function, Operands::kForAll, bytes_of(operand)) {}
  template <ElementType T>
  Update(UpdateFunction function, T first, T second)
      : Update(kElementOf<T>, function, Operands::kForAll, bytes_of(std::array{first, second})) {}
  /// Makes an update with an operand for each element. It views them: they must stay there while it is in use.
  template <ElementType T>
  Update(UpdateFunction function, std::span<const T> operands)
      : Update(kElementOf<T>, function, Operands::kForEach, std::as_bytes(operands)) {}
  /// Makes an update of these operands, as bytes. It copies those for all elements, and views those for each.
  Update(Element element, UpdateFunction function, Operands shape, Bytes operands)
      : element_(element), function_(function), shape_(shape), size_(operands.size()), each_(operands) {
    if (shape == Operands::kForAll && size_ <= all_.size()) std::ranges::copy(operands, all_.begin());
  }

  Element element() const { return element_; }
  UpdateFunction function() const { return function_; }
  Operands shape() const { return shape_; }
  /// Returns kDone if the update is one: else kUnsuited, or kMismatched if a wrong number of operands is for all.
  [[nodiscard]] Status check() const;
  /// Returns kDone if it also suits a vector of `bytes` bytes: else kRagged, or kMismatched.
  [[nodiscard]] Status check(std::size_t bytes) const;
  /// Returns the operands. Those for all elements lie in this object.
  Bytes operands() const { return shape_ == Operands::kForEach ? each_ : Bytes(all_).first(size_); }

 private:
  template <class T>
  static Bytes bytes_of(const T& operands) {
    return std::as_bytes(std::span(&operands, 1));
  }

  Element element_;
  UpdateFunction function_;
  Operands shape_;
  std::size_t size_;                 // of the operands
  std::array<std::byte, 16> all_{};  // the operands for all elements, if they fit: otherwise they are too many
  Bytes each_;                       // those for each
};

/// Sets `out` to what the update makes of the vector `old`. Both are of the same size. `out` may be `old` itself;
/// otherwise the two must not overlap, and the operands must not overlap `out`. If the status is not kDone, nothing is
/// done: kUnsuited, kRagged, kMismatched, or kTooLittleRoom if the sizes differ. O(size). The processor must have the
/// kernel. Not to be called inside a hardware transaction.
[[nodiscard]] Status apply(const Update& update, Bytes old, MutableBytes out, Kernel kernel = best_kernel());

/// Returns the function of this name: "add", "sub", "min", "max", "and", "or", "xor", "cas-if-less", "clip", "set", or
/// one of the build's own. Returns nothing for another name.
[[nodiscard]] std::optional<UpdateFunction> update_of_name(std::string_view name);
/// Returns the name of a function.
[[nodiscard]] std::string_view name_of(UpdateFunction function);
/// Returns the names of all functions, for a message.
[[nodiscard]] std::vector<std::string> update_names();
/// Returns the number of operands that a function takes: 1 or 2.
[[nodiscard]] std::size_t operands_of(UpdateFunction function);

/// Returns why the update has this status, as one line such as "xor is not for f32"; "" for kDone.
[[nodiscard]] std::string why(Status status, const Update& update);

}  // namespace latchlab::vectors

namespace latchlab {
template <>
inline constexpr std::array kWords<vectors::Operands>{"all"sv, "each"sv};
}
