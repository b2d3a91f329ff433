#pragma once

// Reads described structs from JSON. A field that is missing in the document, or null, keeps the struct's value, so
// that documents of older schemas can be read.

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "harness/result/fields.h"
#include "harness/result/write_fields.h"
#include "src/base/error.h"

namespace latchlab {

/// Reads a value. Throws InputError if the JSON is not of its type.
template <class T>
void read_json(const Json& json, T& value);

/// Reads the fields of one struct from an object.
class FieldReader {
 public:
  /// Throws InputError if the JSON is not an object.
  explicit FieldReader(const Json& object) : object_(object) {
    if (!object.is_object()) throw InputError(fmt::format("{} is not an object", object.dump()));
  }

  void about(const char*) {}
  template <class T>
  void operator()(const char* name, T&& value, const char* = "", const Bounds& = kAny) {
    using Value = std::remove_reference_t<T>;
    if constexpr (std::is_lvalue_reference_v<T> && !std::is_const_v<Value>) {
      const Json* const json = at(name);
      if (json == nullptr) return;
      if constexpr (kIsOrReason<Value>) {
        if (json->is_null()) return void(value = Value::missing(reason_at(name)));
        read(name, *json, value.value.emplace());
        value.reason.clear();
      } else if (!json->is_null()) {
        read(name, *json, value);
      }
    }
  }
  void seconds(const char*, const u64&, const char* = "") {}
  void seconds(const char* name, u64& ns, const char* = "") {
    double seconds = static_cast<double>(ns) / 1e9;
    (*this)(name, seconds);
    ns = static_cast<u64>(seconds * 1e9 + .5);
  }
  void hex(const char* name, u64& number) {
    std::string digits = fmt::format("{:x}", number);
    (*this)(name, digits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      throw InputError(fmt::format("{}: '{}' is not a hexadecimal number", name, digits));
    }
  }
  void choice(const char* name, bool& flag, const char* no, const char* yes) {
    std::string word = flag ? yes : no;
    (*this)(name, word);
    flag = word == yes;
  }
  void present(const char* name, std::string& text, const char*, const char* = "", const Bounds& = kAny) {
    const Json* const json = at(name);
    if (json != nullptr && !json->is_null()) read(name, *json, text);
  }
  template <class T>
  void present(const char* name, std::optional<T>& value, const char*, const char* = "", const Bounds& = kAny) {
    const Json* const json = at(name);
    if (json != nullptr && !json->is_null()) read(name, *json, value.emplace());
  }
  void where(bool, const char* name, auto& value, const char* = "", const Bounds& = kAny) { (*this)(name, value); }
  void constant(const char*, u64) {}
  void keyed(const char* name, auto& list, const Keys&, const char* = "") { (*this)(name, list); }
  void group(const char* name, const auto& fields) {
    const Json* const json = at(name);
    if (json == nullptr || json->is_null()) return;
    named(name, [&] {
      FieldReader inner(*json);
      fields(inner);
    });
  }

 private:
  /// Calls read(). Puts `name` before the text of an error.
  static void named(const char* name, const auto& read) {
    try {
      read();
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", name, error.what()));
    }
  }
  static void read(const char* name, const Json& json, auto& value) {
    named(name, [&] { read_json(json, value); });
  }
  const Json* at(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  std::string reason_at(const char* name) const {
    const Json* const reason = at((std::string(name) + "_reason").c_str());
    return reason != nullptr && reason->is_string() ? reason->get<std::string>() : "not measured";
  }

  const Json& object_;
};

template <class T>
void read_json(const Json& json, T& value) {
  if constexpr (Worded<T>) {
    std::string text;
    read_json(json, text);
    const auto found = value_of_word<T>(text);
    if (!found) throw InputError(fmt::format("there is no '{}'; there are {}", text, fmt::join(kWords<T>, ", ")));
    value = *found;
  } else if constexpr (Described<T>) {
    FieldReader reader(json);
    describe(value, reader);
  } else if constexpr (kIsList<T>) {
    using Element = typename T::value_type;
    constexpr bool kObject = kIsNamedPair<Element> || Named<Element>;
    if (kObject ? !json.is_object() : !json.is_array()) {
      throw InputError(fmt::format("{} is not an {}", json.dump(), kObject ? "object" : "array"));
    }
    value.clear();
    for (const auto& [key, element] : json.items()) {
      Element read{};
      if constexpr (kIsNamedPair<Element>) {
        read.first = key;
        read_json(element, read.second);
      } else if constexpr (Named<Element>) {
        read.name = key;
        read_json(element, named_value(read));
      } else {
        read_json(element, read);
      }
      value.push_back(std::move(read));
    }
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    static_assert(std::is_unsigned_v<T>);
    // A document that was built in memory, not parsed, often holds its whole numbers as signed ones.
    if (!json.is_number_unsigned() && !(json.is_number_integer() && json.get<i64>() >= 0)) {
      throw InputError(fmt::format("{} is not a whole number", json.dump()));
    }
    const u64 number = json.get<u64>();
    if (!std::in_range<T>(number)) throw InputError(fmt::format("{} is too large", number));
    value = static_cast<T>(number);
  } else {
    const bool fits = std::is_same_v<T, std::string> ? json.is_string()
                      : std::is_same_v<T, bool>      ? json.is_boolean()
                      : std::is_same_v<T, double>    ? json.is_number()
                                                     : true;
    if (!fits) {
      const char* const type = std::is_same_v<T, std::string> ? "a text"
                               : std::is_same_v<T, bool>      ? "true or false"
                                                              : "a number";
      throw InputError(fmt::format("{} is not {}", json.dump(), type));
    }
    try {
      json.get_to(value);
    } catch (const Json::exception& error) {  // not a pair of numbers
      throw InputError(error.what());
    }
  }
}

}  // namespace latchlab
