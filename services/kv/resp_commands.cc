#include "services/kv/resp_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/glob.h"
#include "services/kv/statistics.h"
#include "src/wire/numbers.h"

namespace latchlab::kv {

namespace {

constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
constexpr std::string_view kSyntax = "ERR syntax error";
constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::string_view kTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns true if the word is `name`, which is in lower case, in any case.
bool is(std::string_view word, std::string_view name) { return std::ranges::equal(word, name, {}, lower); }

/// Returns the number that a value or a word is; nothing unless it is one in redis' only form: no plus, no leading
/// zeros, no blanks.
std::optional<i64> integer_in(std::string_view text) {
  if (text == "0") return 0;
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.front() < '1') return std::nullopt;
  return number_in<i64>(text);
}

std::string digits_of(i64 number) {
  std::string text;
  append_number(text, number);
  return text;
}

/// The commands over one desk and one dialogue. Each throws Refused for an error, whose text it answers.
struct Refused {
  std::string text;
};

class RespCommands {
 public:
  RespCommands(const Desk& desk, const RespCommand& words, Dialogue& dialogue)
      : desk_(desk), words_(words), dialogue_(dialogue), out_(dialogue.out, dialogue.resp_version), now_(desk.now) {}

  void run();

 private:
  using Function = void (RespCommands::*)();
  /// A command: its name, and how many words it has, with the name; negative: at least so many.
  struct Known {
    std::string_view name;
    int words;
    Function run;
    bool before_auth = false;
  };
  static const std::array<Known, 40> kKnown;

  [[noreturn]] static void refuse(std::string_view text) { throw Refused{std::string(text)}; }
  [[noreturn]] void refuse_words() const {
    refuse("ERR wrong number of arguments for '" + std::string(name_) + "' command");
  }

  Key key(std::size_t word) const {
    if (words_[word].size() > kMostItemKeyBytes) refuse("ERR a key has at most 32767 bytes");
    return desk_.server.store().key(words_[word]);
  }
  i64 integer(std::size_t word) const {
    const std::optional<i64> number = integer_in(words_[word]);
    if (!number) refuse(kNotAnInteger);
    return *number;
  }
  void check_size(std::size_t bytes) const {
    if (bytes > desk_.server.options().limits.most_value_bytes) refuse(kTooLong);
  }
  template <u64 KvCounters::* kMember>
  void count(u64 more = 1) const {
    desk_.counts.add<kMember>(more);
  }
  void count_lookup(bool hit) const {
    count<&KvCounters::cmd_get>();
    hit ? count<&KvCounters::get_hits>() : count<&KvCounters::get_misses>();
  }
  ItemFields fields(i64 expires = 0) const {
    return {.cas = desk_.session.next_cas(), .expires = expires, .recent = now_.second & Recent::kSeconds};
  }
  void ok() { out_.simple("OK"); }

  /// Returns the moment that an expiry means: `amount` in units of `unit` milliseconds, from now or since 1970.
  i64 moment(std::size_t word, i64 unit, bool from_now) const {
    const i64 amount = integer(word);
    const i64 base = from_now ? now_.ms : 0;
    if (amount > (std::numeric_limits<i64>::max() - base) / unit || amount < std::numeric_limits<i64>::min() / unit)
      refuse("ERR invalid expire time in '" + std::string(name_) + "' command");
    return base + amount * unit;
  }
  /// The same for a command that sets a value, whose time must be positive.
  i64 positive_moment(std::size_t word, i64 unit, bool from_now) const {
    if (integer(word) <= 0) refuse("ERR invalid expire time in '" + std::string(name_) + "' command");
    return moment(word, unit, from_now);
  }

  /// Calls show(item) for the item of a key, or show(nullptr).
  template <class Show>
  void look_up(const Key& key, const Show& show) {
    desk_.session.find({&key, 1}, now_, kAlone,
                       [&](std::size_t, Store::Items items) { show(items[0] ? &*items[0] : nullptr); });
  }
  bool erase(const Key& key) {
    const auto decide = [](const Item* before) { return before == nullptr ? Wish::leave() : Wish::erase(); };
    return desk_.session.change(key, now_, decide) == Effect::kErased;
  }

