#pragma once

// The meaning of memcached's commands over the store. The rules are those of memcached 1.6.18, as its protocol.txt and
// its tests state them. The codecs are in src/wire/memcached.h and memcached_answers.h.
//
// What memcached moves to the front of its lists is a use for the store's clock hand: get, gat, touch and mg, unless it
// has u, and also incr, decr and ma, which change an item in its place. What makes a new item there is none: set and
// its kind, append and prepend. md that leaves an item as stale moves nothing.

#include <optional>
#include <string>
#include <string_view>

#include "services/kv/server.h"
#include "src/base/types.h"
#include "src/wire/memcached.h"

namespace latchlab::kv {

/// Returns true if a command does nothing but look up its keys, so that a turn may look them up with those of others:
/// get, gets, and mg unless it makes or touches an item.
[[nodiscard]] bool is_lookup(const MemcachedCommand& command);

/// Appends what a lookup answers for one key: the item, or what stands for a miss.
void append_lookup(std::string& out, const Desk& desk, const MemcachedCommand& command, std::string_view key,
                   const std::optional<Item>& item);
/// Appends the end of a lookup's answer, after its last key.
void append_lookup_end(std::string& out, const MemcachedCommand& command);

/// Returns true for gat and gats, which are answered key by key.
[[nodiscard]] bool is_get_and_touch(const MemcachedCommand& command);
/// Touches the item of one of the command's keys and appends it. Returns false if memory is out: then an error is
/// appended instead, which ends the answer.
[[nodiscard]] bool append_touched(std::string& out, const Desk& desk, const MemcachedCommand& command,
                                  std::string_view key);

/// Answers a command that is no lookup, no gat and not quit. Never throws: memory that is out is an error of the
/// command.
void answer(const Desk& desk, const MemcachedCommand& command, std::string& out);

/// Does what a set or ms does whose value has no room: it removes the old item. Does nothing for other commands.
void erase_without_room(const Desk& desk, const MemcachedCommand& command);

/// Returns the moment, in milliseconds since 1970, that an expiry time of memcached means; 0 for never. Up to 30 days
/// are seconds from now, more are seconds since 1970, and negative times are over.
[[nodiscard]] i64 expiry_of(i64 exptime, Moment now);

/// Returns the seconds until a moment of expiry, as meta commands tell them; -1 for an item that does not expire.
[[nodiscard]] i64 seconds_left(i64 expires, Moment now);

}  // namespace latchlab::kv
