#pragma once

// Redis' commands of a connection: the client's name, secret and protocol version, and questions about the server.
// Each function has its command's name. COMMAND is beside the table that it tells of, in resp_commands.cc.

#include "services/kv/resp_call.h"

namespace latchlab::kv::resp {

void ping(Call& call);
void echo(Call& call);
void select(Call& call);
void quit(Call& call);
void auth(Call& call);
void hello(Call& call);
void client(Call& call);
/// CONFIG GET.
void config(Call& call);
void info(Call& call);

}  // namespace latchlab::kv::resp
