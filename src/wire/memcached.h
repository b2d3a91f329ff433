#pragma once

// The server side of memcached's text protocol and its meta commands: from bytes to commands. The answers are in
// memcached_answers.h, the client's side in memcached_client.h.
//
// The rules are those of memcached 1.6.18: its words, its numbers of words, the texts of its errors, and what it does
// with a value after an error. It differs where a rule of memcached depends on how the bytes were cut into packets, or
// loses something:
//
// 1. A line of more than 2,048 bytes is answered and ends the connection. memcached does so without an answer, and only
//    if the line is incomplete when it looks. Lines of get, gets, gat and gats may be longer, up to a limit.
// 2. A key with control characters is refused, and the value after it is dropped. memcached stores it.
// 3. A number that does not fit is refused. memcached keeps the lower 32 bits of flags, of times and of sizes.
// 4. A NUL does not end a line.
//
// Three meta commands are our own, for values that are vectors (src/vector): mv changes one, mr reduces it to a number,
// mf filters it. memcached answers ERROR to them. Numbers in operands are bytes, as the value has them.
//
//     mv <key> <bytes> <function> <type> <flags>*      operands, and a line end
//     mr <key> <function> <type> <flags>*
//     mf <key> <bytes> <comparison> <type> <flags>*    the operand, and a line end
//
// After other errors of a line of `set` the value is not dropped, as in memcached: the parser reads it as commands. A
// client that sends wrong lines and values of strangers is thus open to their commands, here as there.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/wire/parsed.h"

namespace latchlab {

enum class MemcachedVerb : u8 {
  kGet,
  kGets,
  kGat,
  kGats,
  kSet,
  kAdd,
  kReplace,
  kAppend,
  kPrepend,
  kCas,
  kDelete,
  kIncr,
  kDecr,
  kTouch,
  kFlushAll,
  kStats,
  kVersion,
  kVerbosity,
  kQuit,
  kMetaGet,
  kMetaSet,
  kMetaDelete,
  kMetaArithmetic,
  kMetaNoOp,
  kMetaDebug,
  kVectorUpdate,
  kVectorReduce,
  kVectorFilter,
};
template <>
inline constexpr std::array kWords<MemcachedVerb>{
    "get"sv,       "gets"sv,    "gat"sv,     "gats"sv,      "set"sv,  "add"sv,  "replace"sv,
    "append"sv,    "prepend"sv, "cas"sv,     "delete"sv,    "incr"sv, "decr"sv, "touch"sv,
    "flush_all"sv, "stats"sv,   "version"sv, "verbosity"sv, "quit"sv, "mg"sv,   "ms"sv,
    "md"sv,        "ma"sv,      "mn"sv,      "me"sv,        "mv"sv,   "mr"sv,   "mf"sv};

/// A key has from 1 byte to this many.
inline constexpr std::size_t kMostKeyBytes = 250;

/// Returns true for 1 to 250 bytes without control characters and blanks. Bytes above 127 are allowed. O(size).
[[nodiscard]] bool is_memcached_key(std::string_view key);

/// A flag of a meta command: a letter, and the bytes that follow it up to the next blank.
struct MetaFlag {
  char letter = 0;
  std::string_view token = {};
};

/// A command as the client sent it. All texts are views into the input.
struct MemcachedCommand {
  static constexpr std::size_t kMostMetaFlags = 17;

  MemcachedVerb verb = MemcachedVerb::kGet;
  bool noreply = false;  ///< text commands: the client wants no answer. Meta commands: the flag q (is_quiet)
  /// ms: E add, A append, P prepend, R replace, S set. ma: I or +, D or -. mv: O, for the value before. mf: B, for a
  /// bitmap. 0: not given.
  char mode = 0;
  u32 flags = 0;    ///< the client's flags of set and its kind, and of ms (F)
  i64 exptime = 0;  ///< in seconds, as sent: set and its kind, gat, touch, flush_all, T. Negative: expired already
  u64 cas = 0;      ///< cas, and the flag C
  u64 delta = 1;    ///< incr, decr, ma (D). verbosity: the level
  u64 initial = 0;  ///< ma: the value of a new item (J)
  i64 vivify_exptime = 0;   ///< the time of an item that a miss makes (N)
  i64 recache_exptime = 0;  ///< mg: the least time left before one client wins the right to store again (R)
  /// get and its kind: one or more keys; gat may have none. Other commands that have a key: one. The caller reuses the
  /// command, so that the vector grows once. A key of a meta command with flag b is in base64 (memcached_key).
  std::vector<std::string_view> keys;
  std::string_view value;                     ///< set and its kind, ms, mv, mf: without the line end
  std::string_view function;                  ///< mv, mr; mf: the comparison
  std::string_view element;                   ///< mv, mr, mf: the type of the vector's elements
  std::string_view arguments;                 ///< stats: the words after it, as sent
  std::array<MetaFlag, kMostMetaFlags> meta;  ///< the first meta_count are the flags of a meta command, as sent
  std::size_t meta_count = 0;
  u64 letters = 0;  ///< bit i: a meta command has the flag 'A' + i

  /// Returns the key of a command that has one.
  [[nodiscard]] std::string_view key() const { return keys.front(); }
  [[nodiscard]] std::span<const MetaFlag> meta_flags() const { return {meta.data(), meta_count}; }
  /// Returns true if a meta command has the flag. O(1).
  [[nodiscard]] bool has(char letter) const { return (letters >> (static_cast<u8>(letter) - 'A') & 1) != 0; }
  /// Makes the command empty; keeps the room of the keys.
  void clear();
};

/// Room for a key that comes in base64.
using KeyRoom = std::array<char, kMostKeyBytes>;

/// Returns the key of a command that has one, in its own bytes. Decodes it into `room` if the command has the flag b.
[[nodiscard]] std::string_view memcached_key(const MemcachedCommand& command, KeyRoom& room);

struct MemcachedLimits {
  std::size_t most_value_bytes = std::size_t{1} << 20;     ///< at most 2^31 - 4, the largest size that a line may name
  std::size_t most_get_line_bytes = std::size_t{1} << 20;  ///< a line of get and its kind; at least 2,048
};

/// The parser of one connection. It remembers how far it has looked for the end of a line, and nothing else.
class MemcachedParser {
 public:
  MemcachedParser() = default;
  explicit MemcachedParser(const MemcachedLimits& limits) : limits_(limits) {}

  /// Parses one command at the front of the input. After kNeedsMore the next input is the same bytes and more. After an
  /// error the command's fields mean nothing, unless it is too large: memcached then removes the old item of set and
  /// ms. O(bytes used), and O(new bytes) for a long line that comes in pieces.
  [[nodiscard]] Parsed parse(std::string_view input, MemcachedCommand& command);

 private:
  MemcachedLimits limits_;
  std::size_t scanned_ = 0;
};

}  // namespace latchlab