  // Strings.
  void get() {
    // With the right words it is a lookup, unless its key is too long.
    (void)key(1);
    refuse_words();
  }
  void mget() {
    // A lookup is refused as one only if it has a key that is too long.
    for (std::size_t i = 1; i < words_.size(); ++i) (void)key(i);
    refuse_words();
  }
  void set();
  void setnx() {
    count<&KvCounters::cmd_set>();
    const auto decide = [&](const Item* before) {
      return before != nullptr ? Wish::leave() : Wish::put(fields(), words_[2]);
    };
    out_.integer(desk_.session.change(key(1), now_, decide) != Effect::kNone);
  }
  void setex() { set_until(positive_moment(2, 1000, true)); }
  void psetex() { set_until(positive_moment(2, 1, true)); }
  void set_until(i64 expires) {
    count<&KvCounters::cmd_set>();
    (void)desk_.session.put(key(1), now_, fields(expires), words_[3]);
    ok();
  }
  void getset() {
    count<&KvCounters::cmd_set>();
    std::optional<std::string> old;
    const auto decide = [&](const Item* before) {
      old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
      return Wish::put(fields(), words_[2]);
    };
    (void)desk_.session.change(key(1), now_, decide);
    count_lookup(old.has_value());
    old ? out_.bulk(*old) : out_.null();
  }
  void getdel() {
    std::optional<std::string> old;
    const auto decide = [&](const Item* before) {
      old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
      return before == nullptr ? Wish::leave() : Wish::erase();
    };
    (void)desk_.session.change(key(1), now_, decide);
    count_lookup(old.has_value());
    old ? out_.bulk(*old) : out_.null();
  }
  void mset() {
    if (words_.size() % 2 == 0) refuse_words();
    for (std::size_t i = 1; i < words_.size(); i += 2) (void)key(i);
    for (std::size_t i = 1; i < words_.size(); i += 2) {
      count<&KvCounters::cmd_set>();
      (void)desk_.session.put(key(i), now_, fields(), words_[i + 1]);
    }
    ok();
  }
  void append() {
    count<&KvCounters::cmd_set>();
    std::size_t size = 0;
    const std::size_t most = desk_.server.options().limits.most_value_bytes;
    const auto decide = [&](const Item* before) {
      size = (before == nullptr ? 0 : before->value().size()) + words_[2].size();
      if (size > most) return Wish::leave();
      if (before == nullptr) return Wish::put(fields(), words_[2]);
      ItemFields joined = before->fields();
      joined.cas = desk_.session.next_cas();
      return Wish::put(joined, before->value(), words_[2]);
    };
    (void)desk_.session.change(key(1), now_, decide);
    check_size(size);
    out_.integer(static_cast<i64>(size));
  }
  void strlen() {
    look_up(key(1), [&](const Item* item) {
      count_lookup(item != nullptr);
      out_.integer(item == nullptr ? 0 : static_cast<i64>(item->value().size()));
    });
  }
  void incr() { add_delta(1); }
  void decr() { add_delta(-1); }
  void incrby() { add_delta(integer(2)); }
  void decrby() {
    if (integer(2) == std::numeric_limits<i64>::min()) refuse("ERR decrement would overflow");
    add_delta(-integer(2));
  }
  void add_delta(i64 delta);

