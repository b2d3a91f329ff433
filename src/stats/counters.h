// Counters with named fields.
//
// A policy counts in a plain struct of u64, one per thread, on lines that no other thread writes. It never counts
// inside a hardware transaction: the line would be in the write set, and an abort would undo the count. The struct
// lists its names once, and all code that sums, prints or checks counters uses that list:
//
//     struct Counters {
//       u64 ops = 0, restarts = 0;
//       static constexpr auto fields() {
//         return std::array{CounterField{"ops", &Counters::ops},
//                           CounterField{"restarts", &Counters::restarts}};
//       }
//     };
//
// A struct without fields is allowed: its list is empty. The static_assert in for_each_counter rejects a struct whose
// list misses a field. Besides the fields there may be one array of u64 named histogram.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "src/base/types.h"

namespace latchlab {

template <class C>
struct CounterField {
  std::string_view name;
  u64 C::* member;
};
template <class C>
CounterField(const char*, u64 C::*) -> CounterField<C>;

template <class C>
concept CounterSet = std::is_default_constructible_v<C> && std::is_trivially_copyable_v<C> && requires {
  { C::fields().size() } -> std::convertible_to<std::size_t>;
};

/// Returns the number of counts in the histogram of a set; 0 if there is none.
template <CounterSet C>
constexpr std::size_t histogram_size() {
  if constexpr (requires(const C& counters) { counters.histogram.size(); }) return C{}.histogram.size();
  return 0;
}

/// Calls visit(name, value) for every field, in the order of the list.
template <CounterSet C, class Visit>
constexpr void for_each_counter(const C& counters, Visit&& visit) {
  constexpr auto kFields = C::fields();
  static_assert(kFields.size() == 0 || sizeof(C) == (kFields.size() + histogram_size<C>()) * sizeof(u64),
                "fields() must list every field once");
  for (const auto& field : kFields) visit(field.name, counters.*field.member);
}

/// Returns the counts between two readings of the same counters.
template <CounterSet C>
constexpr C counters_since(const C& before, const C& now) {
  C difference{};
  static_assert(histogram_size<C>() == 0, "a set with a histogram cannot be subtracted");
  for (const auto& field : C::fields()) difference.*field.member = now.*field.member - before.*field.member;
  return difference;
}

/// Returns the number of operations that took the lock although elision worked.
template <class Counters>
u64 by_choice(const Counters& counters) {
  if constexpr (requires { counters.direct_lock; }) return counters.direct_lock;
  return 0;
}

/// The counters of a policy that has nothing to count.
struct NoCounters {
  static constexpr std::array<CounterField<NoCounters>, 0> fields() { return {}; }
};

}  // namespace latchlab
