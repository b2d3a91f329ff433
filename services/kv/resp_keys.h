#pragma once

// Redis' commands of keys, whatever their values are: to remove, to find and to list them, and their expiry. Each
// function has its command's name.

#include "services/kv/resp_call.h"

namespace latchlab::kv::resp {

/// DEL and UNLINK.
void del(Call& call);
void exists(Call& call);
void type(Call& call);
void expire(Call& call);
void pexpire(Call& call);
void expireat(Call& call);
void pexpireat(Call& call);
void ttl(Call& call);
void pttl(Call& call);
void expiretime(Call& call);
void pexpiretime(Call& call);
void persist(Call& call);
/// Goes on where the same connection has left off.
void scan(Call& call);
void dbsize(Call& call);
/// FLUSHALL and FLUSHDB.
void flush(Call& call);

}  // namespace latchlab::kv::resp
