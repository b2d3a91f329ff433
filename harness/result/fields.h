#pragma once

// A struct of a document says once what its fields are, in a function beside it:
//
//     struct Percentile {
//       double percent = 0;
//       u64 ns = 0;
//     };
//     void describe(Like<Percentile> auto& p, auto& field) {
//       field("percent", p.percent, "", Bounds{.most = 100});
//       field("ns", p.ns, "that so many percent of the calls did not exceed");
//     }
//
// The writer (write_fields.h), the reader (read_fields.h) and the JSON schema (schema.h) are three kinds of `field`. A
// field's value says what it becomes in JSON:
//
//     bool, a number, a string     itself
//     an enumeration with words    its word
//     OrReason<T>                  as T; or null, and beside it NAME_reason
//     a described struct           an object
//     std::vector                  an array; an object where its elements are pairs of a name and a value, or Named
//                                  structs
//     std::pair                    an array of two
//     Json                         an object, whatever is in it
//
// What is not quite what the struct holds:
//
//     field.seconds(name, ns)              seconds
//     field.hex(name, number)              16 digits
//     field.choice(name, flag, no, yes)    one of two words
//     field.one_of(name, text, words)      a string that is one of these; not read
//     field.present(name, value, why)      an optional or a string; null with this reason where it is empty
//     field.where(there, name, value)      left out where it is not
//     field.constant(name, number)         the same in every document
//     field.keyed(name, list, keys)        an object that has these keys only
//     field.group(name, fields)            some of the struct's fields, in an object of their own
//
// Whatever is const, and so what is computed in the description, is not read.

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

/// T or const T.
template <class Self, class T>
concept Like = std::same_as<std::remove_const_t<Self>, T>;

/// The numbers that a field, or each element of its list, may hold; of a string its length.
struct Bounds {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool above = false;  ///< more than `least`
  u64 multiple_of = 1;
  const char* pattern = "";  ///< of a string, a regular expression; empty for any
};
inline constexpr Bounds kAny{}, kOneOrMore{.least = 1}, kNotEmpty = kOneOrMore, kAboveZero{.above = true},
                                                        kUpToOne{.most = 1};
inline constexpr Bounds kHash{.pattern = "^[0-9a-f]{16}$"};

/// The keys that a list of names and values may have, with their descriptions.
struct Keys {
  std::vector<std::pair<std::string, const char*>> names;
  bool all = false;  ///< every one of them is there
};

/// A struct whose list is an object: its name is a key there, and this is the value.
template <class T>
concept Named = requires(T& named) {
  { named.name } -> std::convertible_to<std::string>;
  named_value(named);
};

/// One of several counts, each of which is named where it is counted.
struct NamedCount {
  std::string name;
  u64 count = 0;
};
auto& named_value(Like<NamedCount> auto& named) { return named.count; }

/// The count of that name; 0 where there is none.
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

/// What `next` makes of the value, or the reason why there is none.
template <class T, class Next>
[[nodiscard]] auto then(const OrReason<T>& measured, const Next& next) {
  using Made = OrReason<std::remove_cvref_t<std::invoke_result_t<Next, const T&>>>;
  return measured ? Made(std::invoke(next, *measured)) : Made::missing(measured.reason);
}

/// The words of an enumeration, and more of them.
template <Worded E>
[[nodiscard]] std::vector<std::string_view> words_and(std::vector<std::string_view> more) {
  more.insert(more.begin(), kWords<E>.begin(), kWords<E>.end());
  return more;
}

}  // namespace latchlab
