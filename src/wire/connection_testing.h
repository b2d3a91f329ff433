#pragma once

// A connection as tests and fuzz targets play it: bytes come in pieces, a parser reads them, and what it found is a
// list of texts, which two ways to cut the same bytes can compare.

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "src/wire/memcached.h"
#include "src/wire/memcached_answers.h"
#include "src/wire/memcached_client.h"
#include "src/wire/numbers.h"
#include "src/wire/parsed.h"
#include "src/wire/protocol.h"
#include "src/wire/resp.h"
#include "src/wire/resp_client.h"

namespace latchlab::testing {

// Texts are put together by hand: half of a fuzz target's time went into a formatting library.

inline void append_part(std::string& text, std::string_view part) { text += part; }
inline void append_part(std::string& text, char part) { text += part; }
template <std::integral T>
  requires(!std::same_as<T, bool>)
void append_part(std::string& text, T number) {
  append_number(text, number);
}
// Not any type that converts to bool, as a pointer to characters does.
inline void append_part(std::string& text, std::same_as<bool> auto part) { text += part ? "true" : "false"; }
inline void append_part(std::string& text, double number) {
  char digits[32];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void append_parts(std::string& text, const auto&... parts) { (append_part(text, parts), ...); }

/// Returns every field of a command as text.
inline std::string described(const MemcachedCommand& command) {
  std::string text(word(command.verb));
  for (const std::string_view key : command.keys) append_parts(text, " <", key, '>');
  for (const MetaFlag& flag : command.meta_flags()) append_parts(text, ' ', flag.letter, flag.token);
  append_parts(text, " noreply=", command.noreply, " mode=", command.mode == 0 ? '-' : command.mode,
               " flags=", command.flags, " exptime=", command.exptime, " cas=", command.cas, " delta=", command.delta,
               " initial=", command.initial, " N=", command.vivify_exptime, " R=", command.recache_exptime, " [",
               command.arguments, "] ", command.function, ' ', command.element, " (", command.value, ')');
  return text;
}

inline std::string described(const RespCommand& command) {
  std::string text;
  append_parts(text, command.size(), ':');
  for (std::size_t i = 0; i < command.size(); ++i) append_parts(text, " <", command[i], '>');
  return text;
}

inline std::string described(const MemcachedAnswer& answer) {
  std::string text;
  append_parts(text, static_cast<int>(answer.kind), ' ', word(answer.status), ' ', static_cast<int>(answer.meta_status),
               " flags=", answer.flags, " cas=");
  answer.cas ? append_part(text, *answer.cas) : append_part(text, "none");
  append_parts(text, " number=", answer.number, " <", answer.key, "> (", answer.value, ") [", answer.text, ']');
  return text;
}

inline std::string described(std::span<const RespValue> values) {
  std::string text;
  for (const RespValue& value : values) {
    append_parts(text, static_cast<char>(value.kind), '<', value.text, "> ", value.integer, ' ', value.real, ' ',
                 value.elements, "; ");
  }
  return text;
}

/// The parsers with one interface: parse(input), described() and again(out), which renders what was parsed.
struct MemcachedServerSide {
  MemcachedParser parser;
  MemcachedCommand command;

  Parsed parse(std::string_view input) { return parser.parse(input, command); }
  [[nodiscard]] std::string described() const { return testing::described(command); }
  void again(std::string& out) const { append_request(out, command); }
};

struct RespServerSide {
  RespParser parser;
  RespCommand command;

  Parsed parse(std::string_view input) { return parser.parse(input, command); }
  [[nodiscard]] std::string described() const { return testing::described(command); }
  void again(std::string& out) const {
    append_resp_head(out, command.size());
    for (std::size_t i = 0; i < command.size(); ++i) append_resp_word(out, command[i]);
  }
};

struct MemcachedClientSide {
  std::size_t most_value_bytes = std::size_t{1} << 20;
  MemcachedAnswer answer;

  Parsed parse(std::string_view input) { return parse_memcached_answer(input, most_value_bytes, answer); }
  [[nodiscard]] std::string described() const { return testing::described(answer); }
  void again(std::string& out) const {
    switch (answer.kind) {
      case MemcachedAnswerKind::kStatus: return append_status(out, answer.status);
      case MemcachedAnswerKind::kValue:
        append_value_line(out, answer.key, answer.flags, answer.value.size(), answer.cas);
        return append_value(out, answer.value);
      case MemcachedAnswerKind::kNumber: return append_number_line(out, answer.number);
      case MemcachedAnswerKind::kStat: return append_stat(out, answer.key, answer.text);
      case MemcachedAnswerKind::kVersion: return append_version(out, answer.text);
      case MemcachedAnswerKind::kError: out.append(answer.text).append("\r\n"); return;
      case MemcachedAnswerKind::kMeta: break;
    }
    out += word(answer.meta_status);
    const bool has_value = answer.meta_status == MetaStatus::kValue;
    if (has_value) append_number(out.append(" "), answer.value.size());
    if (!answer.key.empty()) out.append(" ").append(answer.key);
    if (!answer.text.empty()) out.append(" ").append(answer.text);
    out += "\r\n";
    if (has_value) append_value(out, answer.value);
  }
};

struct RespClientSide {
  RespAnswerLimits limits;
  std::vector<RespValue> values;

  Parsed parse(std::string_view input) { return parse_resp_answer(input, limits, values); }
  [[nodiscard]] std::string described() const { return testing::described(values); }
  void again(std::string& out) const {
    for (const RespValue& value : values) {
      const char type = static_cast<char>(value.kind);
      switch (value.kind) {
        case RespKind::kArray:
        case RespKind::kSet:
        case RespKind::kPush:
        case RespKind::kMap:
        case RespKind::kAttribute: append_number(out += type, value.elements); break;
        case RespKind::kBulk:
        case RespKind::kBulkError:
        case RespKind::kVerbatim:
          append_number(out += type, value.text.size());
          out.append("\r\n").append(value.text);
          break;
        default: (out += type).append(value.text);
      }
      out += "\r\n";
    }
  }
};

/// Throws logic_error unless the promises of Parsed hold.
inline void check_promises(const Parsed& parsed, std::string_view input) {
  const auto require = [&](bool holds, std::string_view text) {
    if (!holds) throw std::logic_error(fmt::format("{} (used {} of {})", text, parsed.used, input.size()));
  };
  require(parsed.used <= input.size(), "a parser uses no more than it has");
  switch (parsed.status) {
    case ParseStatus::kNeedsMore:
      require(parsed.used == 0 && parsed.needed > input.size(), "a parser that needs more uses nothing");
      break;
    case ParseStatus::kCommand: require(parsed.used > 0, "a command has bytes"); break;
    case ParseStatus::kError: require(parsed.used > 0, "an error uses bytes, so that it does not come again"); break;
  }
}

/// Returns what a connection hears: each command, and each error with what it asks of the caller. The pieces come one
/// after the other; between them the buffer moves, and has not a byte more than came. A parser that needs so many bytes
/// is not asked before. A connection that closes hears nothing more.
template <class Side>
std::vector<std::string> heard(std::span<const std::string_view> pieces, Side side) {
  std::vector<std::string> found;
  std::string waiting;
  u64 skip = 0;
  std::size_t needed = 0;
  for (const std::string_view piece : pieces) {
    waiting += piece;
    while (true) {
      const std::size_t skipped = std::min<u64>(skip, waiting.size());
      waiting.erase(0, skipped);
      skip -= skipped;
      if (skip > 0 || waiting.empty() || waiting.size() < needed) break;
      const auto buffer = std::make_unique<char[]>(waiting.size());
      std::ranges::copy(waiting, buffer.get());
      const std::string_view input(buffer.get(), waiting.size());
      const Parsed parsed = side.parse(input);
      check_promises(parsed, input);
      needed = parsed.needed;
      if (parsed.status == ParseStatus::kNeedsMore) break;
      if (parsed.status == ParseStatus::kCommand) {
        found.push_back(side.described());
      } else {
        append_parts(found.emplace_back(), "error ", parsed.answer, " skip=", parsed.skip, " close=", parsed.close,
                     " large=", parsed.too_large);
        if (parsed.too_large) found.push_back(side.described());
        if (parsed.close) return found;
      }
      waiting.erase(0, parsed.used);
      skip = parsed.skip;
    }
  }
  return found;
}

template <class Side>
std::vector<std::string> heard(std::string_view bytes, const Side& side) {
  return heard(std::span(&bytes, 1), side);
}

/// Returns what a connection hears when the bytes come in two pieces.
template <class Side>
std::vector<std::string> heard_in_two(std::string_view bytes, std::size_t cut, const Side& side) {
  const std::string_view pieces[] = {bytes.substr(0, cut), bytes.substr(cut)};
  return heard(pieces, side);
}

/// Parses what stands at the front of the bytes, renders it, and returns true if that parses to the same, as a whole.
/// True for bytes at whose front stands no command.
template <class Side>
bool renders_again(std::string_view bytes, Side side) {
  if (side.parse(bytes).status != ParseStatus::kCommand) return true;
  std::string text;
  const std::string before = side.described();
  side.again(text);
  const Parsed parsed = side.parse(text);
  return parsed.status == ParseStatus::kCommand && parsed.used == text.size() && side.described() == before;
}

}  // namespace latchlab::testing
