#include "services/kv/memcached_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>

#include "services/kv/memcached_vectors.h"
#include "services/kv/statistics.h"
#include "services/kv/vectors.h"
#include "src/wire/memcached_answers.h"
#include "src/wire/numbers.h"

namespace latchlab::kv {

namespace {

using Verb = MemcachedVerb;

/// An expiry time in the past.
constexpr i64 kOver = 1;

/// Returns the number that a value begins with, as strtoull reads it, by which memcached reads its numbers: blanks may
/// stand in front, and anything behind a blank.
std::optional<u64> number_of(std::string_view value) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  value.remove_prefix(std::min(value.find_first_not_of(kBlanks), value.size()));
  if (value.starts_with('+')) value.remove_prefix(1);
  const auto leading = leading_number_in<u64>(value);
  if (!leading || (!leading->rest.empty() && kBlanks.find(leading->rest.front()) == kBlanks.npos)) return std::nullopt;
  return leading->number;
}

/// The text of a number, in memory of its own.
class Digits {
 public:
  explicit Digits(u64 number)
      : size_(static_cast<std::size_t>(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr -
                                       digits_.data())) {}
  std::string_view text() const { return {digits_.data(), size_}; }
 private:
  std::array<char, 20> digits_;  // as many as 2^64 - 1 has
  std::size_t size_;
};

u64 idle_seconds(u32 recent, Moment now) {
  const u32 last = recent & Recent::kSeconds;
  return last == 0 || last > now.second ? 0 : now.second - last;
}

/// Returns the fields of an item that a client has just got.
ItemFields accessed(const Item& item, Moment now) {
  ItemFields fields = item.fields();
  fields.recent = (fields.recent & Recent::kWon) | Recent::kFetched | (now.second & Recent::kSeconds);
  return fields;
}

/// Returns what a meta command may tell about an item.
MetaItem told(const ItemFields& fields, std::size_t bytes, Moment now) {
  return {.cas = fields.cas,
          .bytes = bytes,
          .flags = fields.flags,
          .ttl = seconds_left(fields.expires, now),
          .idle = idle_seconds(fields.recent, now),
          .hit = (fields.recent & Recent::kFetched) != 0,
          .stale = fields.stale,
          .sent = (fields.recent & Recent::kWon) != 0};
}

/// The commands, each a function that appends its answer.
class MemcachedCommands {
 public:
  MemcachedCommands(const Desk& desk, const MemcachedCommand& command, std::string& out)
      : desk_(desk), command_(command), out_(out), now_(desk.now) {}

  void run() {
    switch (command_.verb) {
      case Verb::kSet:
      case Verb::kAdd:
      case Verb::kReplace:
      case Verb::kAppend:
      case Verb::kPrepend:
      case Verb::kCas: return append_status(out_, stored());
      case Verb::kDelete: return remove();
      case Verb::kIncr:
      case Verb::kDecr: return add();
      case Verb::kTouch: return touch();
      case Verb::kFlushAll: return flush();
      case Verb::kStats: return append_memcached_stats(out_, desk_, command_.arguments);
      case Verb::kVersion: return append_version(out_, kVersion);
      case Verb::kVerbosity: return append_status(out_, MemcachedStatus::kOk);
      case Verb::kMetaGet: return meta_get();
      case Verb::kMetaSet: return meta_set();
      case Verb::kMetaDelete: return meta_delete();
      case Verb::kMetaArithmetic: return meta_add();
      case Verb::kMetaNoOp: return append_meta_line(out_, command_, MetaStatus::kNoOp);
      case Verb::kMetaDebug: return meta_debug();
      case Verb::kVectorUpdate:
      case Verb::kVectorReduce:
      case Verb::kVectorFilter: return answer_vectors(desk_, command_, out_);
      case Verb::kGet:
      case Verb::kGets:
      case Verb::kGat:
      case Verb::kGats:
      case Verb::kQuit: break;
    }
  }

  /// Removes the item of the command, whatever it is.
  void erase() {
    (void)change([](const Item*) { return Wish::erase(); });
  }

