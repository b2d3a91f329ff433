#pragma once

// The JSON schema of a described struct, and so of a document. Documents conform to their schema, since one description
// makes both. The *.schema.json files of the tree are its output, and tests compare them.

#include <string>
#include <type_traits>
#include <utility>

#include "harness/result/fields.h"
#include "harness/result/write_fields.h"

namespace latchlab {

template <class T>
[[nodiscard]] Json schema_of(const Bounds& bounds = kAny);

/// Collects the schema of an object with a struct's fields.
class FieldSchema {
 public:
  void about(const char* text) { about_ = text; }
  template <class T>
  void operator()(const char* name, const T&, const char* about = "", const Bounds& bounds = kAny) {
    if constexpr (kIsOrReason<T>) {
      add_missable(name, schema_of<std::remove_cvref_t<decltype(*std::declval<T>())>>(bounds), about);
    } else {
      add(name, schema_of<T>(bounds), about);
    }
  }
  void seconds(const char* name, u64, const char* about = "") { add(name, schema_of<double>(), about); }
  void hex(const char* name, u64) { add(name, schema_of<std::string>(kHash), ""); }
  void choice(const char* name, bool, const char* no, const char* yes) { add(name, {{"enum", {no, yes}}}, ""); }
  void one_of(const char* name, const std::string&, const auto& words, const char* about = "") {
    add(name, {{"enum", words}}, about);
  }
  void present(const char* name, const std::string&, const char*, const char* about = "",
               const Bounds& bounds = kNotEmpty) {
    add_missable(name, schema_of<std::string>(bounds), about);
  }
  template <class T>
  void present(const char* name, const std::optional<T>&, const char*, const char* about = "",
               const Bounds& bounds = kAny) {
    add_missable(name, schema_of<T>(bounds), about);
  }
  void where(bool, const char* name, const auto& value, const char* about = "", const Bounds& bounds = kAny) {
    (*this)(name, value, about, bounds);
    required_.erase(required_.size() - 1);
  }
  void constant(const char* name, u64 number) { add(name, {{"const", number}}, ""); }
  template <class T>
  void keyed(const char* name, const T& list, const Keys& keys, const char* about = "") {
    (*this)(name, list, about);
    only(kIsOrReason<T> ? properties_[name]["anyOf"][0] : properties_[name], keys);
  }
  void group(const char* name, const auto& fields) {
    FieldSchema inner;
    fields(inner);
    add(name, inner.object(), "");
  }

  /// Returns the schema of the whole object.
  [[nodiscard]] Json object() const;

 private:
  /// Restricts the schema of an object to these keys; their values keep their schema.
  static void only(Json& object, const Keys& keys);
  void add(const char* name, Json schema, const char* about);
  void add_missable(const char* name, Json schema, const char* about);

  std::string about_;
  Json properties_ = Json::object(), required_ = Json::array(), reasons_ = Json::array();
};

// Schemas of the values that are neither structs nor lists.
[[nodiscard]] Json schema_of_number(const char* type, const Bounds& bounds);
[[nodiscard]] Json schema_of_text(const Bounds& bounds);

template <class T>
Json schema_of(const Bounds& bounds) {
  if constexpr (Worded<T>) {
    return {{"enum", kWords<T>}};
  } else if constexpr (Described<T>) {
    T value{};
    FieldSchema fields;
    describe(value, fields);
    return fields.object();
  } else if constexpr (kIsList<T>) {
    using Element = typename T::value_type;
    if constexpr (kIsNamedPair<Element>) {
      return {{"type", "object"}, {"additionalProperties", schema_of<typename Element::second_type>(bounds)}};
    } else if constexpr (Named<Element>) {
      using Value = std::remove_cvref_t<decltype(named_value(std::declval<Element&>()))>;
      return {{"type", "object"}, {"additionalProperties", schema_of<Value>(bounds)}};
    } else {
      return {{"type", "array"}, {"items", schema_of<Element>(bounds)}};
    }
  } else if constexpr (std::is_same_v<T, Json>) {
    return {{"type", "object"}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return schema_of_number("integer", bounds);
  } else if constexpr (std::is_floating_point_v<T>) {
    return schema_of_number("number", bounds);
  } else if constexpr (requires { typename T::first_type; }) {
    static_assert(std::is_same_v<typename T::first_type, typename T::second_type>);
    return {{"type", "array"}, {"items", schema_of<typename T::first_type>(bounds)}, {"minItems", 2}, {"maxItems", 2}};
  } else {
    static_assert(std::is_convertible_v<T, std::string>);
    return schema_of_text(bounds);
  }
}

/// Returns the text of a schema file, with a title. A part that fits into a line is on one line.
[[nodiscard]] std::string schema_text(const std::string& name, const std::string& title, Json schema);

}  // namespace latchlab
