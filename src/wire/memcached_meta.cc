// The meta commands of memcached: mg, ms, md, ma, mn, me; and ours: mv, mr, mf. Their flags are letters, some with a
// token.

#include "src/wire/base64.h"
#include "src/wire/memcached_lines.h"
#include "src/wire/numbers.h"

namespace latchlab::memcached {

namespace {

constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format\r\n";
constexpr std::string_view kDuplicate = "CLIENT_ERROR duplicate flag\r\n";
constexpr std::string_view kInvalid = "CLIENT_ERROR invalid flag\r\n";
constexpr std::string_view kInvalidOrDuplicate = "CLIENT_ERROR invalid or duplicate flag\r\n";
constexpr std::string_view kBadKey = "CLIENT_ERROR error decoding key\r\n";
constexpr std::string_view kBadModeLength = "CLIENT_ERROR incorrect length for M token\r\n";
constexpr std::string_view kBadInitial = "CLIENT_ERROR invalid numeric initial value\r\n";
constexpr std::string_view kBadMetaDelta = "CLIENT_ERROR invalid numeric delta value\r\n";
constexpr std::string_view kOpaqueTooLong = "CLIENT_ERROR opaque token too long\r\n";
constexpr std::string_view kTooManyOfGet = "CLIENT_ERROR options flags are too long\r\n";
constexpr std::string_view kTooMany = "CLIENT_ERROR options flags too long\r\n";
constexpr std::string_view kBadSetMode = "CLIENT_ERROR invalid mode for ms M token\r\n";
constexpr std::string_view kBadVectorMode = "CLIENT_ERROR invalid mode for an M token of a vector\r\n";
constexpr std::string_view kBadArithmeticMode = "CLIENT_ERROR invalid mode for ma M token\r\n";

/// A line has at most so many words.
constexpr std::size_t kMostWords = MemcachedCommand::kMostMetaFlags + 2;
/// An opaque flag has at most so many bytes, with its letter.
constexpr std::size_t kMostOpaqueBytes = 32;

/// Reads a number into `to`, or returns the error's text.
template <class T>
std::string_view read(std::string_view token, T& to, std::string_view error) {
  const auto number = signed_number_in<T>(token);
  if (!number) return error;
  to = *number;
  return {};
}

/// Takes one flag, which is new to the command. Returns the text of what is wrong with its token; empty if it is right.
std::string_view take_token(MetaFlag flag, MemcachedCommand& command) {
  switch (flag.letter) {
    case 'T': return read(flag.token, command.exptime, kBadToken);
    case 'N': return read(flag.token, command.vivify_exptime, kBadToken);
    case 'R': return read(flag.token, command.recache_exptime, kBadToken);
    case 'C': return read(flag.token, command.cas, kBadToken);
    case 'F': return read(flag.token, command.flags, kBadFormat);
    case 'J': return read(flag.token, command.initial, kBadInitial);
    case 'D': return read(flag.token, command.delta, kBadMetaDelta);
    case 'M':
      if (flag.token.size() != 1) return kBadModeLength;
      command.mode = flag.token.front();
      return {};
    case 'b': return is_base64(command.key()) ? "" : kBadKey;
    case 'q': command.noreply = true; return {};
    default: return {};
  }
}

/// Takes all flags from word `first` on. Returns the text of the error that memcached reports: a flag that is unknown
/// or comes twice ends the search, otherwise the last wrong token counts.
std::string_view take_flags(const Words& words, std::size_t first, MemcachedCommand& command) {
  constexpr std::string_view kLetters = "bcfhklqstuvCDFIJLMNOPRT";
  std::string_view wrong;
  for (std::size_t i = first; i < words.count; ++i) {
    const MetaFlag flag{words[i].front(), words[i].substr(1)};
    if (static_cast<u8>(flag.letter) >= 0x7f) return kDuplicate;
    if (kLetters.find(flag.letter) == std::string_view::npos) return kInvalid;
    if (command.has(flag.letter)) return kDuplicate;
    command.letters |= u64{1} << (flag.letter - 'A');
    command.meta[command.meta_count++] = flag;
    const std::string_view error = take_token(flag, command);
    // memcached has no text of its own for F, so a text that is there stays.
    if (!error.empty() && (wrong.empty() || flag.letter != 'F')) wrong = error;
  }
  return wrong;
}

/// Returns the text of what is wrong beyond single tokens; empty if nothing is.
std::string_view check(const MemcachedCommand& command) {
  const auto one_of = [&](std::string_view modes) {
    return command.mode == 0 || modes.find(command.mode) != modes.npos;
  };
  if (command.verb == MemcachedVerb::kMetaSet && !one_of("EAPRS")) return kBadSetMode;
  if (command.verb == MemcachedVerb::kMetaArithmetic && !one_of("I+D-")) return kBadArithmeticMode;
  for (const MetaFlag& flag : command.meta_flags()) {
    if (flag.letter == 'O' && flag.token.size() >= kMostOpaqueBytes) return kOpaqueTooLong;
  }
  return {};
}

Parsed parse_meta_set(const Line& line, const Words& words, MemcachedCommand& command) {
  if (words.count < 3) return line.error(kBadFormat);
  if (words.count > kMostWords) return line.error(kTooMany);
  const auto bytes = signed_number_in<u64>(words[2]);
  if (!bytes || *bytes > kLargestNamed) return line.error(kBadFormat);
  std::string_view wrong = take_flags(words, 3, command);
  if (wrong.empty()) wrong = check(command);
  if (wrong.empty() && !is_memcached_key(command.key())) wrong = kBadFormat;
  if (!wrong.empty()) return line.error_before_value(wrong, *bytes);
  return line.take_value(*bytes, false, command);
}

/// Parses mv, mr and mf, whose key is known. The flags are those of ms and mg, as far as they have a meaning here.
Parsed parse_vector(const Line& line, const Words& words, MemcachedCommand& command) {
  const bool reduces = command.verb == MemcachedVerb::kVectorReduce,
             updates = command.verb == MemcachedVerb::kVectorUpdate;
  const std::size_t of_function = reduces ? 2 : 3;
  if (words.count < 3) return line.error(kBadFormat);
  const auto bytes = reduces ? 0 : signed_number_in<u64>(words[2]);
  if (!bytes || *bytes > kLargestNamed) return line.error(kBadFormat);
  const auto refuse = [&](std::string_view wrong) {
    return reduces ? line.error(wrong) : line.error_before_value(wrong, *bytes);
  };
  if (words.count < of_function + 2) return refuse(kBadFormat);
  command.function = words[of_function];
  command.element = words[of_function + 1];
  std::string_view wrong = words.count > of_function + 2 + MemcachedCommand::kMostMetaFlags
                               ? kTooMany
                               : take_flags(words, of_function + 2, command);
  if (wrong.empty()) wrong = check(command);
  for (const MetaFlag& flag : command.meta_flags()) {
    const std::string_view letters = updates ? "bckqtvCMO" : reduces ? "bkqO" : "bkqMO";
    if (wrong.empty() && letters.find(flag.letter) == letters.npos) wrong = kInvalid;
  }
  if (wrong.empty() && command.mode != 0 && command.mode != (updates ? 'O' : 'B')) wrong = kBadVectorMode;
  if (wrong.empty() && !is_memcached_key(command.key())) wrong = kBadFormat;
  if (!wrong.empty()) return refuse(wrong);
  return reduces ? Parsed::command(line.used) : line.take_value(*bytes, false, command);
}

}  // namespace

Parsed parse_meta(const Line& line, const Words& words, MemcachedCommand& command) {
  const MemcachedVerb verb = command.verb;
  if (verb == MemcachedVerb::kMetaNoOp) return Parsed::command(line.used);
  if (words.count < 2) return line.error(verb == MemcachedVerb::kMetaDebug ? kBadFormat : kError);
  if (words[1].size() > kMostKeyBytes) return line.error(kBadFormat);
  command.keys.push_back(words[1]);
  if (verb == MemcachedVerb::kMetaSet) return parse_meta_set(line, words, command);
  if (verb >= MemcachedVerb::kVectorUpdate) return parse_vector(line, words, command);

  const bool is_debug = verb == MemcachedVerb::kMetaDebug, is_get = verb == MemcachedVerb::kMetaGet;
  if (is_debug) {
    // Of all words after the key only this one means something, and only here.
    if (words.count > 2 && words[2] == "b" && !take_flags(Words("b"), 0, command).empty())
      return line.error(kBadFormat);
  } else {
    if (words.count > kMostWords) return line.error(is_get ? kTooManyOfGet : kTooMany);
    if (const std::string_view wrong = take_flags(words, 2, command); !wrong.empty()) {
      return line.error(is_get ? wrong : kInvalidOrDuplicate);
    }
    if (const std::string_view wrong = check(command); !wrong.empty()) return line.error(wrong);
  }
  if (!is_memcached_key(command.key())) return line.error(kBadFormat);
  return Parsed::command(line.used);
}

}  // namespace latchlab::memcached
