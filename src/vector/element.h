#pragma once
// The elements of a vector: a value that is an array of numbers of one type, as the processor keeps them (little
// endian), without a header. So the bytes of a value are a vector of any type whose size divides theirs.
//
// The bytes may begin at any address: nothing here needs them aligned.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab::vectors {

using i32 = std::int32_t;
using f32 = float;
using f64 = double;
static_assert(std::numeric_limits<f32>::is_iec559 && std::numeric_limits<f64>::is_iec559);

/// The bytes of a vector, to read and to write.
using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// The types of elements.
enum class Element : u8 { kI32, kU32, kI64, kU64, kF32, kF64 };
inline constexpr std::size_t kElements = 6;

/// A C++ type of elements. (An `unsigned long long` has the size of a u64, but is another type.)
template <class T>
concept ElementType = std::same_as<T, i32> || std::same_as<T, u32> || std::same_as<T, i64> || std::same_as<T, u64> ||
                      std::same_as<T, f32> || std::same_as<T, f64>;

template <ElementType T>
inline constexpr Element kElementOf = std::same_as<T, i32>   ? Element::kI32
                                      : std::same_as<T, u32> ? Element::kU32
                                      : std::same_as<T, i64> ? Element::kI64
                                      : std::same_as<T, u64> ? Element::kU64
                                      : std::same_as<T, f32> ? Element::kF32
                                                             : Element::kF64;

/// Returns call(std::type_identity<T>) for the type T of the elements.
template <class Call>
constexpr decltype(auto) with_type(Element element, const Call& call) {
  switch (element) {
    case Element::kI32: return call(std::type_identity<i32>());
    case Element::kU32: return call(std::type_identity<u32>());
    case Element::kI64: return call(std::type_identity<i64>());
    case Element::kU64: return call(std::type_identity<u64>());
    case Element::kF32: return call(std::type_identity<f32>());
    default: return call(std::type_identity<f64>());
  }
}

/// Returns the size of an element in bytes: 4 or 8.
constexpr std::size_t size_of(Element element) {
  return with_type(element, [](auto type) { return sizeof(typename decltype(type)::type); });
}

/// Reads an element from any address, and writes one.
template <ElementType T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <ElementType T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// A number of a type of elements: an operand, or the result of a reduction.
class Number {
 public:
  Number() = default;  ///< zero, of i32
  template <ElementType T>
  explicit Number(T value) : element_(kElementOf<T>) {
    store(bytes_.data(), value);
  }
  /// Returns the number that these bytes hold; nothing if they are not of the size of one element.
  [[nodiscard]] static std::optional<Number> of_bytes(Element element, Bytes bytes);
  /// Returns the number that this text is, all of it: decimal, as std::from_chars reads it, so also inf and nan for
  /// floats. Returns nothing for another text, and for an integer beyond the type's range. A float beyond it is
  /// refused, too.
  [[nodiscard]] static std::optional<Number> of_text(Element element, std::string_view text);

  Element element() const { return element_; }
  /// Returns the number. T must be its type.
  template <ElementType T>
  T as() const {
    return load<T>(bytes_.data());
  }
  /// Returns the bytes of the number, in this object: size_of(element()) of them.
  Bytes bytes() const { return Bytes(bytes_).first(size_of(element_)); }
  /// Returns the shortest decimal text that of_text takes for this number.
  [[nodiscard]] std::string text() const;

  /// True for numbers of one type and of the same bytes. (So a NaN equals itself, and the zeros of floats differ.)
  friend bool operator==(const Number&, const Number&) = default;

 private:
  Element element_ = Element::kI32;
  std::array<std::byte, 8> bytes_{};  // zeros behind the number
};

/// The reason why an operation on a vector has done nothing; kDone if it was done.
enum class Status : u8 {
  kDone,
  kUnsuited,       ///< the function does not take elements of this type
  kRagged,         ///< the value is no whole number of elements
  kMismatched,     ///< the operand is not of the size that the function, or the function and the value, need
  kTooLittleRoom,  ///< the place for the result is too small
  kAbsent,         ///< there is no value: the key is absent
};

/// Returns why the operation of this name has the status, as one line such as "xor is not for f32"; "" for kDone.
[[nodiscard]] std::string why(Status status, std::string_view name, Element element);

}  // namespace latchlab::vectors

namespace latchlab {

template <>
inline constexpr std::array kWords<vectors::Element>{"i32"sv, "u32"sv, "i64"sv, "u64"sv, "f32"sv, "f64"sv};
static_assert(kWords<vectors::Element>.size() == vectors::kElements);
template <>
inline constexpr std::array kWords<vectors::Status>{"done"sv,       "unsuited"sv, "ragged"sv,
                                                    "mismatched"sv, "room"sv,     "absent"sv};

}  // namespace latchlab
