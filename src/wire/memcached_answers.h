#pragma once

// The answers of memcached's text protocol and its meta commands, as a server renders them. Every function appends to
// the caller's string, and takes time proportional to what it appends.
//
//     get    VALUE key flags bytes [cas] \r\n  value \r\n    ... END \r\n
//     mg     VA bytes flags \r\n  value \r\n      or   HD flags \r\n      or   EN flags \r\n

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/wire/memcached.h"
#include "src/wire/numbers.h"

namespace latchlab {

/// An answer that is a word and nothing else.
enum class MemcachedStatus : u8 { kEnd, kStored, kNotStored, kExists, kNotFound, kDeleted, kTouched, kOk, kReset };
template <>
inline constexpr std::array kWords<MemcachedStatus>{"END"sv,     "STORED"sv,  "NOT_STORED"sv, "EXISTS"sv, "NOT_FOUND"sv,
                                                    "DELETED"sv, "TOUCHED"sv, "OK"sv,         "RESET"sv};

/// The first word of a meta command's answer.
enum class MetaStatus : u8 {
  kDone,       ///< HD: done; a hit without a value
  kValue,      ///< VA: a hit with a value
  kMiss,       ///< EN: mg and me found nothing
  kNotFound,   ///< NF: the other commands found nothing
  kNotStored,  ///< NS
  kExists,     ///< EX: the item has another cas
  kNoOp,       ///< MN
  kDebug,      ///< ME
};
template <>
inline constexpr std::array kWords<MetaStatus>{"HD"sv, "VA"sv, "EN"sv, "NF"sv, "NS"sv, "EX"sv, "MN"sv, "ME"sv};

/// What the answer of a meta command may tell about an item.
struct MetaItem {
  u64 cas = 0;    ///< 0 if ms stored nothing
  u64 bytes = 0;  ///< the size of the value
  u32 flags = 0;
  i64 ttl = -1;        ///< seconds left; -1: the item does not expire
  u64 idle = 0;        ///< seconds since the last access before this one
  bool hit = false;    ///< it was fetched before
  bool won = false;    ///< W: this client shall store the item again
  bool stale = false;  ///< X
  bool sent = false;   ///< Z: another client has won already
};

/// What `me` tells about an item.
struct MetaDebug {
  i64 exptime = -1;  ///< the seconds left, with a minus; -1 as well if the item does not expire
  u64 idle = 0;      ///< seconds since the last access
  u64 cas = 0;
  bool fetched = false;
  u64 size_class = 0;
  u64 bytes = 0;  ///< of the whole item
};

void append_status(std::string& out, MemcachedStatus status);

/// Appends the line in front of a value. The value and a line end follow: append_value, or the caller sends them.
void append_value_line(std::string& out, std::string_view key, u32 flags, u64 bytes, std::optional<u64> cas = {});

/// Appends a value and its line end.
void append_value(std::string& out, std::string_view value);

/// Appends the answer of incr and decr.
void append_number_line(std::string& out, u64 number);

/// Appends one line of `stats`; MemcachedStatus::kEnd ends them. The name is one word; the value has no line ends.
void append_stat(std::string& out, std::string_view name, std::string_view value);
void append_stat(std::string& out, std::string_view name, u64 value);

void append_version(std::string& out, std::string_view version);

/// Append an error in the words of the caller, which have no line ends.
void append_client_error(std::string& out, std::string_view text);
void append_server_error(std::string& out, std::string_view text);

/// The errors of commands that were parsed, as memcached words them.
inline constexpr std::string_view kNotANumber = "cannot increment or decrement non-numeric value";
inline constexpr std::string_view kNoMemoryToStore = "out of memory storing object";

/// Returns true if the client wants no answer: the command has noreply or, in a meta command, q, and the answer is the
/// usual one. q leaves out EN of mg, mr and mf, and HD and VA of ms, md, ma and mv.
[[nodiscard]] bool is_quiet(const MemcachedCommand& command, MetaStatus status);

/// Appends the answer's line of mg, ms, md, ma, mv, mr and mf, with the flags that the command asked for, in its order.
/// After kValue the value and a line end follow. mn has kNoOp.
void append_meta_line(std::string& out, const MemcachedCommand& command, MetaStatus status, const MetaItem& item = {});

/// Appends the answer of `me` to a hit. A miss is MetaStatus::kMiss.
void append_meta_debug(std::string& out, const MemcachedCommand& command, const MetaDebug& item);

}  // namespace latchlab
