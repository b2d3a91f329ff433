#pragma once

// Descriptions of document structs. One function beside each struct lists its fields:
//
//     struct Percentile {
//       double percent = 0;
//       u64 ns = 0;
//     };
//     void describe(Like<Percentile> auto& p, auto& field) {
//       field("percent", p.percent, "", Bounds{.most = 100});
//       field("ns", p.ns, "time that this percentage of the calls did not exceed");
//     }
//
// The writer (write_fields.h), the reader (read_fields.h) and the JSON schema (schema.h) are three kinds of `field`.
// The type of a field's value determines its JSON:
//
//     bool, a number, a string     itself
//     an enumeration with words    its word
//     OrReason<T>                  as T; or null, and beside it NAME_reason
//     a described struct           an object
//     std::vector                  an array; or an object if its elements are pairs of a name and a value, or Named
//                                  structs
//     std::pair                    an array of two
//     Json                         an object with any content
//
// Fields whose JSON differs from the struct's value:
//
//     field.seconds(name, ns)              seconds
//     field.hex(name, number)              16 digits
//     field.choice(name, flag, no, yes)    one of two words
//     field.one_of(name, text, words)      a string that is one of these words; not read back
//     field.present(name, value, why)      an optional or a string; null with this reason if it is empty
//     field.where(there, name, value)      left out if `there` is false
//     field.constant(name, number)         the same number in every document
//     field.keyed(name, list, keys)        an object that may have only these keys
//     field.group(name, fields)            some of the struct's fields, in an object of their own
//
// The reader skips const values, and so values that the description computes.

#include <algorithm>
#include <concepts>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/config/or_reason.h"
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// A type that is T or const T.
template <class Self, class T>
concept Like = std::same_as<std::remove_const_t<Self>, T>;

/// Bounds of the numbers in a field or in each element of its list; for a string, of its length.
struct Bounds {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool above = false;  ///< `least` itself is excluded
  u64 multiple_of = 1;
  const char* pattern = "";  ///< regular expression for a string; empty for any
};
inline constexpr Bounds kAny{}, kOneOrMore{.least = 1}, kNotEmpty = kOneOrMore, kAboveZero{.above = true},
                                                        kUpToOne{.most = 1};
inline constexpr Bounds kHash{.pattern = "^[0-9a-f]{16}$"};

/// The keys that a list of names and values may have, with their descriptions.
struct Keys {
  std::vector<std::pair<std::string, const char*>> names;
  bool all = false;  ///< every key is present
};

/// A struct whose lists become objects, with `name` as the key and named_value() as the value.
template <class T>
concept Named = requires(T& named) {
  { named.name } -> std::convertible_to<std::string>;
  named_value(named);
};

/// A count with the name that its counter has.
struct NamedCount {
  std::string name;
  u64 count = 0;
};
auto& named_value(Like<NamedCount> auto& named) { return named.count; }

/// Returns the count of that name; 0 if there is none.
[[nodiscard]] inline u64 count_of(const std::vector<NamedCount>& counts, std::string_view name) {
  const auto found = std::ranges::find(counts, name, &NamedCount::name);
  return found == counts.end() ? 0 : found->count;
}
[[nodiscard]] inline u64 total_of(const std::vector<NamedCount>& counts) {
  return std::transform_reduce(counts.begin(), counts.end(), u64{0}, std::plus(),
                               [](const NamedCount& one) { return one.count; });
}

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class T>
inline constexpr bool kIsOrReason = false;
template <class T>
inline constexpr bool kIsOrReason<OrReason<T>> = true;

template <class T>
inline constexpr bool kIsNamedPair = false;
template <class T>
inline constexpr bool kIsNamedPair<std::pair<std::string, T>> = true;

/// Returns `next` of the value, or the reason why there is no value.
template <class T, class Next>
[[nodiscard]] auto then(const OrReason<T>& measured, const Next& next) {
  using Made = OrReason<std::remove_cvref_t<std::invoke_result_t<Next, const T&>>>;
  return measured ? Made(std::invoke(next, *measured)) : Made::missing(measured.reason);
}

/// Returns the words of an enumeration, followed by `more`.
template <Worded E>
[[nodiscard]] std::vector<std::string_view> words_and(std::vector<std::string_view> more) {
  more.insert(more.begin(), kWords<E>.begin(), kWords<E>.end());
  return more;
}

}  // namespace latchlab
