#include "harness/result/schema.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace latchlab {
namespace {

/// Returns a number as JSON, a whole one as 1 and not 1.0.
Json number(double value) {
  if (value == std::floor(value)) return static_cast<i64>(value);
  return value;
}

constexpr std::size_t kWidth = 128;

/// Returns the JSON in one line if it fits behind `used` characters, else over several lines indented from `depth` on.
std::string laid_out(const Json& json, std::size_t depth, std::size_t used) {
  if (!json.is_structured()) return json.dump();
  const auto parts = [&](const auto& separator, const auto& text_of) {
    std::string all;
    for (const auto& [key, value] : json.items()) {
      const std::string name = json.is_object() ? Json(key).dump() + ": " : "";
      all += (all.empty() ? "" : ",") + separator(all.empty()) + name + text_of(value, name.size());
    }
    return json.is_object() ? "{" + all : "[" + all;
  };
  const char end = json.is_object() ? '}' : ']';
  const std::string line = parts([](bool first) { return std::string(first ? "" : " "); },
                                 [](const Json& value, std::size_t) { return laid_out(value, 0, 0); }) +
                           end;
  if (used + line.size() <= kWidth || used == 0) return line;
  const std::string indent(2 * depth, ' ');
  return parts([&](bool) { return "\n  " + indent; },
               [&](const Json& value, std::size_t name) {
                 return laid_out(value, depth + 1, indent.size() + 2 + name);
               }) +
         "\n" + indent + end;
}

}  // namespace

Json schema_of_number(const char* type, const Bounds& bounds) {
  Json schema{{"type", type}, {bounds.above ? "exclusiveMinimum" : "minimum", number(bounds.least)}};
  if (std::isfinite(bounds.most)) schema["maximum"] = number(bounds.most);
  if (bounds.multiple_of != 1) schema["multipleOf"] = bounds.multiple_of;
  return schema;
}

Json schema_of_text(const Bounds& bounds) {
  Json schema{{"type", "string"}};
  if (bounds.least != 0) schema["minLength"] = number(bounds.least);
  if (*bounds.pattern != '\0') schema["pattern"] = bounds.pattern;
  return schema;
}

void FieldSchema::add(const char* name, Json schema, const char* about) {
  if (*about != '\0') schema["description"] = about;
  properties_[name] = std::move(schema);
  required_.push_back(name);
}

void FieldSchema::add_missable(const char* name, Json schema, const char* about) {
  add(name, {{"anyOf", {std::move(schema), {{"type", "null"}}}}}, about);
  const std::string reason = fmt::format("{}_reason", name);
  properties_[reason] = schema_of_text(kNotEmpty);
  reasons_.push_back({{"if", {{"properties", {{name, {{"type", "null"}}}}}}}, {"then", {{"required", {reason}}}}});
}

void FieldSchema::only(Json& object, const Keys& keys) {
  const Json value = std::exchange(object["additionalProperties"], false);
  for (const auto& [name, about] : keys.names) {
    Json& property = object["properties"][name] = value;
    if (*about != '\0') property["description"] = about;
    if (keys.all) object["required"].push_back(name);
  }
}

Json FieldSchema::object() const {
  Json schema{{"type", "object"}};
  if (!about_.empty()) schema["description"] = about_;
  schema["additionalProperties"] = false;
  schema["properties"] = properties_;
  schema["required"] = required_;
  if (!reasons_.empty()) schema["allOf"] = reasons_;
  return schema;
}

std::string schema_text(const std::string& name, const std::string& title, Json schema) {
  Json whole{{"$schema", "http://json-schema.org/draft-07/schema#"},
             {"$id", fmt::format("https://latchlab.invalid/{}", name)},
             {"title", title}};
  whole.update(std::move(schema));
  return laid_out(whole, 0, kWidth) + "\n";
}

}  // namespace latchlab
