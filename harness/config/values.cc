#include "harness/config/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/quantity.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

constexpr std::size_t kMostPoints = 100'000;
constexpr u64 kMostProcessors = 65'535;

constexpr Unit kTimeUnits[] = {
    {"min", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1},
};

/// Reads "0-3,5". `fail` makes an InputError of a message.
std::vector<u32> parse_numbers(std::string_view text, const auto& fail) {
  const auto number = [&](std::string_view digits) {
    const std::optional<u64> value = parse_u64(digits);
    if (!value || *value > kMostProcessors) {
      throw fail(fmt::format("has '{}' where a number from 0 to {} belongs", digits, kMostProcessors));
    }
    return static_cast<u32>(*value);
  };
  std::vector<u32> numbers;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view piece = text.substr(0, comma);
    const std::size_t dash = piece.find('-');
    const u32 first = number(piece.substr(0, dash));
    const u32 last = dash == std::string_view::npos ? first : number(piece.substr(dash + 1));
    if (first > last) throw fail(fmt::format("has the empty range '{}'", piece));
    for (u32 n = first; n <= last; ++n) numbers.push_back(n);
    if (comma == text.size()) return numbers;
    text = text.substr(comma + 1);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the value of `text` if it is from `min` to `max`, which messages call `least` and `most`.
u64 in_range(std::string_view what, std::string_view text, const Scaled& scaled, u64 min, u64 max,
             const std::string& least, const std::string& most) {
  if (scaled.fits && min <= scaled.value && scaled.value <= max) return scaled.value;
  const bool small = scaled.fits && scaled.value < min;
  throw InputError(
      fmt::format("{}: {} is too {}; it can be from {} to {}", what, text, small ? "small" : "large", least, most));
}

/// Splits a brace list or a spec at the commas outside inner braces.
std::vector<std::string> split_at_commas(std::string_view what, std::string_view text) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '{') ++depth;
    if (c == '}' && --depth < 0) {
      throw InputError(fmt::format("{}: '{}' closes a brace that is not open", what, text));
    }
    if (c == ',' && depth == 0) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  if (depth != 0) throw InputError(fmt::format("{}: '{}' has a brace that is not closed", what, text));
  return pieces;
}

/// Prefixes that a list of numbers follows, as in list:0-3,5.
constexpr std::string_view kNumbered[] = {"cluster:", "socket:", "list:", "bind:"};

bool is_path(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && takes_path(text.substr(0, colon));
}

/// Returns true if `piece` continues the spec `before` rather than beginning a new point.
bool continues(const std::string& before, std::string_view piece) {
  if (std::ranges::any_of(kNumbered, [&](std::string_view word) { return before.starts_with(word); })) {
    return !piece.empty() && std::all_of(piece.begin(), piece.end(), [](char c) { return is_digit(c) || c == '-'; });
  }
  if (is_path(before)) return false;
  const std::size_t equals = piece.find('=');
  return equals != std::string_view::npos && equals > 0 && piece.find(':') > equals;
}

