#include "src/wire/memcached_client.h"

#include <algorithm>

#include "src/wire/memcached_lines.h"
#include "src/wire/numbers.h"

namespace latchlab {

using memcached::kLargestNamed;
using memcached::next_word;

namespace {

void append_word(std::string& out, std::string_view word) {
  out += ' ';
  out += word;
}

template <class T>
void append_number_word(std::string& out, T number) {
  out += ' ';
  append_number(out, number);
}

void end_line(std::string& out, bool noreply) { out += noreply ? " noreply\r\n" : kLineEnd; }

/// Appends a line of set or its kind, and the value.
void append_store(std::string& out, MemcachedVerb verb, std::string_view key, std::string_view value,
                  std::optional<u64> cas, const ItemOptions& options) {
  append_word(out.append(word(verb)), key);
  append_number_word(out, options.flags);
  append_number_word(out, options.exptime);
  append_number_word(out, value.size());
  if (cas) append_number_word(out, *cas);
  end_line(out, options.noreply);
  append_value(out, value);
}

/// Appends the verb, the key, for ms the size of the value, the flags and the opaque token.
void append_meta(std::string& out, MemcachedVerb verb, std::string_view key, std::optional<u64> bytes,
                 std::string_view flags, u64 opaque) {
  append_word(out.append(word(verb)), key);
  if (bytes) append_number_word(out, *bytes);
  if (!flags.empty()) append_word(out, flags);
  out += " O";
  append_number(out, opaque);
  out += kLineEnd;
}

Parsed malformed(std::string_view why, std::string_view input) { return Parsed::fatal(why, input); }

/// Takes the value of `bytes` that follows a line.
Parsed take_value(std::string_view input, std::size_t line_bytes, u64 bytes, std::size_t most,
                  MemcachedAnswer& answer) {
  if (bytes > most) return malformed("the value is larger than asked for", input);
  const std::size_t end = line_bytes + bytes + kLineEnd.size();
  if (input.size() < end) return Parsed::needs(end);
  if (input.substr(end - kLineEnd.size(), kLineEnd.size()) != kLineEnd) return malformed("the value has no end", input);
  answer.value = input.substr(line_bytes, bytes);
  return Parsed::command(end);
}

Parsed parse_value(std::string_view input, std::size_t used, std::string_view rest, std::size_t most,
                   MemcachedAnswer& answer) {
  answer.kind = MemcachedAnswerKind::kValue;
  answer.key = next_word(rest);
  const auto flags = number_in<u32>(next_word(rest));
  const auto bytes = number_in<u64>(next_word(rest));
  const std::string_view cas = next_word(rest);
  if (!cas.empty()) answer.cas = number_in<u64>(cas);
  const bool right = is_memcached_key(answer.key) && flags && bytes && cas.empty() != answer.cas.has_value();
  if (!right || !next_word(rest).empty()) return malformed("a VALUE line is not memcached's", input);
  answer.flags = *flags;
  return take_value(input, used, *bytes, most, answer);
}

/// Returns the text after the blank that follows the first word.
std::string_view after_blank(std::string_view rest) { return rest.substr(std::min<std::size_t>(1, rest.size())); }

Parsed parse_line(std::string_view input, std::size_t used, std::string_view line, std::size_t most,
                  MemcachedAnswer& answer) {
  std::string_view rest = line;
  const std::string_view first = next_word(rest);
  if (first == "VALUE") return parse_value(input, used, rest, most, answer);
  if (const auto status = value_of_word<MemcachedStatus>(line)) {
    answer.status = *status;
    return Parsed::command(used);
  }
  if (const auto status = value_of_word<MetaStatus>(first)) {
    answer.kind = MemcachedAnswerKind::kMeta;
    answer.meta_status = *status;
    if (*status == MetaStatus::kDebug) answer.key = next_word(rest);
    if (*status != MetaStatus::kValue) {
      answer.text = after_blank(rest);
      return Parsed::command(used);
    }
    const auto bytes = number_in<u64>(next_word(rest));
    if (!bytes) return malformed("a VA line has no size", input);
    answer.text = after_blank(rest);
    return take_value(input, used, *bytes, most, answer);
  }
  if (first == "STAT") {
    answer.kind = MemcachedAnswerKind::kStat;
    answer.key = next_word(rest);
    answer.text = after_blank(rest);
    return answer.key.empty() ? malformed("a STAT line has no name", input) : Parsed::command(used);
  }
  if (first == "VERSION") {
    answer.kind = MemcachedAnswerKind::kVersion;
    answer.text = after_blank(rest);
    return Parsed::command(used);
  }
  if (first == "ERROR" || first == "CLIENT_ERROR" || first == "SERVER_ERROR") {
    answer.kind = MemcachedAnswerKind::kError;
    answer.text = line;
    return Parsed::command(used);
  }
  if (const auto number = number_in<u64>(line)) {
    answer.kind = MemcachedAnswerKind::kNumber;
    answer.number = *number;
    return Parsed::command(used);
  }
  return malformed("a line is no answer of memcached's", input);
}

}  // namespace

void append_request(std::string& out, const MemcachedCommand& command) {
  const ItemOptions options{command.flags, command.exptime, command.noreply};
  switch (command.verb) {
    case MemcachedVerb::kGet:
    case MemcachedVerb::kGets: return append_get(out, command.keys, command.verb == MemcachedVerb::kGets);
    case MemcachedVerb::kGat:
    case MemcachedVerb::kGats:
      append_number_word(out.append(word(command.verb)), command.exptime);
      for (const std::string_view key : command.keys) append_word(out, key);
      out += kLineEnd;
      return;
    case MemcachedVerb::kSet:
    case MemcachedVerb::kAdd:
    case MemcachedVerb::kReplace:
    case MemcachedVerb::kAppend:
    case MemcachedVerb::kPrepend: return append_set(out, command.verb, command.key(), command.value, options);
    case MemcachedVerb::kCas: return append_cas(out, command.key(), command.value, command.cas, options);
    case MemcachedVerb::kDelete: return append_delete(out, command.key(), command.noreply);
    case MemcachedVerb::kIncr:
    case MemcachedVerb::kDecr: return append_add(out, command.verb, command.key(), command.delta, command.noreply);
    case MemcachedVerb::kTouch: return append_touch(out, command.key(), command.exptime, command.noreply);
    case MemcachedVerb::kFlushAll:
      out += word(command.verb);
      if (command.exptime != 0) append_number_word(out, command.exptime);
      return end_line(out, command.noreply);
    case MemcachedVerb::kVerbosity:
      append_number_word(out.append(word(command.verb)), command.delta);
      return end_line(out, command.noreply);
    case MemcachedVerb::kStats:
      out += word(command.verb);
      if (!command.arguments.empty()) append_word(out, command.arguments);
      out += kLineEnd;
      return;
    case MemcachedVerb::kVersion:
    case MemcachedVerb::kQuit:
    case MemcachedVerb::kMetaNoOp: out.append(word(command.verb)).append(kLineEnd); return;
    default: break;
  }
  append_word(out.append(word(command.verb)), command.key());
  const bool stores = command.verb == MemcachedVerb::kMetaSet || command.verb == MemcachedVerb::kVectorUpdate ||
                      command.verb == MemcachedVerb::kVectorFilter;
  if (stores) append_number_word(out, command.value.size());
  if (command.verb >= MemcachedVerb::kVectorUpdate) {
    append_word(out, command.function);
    append_word(out, command.element);
  }
  for (const MetaFlag& flag : command.meta_flags()) (out.append(" ") += flag.letter) += flag.token;
  out += kLineEnd;
  if (stores) append_value(out, command.value);
}

void append_get(std::string& out, std::span<const std::string_view> keys, bool with_cas) {
  out += with_cas ? "gets" : "get";
  for (const std::string_view key : keys) append_word(out, key);
  out += kLineEnd;
}

void append_set(std::string& out, MemcachedVerb verb, std::string_view key, std::string_view value,
                const ItemOptions& options) {
  append_store(out, verb, key, value, std::nullopt, options);
}

void append_cas(std::string& out, std::string_view key, std::string_view value, u64 cas, const ItemOptions& options) {
  append_store(out, MemcachedVerb::kCas, key, value, cas, options);
}

void append_delete(std::string& out, std::string_view key, bool noreply) {
  append_word(out.append("delete"), key);
  end_line(out, noreply);
}

void append_add(std::string& out, MemcachedVerb verb, std::string_view key, u64 delta, bool noreply) {
  append_word(out.append(word(verb)), key);
  append_number_word(out, delta);
  end_line(out, noreply);
}

void append_touch(std::string& out, std::string_view key, i64 exptime, bool noreply) {
  append_word(out.append("touch"), key);
  append_number_word(out, exptime);
  end_line(out, noreply);
}

void append_meta_get(std::string& out, std::string_view key, std::string_view flags, u64 opaque) {
  append_meta(out, MemcachedVerb::kMetaGet, key, std::nullopt, flags, opaque);
}

void append_meta_set(std::string& out, std::string_view key, std::string_view value, std::string_view flags,
                     u64 opaque) {
  append_meta(out, MemcachedVerb::kMetaSet, key, value.size(), flags, opaque);
  append_value(out, value);
}

void append_meta_delete(std::string& out, std::string_view key, std::string_view flags, u64 opaque) {
  append_meta(out, MemcachedVerb::kMetaDelete, key, std::nullopt, flags, opaque);
}

void append_meta_arithmetic(std::string& out, std::string_view key, std::string_view flags, u64 opaque) {
  append_meta(out, MemcachedVerb::kMetaArithmetic, key, std::nullopt, flags, opaque);
}

void append_meta_no_op(std::string& out) { out += "mn\r\n"; }

std::optional<std::string_view> MemcachedAnswer::flag(char letter) const {
  std::string_view rest = text;
  for (std::string_view flag = next_word(rest); !flag.empty(); flag = next_word(rest)) {
    if (flag.front() == letter) return flag.substr(1);
  }
  return std::nullopt;
}

std::optional<u64> MemcachedAnswer::opaque() const {
  const auto token = flag('O');
  return token ? number_in<u64>(*token) : std::nullopt;
}

Parsed parse_memcached_answer(std::string_view input, std::size_t most_value_bytes, MemcachedAnswer& answer) {
  answer = {};
  const std::size_t end = input.find('\n');
  std::string_view line = input.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMostAnswerLineBytes) return malformed("a line is too long", input);
  if (end == std::string_view::npos) return Parsed::needs(input.size() + 1);
  return parse_line(input, end + 1, line, std::min<std::size_t>(most_value_bytes, kLargestNamed), answer);
}

}  // namespace latchlab