  /// Appends what get, gets and their kind answer for an item.
  static void append_hit(std::string& out, std::string_view key, const Item& item, bool with_cas) {
    const std::optional<u64> cas = with_cas ? std::optional(item.cas()) : std::nullopt;
    append_value_line(out, key, item.flags(), item.value().size(), cas);
    append_value(out, item.value());
  }

  /// Touches the item of one key of gat or gats, and appends what stands for it.
  void get_and_touch(std::string_view text) {
    const i64 expires = expiry_of(command_.exptime, now_);
    std::string answer;
    const auto decide = [&](const Item* before) {
      answer.clear();
      if (before == nullptr) return Wish::leave();
      append_hit(answer, text, *before, command_.verb == Verb::kGats);
      ItemFields touched = accessed(*before, now_);
      touched.expires = expires;
      return Wish::put(touched, before->value()).marked(Mark::kUsed);
    };
    (void)desk_.session.change(desk_.server.store().key(text), now_, decide);
    out_ += answer;
    // As memcached does: it is no get.
    count<&KvCounters::cmd_touch>();
    answer.empty() ? count<&KvCounters::touch_misses>() : count<&KvCounters::touch_hits>();
  }

  /// Appends what mg answers for its key.
  void meta_lookup(const std::optional<Item>& item) {
    count<&KvCounters::cmd_meta>();
    if (!item) return append_meta(MetaStatus::kMiss, {});
    const ItemFields fields = item->fields();
    MetaItem meta = told(fields, item->value().size(), now_);
    const bool wins = !meta.sent && (meta.stale || in_order(fields.expires, false).due);
    meta.won = wins && item->win();
    if (!command_.has('u')) item->access(now_.second);
    const MetaStatus status = command_.has('v') ? MetaStatus::kValue : MetaStatus::kDone;
    append_meta(status, meta);
    if (status == MetaStatus::kValue) append_value(out_, item->value());
  }

 private:
  template <class Decide>
  Effect change(const Decide& decide) {
    return desk_.session.change(key(), now_, decide);
  }
  Key key() { return desk_.server.store().key(memcached_key(command_, room_)); }
  template <u64 KvCounters::* kMember>
  void count(u64 more = 1) const {
    desk_.counts.add<kMember>(more);
  }
  bool fits(std::size_t bytes) const { return bytes <= desk_.server.options().limits.most_value_bytes; }

  /// Returns the fields of an item that this command stores.
  ItemFields fields() const {
    return {.cas = desk_.session.next_cas(),
            .expires = expiry_of(command_.exptime, now_),
            .flags = command_.flags,
            .recent = now_.second & Recent::kSeconds};
  }

  /// Stores as set and its kind do.
  MemcachedStatus stored() {
    count<&KvCounters::cmd_set>();
    switch (command_.verb) {
      case Verb::kAdd: return store_if([](const Item* before) { return before == nullptr; });
      case Verb::kReplace: return store_if([](const Item* before) { return before != nullptr; });
      case Verb::kAppend: return join(false);
      case Verb::kPrepend: return join(true);
      case Verb::kCas: return compare_and_set(false);
      default: break;
    }
    (void)desk_.session.put(key(), now_, fields(), command_.value);
    return MemcachedStatus::kStored;
  }

  template <class Condition>
  MemcachedStatus store_if(const Condition& condition) {
    const auto decide = [&](const Item* before) {
      if (!condition(before)) return Wish::leave();
      const ItemFields stored = fields();
      cas_ = stored.cas;
      return Wish::put(stored, command_.value);
    };
    return change(decide) == Effect::kNone ? MemcachedStatus::kNotStored : MemcachedStatus::kStored;
  }

  MemcachedStatus join(bool in_front) {
    MemcachedStatus status = MemcachedStatus::kNotStored;
    const auto decide = [&](const Item* before) {
      status = MemcachedStatus::kNotStored;
      if (command_.cas != 0 && before != nullptr && before->cas() != command_.cas) {
        status = MemcachedStatus::kExists;
        return Wish::leave();
      }
      if (before == nullptr) return Wish::leave();
      if (!fits(before->value().size() + command_.value.size())) return Wish::leave();
      ItemFields joined = before->fields();
      joined.cas = desk_.session.next_cas();
      joined.recent = now_.second & Recent::kSeconds;
      joined.stale = false;
      cas_ = joined.cas;
      status = MemcachedStatus::kStored;
      return in_front ? Wish::put(joined, command_.value, before->value())
                      : Wish::put(joined, before->value(), command_.value);
    };
    (void)change(decide);
    return status;
  }