/// Returns the values of a..b, a..b+c or a..b*c, each with an optional unit, as texts. Empty if `text` is not a range.
std::vector<std::string> expand_range(std::string_view what, std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos || dots == 0 || !is_digit(text[0])) return {};
  const std::size_t step_at = text.find_first_of("+*", dots);
  const auto fail = [&](std::string_view why) {
    return InputError(fmt::format("{}: range '{}' {}; ranges are 1..8, 1..9+2 or 1..56*2", what, text, why));
  };
  const std::optional<Quantity> first = split_quantity(text.substr(0, dots));
  const std::optional<Quantity> last = split_quantity(text.substr(dots + 2, step_at - std::min(step_at, dots + 2)));
  std::optional<Quantity> step = Quantity{.value = 1, .whole = 1, .unit = {}};
  const bool multiplies = step_at != std::string_view::npos && text[step_at] == '*';
  if (step_at != std::string_view::npos) step = split_quantity(text.substr(step_at + 1));
  if (!first || !last || !step) throw fail("is malformed");
  if (first->unit != last->unit) throw fail("needs the same unit at both ends");
  if (!step->unit.empty() && (multiplies || step->unit != first->unit)) {
    throw fail("has a step in another unit");
  }
  if (!multiplies && step_at != std::string_view::npos && step->unit.empty() && !first->unit.empty()) {
    throw fail(fmt::format("has a step without a unit: +{}{}?", text.substr(step_at + 1), first->unit));
  }
  if (first->value > last->value) throw fail("is empty: the first number is larger");
  if (multiplies && (step->value <= 1 || first->value == 0)) {
    throw fail("never ends: multiply a number > 0 by one > 1");
  }
  if (!multiplies && step->value <= 0) throw fail("never ends: the step is 0");

  std::vector<std::string> points;
  const auto add = [&](auto value) {
    if (points.size() == kMostPoints) throw fail("has more than 100,000 points");
    points.push_back(fmt::format("{}{}", value, first->unit));
  };
  if (first->whole && last->whole && step->whole) {
    for (u64 value = *first->whole; value <= *last->whole;) {
      add(value);
      const bool overflows = multiplies ? __builtin_mul_overflow(value, *step->whole, &value)
                                        : __builtin_add_overflow(value, *step->whole, &value);
      if (overflows) break;
    }
    return points;
  }
  // Counting steps rather than adding them up keeps 0..1+0.1 from drifting; the slack lets it end at 1.
  const double slack = 1e-9 * std::max(1.0, last->value);
  for (int i = 0;; ++i) {
    const double value = multiplies ? first->value * std::pow(step->value, i) : first->value + i * step->value;
    if (value > last->value + slack) return points;
    add(std::round(value * 1e12) / 1e12);
  }
}

/// The positions of a pair of braces. In a path braces may be part of a name. There, as in a shell, only braces count
/// that are closed and have a comma inside.
struct Braces {
  std::size_t open, close;
};
std::optional<Braces> first_braces(std::string_view text, bool path) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    int depth = 0;
    bool comma = false;
    std::size_t close = open;
    for (; close < text.size(); ++close) {
      if (text[close] == '{') ++depth;
      if (text[close] == ',' && depth == 1) comma = true;
      if (text[close] == '}' && --depth == 0) break;
    }
    if (!path || (comma && close < text.size())) return Braces{.open = open, .close = close};
  }
  return std::nullopt;
}

/// Expands one value, which has no comma outside braces, into its points.
std::vector<std::string> expand_one(std::string_view what, std::string_view text) {
  const bool path = is_path(text);
  // Inner braces first, as a shell would: prefix{a,b}suffix.
  if (const auto braces = first_braces(text, path)) {
    const auto [open, close] = *braces;
    std::vector<std::string> points;
    for (const std::string& piece : split_at_commas(what, text.substr(open + 1, close - open - 1))) {
      const std::string joined = std::string(text.substr(0, open)) + piece + std::string(text.substr(close + 1));
      for (std::string& point : expand_one(what, joined)) points.push_back(std::move(point));
      if (points.size() > kMostPoints) throw InputError(fmt::format("{}: more than 100,000 points", what));
    }
    return points;
  }
  if (path) return {std::string(text)};
  // Then the first range, alone or after a colon or an equals sign. Recursion expands the ranges behind it.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(":=,", begin), text.size());
    const std::vector<std::string> values = expand_range(what, text.substr(begin, end - begin));
    if (!values.empty()) {
      std::vector<std::string> points;
      for (const std::string& value : values) {
        for (const std::string& tail : expand_one(what, text.substr(end))) {
          points.push_back(std::string(text.substr(0, begin)) + value + tail);
          if (points.size() > kMostPoints) {
            throw InputError(fmt::format("{}: more than 100,000 points", what));
          }
        }
      }
      return points;
    }
    begin = end + 1;
  }
  return {std::string(text)};
}

}  // namespace