  // Keys.
  void del() {
    i64 erased = 0;
    for (std::size_t i = 1; i < words_.size(); ++i) erased += erase(key(i));
    count<&KvCounters::delete_hits>(static_cast<u64>(erased));
    count<&KvCounters::delete_misses>(words_.size() - 1 - static_cast<u64>(erased));
    out_.integer(erased);
  }
  void exists() {
    i64 there = 0;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      look_up(key(i), [&](const Item* item) {
        count_lookup(item != nullptr);
        there += item != nullptr;
      });
    }
    out_.integer(there);
  }
  void type() {
    look_up(key(1), [&](const Item* item) { out_.simple(item == nullptr ? "none" : "string"); });
  }
  void expire() { set_expiry(1000, true); }
  void pexpire() { set_expiry(1, true); }
  void expireat() { set_expiry(1000, false); }
  void pexpireat() { set_expiry(1, false); }
  void set_expiry(i64 unit, bool from_now);
  void ttl() { time_left(1000); }
  void pttl() { time_left(1); }
  void time_left(i64 unit) {
    look_up(key(1), [&](const Item* item) {
      if (item == nullptr) return out_.integer(-2);
      if (item->expires() == 0) return out_.integer(-1);
      out_.integer((item->expires() - now_.ms + unit / 2) / unit);
    });
  }
  void persist() {
    const auto decide = [&](const Item* before) {
      if (before == nullptr || before->expires() == 0) return Wish::leave();
      ItemFields kept = before->fields();
      kept.expires = 0;
      return Wish::put(kept, before->value());
    };
    out_.integer(desk_.session.change(key(1), now_, decide) != Effect::kNone);
  }
  void scan();
  void dbsize() { out_.integer(static_cast<i64>(desk_.server.store().counters().items)); }
  void flush() {
    if (words_.size() > 2 || (words_.size() == 2 && !is(words_[1], "async") && !is(words_[1], "sync"))) refuse(kSyntax);
    count<&KvCounters::cmd_flush>();
    desk_.server.store().flush(0, now_);
    ok();
  }

  // Connections.
  void ping() {
    if (words_.size() > 2) refuse_words();
    words_.size() == 2 ? out_.bulk(words_[1]) : out_.simple("PONG");
  }
  void echo() { out_.bulk(words_[1]); }
  void select() {
    const std::optional<i64> database = integer_in(words_[1]);
    if (!database) refuse(kNotAnInteger);
    if (*database != 0) refuse("ERR DB index is out of range");
    ok();
  }
  void quit() {
    ok();
    dialogue_.closing = true;
  }
  void auth() {
    if (words_.size() > 3) refuse(kSyntax);
    if (!desk_.server.options().secrets) {
      if (words_.size() == 3) return authenticated(true);
      refuse(
          "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
          "configuration is correct?");
    }
    authenticated(words_.size() == 2 ? admit("default", words_[1]) : admit(words_[1], words_[2]));
  }
  bool admit(std::string_view name, std::string_view password) {
    count<&KvCounters::auth_cmds>();
    const bool right = !desk_.server.options().secrets || desk_.server.options().secrets->admit(name, password);
    // A wrong password takes nothing from a client that was admitted before.
    dialogue_.admitted |= right;
    if (!right) count<&KvCounters::auth_errors>();
    return right;
  }
  void authenticated(bool admitted) {
    if (!admitted) refuse("WRONGPASS invalid username-password pair or user is disabled.");
    ok();
  }
  void set_name(std::size_t word) {
    const bool printable = std::ranges::all_of(words_[word], [](char c) { return c > ' ' && c <= '~'; });
    if (!printable) refuse("ERR Client names cannot contain spaces, newlines or special characters.");
    dialogue_.name = words_[word];
  }
  void hello();
  void client();
  void config();
  void command();
  void info() {
    const std::string text = redis_info(desk_);
    out_.verbatim("txt", text);
  }

  const Desk& desk_;
  const RespCommand& words_;
  Dialogue& dialogue_;
  RespWriter out_;
  const Moment now_;
  std::string_view name_;  // in lower case
};

