#pragma once

// The meaning of redis' commands over the store: those of strings, of expiry and of connections. The rules and the
// texts of errors are those of redis 7.0. The codec is in src/wire/resp.h.
//
// A command that redis carries out on the object that is there is a use for the store's clock hand: GET and its kind,
// INCR and its kind, APPEND, EXPIRE and its kind, PERSIST. One that puts a new object is none.

#include <cstddef>
#include <optional>

#include "services/kv/dialogue.h"
#include "services/kv/server.h"
#include "src/wire/resp.h"

namespace latchlab::kv {

/// Returns true if a command does nothing but look up its keys, so that a turn may look them up with those of others:
/// GET and MGET with the right number of words, and keys that the store can have.
[[nodiscard]] bool is_lookup(const RespCommand& command);
/// Returns true if a lookup is MGET.
[[nodiscard]] bool is_mget(const RespCommand& command);
/// Appends the head of MGET's answer.
void append_mget_head(Dialogue& dialogue, std::size_t keys);
/// Appends what a lookup answers for one key.
void append_lookup(Dialogue& dialogue, const Desk& desk, const std::optional<Item>& item);

/// Answers a command of at least one word that is no lookup, or one that the client may not make yet. Never throws.
void answer(const Desk& desk, const RespCommand& command, Dialogue& dialogue);

}  // namespace latchlab::kv