u64 parse_count(std::string_view what, std::string_view text, u64 min, u64 max) {
  const std::optional<Scaled> value = count_of(text);
  if (!value) {
    throw InputError(
        fmt::format("{}: '{}' is not a whole number from {} to {}; write 1000, 64k, 16M (decimal) or 16Mi (binary)",
                    what, text, count_text(min), count_text(max)));
  }
  return in_range(what, text, *value, min, max, count_text(min), count_text(max));
}

Batching parse_batch(std::string_view text) {
  if (text == word(BatchOrder::kAuto)) return {.keys = kBatchOfAuto, .order = BatchOrder::kAuto};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view keys = text.substr(0, colon), how = text.substr(std::min(colon + 1, text.size()));
  BatchOrder order = BatchOrder::kSideBySide;
  if (how == word(BatchOrder::kInTurn)) order = BatchOrder::kInTurn;
  if (how == word(BatchOrder::kRolling)) order = BatchOrder::kRolling;
  const bool in_unknown_order = colon != text.size() && order == BatchOrder::kSideBySide;
  if (in_unknown_order || keys.empty() || !std::ranges::all_of(keys, [](char c) { return c >= '0' && c <= '9'; })) {
    throw InputError(
        fmt::format("--batch: '{}' is not a batch; write 16 (side by side), 16:rolling, 16:in-turn or auto", text));
  }
  const u64 count = parse_count("--batch", keys, 1, kMostInAttempt);
  if (!std::has_single_bit(count)) throw InputError(fmt::format("--batch: {} is not 1, 2, 4, 8, 16, 32 or 64", keys));
  if (count == 1 && colon != text.size()) throw InputError("--batch: a batch of one key has no order; write --batch=1");
  return {.keys = static_cast<u32>(count), .order = order};
}

u32 parse_value_size(std::string_view text) {
  return static_cast<u32>(parse_count("--value-size", text, 0, kMostValueBytes));
}

double parse_share(std::string_view what, std::string_view text) {
  const std::optional<double> value = parse_double(text);
  if (!value || *value < 0 || *value > 1) {
    throw InputError(fmt::format("{}: '{}' must be a number from 0 to 1", what, text));
  }
  return *value;
}

u32 parse_latency(std::string_view text) {
  constexpr std::string_view kSample = "sample:";
  if (text == "off") return 0;
  if (text == "all") return 1;
  if (!text.starts_with(kSample)) {
    throw InputError(fmt::format("--latency: '{}' is not off, all or sample:0.01", text));
  }
  const double share = parse_share("--latency", text.substr(kSample.size()));
  if (share < 1e-6) {
    throw InputError(fmt::format("--latency: {} is less than one call in a million; write off, or 1e-6 or more", text));
  }
  const double every = std::round(1 / share);
  if (std::abs(share * every - 1) > .02) {
    throw InputError(fmt::format("--latency: {} is not one call in a whole number of calls; write {} or {}", text,
                                 latency_text(static_cast<u32>(1 / share)),
                                 latency_text(static_cast<u32>(1 / share) + 1)));
  }
  return static_cast<u32>(every);
}