// clang-format off
const std::array<RespCommands::Known, 40> RespCommands::kKnown{{
    {"get", 2, &RespCommands::get},             {"mget", -2, &RespCommands::mget},        {"set", -3, &RespCommands::set},
    {"setnx", 3, &RespCommands::setnx},         {"setex", 4, &RespCommands::setex},       {"psetex", 4, &RespCommands::psetex},
    {"getset", 3, &RespCommands::getset},       {"getdel", 2, &RespCommands::getdel},     {"mset", -3, &RespCommands::mset},
    {"append", 3, &RespCommands::append},       {"strlen", 2, &RespCommands::strlen},     {"incr", 2, &RespCommands::incr},
    {"decr", 2, &RespCommands::decr},           {"incrby", 3, &RespCommands::incrby},     {"decrby", 3, &RespCommands::decrby},
    {"del", -2, &RespCommands::del},            {"unlink", -2, &RespCommands::del},       {"exists", -2, &RespCommands::exists},
    {"type", 2, &RespCommands::type},           {"expire", -3, &RespCommands::expire},    {"pexpire", -3, &RespCommands::pexpire},
    {"expireat", -3, &RespCommands::expireat},  {"pexpireat", -3, &RespCommands::pexpireat}, {"ttl", 2, &RespCommands::ttl},
    {"pttl", 2, &RespCommands::pttl},           {"persist", 2, &RespCommands::persist},   {"scan", -2, &RespCommands::scan},
    {"dbsize", 1, &RespCommands::dbsize},       {"flushall", -1, &RespCommands::flush},   {"flushdb", -1, &RespCommands::flush},
    {"ping", -1, &RespCommands::ping},          {"echo", 2, &RespCommands::echo},         {"select", 2, &RespCommands::select},
    {"quit", -1, &RespCommands::quit, true},    {"auth", -2, &RespCommands::auth, true},  {"hello", -1, &RespCommands::hello, true},
    {"client", -2, &RespCommands::client},      {"config", -2, &RespCommands::config},    {"command", -1, &RespCommands::command},
    {"info", -1, &RespCommands::info},
}};
// clang-format on

void RespCommands::run() {
  const auto* const known = std::ranges::find_if(kKnown, [&](const Known& one) { return is(words_[0], one.name); });
  if (known == kKnown.end()) {
    if (!dialogue_.admitted) refuse("NOAUTH Authentication required.");
    std::string text =
        "ERR unknown command '" + std::string(words_[0].substr(0, 128)) + "', with args beginning with: ";
    for (std::size_t i = 1; i < words_.size() && text.size() < 128 + 128; ++i)
      text.append("'").append(words_[i].substr(0, 128)).append("' ");
    refuse(text);
  }
  name_ = known->name;
  const int words = static_cast<int>(std::min<std::size_t>(words_.size(), 1 << 30));
  if (known->words > 0 ? words != known->words : words < -known->words) refuse_words();
  if (!dialogue_.admitted && !known->before_auth) refuse("NOAUTH Authentication required.");
  (this->*known->run)();
}

void RespCommands::set() {
  struct Timed {
    std::string_view name;
    i64 unit;
    bool from_now;
  };
  constexpr std::array<Timed, 4> kTimed{
      {{"ex", 1000, true}, {"px", 1, true}, {"exat", 1000, false}, {"pxat", 1, false}}};
  bool only_absent = false, only_present = false, keep = false, get = false;
  const Timed* timed = nullptr;
  std::size_t time = 0;  // the word with the time
  for (std::size_t i = 3; i < words_.size(); ++i) {
    const std::string_view option = words_[i];
    const auto* const named = std::ranges::find_if(kTimed, [&](const Timed& one) { return is(option, one.name); });
    if (is(option, "nx") && !only_present) {
      only_absent = true;
    } else if (is(option, "xx") && !only_absent) {
      only_present = true;
    } else if (is(option, "get")) {
      get = true;
    } else if (is(option, "keepttl") && timed == nullptr) {
      keep = true;
    } else if (named != kTimed.end() && i + 1 < words_.size() && !keep && (timed == nullptr || timed == named)) {
      timed = named;
      time = ++i;
    } else {
      refuse(kSyntax);
    }
  }
  const i64 expires = timed == nullptr ? 0 : positive_moment(time, timed->unit, timed->from_now);
  count<&KvCounters::cmd_set>();
  if (!only_absent && !only_present && !keep && !get) {
    (void)desk_.session.put(key(1), now_, fields(expires), words_[2]);
    return ok();
  }
  std::optional<std::string> old;
  const auto decide = [&](const Item* before) {
    if (get) old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
    if ((only_absent && before != nullptr) || (only_present && before == nullptr)) return Wish::leave();
    ItemFields stored = fields(expires);
    if (keep && before != nullptr) stored.expires = before->expires();
    return Wish::put(stored, words_[2]);
  };
  const Effect effect = desk_.session.change(key(1), now_, decide);
  if (get) {
    count_lookup(old.has_value());
    return old ? out_.bulk(*old) : out_.null();
  }
  effect == Effect::kNone ? out_.null() : ok();
}

