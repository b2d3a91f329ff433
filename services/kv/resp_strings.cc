// Redis' commands of strings. The table of all commands is in resp_commands.cc.
#include "services/kv/resp_strings.h"

#include <array>
#include <limits>

namespace latchlab::kv::resp {

namespace {

/// An option of SET and GETEX with a time behind it.
struct Timed {
  std::string_view name;
  i64 unit;  ///< milliseconds
  bool from_now;
};

/// Returns the option that a word names, or null.
const Timed* timed_in(std::string_view word) {
  static constexpr std::array<Timed, 4> kTimed{
      {{"ex", 1000, true}, {"px", 1, true}, {"exat", 1000, false}, {"pxat", 1, false}}};
  const auto* const named = std::ranges::find_if(kTimed, [&](const Timed& one) { return is(word, one.name); });
  return named == kTimed.end() ? nullptr : named;
}

void set_until(Call& call, i64 expires) {
  call.count<&KvCounters::cmd_set>();
  (void)call.desk.session.put(call.key(1), call.now, call.fields(expires), call.words[3]);
  call.ok();
}

void add_delta(Call& call, i64 delta) {
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
    ItemFields stored = there ? before->fields() : call.fields();
    stored.cas = call.desk.session.next_cas();
    return Wish::put(stored, text).marked(there ? Mark::kUsed : Mark::kClear);
  };
  (void)call.change(call.key(1), decide);
  if (outcome == Outcome::kNoNumber) refuse(kNotAnInteger);
  if (outcome == Outcome::kOverflow) refuse("ERR increment or decrement would overflow");
  there ? call.count<&KvCounters::incr_hits>() : call.count<&KvCounters::incr_misses>();
  call.out.integer(sum);
}

}  // namespace

void get(Call& call) {
  // With the right words it is a lookup, unless its key is too long.
  call.check_key(1);
  call.refuse_words();
}

void mget(Call& call) {
  // A lookup is refused as one only if it has a key that is too long.
  call.check_keys();
  call.refuse_words();
}

void setnx(Call& call) {
  call.count<&KvCounters::cmd_set>();
  const auto decide = [&](const Item* before) {
    return before != nullptr ? Wish::leave() : Wish::put(call.fields(), call.words[2]);
  };
  call.out.integer(call.change(call.key(1), decide) != Effect::kNone);
}

void setex(Call& call) { set_until(call, call.positive_moment(2, 1000, true)); }
void psetex(Call& call) { set_until(call, call.positive_moment(2, 1, true)); }

void getset(Call& call) {
  call.count<&KvCounters::cmd_set>();
  std::optional<std::string> old;
  const auto decide = [&](const Item* before) {
    old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
    return Wish::put(call.fields(), call.words[2]);
  };
  (void)call.change(call.key(1), decide);
  call.count_lookup(old.has_value());
  old ? call.out.bulk(*old) : call.out.null();
}

void getdel(Call& call) {
  std::optional<std::string> old;
  const auto decide = [&](const Item* before) {
    old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
    return before == nullptr ? Wish::leave() : Wish::erase();
  };
  (void)call.change(call.key(1), decide);
  call.count_lookup(old.has_value());
  old ? call.out.bulk(*old) : call.out.null();
}

void getex(Call& call) {
  bool persist = false;
  const Timed* timed = nullptr;
  std::size_t time = 0;  // the word with the time
  for (std::size_t i = 2; i < call.words.size(); ++i) {
    const Timed* const named = timed_in(call.words[i]);
    if (is(call.words[i], "persist") && timed == nullptr) {
      persist = true;
    } else if (named != nullptr && i + 1 < call.words.size() && !persist && (timed == nullptr || timed == named)) {
      timed = named;
      time = ++i;
    } else {
      refuse(kSyntax);
    }
  }
  const Key key = call.key(1);
  i64 expires = 0;
  std::optional<Refused> refused;  // an absent key is null, whatever the time is
  try {
    if (timed != nullptr) expires = call.positive_moment(time, timed->unit, timed->from_now);
  } catch (const Refused& why) {
    refused = why;
  }
  std::optional<std::string> value;
  const auto decide = [&](const Item* before) {
    value = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
    if (before == nullptr || refused) return Wish::leave();
    if (timed != nullptr && expires <= call.now.ms) return Wish::erase();
    ItemFields touched = before->fields();
    if (timed != nullptr || persist) touched.expires = expires;
    touched.recent = (touched.recent & Recent::kWon) | Recent::kFetched | (call.now.second & Recent::kSeconds);
    return Wish::put(touched, before->value()).marked(Mark::kUsed);
  };
  (void)call.change(key, decide);
  if (value && refused) throw Refused(*refused);
  call.count_lookup(value.has_value());
  value ? call.out.bulk(*value) : call.out.null();
}

