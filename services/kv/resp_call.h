#pragma once

// A command of redis' protocol while it is answered: its words, its client, the store, and what the functions of all
// commands share. The functions are in resp_strings.cc, resp_keys.cc, resp_vectors.cc and resp_connections.cc;
// resp_commands.cc has the table of them all.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "services/kv/counters.h"
#include "services/kv/dialogue.h"
#include "services/kv/item.h"
#include "services/kv/server.h"
#include "services/kv/store.h"
#include "src/base/types.h"
#include "src/wire/resp.h"

namespace latchlab::kv::resp {

inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

/// An error of a command, which its function throws, and whose text is the whole answer.
struct Refused {
  std::string text;
};
[[noreturn]] void refuse(std::string_view text);

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns true if the word is `name`, which is in lower case, in any case.
[[nodiscard]] inline bool is(std::string_view word, std::string_view name) {
  return std::ranges::equal(word, name, {}, lower);
}

/// Returns the number that a value or a word is; nothing unless it is one in redis' only form: no plus, no leading
/// zeros, no blanks.
[[nodiscard]] std::optional<i64> integer_in(std::string_view text);
[[nodiscard]] std::string digits_of(i64 number);

/// The command. The function that answers it may throw Refused, WrongVector, std::bad_alloc and std::length_error.
class Call {
 public:
  /// `lower_name` is the command's name in the table.
  Call(const Desk& at, const RespCommand& command, Dialogue& client, std::string_view lower_name)
      : desk(at),
        words(command),
        dialogue(client),
        name(lower_name),
        now(at.now),
        out(client.out, client.resp_version) {}

  const Desk& desk;
  const RespCommand& words;
  Dialogue& dialogue;
  const std::string_view name;
  const Moment now;
  RespWriter out;

  [[noreturn]] void refuse_words() const;
  /// Returns the key that a word is; refuses one that is too long.
  [[nodiscard]] Key key(std::size_t word) const {
    check_key(word);
    return desk.server.store().key(words[word]);
  }
  void check_key(std::size_t word) const {
    if (words[word].size() > kMostItemKeyBytes) refuse("ERR a key has at most 32767 bytes");
  }
  /// Checks each word from the first behind the name on, or each second one. A command of several keys does so before
  /// it acts on any: an error then means that nothing was done.
  void check_keys(std::size_t step = 1) const {
    for (std::size_t i = 1; i < words.size(); i += step) check_key(i);
  }
  [[nodiscard]] i64 integer(std::size_t word) const;
  /// Returns the moment that an expiry means: `amount` in units of `unit` milliseconds, from now or since 1970.
  [[nodiscard]] i64 moment(std::size_t word, i64 unit, bool from_now) const;
  /// Returns the same for a command that sets a value, whose time must be positive.
  [[nodiscard]] i64 positive_moment(std::size_t word, i64 unit, bool from_now) const;

  void ok() { out.simple("OK"); }

  template <u64 KvCounters::* kMember>
  void count(u64 more = 1) const {
    desk.counts.add<kMember>(more);
  }
  void count_lookup(bool hit) const {
    count<&KvCounters::cmd_get>();
    hit ? count<&KvCounters::get_hits>() : count<&KvCounters::get_misses>();
  }

  /// Returns the fields of an item that this command stores.
  [[nodiscard]] ItemFields fields(i64 expires = 0) const {
    return {.cas = desk.session.next_cas(), .expires = expires, .recent = now.second & Recent::kSeconds};
  }
  /// Calls show(item) for the item of a key, or show(nullptr).
  template <class Show>
  void look_up(const Key& key, const Show& show) {
    desk.session.find({&key, 1}, now, kAlone,
                      [&](std::size_t, Store::Items items) { show(items[0] ? &*items[0] : nullptr); });
  }
  /// Changes the item of a key as Store::Session::change does.
  template <class Decide>
  Effect change(const Key& key, const Decide& decide) {
    return desk.session.change(key, now, decide);
  }
};

}  // namespace latchlab::kv::resp
