#pragma once

// Redis' commands of strings: those that store, read and change values. Each function has its command's name.

#include "services/kv/resp_call.h"

namespace latchlab::kv::resp {

/// GET that is no lookup (is_lookup in resp_commands.h), so it is an error.
void get(Call& call);
/// MGET that is no lookup, so it is an error.
void mget(Call& call);
void set(Call& call);
void setnx(Call& call);
void setex(Call& call);
void psetex(Call& call);
void getset(Call& call);
void getdel(Call& call);
/// Gets a value, and gives or takes the time of its key.
void getex(Call& call);
void getrange(Call& call);
/// Sets one key after the other.
void mset(Call& call);
void append(Call& call);
void strlen(Call& call);
void incr(Call& call);
void decr(Call& call);
void incrby(Call& call);
void decrby(Call& call);

}  // namespace latchlab::kv::resp
