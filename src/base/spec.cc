#include "src/base/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/quantity.h"

namespace latchlab {

namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '+';
  });
}

constexpr std::size_t kShortestBeginning = 3;

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Returns the distance by optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost
/// 1 each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

bool takes_path(std::string_view name) {
  constexpr std::string_view kNames[] = {"file", "histogram", "phases", "sosd", "trace", "wiscer"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

Spec Spec::parse(std::string_view text) {
  Spec spec;
  const auto fail = [&](std::string_view why) -> InputError {
    return InputError(fmt::format("'{}': {}; a spec is name[:arg][,key=value...]", text, why));
  };
  const std::size_t end_of_name = std::min(text.find(':'), text.find(','));
  spec.name = text.substr(0, end_of_name);
  if (spec.name.empty()) throw fail("the name is missing");
  if (!is_word(spec.name)) {
    const std::string small = lower(spec.name);
    throw fail(fmt::format("'{}' is not a name, which has only a-z, 0-9, -, _, . and +{}", spec.name,
                           is_word(small) ? fmt::format("; did you mean '{}'?", small) : ""));
  }
  if (end_of_name == std::string_view::npos) return spec;

  std::string_view rest = text.substr(end_of_name + 1);
  bool first_may_be_argument = text[end_of_name] == ':';
  if (first_may_be_argument && takes_path(spec.name)) {
    if (rest.empty()) throw fail("the path is missing");
    spec.arg = rest;
    return spec;
  }
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view piece = rest.substr(0, comma);
    const std::size_t equals = piece.find('=');
    if (piece.empty()) throw fail(first_may_be_argument ? "nothing follows the colon" : "an option is empty");
    if (equals == std::string_view::npos) {
      if (!first_may_be_argument) throw fail(fmt::format("option '{}' has no value", piece));
      spec.arg = piece;
    } else {
      const std::string_view key = piece.substr(0, equals);
      const std::string_view value = piece.substr(equals + 1);
      if (!is_word(key)) throw fail(fmt::format("'{}' is not an option's name", key));
      if (value.empty()) throw fail(fmt::format("option '{}' has no value", key));
      for (const auto& option : spec.options) {
        if (option.first == key) throw fail(fmt::format("option '{}' is given twice", key));
      }
      spec.options.emplace_back(key, value);
    }
    first_may_be_argument = false;
    if (comma == std::string_view::npos) return spec;
    rest = rest.substr(comma + 1);
  }
}

std::string Spec::str() const {
  std::string text = name;
  char separator = ':';
  if (arg) {
    text += ':' + *arg;
    separator = ',';
  }
  for (const auto& [key, value] : options) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  return text;
}

Spec Spec::plain() const {
  const auto number = [](const std::string& text) {
    if (const auto count = count_of(text); count && count->fits) return fmt::format("{}", count->value);
    if (const auto value = parse_double(text)) return fmt::format("{}", *value);
    return text;
  };
  Spec spec = *this;
  if (spec.arg && !takes_path(name)) spec.arg = number(*spec.arg);
  for (auto& [key, value] : spec.options) value = number(value);
  return spec;
}

SpecReader::SpecReader(const Spec& spec, std::string what) : spec_(spec), what_(std::move(what)) {}

const std::string* SpecReader::find(std::string_view key) {
  known_.emplace_back(key);
  for (const auto& option : spec_.options) {
    if (option.first == key) return &option.second;
  }
  return nullptr;
}

u64 SpecReader::arg_u64(u64 standard, u64 min, u64 max) {
  arg_read_ = true;
  return spec_.arg ? whole_number("", *spec_.arg, min, max) : standard;
}

u64 SpecReader::number(std::string_view key, u64 standard, u64 min, u64 max) {
  const std::string* const text = find(key);
  return text != nullptr ? whole_number(key, *text, min, max) : standard;
}

double SpecReader::real(std::string_view key, double standard, double min, double max) {
  const std::string* const text = find(key);
  if (text == nullptr) return standard;
  const std::optional<double> value = parse_double(*text);
  if (!value || *value < min || *value > max) {
    throw InputError(fmt::format("{}: {}={} must be a number from {} to {}", what_, key, *text, min, max));
  }
  return *value;
}

/// Parses a whole number from min to max. An empty `key` means the argument.
u64 SpecReader::whole_number(std::string_view key, const std::string& text, u64 min, u64 max) const {
  constexpr std::string_view kSuffixes = "; write 1000, 64k, 16M (decimal) or 16Mi (binary)";
  const std::optional<Scaled> count = count_of(text);
  if (!count || !count->fits || count->value < min || count->value > max) {
    const std::string option = key.empty() ? std::string() : fmt::format("{}=", key);
    throw InputError(fmt::format("{}: {}'{}' must be a whole number from {} to {}{}", what_, option, text, min, max,
                                 count ? "" : kSuffixes));
  }
  return count->value;
}

std::size_t SpecReader::one_of(std::string_view key, std::size_t standard, const std::vector<std::string>& words) {
  const std::string* const text = find(key);
  if (text == nullptr) return standard;
  const auto at = std::find(words.begin(), words.end(), *text);
  if (at == words.end()) {
    throw InputError(
        fmt::format("{}: {}={} is none of {}{}", what_, key, *text, fmt::join(words, ", "), suggestion(*text, words)));
  }
  return static_cast<std::size_t>(at - words.begin());
}

std::string SpecReader::text(std::string_view key, std::string_view standard) {
  const std::string* const text = find(key);
  return text != nullptr ? *text : std::string(standard);
}

std::optional<std::string> SpecReader::arg_text() {
  arg_read_ = true;
  return spec_.arg;
}

bool SpecReader::flag(std::string_view key, bool standard) {
  const std::string* text = find(key);
  if (text == nullptr) return standard;
  if (*text == "1") return true;
  if (*text == "0") return false;
  throw InputError(fmt::format("{}: {}={} must be 0 or 1", what_, key, *text));
}

void SpecReader::finish() {
  if (spec_.arg && !arg_read_) {
    throw InputError(fmt::format("{} takes no argument, but got ':{}'", what_, *spec_.arg));
  }
  for (const auto& [key, value] : spec_.options) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (known_.empty()) {
      throw InputError(fmt::format("{} has no options, but got '{}={}'", what_, key, value));
    }
    throw InputError(fmt::format("{} has no option '{}'; it has {}{}", what_, key, fmt::join(known_, ", "),
                                 suggestion(key, known_)));
  }
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // No candidate is this long, and the distance would only cost time.
  if (word.size() > 64) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || word.size() < kShortestBeginning) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with(word) && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() || best == word ? "" : fmt::format("; did you mean '{}'?", best);
}

std::optional<u64> parse_u64(std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace latchlab
