#include "src/vector/element.h"

#include <fmt/format.h>

#include <charconv>

namespace latchlab::vectors {

std::optional<Number> Number::of_bytes(Element element, Bytes bytes) {
  if (bytes.size() != size_of(element)) return std::nullopt;
  return with_type(element, [&]<class T>(std::type_identity<T>) { return Number(load<T>(bytes.data())); });
}

std::optional<Number> Number::of_text(Element element, std::string_view text) {
  return with_type(element, [&]<class T>(std::type_identity<T>) -> std::optional<Number> {
    T value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
    return Number(value);
  });
}

std::string Number::text() const {
  return with_type(element_, [&]<class T>(std::type_identity<T>) {
    std::array<char, 32> text;  // the longest is a negative f64 with 17 digits and an exponent
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), as<T>());
    return std::string(text.data(), end);
  });
}

std::string why(Status status, std::string_view name, Element element) {
  switch (status) {
    case Status::kDone: return "";
    case Status::kUnsuited: return fmt::format("{} is not for {}", name, word(element));
    case Status::kRagged:
      return fmt::format("the value is no whole number of {}, of {} bytes each", word(element), size_of(element));
    case Status::kMismatched: return fmt::format("{} takes other operands", name);
    case Status::kTooLittleRoom: return "the result is of another size than the value";
    case Status::kAbsent: return "there is no value";
  }
  return "";
}

}  // namespace latchlab::vectors