void RespCommands::add_delta(i64 delta) {
  enum class Outcome : u8 { kDone, kNoNumber, kOverflow };
  Outcome outcome = Outcome::kDone;
  i64 sum = 0;
  std::string text;
  bool there = false;
  const auto decide = [&](const Item* before) {
    outcome = Outcome::kDone;
    there = before != nullptr;
    const std::optional<i64> number = there ? integer_in(before->value()) : 0;
    if (!number) {
      outcome = Outcome::kNoNumber;
      return Wish::leave();
    }
    if (__builtin_add_overflow(*number, delta, &sum)) {
      outcome = Outcome::kOverflow;
      return Wish::leave();
    }
    text = digits_of(sum);
    ItemFields stored = there ? before->fields() : fields();
    stored.cas = desk_.session.next_cas();
    return Wish::put(stored, text);
  };
  (void)desk_.session.change(key(1), now_, decide);
  there ? count<&KvCounters::incr_hits>() : count<&KvCounters::incr_misses>();
  if (outcome == Outcome::kNoNumber) refuse(kNotAnInteger);
  if (outcome == Outcome::kOverflow) refuse("ERR increment or decrement would overflow");
  out_.integer(sum);
}

void RespCommands::set_expiry(i64 unit, bool from_now) {
  bool only_without = false, only_with = false, only_later = false, only_earlier = false;
  for (std::size_t i = 3; i < words_.size(); ++i) {
    const std::string_view option = words_[i];
    if (is(option, "nx"))
      only_without = true;
    else if (is(option, "xx"))
      only_with = true;
    else if (is(option, "gt"))
      only_later = true;
    else if (is(option, "lt"))
      only_earlier = true;
    else
      refuse("ERR Unsupported option " + std::string(option.substr(0, 128)));
  }
  if (only_without && (only_with || only_later || only_earlier))
    refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
  if (only_later && only_earlier) refuse("ERR GT and LT options at the same time are not compatible");
  const i64 expires = moment(2, unit, from_now);
  const auto decide = [&](const Item* before) {
    if (before == nullptr) return Wish::leave();
    const i64 now = before->expires();
    if ((only_without && now != 0) || (only_with && now == 0)) return Wish::leave();
    if (only_later && (now == 0 || expires <= now)) return Wish::leave();
    if (only_earlier && now != 0 && expires >= now) return Wish::leave();
    if (expires <= now_.ms) return Wish::erase();
    ItemFields timed = before->fields();
    timed.expires = expires;
    return Wish::put(timed, before->value());
  };
  out_.integer(desk_.session.change(key(1), now_, decide) != Effect::kNone);
}

