#pragma once

// Decimal numbers and line ends on the wire.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace latchlab {

inline constexpr std::string_view kLineEnd = "\r\n";

/// Appends the number in decimal.
template <std::integral T>
void append_number(std::string& out, T number) {
  char digits[std::numeric_limits<T>::digits10 + 2];  // one digit more, and a sign
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

/// A decimal number and what stands behind it.
template <std::integral T>
struct LeadingNumber {
  T number;
  std::string_view rest;
};
/// Returns the decimal number that `text` begins with; empty if there is none, or if it does not fit into T.
template <std::integral T>
[[nodiscard]] std::optional<LeadingNumber<T>> leading_number_in(std::string_view text) {
  T number{};
  const auto [read_to, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return LeadingNumber<T>{number, text.substr(static_cast<std::size_t>(read_to - text.data()))};
}

/// Returns the whole of `text` as a decimal number; empty if it is none or does not fit into T.
template <std::integral T>
[[nodiscard]] std::optional<T> number_in(std::string_view text) {
  const auto leading = leading_number_in<T>(text);
  return leading && leading->rest.empty() ? std::optional(leading->number) : std::nullopt;
}

/// The same, but a plus sign may stand in front: strtol, by which memcached reads its numbers, takes it.
template <std::integral T>
[[nodiscard]] std::optional<T> signed_number_in(std::string_view text) {
  if (!text.starts_with('+')) return number_in<T>(text);
  text.remove_prefix(1);
  return text.starts_with('-') ? std::nullopt : number_in<T>(text);
}

}  // namespace latchlab
