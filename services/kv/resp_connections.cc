// Redis' commands of a connection. The table of all commands is in resp_commands.cc.
#include "services/kv/resp_connections.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "services/kv/statistics.h"

namespace latchlab::kv::resp {

namespace {

bool admit(Call& call, std::string_view name, std::string_view password) {
  call.count<&KvCounters::auth_cmds>();
  const bool right = !call.desk.server.options().secrets || call.desk.server.options().secrets->admit(name, password);
  // A wrong password takes nothing from a client that was admitted before.
  if (right) call.dialogue.admit();
  if (!right) call.count<&KvCounters::auth_errors>();
  return right;
}

void authenticated(Call& call, bool admitted) {
  if (!admitted) refuse("WRONGPASS invalid username-password pair or user is disabled.");
  call.ok();
}

void set_name(Call& call, std::size_t word) {
  const bool printable = std::ranges::all_of(call.words[word], [](char c) { return c > ' ' && c <= '~'; });
  if (!printable) refuse("ERR Client names cannot contain spaces, newlines or special characters.");
  call.dialogue.name = call.words[word];
}

}  // namespace

void ping(Call& call) {
  if (call.words.size() > 2) call.refuse_words();
  call.words.size() == 2 ? call.out.bulk(call.words[1]) : call.out.simple("PONG");
}

void echo(Call& call) { call.out.bulk(call.words[1]); }

void select(Call& call) {
  const std::optional<i64> database = integer_in(call.words[1]);
  if (!database) refuse(kNotAnInteger);
  if (*database != 0) refuse("ERR DB index is out of range");
  call.ok();
}

void quit(Call& call) {
  call.ok();
  call.dialogue.closing = true;
}

void auth(Call& call) {
  if (call.words.size() > 3) refuse(kSyntax);
  if (!call.desk.server.options().secrets) {
    if (call.words.size() == 3) return authenticated(call, true);
    refuse(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  authenticated(
      call, call.words.size() == 2 ? admit(call, "default", call.words[1]) : admit(call, call.words[1], call.words[2]));
}

void info(Call& call) {
  const std::string text = redis_info(call.desk);
  call.out.verbatim("txt", text);
}

void hello(Call& call) {
  std::size_t at = 1;
  RespVersion version = call.dialogue.resp_version;
  if (call.words.size() > 1) {
    const std::optional<i64> wanted = integer_in(call.words[at++]);
    if (!wanted) refuse("ERR Protocol version is not an integer or out of range");
    if (*wanted != 2 && *wanted != 3) refuse("NOPROTO unsupported protocol version");
    version = static_cast<RespVersion>(*wanted);
  }
  while (at < call.words.size()) {
    if (is(call.words[at], "auth") && at + 2 < call.words.size()) {
      if (!admit(call, call.words[at + 1], call.words[at + 2]))
        refuse("WRONGPASS invalid username-password pair or user is disabled.");
      at += 3;
    } else if (is(call.words[at], "setname") && at + 1 < call.words.size()) {
      set_name(call, at + 1);
      at += 2;
    } else {
      refuse("ERR Syntax error in HELLO option '" + std::string(call.words[at].substr(0, 128)) + "'");
    }
  }
  if (!call.dialogue.admitted) {
    refuse(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the same time");
  }
  call.dialogue.resp_version = version;
  RespWriter out(call.dialogue.out, version);
  out.map(7);
  const auto text = [&](std::string_view name, std::string_view value) {
    out.bulk(name);
    out.bulk(value);
  };
  text("server", "redis");
  text("version", kRedisVersion);
  out.bulk("proto");
  out.integer(static_cast<i64>(version));
  out.bulk("id");
  out.integer(static_cast<i64>(call.dialogue.id()));
  text("mode", "standalone");
  text("role", "master");
  out.bulk("modules");
  out.array(0);
}

void client(Call& call) {
  const std::string_view what = call.words[1];
  if (is(what, "setname") && call.words.size() == 3) {
    set_name(call, 2);
    return call.ok();
  }
  if (is(what, "getname") && call.words.size() == 2)
    return call.dialogue.name.empty() ? call.out.null() : call.out.bulk(call.dialogue.name);
  if (is(what, "setinfo") || is(what, "no-evict") || is(what, "no-touch")) return call.ok();
  if (is(what, "id") && call.words.size() == 2) return call.out.integer(static_cast<i64>(call.dialogue.id()));
  refuse("ERR unknown subcommand '" + std::string(what.substr(0, 128)) + "'. Try CLIENT HELP.");
}

void config(Call& call) {
  if (!is(call.words[1], "get"))
    refuse("ERR unknown subcommand '" + std::string(call.words[1].substr(0, 128)) + "'. Try CONFIG HELP.");
  const ServerOptions& options = call.desk.server.options();
  const std::array<std::pair<std::string_view, std::string>, 6> known{
      {{"maxmemory", std::to_string(options.store.limit)},
       {"maxclients", std::to_string(options.limits.most_connections)},
       {"proto-max-bulk-len", std::to_string(options.limits.most_value_bytes)},
       {"databases", "1"},
       {"save", ""},
       {"appendonly", "no"}}};
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (std::size_t word = 2; word < call.words.size(); ++word) {
      if (call.words[word] == "*" || is(call.words[word], known[i].first)) {
        wanted.push_back(i);
        break;
      }
    }
  }
  call.out.map(wanted.size());
  for (const std::size_t i : wanted) {
    call.out.bulk(known[i].first);
    call.out.bulk(known[i].second);
  }
}

}  // namespace latchlab::kv::resp
