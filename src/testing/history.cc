// Ways in which things may stand are followed through all calls and returns of a key, in the order of time: what the
// key holds, and which of the calls under way have not taken effect yet (Lowe, "Testing for linearizability", 2017).
// When a call returns it must have taken effect, so the calls that make it possible take effect then. A history whose
// last way ends there cannot have happened. Calls under way are few, but their orders are many. Seven rules leave out
// orders that decide nothing:
//
//   1. A call that changes nothing takes effect as soon as it can: nobody notices.
//   2. A change waits until a return needs it: what could follow it at once can follow it later.
//
// The others are about values that only one call writes. Two calls are known beforehand: the last one that finds the
// value, and among its write and its finds the first that returns.
//
//   3. A value is wanted until its last find is called. While a key holds it, no change takes effect.
//   4. After that, one value is as good as another: the key holds kAny.
//   5. A key that holds kAny takes every update to a value that is not wanted, at once: it holds kAny again.
//   6. An update to a wanted value waits until the first return of a call that knows the value. The value may not be
//      wanted any more by then. The key is there either way, so nobody notices the wait.
//   7. Erases take effect in the order of their returns. So do inserts of values that are not wanted, in the order of
//      the first returns of calls that know the values. In any other order two of them can be exchanged.
//
// One choice is left: which insert of a wanted value is next, and how many erases and other inserts go before it. So
// where every value is written once there are a few ways at a time, and mostly one.
#include "src/testing/history.h"

#include <algorithm>
#include <compare>
#include <cstdio>
#include <set>
#include <stdexcept>

namespace latchlab::testing {

namespace {

std::string shown(const Call& call) { return "[" + call.str() + "]"; }

class Checker {
 public:
  Checker(std::optional<u64> before, std::span<const Call> calls) : calls_(calls), facts_(calls.size()) {
    for (const Call& call : calls) {
      if (writes(call)) values_.push_back({call.value});
    }
    if (before) values_.push_back({*before});
    std::sort(values_.begin(), values_.end(), [](const Value& a, const Value& b) { return a.value < b.value; });
    const auto same = [](const Value& a, const Value& b) { return a.value == b.value; };
    values_.erase(std::unique(values_.begin(), values_.end(), same), values_.end());

    events_.reserve(2 * calls.size());
    for (u32 i = 0; i < calls.size(); ++i) {
      if (calls[i].called > calls[i].returned)
        throw std::invalid_argument(calls[i].str() + ": it returns before it is called");
      events_.push_back({calls[i].called, false, i});
      events_.push_back({calls[i].returned, true, i});
    }
    std::sort(events_.begin(), events_.end());  // of one moment, calls before returns
    for (const Call& call : calls) value_of(call).writers += writes(call);
    if (before) ++values_[number_of(*before)].writers;
    for (u32 now = 0; now < events_.size(); ++now) {
      const auto [time, returns, i] = events_[now];
      facts_[i].value = number_of(calls[i].value);
      if (returns) facts_[i].returned = now;
      Value& value = value_of(calls[i]);
      const bool finds = calls[i].kind == CallKind::kFind && calls[i].yes;
      if (returns && (finds || writes(calls[i]))) value.first_return = std::min(value.first_return, now);
      if (!returns && finds) value.last_find = now, value.finder = i;
    }
    if (before) start_ = number_of(*before);
  }

  Verdict run() {
    Verdict verdict;
    Ways ways{{.state = start_}};
    for (now_ = 0; now_ < events_.size(); ++now_) {
      const auto [time, returns, i] = events_[now_];
      Ways next;
      for (const Way& way : ways) {
        Way then = way;
        if (!returns) then.open.push_back(i);
        settle(then);
        next.insert(std::move(then));
      }
      ways = returns ? let_return(i, next, verdict.tried) : std::move(next);
      if (ways.empty()) {
        verdict.conflict = explain(i, next);
        break;
      }
    }
    return verdict;
  }

 private:
  static constexpr u32 kNone = ~u32{0};
  /// What a key holds: the number of a value, or
  static constexpr u32 kAbsent = kNone, kAny = kNone - 1;  // kAny: one that is written once and not wanted any more