void RespCommands::hello() {
  std::size_t at = 1;
  RespVersion version = dialogue_.resp_version;
  if (words_.size() > 1) {
    const std::optional<i64> wanted = integer_in(words_[at++]);
    if (!wanted) refuse("ERR Protocol version is not an integer or out of range");
    if (*wanted != 2 && *wanted != 3) refuse("NOPROTO unsupported protocol version");
    version = static_cast<RespVersion>(*wanted);
  }
  while (at < words_.size()) {
    if (is(words_[at], "auth") && at + 2 < words_.size()) {
      if (!admit(words_[at + 1], words_[at + 2]))
        refuse("WRONGPASS invalid username-password pair or user is disabled.");
      at += 3;
    } else if (is(words_[at], "setname") && at + 1 < words_.size()) {
      set_name(at + 1);
      at += 2;
    } else {
      refuse("ERR Syntax error in HELLO option '" + std::string(words_[at].substr(0, 128)) + "'");
    }
  }
  if (!dialogue_.admitted) {
    refuse(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the same time");
  }
  dialogue_.resp_version = version;
  RespWriter out(dialogue_.out, version);
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
  out.integer(static_cast<i64>(dialogue_.id()));
  text("mode", "standalone");
  text("role", "master");
  out.bulk("modules");
  out.array(0);
}

void RespCommands::client() {
  const std::string_view what = words_[1];
  if (is(what, "setname") && words_.size() == 3) {
    set_name(2);
    return ok();
  }
  if (is(what, "getname") && words_.size() == 2)
    return dialogue_.name.empty() ? out_.null() : out_.bulk(dialogue_.name);
  if (is(what, "setinfo") || is(what, "no-evict") || is(what, "no-touch")) return ok();
  if (is(what, "id") && words_.size() == 2) return out_.integer(static_cast<i64>(dialogue_.id()));
  refuse("ERR unknown subcommand '" + std::string(what.substr(0, 128)) + "'. Try CLIENT HELP.");
}

void RespCommands::config() {
  if (!is(words_[1], "get"))
    refuse("ERR unknown subcommand '" + std::string(words_[1].substr(0, 128)) + "'. Try CONFIG HELP.");
  const ServerOptions& options = desk_.server.options();
  const std::array<std::pair<std::string_view, std::string>, 6> known{
      {{"maxmemory", std::to_string(options.store.limit)},
       {"maxclients", std::to_string(options.limits.most_connections)},
       {"proto-max-bulk-len", std::to_string(options.limits.most_value_bytes)},
       {"databases", "1"},
       {"save", ""},
       {"appendonly", "no"}}};
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (std::size_t word = 2; word < words_.size(); ++word) {
      if (words_[word] == "*" || is(words_[word], known[i].first)) {
        wanted.push_back(i);
        break;
      }
    }
  }
  out_.map(wanted.size());
  for (const std::size_t i : wanted) {
    out_.bulk(known[i].first);
    out_.bulk(known[i].second);
  }
}

void RespCommands::command() {
  if (words_.size() == 2 && is(words_[1], "count")) return out_.integer(static_cast<i64>(kKnown.size()));
  if (words_.size() > 1) return out_.array(0);
  out_.array(kKnown.size());
  for (const Known& one : kKnown) {
    out_.array(2);
    out_.bulk(one.name);
    out_.integer(one.words);
  }
}

void RespCommands::scan() {
  const std::optional<u64> cursor = number_in<u64>(words_[1]);
  if (!cursor) refuse("ERR invalid cursor");
  std::string_view pattern = "*";
  i64 most = 10;
  bool strings = true;
  for (std::size_t i = 2; i < words_.size(); i += 2) {
    if (i + 1 == words_.size()) refuse(kSyntax);
    if (is(words_[i], "match"))
      pattern = words_[i + 1];
    else if (is(words_[i], "count"))
      most = integer(i + 1);
    else if (is(words_[i], "type"))
      strings = is(words_[i + 1], "string");
    else
      refuse(kSyntax);
  }
  if (most < 1) refuse(kSyntax);
  if (*cursor == 0) {
    dialogue_.walk = desk_.session.begin_walk();
    dialogue_.cursor = 0;
  } else if (dialogue_.walk == nullptr || *cursor != dialogue_.cursor) {
    refuse("ERR invalid cursor: a connection goes on with the last one that it has got");
  }
  constexpr i64 kMostAtOnce = 256;  // keys may be long, and an answer cannot go on in a later turn
  std::vector<std::string> keys;
  const bool more = desk_.session.walk_on(*dialogue_.walk, static_cast<std::size_t>(std::min(most, kMostAtOnce)), now_,
                                          [&](const Item& item) {
                                            if (strings && matches(pattern, item.key())) keys.emplace_back(item.key());
                                          });
  dialogue_.cursor = more ? dialogue_.cursor + 1 : 0;
  if (!more) dialogue_.walk.reset();
  out_.array(2);
  out_.bulk(digits_of(static_cast<i64>(dialogue_.cursor)));
  out_.array(keys.size());
  for (const std::string& text : keys) out_.bulk(text);
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
  const auto refuse = [&](std::string_view text) {
    dialogue.out.resize(before);
    RespWriter(dialogue.out, dialogue.resp_version).error(text);
  };
  try {
    RespCommands(desk, command, dialogue).run();
  } catch (const Refused& refused) {
    refuse(refused.text);
  } catch (const std::bad_alloc&) {
    refuse(kOutOfMemory);
  } catch (const std::length_error&) {
    refuse(kTooLong);
  }
}

}  // namespace latchlab::kv
