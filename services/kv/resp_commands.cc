// The table of all commands of redis' protocol, and the way from a command to its function.
#include "services/kv/resp_commands.h"

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "services/kv/resp_call.h"
#include "services/kv/resp_connections.h"
#include "services/kv/resp_keys.h"
#include "services/kv/resp_strings.h"
#include "services/kv/resp_vectors.h"
#include "services/kv/vectors.h"

namespace latchlab::kv {

namespace {

using resp::Call;
using resp::is;
using resp::refuse;

constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

/// A command: its name, and how many words it has, with the name; negative: at least so many.
struct Known {
  std::string_view name;
  int words;
  void (*run)(Call& call);
  bool before_auth = false;
};

void command(Call& call);

// clang-format off
constexpr auto kKnown = std::to_array<Known>({
    // resp_strings.cc
    {"get", 2, resp::get},             {"mget", -2, resp::mget},        {"set", -3, resp::set},
    {"setnx", 3, resp::setnx},         {"setex", 4, resp::setex},       {"psetex", 4, resp::psetex},
    {"getset", 3, resp::getset},       {"getdel", 2, resp::getdel},     {"mset", -3, resp::mset},
    {"getex", -2, resp::getex},        {"getrange", 4, resp::getrange},
    {"append", 3, resp::append},       {"strlen", 2, resp::strlen},     {"incr", 2, resp::incr},
    {"decr", 2, resp::decr},           {"incrby", 3, resp::incrby},     {"decrby", 3, resp::decrby},
    // resp_keys.cc
    {"del", -2, resp::del},            {"unlink", -2, resp::del},       {"exists", -2, resp::exists},
    {"type", 2, resp::type},           {"expire", -3, resp::expire},    {"pexpire", -3, resp::pexpire},
    {"expireat", -3, resp::expireat},  {"pexpireat", -3, resp::pexpireat}, {"ttl", 2, resp::ttl},
    {"expiretime", 2, resp::expiretime}, {"pexpiretime", 2, resp::pexpiretime},
    {"pttl", 2, resp::pttl},           {"persist", 2, resp::persist},   {"scan", -2, resp::scan},
    {"dbsize", 1, resp::dbsize},       {"flushall", -1, resp::flush},   {"flushdb", -1, resp::flush},
    // resp_vectors.cc
    {"vec.update", -5, resp::vec_update}, {"vec.reduce", 4, resp::vec_reduce}, {"vec.filter", -5, resp::vec_filter},
    // resp_connections.cc
    {"ping", -1, resp::ping},          {"echo", 2, resp::echo},         {"select", 2, resp::select},
    {"quit", -1, resp::quit, true},    {"auth", -2, resp::auth, true},  {"hello", -1, resp::hello, true},
    {"client", -2, resp::client},      {"config", -2, resp::config},    {"command", -1, command},
    {"info", -1, resp::info},
});
// clang-format on

/// COMMAND, as far as clients need it: the names and the numbers of words.
void command(Call& call) {
  if (call.words.size() == 2 && is(call.words[1], "count")) return call.out.integer(static_cast<i64>(kKnown.size()));
  if (call.words.size() > 1) return call.out.array(0);
  call.out.array(kKnown.size());
  for (const Known& one : kKnown) {
    call.out.array(2);
    call.out.bulk(one.name);
    call.out.integer(one.words);
  }
}

[[noreturn]] void refuse_unknown(const RespCommand& words) {
  std::string text = "ERR unknown command '" + std::string(words[0].substr(0, 128)) + "', with args beginning with: ";
  for (std::size_t i = 1; i < words.size() && text.size() < 128 + 128; ++i)
    text.append("'").append(words[i].substr(0, 128)).append("' ");
  refuse(text);
}

void run(const Desk& desk, const RespCommand& words, Dialogue& dialogue) {
  const auto* const known = std::ranges::find_if(kKnown, [&](const Known& one) { return is(words[0], one.name); });
  if (known == kKnown.end()) {
    if (!dialogue.admitted) refuse("NOAUTH Authentication required.");
    refuse_unknown(words);
  }
  Call call(desk, words, dialogue, known->name);
  const int size = static_cast<int>(std::min<std::size_t>(words.size(), 1 << 30));
  if (known->words > 0 ? size != known->words : size < -known->words) call.refuse_words();
  if (!dialogue.admitted && !known->before_auth) refuse("NOAUTH Authentication required.");
  known->run(call);
}

}  // namespace

bool is_mget(const RespCommand& command) { return is(command[0], "mget"); }

bool is_lookup(const RespCommand& command) {
  if (command.size() < 2 || !((command.size() == 2 && is(command[0], "get")) || is_mget(command))) return false;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i].size() > kMostItemKeyBytes) return false;
  }
  return true;
}

void append_mget_head(Dialogue& dialogue, std::size_t keys) {
  RespWriter(dialogue.out, dialogue.resp_version).array(keys);
}

void append_lookup(Dialogue& dialogue, const Desk& desk, const std::optional<Item>& item) {
  desk.counts.add<&KvCounters::cmd_get>();
  item ? desk.counts.add<&KvCounters::get_hits>() : desk.counts.add<&KvCounters::get_misses>();
  RespWriter out(dialogue.out, dialogue.resp_version);
  if (!item) return out.null();
  item->access(desk.now.second);
  out.bulk(item->value());
}

void answer(const Desk& desk, const RespCommand& command, Dialogue& dialogue) {
  const std::size_t before = dialogue.out.size();
  const auto answer_error = [&](std::string_view text) {
    dialogue.out.resize(before);
    RespWriter(dialogue.out, dialogue.resp_version).error(text);
  };
  try {
    run(desk, command, dialogue);
  } catch (const resp::Refused& refused) {
    answer_error(refused.text);
  } catch (const WrongVector& wrong) {
    answer_error("ERR " + wrong.text);
  } catch (const std::bad_alloc&) {
    answer_error(kOutOfMemory);
  } catch (const std::length_error&) {
    answer_error(resp::kTooLong);
  }
}

}  // namespace latchlab::kv