  /// A moment of the history: its number is the time from here on.
  struct Event {
    u64 time;
    bool returns;
    u32 call;
    auto operator<=>(const Event&) const = default;
  };
  struct Value {
    u64 value = 0;
    u32 writers = 0;
    u32 last_find = 0, finder = kNone;  // when it was called, and that call
    u32 first_return = kNone;           // of those that know the value
  };
  struct Facts {
    u32 value = 0, returned = 0;
  };

  /// How things may stand.
  struct Way {
    u32 state = kAbsent;
    std::vector<u32> open{};  // calls under way that have not taken effect, in the order in which they were called
    u32 changed_by = kNone;   // for messages
    bool operator<(const Way& other) const { return state != other.state ? state < other.state : open < other.open; }
  };
  using Ways = std::set<Way>;

  static bool writes(const Call& call) {
    return call.kind == CallKind::kUpsert ||
           (call.yes && (call.kind == CallKind::kInsert || call.kind == CallKind::kUpdate));
  }
  static bool changes(const Call& call) { return writes(call) || (call.kind == CallKind::kErase && call.yes); }
  /// Whether the call's answer says that the key was there.
  static bool was_there(const Call& call) {
    return call.yes == (call.kind != CallKind::kInsert && call.kind != CallKind::kUpsert);
  }

  /// Of a value that nobody writes it is kNone.
  u32 number_of(u64 value) const {
    const auto at = std::lower_bound(values_.begin(), values_.end(), value,
                                     [](const Value& a, u64 wanted) { return a.value < wanted; });
    return at != values_.end() && at->value == value ? static_cast<u32>(at - values_.begin()) : kNone;
  }
  Value& value_of(const Call& call) {
    const u32 number = number_of(call.value);
    return number == kNone ? nobodys_ : values_[number];
  }
  bool once(u32 value) const { return values_[value].writers == 1; }
  bool wanted(u32 value) const { return once(value) && values_[value].last_find > now_; }
  bool quiet(u32 value) const { return once(value) && values_[value].last_find <= now_; }
  bool is_value(u32 state) const { return state < kAny; }

  bool possible(const Way& way, u32 i) const {
    const Call& call = calls_[i];
    if (call.kind == CallKind::kFind && call.yes) return way.state == facts_[i].value && is_value(way.state);
    return was_there(call) == (way.state != kAbsent);
  }
  void take_effect(Way& way, u32 i) const {
    std::erase(way.open, i);
    if (!changes(calls_[i])) return;
    way.state = writes(calls_[i]) ? facts_[i].value : kAbsent;
    way.changed_by = i;
  }

  /// Rules 1, 4 and 5.
  void settle(Way& way) const {
    for (bool again = true; again;) {
      again = false;
      std::erase_if(way.open, [&](u32 i) { return !changes(calls_[i]) && possible(way, i); });
      if (is_value(way.state) && quiet(way.state)) way.state = kAny;
      if (way.state != kAny) return;
      const auto update = std::find_if(way.open.begin(), way.open.end(), [&](u32 i) {
        return writes(calls_[i]) && was_there(calls_[i]) && quiet(facts_[i].value);
      });
      if (again = update != way.open.end(); again) take_effect(way, *update);
    }
  }

  /// `then(way)` for every change that may take effect next, on the way to the return of `due`.
  template <class Then>
  void for_each_next(const Way& way, u32 due, const Then& then) const {
    if (is_value(way.state) && wanted(way.state)) return;  // rule 3
    const auto go = [&](u32 i) {
      Way next = way;
      take_effect(next, i);
      settle(next);
      then(std::move(next));
    };
    u32 write = kNone, write_return = kNone, erase = kNone, erase_return = kNone;  // rule 7
    for (const u32 i : way.open) {
      const Call& call = calls_[i];
      if (!changes(call) || !possible(way, i)) continue;
      const u32 value = facts_[i].value;
      if (!writes(call)) {
        if (facts_[i].returned < erase_return) erase_return = facts_[i].returned, erase = i;
      } else if (quiet(value)) {
        if (values_[value].first_return < write_return) write_return = values_[value].first_return, write = i;
      } else if (!wanted(value) || way.state == kAbsent || value == known_by(due)) {  // rule 6
        go(i);
      }
    }
    if (write != kNone) go(write);
    if (erase != kNone) go(erase);
  }
  /// The value that a call writes or finds.
  u32 known_by(u32 i) const {
    const bool finds = calls_[i].kind == CallKind::kFind && calls_[i].yes;
    return finds || writes(calls_[i]) ? facts_[i].value : kNone;
  }

