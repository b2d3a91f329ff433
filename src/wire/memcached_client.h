#pragma once

// The client side of memcached's text protocol and its meta commands: requests as text, and answers parsed. A server's
// answer does not say to which request it belongs. So a client either counts its requests, or sends meta commands with
// an opaque token (O), which comes back.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/wire/memcached.h"
#include "src/wire/memcached_answers.h"
#include "src/wire/parsed.h"

namespace latchlab {

/// Appends the text of any command that the parser returns, in its usual form. The parser reads the same command back.
/// O(size of the text).
void append_request(std::string& out, const MemcachedCommand& command);

/// Appends `get` or, for the items' cas, `gets`. The keys are valid (is_memcached_key) and at least one.
void append_get(std::string& out, std::span<const std::string_view> keys, bool with_cas = false);

/// What a client may say about an item that it stores.
struct ItemOptions {
  u32 flags = 0;
  i64 exptime = 0;
  bool noreply = false;
};

/// Appends set, add, replace, append or prepend with its value.
void append_set(std::string& out, MemcachedVerb verb, std::string_view key, std::string_view value,
                const ItemOptions& options = {});
void append_cas(std::string& out, std::string_view key, std::string_view value, u64 cas,
                const ItemOptions& options = {});
void append_delete(std::string& out, std::string_view key, bool noreply = false);
/// Appends incr or decr.
void append_add(std::string& out, MemcachedVerb verb, std::string_view key, u64 delta, bool noreply = false);
void append_touch(std::string& out, std::string_view key, i64 exptime, bool noreply = false);

/// Append a meta command whose answer brings `opaque` back. `flags` are further flags as text ("v f t"), without O; a
/// key in base64 has the flag b. With q the usual answer does not come: append_meta_no_op then marks the end.
void append_meta_get(std::string& out, std::string_view key, std::string_view flags, u64 opaque);
void append_meta_set(std::string& out, std::string_view key, std::string_view value, std::string_view flags,
                     u64 opaque);
void append_meta_delete(std::string& out, std::string_view key, std::string_view flags, u64 opaque);
void append_meta_arithmetic(std::string& out, std::string_view key, std::string_view flags, u64 opaque);
void append_meta_no_op(std::string& out);

enum class MemcachedAnswerKind : u8 {
  kStatus,   ///< one word: `status`
  kValue,    ///< VALUE: key, flags, value, and cas for gets and gats
  kNumber,   ///< the answer of incr and decr
  kStat,     ///< STAT: key, and the rest of the line as text
  kVersion,  ///< VERSION: text
  kError,    ///< ERROR, CLIENT_ERROR or SERVER_ERROR: the whole line as text
  kMeta,     ///< meta_status; its flags as text; value for VA; key for ME, whose text is NAME=VALUE words
};

/// One answer, or one item of several. All texts are views into the input.
struct MemcachedAnswer {
  MemcachedAnswerKind kind = MemcachedAnswerKind::kStatus;
  MemcachedStatus status = MemcachedStatus::kEnd;
  MetaStatus meta_status = MetaStatus::kDone;
  u32 flags = 0;
  std::optional<u64> cas;
  u64 number = 0;
  std::string_view key, value, text;

  /// Returns the token of a flag of a meta answer ("" if the flag has none); empty if the answer has no such flag.
  /// O(size of the line).
  [[nodiscard]] std::optional<std::string_view> flag(char letter) const;
  /// Returns the number that the flag O of a meta answer brings back; empty if there is none.
  [[nodiscard]] std::optional<u64> opaque() const;
};

/// The longest line that a server may answer, without its end.
inline constexpr std::size_t kMostAnswerLineBytes = 4096;

/// Parses one answer at the front of the input: a line, with the value that belongs to it. Values may have up to
/// `most_value_bytes`. An error means that the other side does not speak the protocol; its `answer` is the reason, and
/// the connection is of no more use. O(bytes used).
[[nodiscard]] Parsed parse_memcached_answer(std::string_view input, std::size_t most_value_bytes,
                                            MemcachedAnswer& answer);

}  // namespace latchlab
