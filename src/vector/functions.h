#pragma once
// The functions that change a vector, element by element. A function is a type:
//
//     struct Halve {
//       static constexpr std::string_view kName = "halve";
//       template <class T>
//       static T apply(T element, T) { return element / 2; }     // the element that shall be there
//     };
//
// It is compiled for every type of elements, by every kernel. So `apply` is arithmetic without branches that the
// compiler can vectorize: a ?: is well, a call is not. It has no effect but its result, and does not throw.
//   1. With `apply(element, first, second)` the function takes two operands.
//   2. With a `requires` it takes some types of elements only. An operation on others is refused.
//
// A program adds functions of its own at compile time (user_functions.h). None comes from the network.
//
// Integers wrap. Floats are IEEE 754, and no function reorders or contracts them, so all kernels agree to the bit; only
// the payload of a NaN that arithmetic makes is unspecified. min, max, cas-if-less and clip compare, and a comparison
// with a NaN is false: an element that is a NaN stays, and an operand that is one changes nothing. They take the two
// zeros for equal, so the element's own sign stays.
#include <concepts>
#include <string_view>
#include <type_traits>

#include "src/base/types.h"
#include "src/vector/element.h"

namespace latchlab::vectors {

template <class... Types>
struct TypeList {
  static constexpr std::size_t kSize = sizeof...(Types);
};

/// Returns f(a, b) of integers, computed without a sign: it wraps.
template <std::integral T, class F>
constexpr T wrapped(T a, T b, const F& f) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
}

struct Add {
  static constexpr std::string_view kName = "add";
  template <std::integral T>
  static constexpr T apply(T element, T operand) {
    return wrapped(element, operand, [](auto a, auto b) { return a + b; });
  }
  template <std::floating_point T>
  static constexpr T apply(T element, T operand) {
    return element + operand;
  }
};

struct Sub {
  static constexpr std::string_view kName = "sub";
  template <std::integral T>
  static constexpr T apply(T element, T operand) {
    return wrapped(element, operand, [](auto a, auto b) { return a - b; });
  }
  template <std::floating_point T>
  static constexpr T apply(T element, T operand) {
    return element - operand;
  }
};

/// The smaller one of the element and the operand.
struct Min {
  static constexpr std::string_view kName = "min";
  template <class T>
  static constexpr T apply(T element, T operand) {
    return operand < element ? operand : element;
  }
};

/// The larger one.
struct Max {
  static constexpr std::string_view kName = "max";
  template <class T>
  static constexpr T apply(T element, T operand) {
    return operand > element ? operand : element;
  }
};

struct And {
  static constexpr std::string_view kName = "and";
  template <std::integral T>
  static constexpr T apply(T element, T operand) {
    return element & operand;
  }
};

struct Or {
  static constexpr std::string_view kName = "or";
  template <std::integral T>
  static constexpr T apply(T element, T operand) {
    return element | operand;
  }
};

struct Xor {
  static constexpr std::string_view kName = "xor";
  template <std::integral T>
  static constexpr T apply(T element, T operand) {
    return element ^ operand;
  }
};

/// The value if the element is less than the bound; otherwise the element. (With bound and value the same, it is max.)
struct CasIfLess {
  static constexpr std::string_view kName = "cas-if-less";
  template <class T>
  static constexpr T apply(T element, T bound, T value) {
    return element < bound ? value : element;
  }
};

/// The element, but at least `low`, and then at most `high`. So it is `high` if that is less than `low`.
struct Clip {
  static constexpr std::string_view kName = "clip";
  template <class T>
  static constexpr T apply(T element, T low, T high) {
    const T raised = element < low ? low : element;
    return raised > high ? high : raised;
  }
};

struct Set {
  static constexpr std::string_view kName = "set";
  template <class T>
  static constexpr T apply(T, T operand) {
    return operand;
  }
};

/// The functions that every build has, in the order of UpdateFunction.
using BuiltInFunctions = TypeList<Add, Sub, Min, Max, And, Or, Xor, CasIfLess, Clip, Set>;

/// The functions of an update that every build has. Those of a program's own follow them.
enum class UpdateFunction : u8 { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kCasIfLess, kClip, kSet };

template <class F, class T>
concept TakesOne = requires(T x) {
  { F::apply(x, x) } -> std::same_as<T>;
};
template <class F, class T>
concept TakesTwo = requires(T x) {
  { F::apply(x, x, x) } -> std::same_as<T>;
};
template <class F, class T>
concept Takes = TakesOne<F, T> || TakesTwo<F, T>;

/// A function with a name, for at least one type of elements, and with one number of operands.
template <class F>
concept Function = std::convertible_to<decltype(F::kName), std::string_view> &&
                   (Takes<F, i32> || Takes<F, u32> || Takes<F, i64> || Takes<F, u64> || Takes<F, f32> || Takes<F, f64>);

/// The number of operands of a function: 1 or 2, for all of its types.
template <Function F>
constexpr std::size_t operands_of() {
  constexpr bool one = TakesOne<F, i32> || TakesOne<F, u32> || TakesOne<F, i64> || TakesOne<F, u64> ||
                       TakesOne<F, f32> || TakesOne<F, f64>;
  constexpr bool two = TakesTwo<F, i32> || TakesTwo<F, u32> || TakesTwo<F, i64> || TakesTwo<F, u64> ||
                       TakesTwo<F, f32> || TakesTwo<F, f64>;
  static_assert(one != two, "a function takes one operand for all types, or two");
  return two ? 2 : 1;
}

}  // namespace latchlab::vectors
