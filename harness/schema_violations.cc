#include "harness/schema_violations.h"

#include <algorithm>

#include <fmt/format.h>

namespace latchlab {

namespace {

bool is_type(const Json& document, const std::string& type) {
  if (type == "object") return document.is_object();
  if (type == "array") return document.is_array();
  if (type == "string") return document.is_string();
  if (type == "boolean") return document.is_boolean();
  if (type == "null") return document.is_null();
  if (type == "integer") return document.is_number_integer();
  return type == "number" && document.is_number();
}

using Violations = std::vector<std::string>;

void check_object(const Json& schema, const Json& document, const std::string& path, Violations& out) {
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  for (const auto& [key, value] : document.items()) {
    const std::string at = path + "/" + key;
    Violations inner;
    if (properties.contains(key)) {
      inner = schema_violations(properties[key], value, at);
    } else if (schema.contains("additionalProperties")) {
      const Json& rest = schema["additionalProperties"];
      if (rest.is_boolean()) {
        if (!rest.get<bool>()) inner.push_back(at + " is not in the schema");
      } else {
        inner = schema_violations(rest, value, at);
      }
    }
    out.insert(out.end(), inner.begin(), inner.end());
  }
  if (!schema.contains("required")) return;
  for (const Json& key : schema["required"]) {
    if (!document.contains(key.get<std::string>())) {
      out.push_back(path + "/" + key.get<std::string>() + " is missing");
    }
  }
}

void check_keyword(const std::string& keyword, const Json& schema, const Json& document,
                   const std::string& path, Violations& out) {
  const Json& rule = schema[keyword];
  const auto fail = [&](const std::string& why) {
    out.push_back(fmt::format("{} {}: {}", path, why, document.dump()));
  };
  const auto add = [&](const Violations& more) { out.insert(out.end(), more.begin(), more.end()); };
  if (keyword == "type") {
    if (!is_type(document, rule.get<std::string>())) fail("is not of type " + rule.get<std::string>());
  } else if (keyword == "enum") {
    if (std::find(rule.begin(), rule.end(), document) == rule.end()) fail("is none of " + rule.dump());
  } else if (keyword == "const") {
    if (document != rule) fail("is not " + rule.dump());
  } else if (keyword == "minimum") {
    if (document.is_number() && document.get<double>() < rule.get<double>()) {
      fail("is less than " + rule.dump());
    }
  } else if (keyword == "exclusiveMinimum") {
    if (document.is_number() && document.get<double>() <= rule.get<double>()) {
      fail("is not more than " + rule.dump());
    }
  } else if (keyword == "maximum") {
    if (document.is_number() && document.get<double>() > rule.get<double>()) {
      fail("is more than " + rule.dump());
    }
  } else if (keyword == "minLength") {
    if (document.is_string() && document.get_ref<const std::string&>().size() < rule.get<std::size_t>()) {
      fail("is too short");
    }
  } else if (keyword == "minItems") {
    if (document.is_array() && document.size() < rule.get<std::size_t>()) fail("has too few items");
  } else if (keyword == "maxItems") {
    if (document.is_array() && document.size() > rule.get<std::size_t>()) fail("has too many items");
  } else if (keyword == "items") {
    if (!document.is_array()) return;
    for (std::size_t i = 0; i < document.size(); ++i) {
      add(schema_violations(rule, document[i], fmt::format("{}/{}", path, i)));
    }
  } else if (keyword == "anyOf") {
    const bool any = std::any_of(rule.begin(), rule.end(),
                                 [&](const Json& s) { return schema_violations(s, document, path).empty(); });
    if (!any) fail("conforms to no alternative");
  } else if (keyword == "allOf") {
    for (const Json& part : rule) add(schema_violations(part, document, path));
  } else if (keyword == "if") {
    if (schema.contains("then") && schema_violations(rule, document, path).empty()) {
      add(schema_violations(schema["then"], document, path));
    }
  } else {
    static constexpr const char* kElsewhere[] = {"properties",  "required", "additionalProperties",
                                                 "then",        "pattern",  "title",
                                                 "description", "$schema",  "$id"};
    const bool known = std::any_of(std::begin(kElsewhere), std::end(kElsewhere),
                                   [&](const char* k) { return keyword == k; });
    if (!known) out.push_back(fmt::format("{} has the keyword {} that nobody checks", path, keyword));
  }
}

}  // namespace

Violations schema_violations(const Json& schema, const Json& document, const std::string& path) {
  Violations out;
  for (const auto& [keyword, rule] : schema.items()) check_keyword(keyword, schema, document, path, out);
  if (document.is_object()) check_object(schema, document, path, out);
  return out;
}

}  // namespace latchlab
