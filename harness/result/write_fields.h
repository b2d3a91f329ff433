#pragma once

// Writes described structs as JSON. A value that was not measured is "x": null, with "x_reason": "why" beside it, never
// zero.

#include <cmath>
#include <string>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/result/fields.h"

namespace latchlab {

using Json = nlohmann::ordered_json;

/// Writes "key": null, and beside it "key_reason": why.
inline void put_missing(Json& object, const std::string& key, const std::string& reason) {
  object[key] = nullptr;
  object[key + "_reason"] = reason.empty() ? "not measured" : reason;
}

template <class T>
[[nodiscard]] Json to_json(const T& value);

/// Writes "key": the value, or null with the reason.
template <class T>
void put(Json& object, const std::string& key, const OrReason<T>& measured) {
  if (!measured) return put_missing(object, key, measured.reason);
  if constexpr (std::is_floating_point_v<T>) {
    // JSON has no infinity, and an earlier division by zero must not become a null without a reason.
    if (!std::isfinite(*measured)) return put_missing(object, key, "not a finite number");
  }
  object[key] = to_json(*measured);
}

/// Writes the fields of one struct into an object.
class FieldWriter {
 public:
  explicit FieldWriter(Json& object) : object_(object) {}

  void about(const char*) {}
  template <class T>
  void operator()(const char* name, const T& value, const char* = "", const Bounds& = kAny) {
    if constexpr (kIsOrReason<T>) {
      put(object_, name, value);
    } else {
      object_[name] = to_json(value);
    }
  }
  void seconds(const char* name, u64 ns, const char* = "") { object_[name] = static_cast<double>(ns) / 1e9; }
  void hex(const char* name, u64 number) { object_[name] = fmt::format("{:016x}", number); }
  void choice(const char* name, bool flag, const char* no, const char* yes) { object_[name] = flag ? yes : no; }
  void one_of(const char* name, const std::string& text, const auto&, const char* = "") { object_[name] = text; }
  void present(const char* name, const std::string& text, const char* why, const char* = "", const Bounds& = kAny) {
    text.empty() ? put_missing(object_, name, why) : void(object_[name] = text);
  }
  template <class T>
  void present(const char* name, const std::optional<T>& value, const char* why, const char* = "",
               const Bounds& = kAny) {
    value ? void(object_[name] = to_json(*value)) : put_missing(object_, name, why);
  }
  void where(bool there, const char* name, const auto& value, const char* about = "", const Bounds& bounds = kAny) {
    if (there) (*this)(name, value, about, bounds);
  }
  void constant(const char* name, u64 number) { object_[name] = number; }
  void keyed(const char* name, const auto& list, const Keys&, const char* = "") { (*this)(name, list); }
  void group(const char* name, const auto& fields) {
    Json& object = object_[name] = Json::object();
    FieldWriter inner(object);
    fields(inner);
  }

 private:
  Json& object_;
};

template <class T>
concept Described = requires(const T& value, FieldWriter& writer) { describe(value, writer); };

template <class T>
Json to_json(const T& value) {
  if constexpr (Worded<T>) {
    return word(value);
  } else if constexpr (Described<T>) {
    Json object = Json::object();
    FieldWriter writer(object);
    describe(value, writer);
    return object;
  } else if constexpr (kIsList<T>) {
    using Element = typename T::value_type;
    Json all = kIsNamedPair<Element> || Named<const Element> ? Json::object() : Json::array();
    for (const auto& element : value) {
      if constexpr (kIsNamedPair<Element>) {
        all[element.first] = to_json(element.second);
      } else if constexpr (Named<const Element>) {
        all[element.name] = to_json(named_value(element));
      } else {
        all.push_back(to_json(static_cast<const Element&>(element)));
      }
    }
    return all;
  } else {
    return value;
  }
}

}  // namespace latchlab
