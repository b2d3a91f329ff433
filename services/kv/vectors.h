#pragma once

// Operations on items whose values are vectors (src/vector), for both protocols. Each is atomic over its item.

#include <optional>
#include <string>
#include <string_view>

#include "services/kv/server.h"
#include "services/kv/store.h"
#include "src/base/types.h"
#include "src/vector/filter.h"
#include "src/vector/reduce.h"
#include "src/vector/update.h"

namespace latchlab::kv {

/// A request on a vector that cannot be, with one line that says why.
struct WrongVector {
  std::string text;
};

// The next three make an operation of the words of a request. Operands are bytes, as the value has them. They throw
// WrongVector for a word without meaning, and for operands that no value fits.

/// Operands of the size of one element (of two for a function that takes two) are for all elements; others are for
/// each. Views the operands.
[[nodiscard]] vectors::Update vector_update(std::string_view function, std::string_view type,
                                            std::string_view operands);
struct VectorReduction {
  vectors::Element element;
  vectors::Reduction reduction;
};
[[nodiscard]] VectorReduction vector_reduction(std::string_view function, std::string_view type);
[[nodiscard]] vectors::Filter vector_filter(std::string_view comparison, std::string_view type,
                                            std::string_view operand);

/// What an update has done.
struct VectorUpdated {
  enum class Kind : u8 { kDone, kAbsent, kOtherCas };
  Kind kind = Kind::kAbsent;
  ItemFields fields;  ///< of the new item
  std::string value;  ///< the one before or the new one, as was asked for
};

/// Updates the item of the key in one step, if it has this cas; 0: any. Its time and flags stay. Throws WrongVector if
/// the value does not fit, and as Store::Session::change does; then nothing has changed. O(size of the value).
[[nodiscard]] VectorUpdated update_vector(const Desk& desk, const Key& key, const vectors::Update& update, u64 cas,
                                          bool shows_before);

// These return nothing if the key is absent, and throw WrongVector if the value does not fit. O(size of the value).

/// Returns the number as text.
[[nodiscard]] std::optional<std::string> reduce_vector(const Desk& desk, const Key& key,
                                                       const VectorReduction& reduction);
/// Returns the bytes of the elements that match, or of the bitmap.
[[nodiscard]] std::optional<std::string> filter_vector(const Desk& desk, const Key& key, const vectors::Filter& filter,
                                                       bool as_bitmap);

}  // namespace latchlab::kv
