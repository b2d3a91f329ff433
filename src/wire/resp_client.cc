#include "src/wire/resp_client.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "src/wire/numbers.h"

namespace latchlab {

namespace {

/// The outcome of one value: what went wrong or is missing, or where the value ends.
struct Step {
  std::string_view wrong = {};
  std::size_t needed = 0;
  std::size_t end = 0;
};

std::optional<double> double_in(std::string_view text) {
  if (text == "inf" || text == "+inf") return std::numeric_limits<double>::infinity();
  text.remove_prefix(text.starts_with('+') ? 1 : 0);
  double number = 0;
  const auto [read_to, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || read_to != text.data() + text.size() || text.starts_with("+")) return std::nullopt;
  return number;
}

/// Reads a value whose text stands in its line. Returns false if the text is wrong.
bool read_line(std::string_view text, RespValue& value) {
  value.text = text;
  switch (value.kind) {
    case RespKind::kInteger: {
      const auto number = signed_number_in<i64>(text);
      value.integer = number.value_or(0);
      return number.has_value();
    }
    case RespKind::kDouble: {
      const auto number = double_in(text);
      value.real = number.value_or(0);
      return number.has_value();
    }
    case RespKind::kBoolean: value.integer = text == "t" ? 1 : 0; return text == "t" || text == "f";
    case RespKind::kNull: return text.empty();
    default: return true;
  }
}

bool is_in_line(RespKind kind) {
  switch (kind) {
    case RespKind::kSimple:
    case RespKind::kError:
    case RespKind::kInteger:
    case RespKind::kBoolean:
    case RespKind::kDouble:
    case RespKind::kBigNumber:
    case RespKind::kNull: return true;
    default: return false;
  }
}

bool is_string(RespKind kind) {
  return kind == RespKind::kBulk || kind == RespKind::kBulkError || kind == RespKind::kVerbatim;
}

bool is_aggregate(RespKind kind) {
  switch (kind) {
    case RespKind::kArray:
    case RespKind::kMap:
    case RespKind::kSet:
    case RespKind::kPush:
    case RespKind::kAttribute: return true;
    default: return false;
  }
}

bool has_pairs(RespKind kind) { return kind == RespKind::kMap || kind == RespKind::kAttribute; }

/// Parses the value that begins at `at`, without its elements.
Step parse_value(std::string_view input, std::size_t at, const RespAnswerLimits& limits, RespValue& value) {
  if (at >= input.size()) return {.needed = input.size() + 1};
  value.kind = static_cast<RespKind>(input[at]);
  if (!is_in_line(value.kind) && !is_string(value.kind) && !is_aggregate(value.kind)) return {"a value has no type"};
  const std::size_t end = input.find('\r', at);
  const std::size_t line_bytes = std::min(end, input.size()) - at;
  if (line_bytes > limits.most_line_bytes) return {"a line is too long"};
  if (end == std::string_view::npos) return {.needed = input.size() + 1};
  if (end + kLineEnd.size() > input.size()) return {.needed = end + kLineEnd.size()};
  if (input[end + 1] != '\n') return {"a line has no end"};
  const std::string_view text = input.substr(at + 1, line_bytes - 1);
  const std::size_t line_end = end + kLineEnd.size();
  if (is_in_line(value.kind)) {
    if (!read_line(text, value)) return {"a value is not of its type"};
    return {.end = line_end};
  }
  if (text == "-1" && (value.kind == RespKind::kBulk || value.kind == RespKind::kArray)) {
    value.kind = RespKind::kNull;
    return {.end = line_end};
  }
  const auto number = number_in<u64>(text);
  if (!number) return {"a length is no number"};
  if (is_aggregate(value.kind)) {
    if (*number > limits.most_values) return {"an answer has too many values"};
    value.elements = *number;
    return {.end = line_end};
  }
  if (*number > limits.most_bulk_bytes) return {"a string is too long"};
  const std::size_t text_end = line_end + *number;
  if (input.size() < text_end + kLineEnd.size()) return {.needed = text_end + kLineEnd.size()};
  if (input.substr(text_end, kLineEnd.size()) != kLineEnd) return {"a string has no end"};
  value.text = input.substr(line_end, *number);
  if (value.kind == RespKind::kVerbatim && (value.text.size() < 4 || value.text[3] != ':')) {
    return {"a verbatim text has no format"};
  }
  return {.end = text_end + kLineEnd.size()};
}

}  // namespace

void append_resp_head(std::string& out, std::size_t words) {
  out += '*';
  append_number(out, words);
  out += kLineEnd;
}

void append_resp_word(std::string& out, std::string_view word) {
  out += '$';
  append_number(out, word.size());
  out.append(kLineEnd).append(word).append(kLineEnd);
}

void append_resp_request(std::string& out, std::span<const std::string_view> words) {
  append_resp_head(out, words.size());
  for (const std::string_view word : words) append_resp_word(out, word);
}

Parsed parse_resp_answer(std::string_view input, const RespAnswerLimits& limits, std::vector<RespValue>& values) {
  values.clear();
  // How many values each open array, map and so on has yet to bring. The answer itself is the outermost.
  std::array<std::size_t, kMostRespDepth + 1> missing{1};
  std::size_t open = 1, at = 0;
  while (open > 0) {
    if (values.size() == limits.most_values) return Parsed::fatal("an answer has too many values", input);
    RespValue value;
    const Step step = parse_value(input, at, limits, value);
    if (!step.wrong.empty()) return Parsed::fatal(step.wrong, input);
    if (step.needed != 0) return Parsed::needs(step.needed);
    at = step.end;
    values.push_back(value);
    // An attribute takes no place of its own: the value that it belongs to follows.
    if (value.kind != RespKind::kAttribute) --missing[open - 1];
    if (value.elements > 0) {
      if (open == missing.size()) return Parsed::fatal("an answer is nested too deeply", input);
      missing[open++] = value.elements * (has_pairs(value.kind) ? 2 : 1);
    }
    while (open > 0 && missing[open - 1] == 0) --open;
  }
  return Parsed::command(at);
}

}  // namespace latchlab
