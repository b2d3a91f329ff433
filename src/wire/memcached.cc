#include "src/wire/memcached.h"

#include <algorithm>

#include "src/wire/base64.h"
#include "src/wire/memcached_lines.h"
#include "src/wire/numbers.h"
#include "src/wire/protocol.h"

namespace latchlab {

namespace memcached {

namespace {

constexpr std::size_t kMostLineBytes = 2048, kMostLeadingBlanks = 100;

/// Returns true if the input begins with a command that takes any number of keys. Only the first bytes decide.
bool begins_with_get(std::string_view input) {
  const std::size_t begin = input.find_first_not_of(' ');
  if (begin == std::string_view::npos || begin > kMostLeadingBlanks) return false;
  const std::string_view verb = input.substr(begin, input.find(' ', begin) - begin);
  return verb == "get" || verb == "gets" || verb == "gat" || verb == "gats";
}

bool is_noreply(const Words& words) { return words.last() == "noreply"; }

/// Returns the bytes that a line names for its value; empty if it is no size.
std::optional<u64> size_in(std::string_view word) {
  const auto bytes = signed_number_in<u64>(word);
  return bytes && *bytes <= kLargestNamed ? bytes : std::nullopt;
}

Parsed parse_get(const Line& line, std::string_view rest, bool touch, MemcachedCommand& command) {
  std::string_view word = next_word(rest);
  if (word.empty()) return line.error(kError);
  if (touch) {
    const auto exptime = signed_number_in<i64>(word);
    if (!exptime) return line.error(kBadExptime);
    command.exptime = *exptime;
    word = next_word(rest);
  }
  for (; !word.empty(); word = next_word(rest)) {
    if (!is_memcached_key(word)) return line.error(kBadFormat);
    command.keys.push_back(word);
  }
  return Parsed::command(line.used);
}

Parsed parse_set(const Line& line, const Words& words, MemcachedCommand& command) {
  const std::size_t least = command.verb == MemcachedVerb::kCas ? 6 : 5;
  if (words.count != least && words.count != least + 1) return line.error(kError);
  command.noreply = is_noreply(words);
  const std::string_view bad_format = command.noreply ? "" : kBadFormat;
  if (words[1].size() > kMostKeyBytes) return line.error(bad_format);
  const auto flags = signed_number_in<u32>(words[2]);
  const auto exptime = signed_number_in<i64>(words[3]);
  const auto bytes = size_in(words[4]);
  const auto cas = least == 6 ? signed_number_in<u64>(words[5]) : 0;
  if (!flags || !exptime || !bytes || !cas) return line.error(bad_format);
  if (!is_memcached_key(words[1])) return line.error_before_value(bad_format, *bytes);
  command.keys.push_back(words[1]);
  command.flags = *flags;
  command.exptime = *exptime;
  command.cas = *cas;
  return line.take_value(*bytes, command.noreply, command);
}

Parsed parse_delete(const Line& line, const Words& words, MemcachedCommand& command) {
  if (words.count < 2 || words.count > 4) return line.error(kError);
  if (words.count > 2) {
    // An old form has a time in the middle, which must be 0.
    const bool zero = words[2] == "0";
    command.noreply = is_noreply(words);
    const bool right = words.count == 3 ? zero || command.noreply : zero && command.noreply;
    if (!right) return line.error(command.noreply ? "" : kBadDelete);
  }
  if (!is_memcached_key(words[1])) return line.error(command.noreply ? "" : kBadFormat);
  command.keys.push_back(words[1]);
  return Parsed::command(line.used);
}

/// Parses incr, decr and touch: a key and a number.
Parsed parse_change(const Line& line, const Words& words, MemcachedCommand& command) {
  if (words.count != 3 && words.count != 4) return line.error(kError);
  command.noreply = is_noreply(words);
  const auto refuse = [&](std::string_view answer) { return line.error(command.noreply ? "" : answer); };
  if (!is_memcached_key(words[1])) return refuse(kBadFormat);
  command.keys.push_back(words[1]);
  if (command.verb == MemcachedVerb::kTouch) {
    const auto exptime = signed_number_in<i64>(words[2]);
    if (!exptime) return refuse(kBadExptime);
    command.exptime = *exptime;
  } else {
    const auto delta = signed_number_in<u64>(words[2]);
    if (!delta) return refuse(kBadDelta);
    command.delta = *delta;
  }
  return Parsed::command(line.used);
}

Parsed parse_flush_all(const Line& line, const Words& words, MemcachedCommand& command) {
  if (words.count > 3) return line.error(kError);
  command.noreply = is_noreply(words);
  if (words.count > (command.noreply ? 2u : 1u)) {
    const auto exptime = signed_number_in<i64>(words[1]);
    if (!exptime) return line.error(command.noreply ? "" : kBadExptime);
    command.exptime = *exptime;
  }
  return Parsed::command(line.used);
}

Parsed parse_verbosity(const Line& line, const Words& words, MemcachedCommand& command) {
  if (words.count != 2 && words.count != 3) return line.error(kError);
  command.noreply = is_noreply(words);
  const auto level = signed_number_in<u32>(words[1]);
  if (!level) return line.error(command.noreply ? "" : kBadFormat);
  command.delta = *level;
  return Parsed::command(line.used);
}

Parsed parse_line(const Line& line, std::string_view text, MemcachedCommand& command) {
  std::string_view rest = text;
  const auto verb = value_of_word<MemcachedVerb>(next_word(rest));
  if (verb && *verb <= MemcachedVerb::kGats) {
    command.verb = *verb;
    return parse_get(line, rest, *verb >= MemcachedVerb::kGat, command);
  }
  const Words words(text);
  if (!verb) {
    // A browser that was tricked into speaking to this port gets nothing that it could read.
    if (words.count > 0 && words.last().starts_with("HTTP/")) return Parsed::fatal("", line.input);
    return line.error(kError);
  }
  command.verb = *verb;
  switch (*verb) {
    case MemcachedVerb::kSet:
    case MemcachedVerb::kAdd:
    case MemcachedVerb::kReplace:
    case MemcachedVerb::kAppend:
    case MemcachedVerb::kPrepend:
    case MemcachedVerb::kCas: return parse_set(line, words, command);
    case MemcachedVerb::kDelete: return parse_delete(line, words, command);
    case MemcachedVerb::kIncr:
    case MemcachedVerb::kDecr:
    case MemcachedVerb::kTouch: return parse_change(line, words, command);
    case MemcachedVerb::kFlushAll: return parse_flush_all(line, words, command);
    case MemcachedVerb::kVerbosity: return parse_verbosity(line, words, command);
    case MemcachedVerb::kStats:
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      command.arguments = rest;
      return Parsed::command(line.used);
    case MemcachedVerb::kVersion:
    case MemcachedVerb::kQuit: return Parsed::command(line.used);
    default: return parse_meta(line, words, command);
  }
}

}  // namespace

Parsed Line::take_value(u64 bytes, bool quiet, MemcachedCommand& command) const {
  if (bytes > limits.most_value_bytes) {
    Parsed parsed = error_before_value(quiet ? "" : kTooLarge, bytes);
    parsed.too_large = true;
    return parsed;
  }
  const std::size_t end = used + bytes + kLineEnd.size();
  if (input.size() < end) return Parsed::needs(end);
  if (input.substr(used + bytes, kLineEnd.size()) != kLineEnd) return Parsed::error(quiet ? "" : kBadChunk, end);
  command.value = input.substr(used, bytes);
  return Parsed::command(end);
}

}  // namespace memcached

bool is_memcached_key(std::string_view key) {
  if (key.empty() || key.size() > kMostKeyBytes) return false;
  unsigned bad = 0;  // no early exit, so that the compiler takes many bytes at once
  for (const char c : key) bad |= static_cast<unsigned>(static_cast<u8>(c) <= ' ') | static_cast<unsigned>(c == '\x7f');
  return bad == 0;
}

std::string_view memcached_key(const MemcachedCommand& command, KeyRoom& room) {
  if (!command.has('b')) return command.key();
  return {room.data(), decode_base64(command.key(), room.data()).value_or(0)};
}

void MemcachedCommand::clear() {
  keys.clear();
  noreply = false;
  mode = 0;
  flags = 0;
  exptime = vivify_exptime = recache_exptime = 0;
  cas = initial = letters = 0;
  delta = 1;
  value = arguments = function = element = {};
  meta_count = 0;
}

Parsed MemcachedParser::parse(std::string_view input, MemcachedCommand& command) {
  command.clear();
  if (input.empty()) return Parsed::needs(1);
  if (input.front() == kBinaryMagic) return Parsed::fatal(kBinaryRefused, input);
  const std::size_t end = input.find('\n', scanned_);
  std::size_t line_bytes = std::min(end, input.size());
  if (line_bytes > 0 && input[line_bytes - 1] == '\r')
    --line_bytes;  // may belong to the line's end, which may come yet
  if (line_bytes > memcached::kMostLineBytes) {
    const std::size_t most =
        memcached::begins_with_get(input) ? limits_.most_get_line_bytes : memcached::kMostLineBytes;
    if (line_bytes > most) {
      scanned_ = 0;
      return Parsed::fatal(memcached::kLineTooLong, input);
    }
  }
  if (end == std::string_view::npos) {
    scanned_ = input.size();
    return Parsed::needs(input.size() + 1);
  }
  scanned_ = 0;
  std::string_view text = input.substr(0, end);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return memcached::parse_line({input, end + 1, limits_}, text, command);
}

}  // namespace latchlab