  /// Stores if the item has the command's cas. `or_stale`: an item with a larger one takes the value too. It becomes
  /// stale then, and keeps its time and what it knows of a client that stores it again.
  MemcachedStatus compare_and_set(bool or_stale) {
    MemcachedStatus status = MemcachedStatus::kNotFound;
    const auto decide = [&](const Item* before) {
      status = MemcachedStatus::kNotFound;
      if (before == nullptr) return Wish::leave();
      const bool stale = or_stale && command_.cas != 0 && command_.cas < before->cas();
      status = stale || before->cas() == command_.cas ? MemcachedStatus::kStored : MemcachedStatus::kExists;
      if (status == MemcachedStatus::kExists) return Wish::leave();
      ItemFields stored = fields();
      if (stale) {
        stored.stale = true;
        stored.expires = before->expires();
        stored.recent |= before->recent() & Recent::kWon;
      }
      cas_ = stored.cas;
      return Wish::put(stored, command_.value);
    };
    (void)change(decide);
    status == MemcachedStatus::kStored   ? count<&KvCounters::cas_hits>()
    : status == MemcachedStatus::kExists ? count<&KvCounters::cas_badval>()
                                         : count<&KvCounters::cas_misses>();
    return status;
  }

  void remove() {
    const bool there =
        change([](const Item* before) { return before == nullptr ? Wish::leave() : Wish::erase(); }) == Effect::kErased;
    there ? count<&KvCounters::delete_hits>() : count<&KvCounters::delete_misses>();
    append_status(out_, there ? MemcachedStatus::kDeleted : MemcachedStatus::kNotFound);
  }

  /// The outcome of incr, decr and ma.
  struct Sum {
    enum class Kind : u8 { kDone, kAbsent, kOtherCas, kNotANumber };
    Kind kind = Kind::kAbsent;
    u64 number = 0;
    bool made = false;  ///< the item is new
    i64 ttl = -1;       ///< that ma tells
    ItemFields fields;
  };
  Sum add_delta(bool down) {
    Sum sum;
    Digits digits(0);
    std::string blanks;  // memcached does not shorten a value
    const auto decide = [&](const Item* before) {
      sum = {};
      if (before == nullptr) {
        if (!command_.has('N')) return Wish::leave();
        sum = {.kind = Sum::Kind::kDone, .number = command_.initial, .made = true, .fields = fields()};
        sum.fields.flags = 0;
        const InOrder order = in_order(0, true);
        sum.fields.expires = order.expires;
        sum.ttl = order.ttl;
        digits = Digits(sum.number);
        return Wish::put(sum.fields, digits.text());
      }
      if (!before->value().empty() && command_.cas != 0 && command_.cas != before->cas()) {
        sum.kind = Sum::Kind::kOtherCas;
        return Wish::leave();
      }
      const std::optional<u64> number = number_of(before->value());
      if (!number) {
        sum.kind = Sum::Kind::kNotANumber;
        return Wish::leave();
      }
      const u64 delta = command_.delta;
      sum = {.kind = Sum::Kind::kDone,
             .number = !down             ? *number + delta
                       : *number < delta ? 0
                                         : *number - delta,
             .made = false,
             .fields = before->fields()};
      sum.fields.cas = desk_.session.next_cas();
      const InOrder order = in_order(sum.fields.expires, false);
      sum.fields.expires = order.expires;
      sum.ttl = order.ttl;
      digits = Digits(sum.number);
      const std::size_t size = digits.text().size();
      const bool in_place = size <= before->value().size();
      if (!in_place) {
        // memcached keeps the item unless the number has no room in it. A new item has no past.
        sum.fields.recent = now_.second & Recent::kSeconds;
        sum.fields.stale = false;
      }
      blanks.assign(std::max(before->value().size(), size) - size, ' ');
      return Wish::put(sum.fields, digits.text(), blanks).marked(in_place ? Mark::kUsed : Mark::kClear);
    };
    (void)change(decide);
    // As memcached does: what is no number, or has another cas, is neither, and so is an item that ma makes.
    if (sum.kind == Sum::Kind::kDone && !sum.made)
      down ? count<&KvCounters::decr_hits>() : count<&KvCounters::incr_hits>();
    if (sum.kind == Sum::Kind::kAbsent) down ? count<&KvCounters::decr_misses>() : count<&KvCounters::incr_misses>();
    return sum;
  }
  void add() {
    const Sum sum = add_delta(command_.verb == Verb::kDecr);
    switch (sum.kind) {
      case Sum::Kind::kDone: return append_number_line(out_, sum.number);
      case Sum::Kind::kNotANumber: return append_client_error(out_, kNotANumber);
      default: return append_status(out_, MemcachedStatus::kNotFound);
    }
  }

