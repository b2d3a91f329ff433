#pragma once

// The rule for all results: a value that was not measured is null with a reason, never zero.

#include <optional>
#include <string>
#include <utility>

namespace latchlab {

/// A value, or the reason why there is none.
template <class T>
struct OrReason {
  std::optional<T> value;
  std::string reason = "not measured";  ///< meaningful only without a value

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
