#pragma once

// mv, mr and mf: commands of our own in memcached's protocol, for values that are vectors (vectors.h).

#include <string>

#include "services/kv/server.h"
#include "src/wire/memcached.h"

namespace latchlab::kv {

/// Appends the answer of mv, mr or mf. Throws WrongVector, and as Store::Session::change does.
void answer_vectors(const Desk& desk, const MemcachedCommand& command, std::string& out);

}  // namespace latchlab::kv