  void touch() {
    count<&KvCounters::cmd_touch>();
    const i64 expires = expiry_of(command_.exptime, now_);
    const bool there = change([&](const Item* before) {
                         if (before == nullptr) return Wish::leave();
                         ItemFields touched = accessed(*before, now_);
                         touched.expires = expires;
                         return Wish::put(touched, before->value()).marked(Mark::kUsed);
                       }) != Effect::kNone;
    there ? count<&KvCounters::touch_hits>() : count<&KvCounters::touch_misses>();
    append_status(out_, there ? MemcachedStatus::kTouched : MemcachedStatus::kNotFound);
  }

  void flush() {
    count<&KvCounters::cmd_flush>();
    desk_.server.store().flush(command_.exptime <= 0 ? now_.ms : expiry_of(command_.exptime, now_), now_);
    append_status(out_, MemcachedStatus::kOk);
  }

  /// mg that makes or touches an item. The value is copied, since the item is replaced.
  void meta_get() {
    count<&KvCounters::cmd_meta>();
    const MetaStatus done = command_.has('v') ? MetaStatus::kValue : MetaStatus::kDone;
    std::string value;
    std::optional<MetaItem> item;
    const auto decide = [&](const Item* before) {
      item.reset();
      if (before == nullptr) {
        if (!command_.has('N')) return Wish::leave();
        ItemFields made = fields();
        made.flags = 0;
        const InOrder order = in_order(0, true);
        made.expires = order.expires;
        value.clear();
        item = told(made, 0, now_);
        item->ttl = order.ttl;
        item->won = true;
        made.recent |= Recent::kWon;
        if (!command_.has('u')) made.recent |= Recent::kFetched;  // memcached sees its maker as a reader
        return Wish::put(made, {});
      }
      ItemFields touched = before->fields();
      const InOrder order = in_order(touched.expires, false);
      touched.expires = order.expires;
      value = before->value();
      item = told(before->fields(), value.size(), now_);
      item->ttl = order.ttl;
      item->won = !item->sent && (touched.stale || order.due);
      if (!command_.has('u')) touched.recent = accessed(*before, now_).recent;
      if (item->won) touched.recent |= Recent::kWon;
      if (!command_.has('T') && touched.recent == before->recent()) return Wish::leave();
      return Wish::put(touched, before->value()).marked(command_.has('u') ? Mark::kKeep : Mark::kUsed);
    };
    (void)change(decide);
    // As memcached does: what is touched is no get.
    if (item && command_.has('T')) {
      count<&KvCounters::cmd_touch>();
      count<&KvCounters::touch_hits>();
    } else {
      count<&KvCounters::cmd_get>();
      item ? count<&KvCounters::get_hits>() : count<&KvCounters::get_misses>();
    }
    append_meta(item ? done : MetaStatus::kMiss, item.value_or(MetaItem()));
    if (item && done == MetaStatus::kValue) append_value(out_, value);
  }
  /// What flags make of an item's time, and tell of it. memcached goes through them in their order: t behind T tells
  /// the new time, and before it the old one.
  struct InOrder {
    i64 expires = 0;   ///< in the end
    i64 ttl = -1;      ///< that t tells
    bool due = false;  ///< R: less time is left than the client wants
  };
  InOrder in_order(i64 expires, bool is_new) const {
    InOrder order{.expires = expires};
    for (const MetaFlag& flag : command_.meta_flags()) {
      if (flag.letter == 'T') order.expires = expiry_of(command_.exptime, now_);
      if (flag.letter == 'N' && is_new) order.expires = expiry_of(command_.vivify_exptime, now_);
      const i64 left = seconds_left(order.expires, now_);
      if (flag.letter == 't') order.ttl = left;
      if (flag.letter == 'R') order.due = !is_new && order.expires != 0 && left < command_.recache_exptime;
    }
    return order;
  }