u64 parse_duration(std::string_view what, std::string_view text, u64 min_ns, u64 max_ns) {
  const std::optional<Quantity> zero = Quantity{.value = 0, .whole = 0, .unit = "ns"};
  const std::optional<Quantity> quantity = text == "0" ? zero : split_quantity(text);
  const std::optional<Scaled> ns = quantity ? scale(*quantity, kTimeUnits) : std::nullopt;
  if (!ns) {
    throw InputError(fmt::format("{}: '{}' is not a duration; write 5s, 200ms, 50us or 2min", what, text));
  }
  constexpr u64 kDay = 24 * 60 * u64{60'000'000'000};
  const u64 days = max_ns % kDay == 0 ? max_ns / kDay : 0;
  return in_range(what, text, *ns, min_ns, max_ns, duration_text(min_ns),
                  days > 1 ? fmt::format("{} ({} days)", duration_text(max_ns), days) : duration_text(max_ns));
}

std::string duration_text(u64 ns) {
  if (ns == 0) return "0";
  for (const Unit& unit : kTimeUnits) {
    if (ns % unit.factor == 0) return fmt::format("{}{}", ns / unit.factor, unit.name);
  }
  return fmt::format("{}ns", ns);
}

Pin parse_pin(std::string_view text) {
  constexpr std::pair<std::string_view, Pin::Kind> kWords[] = {{"compact", Pin::Kind::kCompact},
                                                               {"scatter", Pin::Kind::kScatter},
                                                               {"cluster:", Pin::Kind::kCluster},
                                                               {"socket:", Pin::Kind::kSocket},
                                                               {"list:", Pin::Kind::kList}};
  const auto fail = [&](std::string_view why) {
    return InputError(
        fmt::format("--pin: '{}' {}; write compact, scatter, cluster:0-1, socket:0 or list:0-3,5{}", text, why,
                    suggestion(text.substr(0, text.find(':')), {"compact", "scatter", "cluster", "socket", "list"})));
  };
  for (const auto& [word, kind] : kWords) {
    if (word.back() == ':' ? !text.starts_with(word) : text != word) continue;
    Pin pin{.kind = kind, .numbers = {}, .text = std::string(text)};
    if (word.back() == ':') pin.numbers = parse_numbers(text.substr(word.size()), fail);
    const std::set<u32> distinct(pin.numbers.begin(), pin.numbers.end());
    if (kind != Pin::Kind::kList && distinct.size() < pin.numbers.size()) throw fail("names a number twice");
    return pin;
  }
  throw fail("is not a placement");
}

Mem parse_mem(std::string_view text) {
  using Kind = PagePlacement::Kind;
  constexpr std::string_view kBind = "bind:";
  constexpr std::pair<std::string_view, Kind> kWords[] = {
      {"first-touch", Kind::kFirstTouch}, {"local", Kind::kLocal}, {"interleave", Kind::kInterleave}};
  const auto fail = [&](std::string_view why) {
    return InputError(
        fmt::format("--mem: '{}' {}; write first-touch, local, interleave, interleave:pin or bind:0-1{}", text, why,
                    suggestion(text.substr(0, text.find(':')), {"first-touch", "local", "interleave", "bind"})));
  };
  for (const auto& [word, kind] : kWords) {
    if (text == word) return {.kind = kind, .of_pin = false, .nodes = {}, .text = std::string(text)};
  }
  if (text == "interleave:pin")
    return {.kind = Kind::kInterleave, .of_pin = true, .nodes = {}, .text = std::string(text)};
  if (!text.starts_with(kBind)) throw fail("is not a placement of memory");
  return {.kind = Kind::kBind,
          .of_pin = false,
          .nodes = parse_numbers(text.substr(kBind.size()), fail),
          .text = std::string(text)};
}

std::vector<std::string> expand_axis(std::string_view what, const std::vector<std::string>& values) {
  // All values become one list of pieces, so that a list that a shell has split is read as if it had been quoted.
  std::vector<std::string> specs;
  for (const std::string& value : values) {
    if (value.empty()) throw InputError(fmt::format("{}: the value is missing", what));
    const bool is_list = value.front() == '{' && value.back() == '}';
    const std::string_view inner =
        is_list ? std::string_view(value).substr(1, value.size() - 2) : std::string_view(value);
    if (is_path(value)) {
      specs.push_back(value);
      continue;
    }
    bool first_of_value = true;
    for (std::string& piece : split_at_commas(what, inner)) {
      if (piece.empty()) throw InputError(fmt::format("{}: '{}' has an empty element", what, value));
      if (!specs.empty() && (continues(specs.back(), piece) || (!is_list && !first_of_value))) {
        specs.back() += ',' + piece;
      } else {
        specs.push_back(std::move(piece));
      }
      first_of_value = false;
    }
  }
  std::vector<std::string> points;
  for (const std::string& spec : specs) {
    for (std::string& point : expand_one(what, spec)) points.push_back(std::move(point));
    if (points.size() > kMostPoints) throw InputError(fmt::format("{}: more than 100,000 points", what));
  }
  return points;
}

}  // namespace latchlab