  /// Rule 2: the ways in which `due` has taken effect, from those in which it may not have.
  Ways let_return(u32 due, const Ways& ways, u64& tried) const {
    Ways returned, seen;
    std::vector<Way> left(ways.begin(), ways.end());
    while (!left.empty()) {
      const Way way = std::move(left.back());
      left.pop_back();
      ++tried;
      if (std::find(way.open.begin(), way.open.end(), due) == way.open.end()) {
        returned.insert(way);
        continue;
      }
      for_each_next(way, due, [&](Way next) {
        if (seen.insert(next).second) left.push_back(std::move(next));
      });
    }
    return returned;
  }

  /// The call, and until when others find the value that it knows.
  std::string told(u32 i) const {
    const u32 value = known_by(i);
    return shown(calls_[i]) + (is_value(value) && wanted(value) ? until(value) : "");
  }
  std::string until(u32 value) const { return " until " + shown(calls_[values_[value].finder]); }

  std::string explain(u32 due, const Ways& ways) const {
    static constexpr std::size_t kMostWays = 3, kMostCalls = 6;
    std::string text = told(due) + " cannot be";
    std::set<u32> states, beside;
    for (const Way& way : ways) {
      beside.insert(way.open.begin(), way.open.end());
      if (!states.insert(way.state).second || states.size() > kMostWays) continue;
      text += states.size() == 1 ? ": the key " : ", or ";
      text += way.state == kAbsent ? "is absent" : "is there";
      text += way.changed_by == kNone ? " from the beginning" : " by " + shown(calls_[way.changed_by]);
      if (is_value(way.state) && wanted(way.state)) text += until(way.state);
    }
    beside.erase(due);
    std::erase_if(beside, [&](u32 i) { return !changes(calls_[i]); });
    if (beside.empty()) return text;
    text += "; beside";
    std::size_t count = 0;
    for (const u32 i : beside) {
      if (++count > kMostCalls) return text + " and others";
      text += " " + told(i);
    }
    return text;
  }

  const std::span<const Call> calls_;
  std::vector<Facts> facts_;   // of each call
  std::vector<Value> values_;  // sorted
  Value nobodys_;
  std::vector<Event> events_;
  u32 start_ = kAbsent;
  u32 now_ = 0;
};

}  // namespace

std::string Call::str() const {
  static constexpr const char* kNames[] = {"find", "insert", "update", "upsert", "erase"};
  const bool shows_value = kind == CallKind::kFind ? yes : kind != CallKind::kErase;
  char text[128];
  std::snprintf(text, sizeof text, "%llu-%llu %u: %s%s%s -> %s", static_cast<unsigned long long>(called),
                static_cast<unsigned long long>(returned), caller, kNames[static_cast<std::size_t>(kind)],
                shows_value ? " " : "", shows_value ? std::to_string(value).c_str() : "", yes ? "yes" : "no");
  return text;
}

Verdict check_calls(std::optional<u64> before, std::span<const Call> calls) { return Checker(before, calls).run(); }

std::string History::complaint() const {
  std::vector<std::vector<Call>> calls(before_.size());
  for (const auto& one : calls_of_) {
    for (const auto& [key, call] : one) calls[key].push_back(call);
  }
  for (std::size_t key = 0; key < calls.size(); ++key) {
    const std::string conflict = check_calls(before_[key], calls[key]).conflict;
    if (conflict.empty()) continue;
    return "key " + std::to_string(key) + ", at first " +
           (before_[key] ? std::to_string(*before_[key]) : std::string("absent")) + ": " + conflict;
  }
  return {};
}

std::size_t History::size() const {
  std::size_t calls = 0;
  for (const auto& one : calls_of_) calls += one.size();
  return calls;
}

}  // namespace latchlab::testing