  void meta_set() {
    count<&KvCounters::cmd_meta>();
    count<&KvCounters::cmd_set>();
    const MemcachedStatus status = meta_stored();
    const MetaStatus answer = status == MemcachedStatus::kStored     ? MetaStatus::kDone
                              : status == MemcachedStatus::kExists   ? MetaStatus::kExists
                              : status == MemcachedStatus::kNotFound ? MetaStatus::kNotFound
                                                                     : MetaStatus::kNotStored;
    append_meta(answer, {.cas = cas_});
  }
  MemcachedStatus meta_stored() {
    const auto store_if_present = [&](bool wanted) {
      return store_if([wanted](const Item* before) { return (before != nullptr) == wanted; });
    };
    switch (command_.mode) {
      case 'A': return join(false);
      case 'P': return join(true);
      default: break;
    }
    if (command_.has('C') && command_.mode != 'E') return compare_and_set(command_.has('I'));
    if (command_.mode == 'E') return store_if_present(false);
    if (command_.mode == 'R') return store_if_present(true);
    ItemFields stored = fields();
    cas_ = stored.cas;
    (void)desk_.session.put(key(), now_, stored, command_.value);
    return MemcachedStatus::kStored;
  }

  void meta_delete() {
    count<&KvCounters::cmd_meta>();
    MetaStatus status = MetaStatus::kNotFound;
    const auto decide = [&](const Item* before) {
      status = MetaStatus::kNotFound;
      if (before == nullptr) return Wish::leave();
      status = command_.has('C') && command_.cas != before->cas() ? MetaStatus::kExists : MetaStatus::kDone;
      if (status == MetaStatus::kExists) return Wish::leave();
      if (!command_.has('I')) return Wish::erase();
      ItemFields stale = before->fields();
      if (command_.has('T')) stale.expires = expiry_of(command_.exptime, now_);
      stale.stale = true;
      stale.recent &= ~Recent::kWon;
      stale.cas = desk_.session.next_cas();
      return Wish::put(stale, before->value()).marked(Mark::kKeep);
    };
    (void)change(decide);
    // As memcached does: an item that stays, as a stale one, is neither.
    if (status != MetaStatus::kDone) count<&KvCounters::delete_misses>();
    if (status == MetaStatus::kDone && !command_.has('I')) count<&KvCounters::delete_hits>();
    append_meta(status, {});
  }

  void meta_add() {
    count<&KvCounters::cmd_meta>();
    const Sum sum = add_delta(command_.mode == 'D' || command_.mode == '-');
    switch (sum.kind) {
      case Sum::Kind::kAbsent: return append_meta(MetaStatus::kNotFound, {});
      case Sum::Kind::kOtherCas: return append_meta(MetaStatus::kExists, {});
      case Sum::Kind::kNotANumber: return append_client_error(out_, kNotANumber);
      case Sum::Kind::kDone: break;
    }
    const Digits digits(sum.number);
    const bool with_value = command_.has('v');
    const MetaStatus status = with_value ? MetaStatus::kValue : MetaStatus::kDone;
    if (is_quiet(command_, status) && !sum.made) return;  // memcached tells of a new item in any case
    MetaItem item = told(sum.fields, digits.text().size(), now_);
    item.ttl = sum.ttl;
    append_meta_line(out_, command_, status, item);
    if (with_value) append_value(out_, digits.text());
  }

