#pragma once

// The rule of the house: what was not measured is null with a reason, never zero.

#include <optional>
#include <string>
#include <utility>

namespace latchlab {

/// A value, or why there is none.
template <class T>
struct OrReason {
  std::optional<T> value;
  std::string reason = "not measured";  ///< meaningful while there is no value

  OrReason() = default;
  OrReason(T v) : value(std::move(v)), reason() {}  // NOLINT: a value converts, that is its purpose
  [[nodiscard]] static OrReason missing(std::string why) {
    OrReason none;
    none.reason = std::move(why);
    return none;
  }
  [[nodiscard]] explicit operator bool() const { return value.has_value(); }
  [[nodiscard]] const T& operator*() const { return *value; }
  [[nodiscard]] const T* operator->() const { return &*value; }
};

}  // namespace latchlab
