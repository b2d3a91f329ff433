#pragma once

// The words of an enumeration: the names of its values on the command line and in documents. They stand once, beside
// the enumeration:
//
//     enum class Smt { kAvoid, kPack };
//     template <> inline constexpr std::array kWords<Smt>{"avoid"sv, "pack"sv};   // in the order of the values

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace latchlab {

using std::string_view_literals::operator""sv;

template <class E>
inline constexpr std::array<std::string_view, 0> kWords{};

/// An enumeration whose values count from 0 and have words.
template <class E>
concept Worded = std::is_enum_v<E> && !kWords<E>.empty();

template <Worded E>
[[nodiscard]] constexpr std::string_view word(E value) {
  return kWords<E>[static_cast<std::size_t>(value)];
}

/// Returns the value that this word names; nothing if the enumeration has no such word. O(words).
template <Worded E>
[[nodiscard]] constexpr std::optional<E> value_of_word(std::string_view text) {
  for (std::size_t i = 0; i < kWords<E>.size(); ++i) {
    if (kWords<E>[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace latchlab
