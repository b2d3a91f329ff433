#pragma once
// The names of types, for people.
#include <string_view>

namespace latchlab {

/// Returns the name of a type without its namespaces and its template's arguments: "Node4".
template <class T>
[[nodiscard]] consteval std::string_view type_name() {
  std::string_view name = __PRETTY_FUNCTION__;  // "... [with T = latchlab::Node4<...>; ...]" or "... [T = ...]"
  name.remove_prefix(name.find("T = ") + 4);
  name = name.substr(0, name.find_first_of("<;]"));
  if (const auto colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
  return name;
}

}  // namespace latchlab