void getrange(Call& call) {
  const i64 first = call.integer(2), last = call.integer(3);
  call.look_up(call.key(1), [&](const Item* item) {
    call.count_lookup(item != nullptr);
    const std::string_view value = item == nullptr ? std::string_view() : item->value();
    const i64 size = static_cast<i64>(value.size());
    // A negative place is from the end. As redis does, a place before the begin is the begin, for the last byte, too.
    const i64 begin = first < 0 ? std::max<i64>(0, size + first) : first;
    const i64 end = std::min(last < 0 ? std::max<i64>(0, size + last) : last, size - 1);
    const bool none = begin > end || (first < 0 && last < 0 && first > last);
    call.out.bulk(none ? std::string_view()
                       : value.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin + 1)));
  });
}

void mset(Call& call) {
  if (call.words.size() % 2 == 0) call.refuse_words();
  call.check_keys(2);
  for (std::size_t i = 1; i < call.words.size(); i += 2) {
    call.count<&KvCounters::cmd_set>();
    (void)call.desk.session.put(call.key(i), call.now, call.fields(), call.words[i + 1]);
  }
  call.ok();
}

void append(Call& call) {
  call.count<&KvCounters::cmd_set>();
  std::size_t size = 0;
  const std::size_t most = call.desk.server.options().limits.most_value_bytes;
  const auto decide = [&](const Item* before) {
    size = (before == nullptr ? 0 : before->value().size()) + call.words[2].size();
    if (size > most) return Wish::leave();
    if (before == nullptr) return Wish::put(call.fields(), call.words[2]);
    ItemFields joined = before->fields();
    joined.cas = call.desk.session.next_cas();
    return Wish::put(joined, before->value(), call.words[2]).marked(Mark::kUsed);
  };
  (void)call.change(call.key(1), decide);
  if (size > most) refuse(kTooLong);
  call.out.integer(static_cast<i64>(size));
}

void strlen(Call& call) {
  call.look_up(call.key(1), [&](const Item* item) {
    call.count_lookup(item != nullptr);
    call.out.integer(item == nullptr ? 0 : static_cast<i64>(item->value().size()));
  });
}

void incr(Call& call) { add_delta(call, 1); }
void decr(Call& call) { add_delta(call, -1); }
void incrby(Call& call) { add_delta(call, call.integer(2)); }

void decrby(Call& call) {
  if (call.integer(2) == std::numeric_limits<i64>::min()) refuse("ERR decrement would overflow");
  add_delta(call, -call.integer(2));
}

void set(Call& call) {
  bool only_absent = false, only_present = false, keep = false, get = false;
  const Timed* timed = nullptr;
  std::size_t time = 0;  // the word with the time
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    const std::string_view option = call.words[i];
    const Timed* const named = timed_in(option);
    if (is(option, "nx") && !only_present) {
      only_absent = true;
    } else if (is(option, "xx") && !only_absent) {
      only_present = true;
    } else if (is(option, "get")) {
      get = true;
    } else if (is(option, "keepttl") && timed == nullptr) {
      keep = true;
    } else if (named != nullptr && i + 1 < call.words.size() && !keep && (timed == nullptr || timed == named)) {
      timed = named;
      time = ++i;
    } else {
      refuse(kSyntax);
    }
  }
  const i64 expires = timed == nullptr ? 0 : call.positive_moment(time, timed->unit, timed->from_now);
  call.count<&KvCounters::cmd_set>();
  if (!only_absent && !only_present && !keep && !get) {
    (void)call.desk.session.put(call.key(1), call.now, call.fields(expires), call.words[2]);
    return call.ok();
  }
  std::optional<std::string> old;
  const auto decide = [&](const Item* before) {
    if (get) old = before == nullptr ? std::nullopt : std::optional<std::string>(before->value());
    if ((only_absent && before != nullptr) || (only_present && before == nullptr)) return Wish::leave();
    ItemFields stored = call.fields(expires);
    if (keep && before != nullptr) stored.expires = before->expires();
    return Wish::put(stored, call.words[2]);
  };
  const Effect effect = call.change(call.key(1), decide);
  if (get) {
    call.count_lookup(old.has_value());
    return old ? call.out.bulk(*old) : call.out.null();
  }
  effect == Effect::kNone ? call.out.null() : call.ok();
}

}  // namespace latchlab::kv::resp