  void meta_debug() {
    count<&KvCounters::cmd_meta>();
    const Key wanted = key();
    desk_.session.find({&wanted, 1}, now_, kAlone, [&](std::size_t, Store::Items items) {
      if (!items[0]) return append_meta_line(out_, command_, MetaStatus::kMiss);
      const Item& item = *items[0];
      append_meta_debug(out_, command_,
                        {.exptime = item.expires() == 0 ? -1 : -seconds_left(item.expires(), now_),
                         .idle = idle_seconds(item.recent(), now_),
                         .cas = item.cas(),
                         .fetched = (item.recent() & Recent::kFetched) != 0,
                         .size_class = 0,
                         .bytes = item.size()});
    });
  }

  void append_meta(MetaStatus status, const MetaItem& item) {
    if (!is_quiet(command_, status)) append_meta_line(out_, command_, status, item);
  }

  const Desk& desk_;
  const MemcachedCommand& command_;
  std::string& out_;
  const Moment now_;
  u64 cas_ = 0;  // of the item that ms has stored
  KeyRoom room_;
};

}  // namespace

i64 expiry_of(i64 exptime, Moment now) {
  constexpr i64 kMostRelative = i64{60} * 60 * 24 * 30;
  if (exptime == 0) return 0;
  if (exptime < 0) return kOver;
  const i64 seconds = std::min(exptime, std::numeric_limits<i64>::max() / 2000);
  return exptime <= kMostRelative ? now.ms + seconds * 1000 : seconds * 1000;
}

i64 seconds_left(i64 expires, Moment now) {
  return expires == 0 ? -1 : std::max<i64>(0, (expires - now.ms + 999) / 1000);
}

bool is_lookup(const MemcachedCommand& command) {
  return command.verb == Verb::kGet || command.verb == Verb::kGets ||
         (command.verb == Verb::kMetaGet && !command.has('N') && !command.has('T'));
}

void append_lookup(std::string& out, const Desk& desk, const MemcachedCommand& command, std::string_view key,
                   const std::optional<Item>& item) {
  desk.counts.add<&KvCounters::cmd_get>();
  item ? desk.counts.add<&KvCounters::get_hits>() : desk.counts.add<&KvCounters::get_misses>();
  if (command.verb == Verb::kMetaGet) return MemcachedCommands(desk, command, out).meta_lookup(item);
  if (!item) return;
  item->access(desk.now.second);
  MemcachedCommands::append_hit(out, key, *item, command.verb == Verb::kGets);
}

bool is_get_and_touch(const MemcachedCommand& command) {
  return command.verb == Verb::kGat || command.verb == Verb::kGats;
}

bool append_touched(std::string& out, const Desk& desk, const MemcachedCommand& command, std::string_view key) {
  const std::size_t before = out.size();
  try {
    MemcachedCommands(desk, command, out).get_and_touch(key);
    return true;
  } catch (const std::bad_alloc&) {
    out.resize(before);
    append_server_error(out, kNoMemoryToStore);
    return false;
  }
}

void append_lookup_end(std::string& out, const MemcachedCommand& command) {
  if (command.verb != Verb::kMetaGet) append_status(out, MemcachedStatus::kEnd);
}

void answer(const Desk& desk, const MemcachedCommand& command, std::string& out) {
  const std::size_t before = out.size();
  try {
    MemcachedCommands(desk, command, out).run();
  } catch (const std::bad_alloc&) {
    out.resize(before);
    append_server_error(out, kNoMemoryToStore);
    erase_without_room(desk, command);
  } catch (const std::length_error&) {
    out.resize(before);
    append_server_error(out, kNoMemoryToStore);
  } catch (const WrongVector& wrong) {
    append_client_error(out, wrong.text);
  }
  // noreply of a meta command is q, which MemcachedCommands obeys for each answer.
  if (command.noreply && command.verb < Verb::kMetaGet) out.resize(before);
}

void erase_without_room(const Desk& desk, const MemcachedCommand& command) {
  if (command.verb != Verb::kSet && command.verb != Verb::kMetaSet) return;
  std::string unused;
  try {
    MemcachedCommands(desk, command, unused).erase();
  } catch (const std::bad_alloc&) {
    // An erase that lacks memory leaves the item, as memcached does with an item that is in use.
    return;
  }
}

}  // namespace latchlab::kv
