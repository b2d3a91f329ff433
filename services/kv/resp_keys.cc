// Redis' commands of keys. The table of all commands is in resp_commands.cc.
#include "services/kv/resp_keys.h"

#include <vector>

#include "services/kv/glob.h"
#include "src/wire/numbers.h"

namespace latchlab::kv::resp {

namespace {

bool erase(Call& call, const Key& key) {
  const auto decide = [](const Item* before) { return before == nullptr ? Wish::leave() : Wish::erase(); };
  return call.change(key, decide) == Effect::kErased;
}

void set_expiry(Call& call, i64 unit, bool from_now) {
  bool only_without = false, only_with = false, only_later = false, only_earlier = false;
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    const std::string_view option = call.words[i];
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
  const i64 expires = call.moment(2, unit, from_now);
  const auto decide = [&](const Item* before) {
    if (before == nullptr) return Wish::leave();
    const i64 now = before->expires();
    if ((only_without && now != 0) || (only_with && now == 0)) return Wish::leave();
    if (only_later && (now == 0 || expires <= now)) return Wish::leave();
    if (only_earlier && now != 0 && expires >= now) return Wish::leave();
    if (expires <= call.now.ms) return Wish::erase();
    ItemFields timed = before->fields();
    timed.expires = expires;
    return Wish::put(timed, before->value()).marked(Mark::kUsed);
  };
  call.out.integer(call.change(call.key(1), decide) != Effect::kNone);
}

/// Answers with the time from `since` to the moment at which a key expires, rounded to units; both in milliseconds.
void time_left(Call& call, i64 unit, i64 since) {
  call.look_up(call.key(1), [&](const Item* item) {
    if (item == nullptr) return call.out.integer(-2);
    if (item->expires() == 0) return call.out.integer(-1);
    const i64 left = item->expires() - since;
    call.out.integer(left / unit + i64{unit > 1 && left % unit >= unit / 2});  // left + unit / 2 may be too large
  });
}

}  // namespace

void del(Call& call) {
  call.check_keys();
  i64 erased = 0;
  for (std::size_t i = 1; i < call.words.size(); ++i) erased += erase(call, call.key(i));
  call.count<&KvCounters::delete_hits>(static_cast<u64>(erased));
  call.count<&KvCounters::delete_misses>(call.words.size() - 1 - static_cast<u64>(erased));
  call.out.integer(erased);
}

void exists(Call& call) {
  call.check_keys();
  i64 there = 0;
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    call.look_up(call.key(i), [&](const Item* item) {
      call.count_lookup(item != nullptr);
      there += item != nullptr;
    });
  }
  call.out.integer(there);
}

void type(Call& call) {
  call.look_up(call.key(1), [&](const Item* item) { call.out.simple(item == nullptr ? "none" : "string"); });
}

void expire(Call& call) { set_expiry(call, 1000, true); }
void pexpire(Call& call) { set_expiry(call, 1, true); }
void expireat(Call& call) { set_expiry(call, 1000, false); }
void pexpireat(Call& call) { set_expiry(call, 1, false); }
void ttl(Call& call) { time_left(call, 1000, call.now.ms); }
void pttl(Call& call) { time_left(call, 1, call.now.ms); }
void expiretime(Call& call) { time_left(call, 1000, 0); }
void pexpiretime(Call& call) { time_left(call, 1, 0); }

void persist(Call& call) {
  const auto decide = [&](const Item* before) {
    if (before == nullptr || before->expires() == 0) return Wish::leave();
    ItemFields kept = before->fields();
    kept.expires = 0;
    return Wish::put(kept, before->value()).marked(Mark::kUsed);
  };
  call.out.integer(call.change(call.key(1), decide) != Effect::kNone);
}

void dbsize(Call& call) { call.out.integer(static_cast<i64>(call.desk.server.store().counters().items)); }

void flush(Call& call) {
  if (call.words.size() > 2 || (call.words.size() == 2 && !is(call.words[1], "async") && !is(call.words[1], "sync")))
    refuse(kSyntax);
  call.count<&KvCounters::cmd_flush>();
  call.desk.server.store().flush(0, call.now);
  call.ok();
}

void scan(Call& call) {
  const std::optional<u64> cursor = number_in<u64>(call.words[1]);
  if (!cursor) refuse("ERR invalid cursor");
  std::string_view pattern = "*";
  i64 most = 10;
  bool strings = true;
  for (std::size_t i = 2; i < call.words.size(); i += 2) {
    if (i + 1 == call.words.size()) refuse(kSyntax);
    if (is(call.words[i], "match"))
      pattern = call.words[i + 1];
    else if (is(call.words[i], "count"))
      most = call.integer(i + 1);
    else if (is(call.words[i], "type"))
      strings = is(call.words[i + 1], "string");
    else
      refuse(kSyntax);
  }
  if (most < 1) refuse(kSyntax);
  // A match takes a time that grows with the product of pattern and key.
  constexpr std::size_t kLongestPattern = 256;
  if (pattern.size() > kLongestPattern) refuse("ERR the pattern is longer than 256 bytes");
  if (*cursor == 0) {
    call.dialogue.walk = call.desk.session.begin_walk();
    if (call.dialogue.walk == nullptr) refuse("ERR the index of this store cannot be walked");
    call.dialogue.cursor = 0;
  } else if (call.dialogue.walk == nullptr || *cursor != call.dialogue.cursor) {
    refuse("ERR invalid cursor: a connection goes on with the last one that it has got");
  }
  // An answer cannot go on in a later turn, and keys may be long. So both the work and the answer have a bound. The
  // bounds of matches and bytes are looked at between steps.
  constexpr i64 kMostWork = 4096;
  constexpr std::size_t kMostBytes = std::size_t{64} << 10, kMostMatched = std::size_t{4} << 20;
  constexpr std::size_t kLookedAt = 256;  // for an item, so that 4,096 of them are a client's share of a turn
  const i64 step = pattern == "*" ? 16 : 1;
  std::vector<std::string> keys;
  std::size_t bytes = 0, matched = 0;
  bool more = true;
  for (i64 left = std::min(most, kMostWork); more && left > 0 && bytes < kMostBytes && matched < kMostMatched;
       left -= step) {
    more = call.desk.session.walk_on(*call.dialogue.walk, static_cast<std::size_t>(std::min(left, step)), call.now,
                                     [&](const Item& item) {
                                       bytes += item.key().size();
                                       matched += kLookedAt + item.key().size() * pattern.size();
                                       if (strings && matches(pattern, item.key())) keys.emplace_back(item.key());
                                     });
  }
  call.desk.session.note_moved(matched);
  call.dialogue.cursor = more ? call.dialogue.cursor + 1 : 0;
  if (!more) call.dialogue.walk.reset();
  call.out.array(2);
  call.out.bulk(digits_of(static_cast<i64>(call.dialogue.cursor)));
  call.out.array(keys.size());
  for (const std::string& text : keys) call.out.bulk(text);
}

}  // namespace latchlab::kv::resp
