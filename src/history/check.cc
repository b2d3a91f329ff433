// The checker follows all possible configurations of a key through its calls and returns, in the order of time (Lowe,
// "Testing for linearizability", 2017). A configuration is the key's state and the calls under way that have not taken
// effect yet. A call must have taken effect when it returns, so the calls that make this possible take effect then. If
// no configuration is left after a return, the history is impossible. Calls under way are few, but their orders are
// many. Seven rules skip orders that decide nothing:
//
//   1. A call that changes nothing takes effect as soon as it can: no other call notices.
//   2. A change waits until a return needs it: a call that could follow it at once can follow it later.
//
// The other rules are about values that only one call writes. Two calls are known beforehand for such a value: the last
// one that finds it, and the first to return among its write and its finds.
//
//   3. A value is wanted until its last find is called. While a key holds a wanted value, no change takes effect.
//   4. After that, all values are equivalent: the key holds kAny.
//   5. A key that holds kAny takes every update to an unwanted value at once, and holds kAny again.
//   6. An update to a wanted value waits until the first return of a call that knows the value. The value may be
//      unwanted by then. The key is present either way, so no call notices the wait.
//   7. Erases take effect in the order of their returns. Inserts of unwanted values take effect in the order of the
//      first returns of calls that know the values. In any other order two of them can be exchanged.
//
// One choice is left: which insert of a wanted value is next, and how many erases and other inserts precede it. So if
// every value is written once, there are few configurations at a time, and usually one.
#include "src/history/check.h"

#include <algorithm>
#include <compare>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace latchlab {

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
    std::sort(events_.begin(), events_.end());  // calls precede returns of the same time
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

  KeyVerdict run() {
    KeyVerdict verdict;
    Configurations configs{{.state = start_}};
    for (now_ = 0; now_ < events_.size(); ++now_) {
      const auto [time, returns, i] = events_[now_];
      Configurations next;
      for (const Configuration& config : configs) {
        Configuration then = config;
        if (!returns) then.open.push_back(i);
        settle(then);
        next.insert(std::move(then));
      }
      if (!returns) {
        configs = std::move(next);
        continue;
      }
      configs = let_return(i, next, verdict.tried);
      if (configs.empty()) {
        verdict.conflict = explain(i, next);
        break;
      }
    }
    return verdict;
  }

 private:
  static constexpr u32 kNone = ~u32{0};
  /// The state of a key is the number of a value, or kAbsent, or kAny: an unwanted value that is written once.
  static constexpr u32 kAbsent = kNone, kAny = kNone - 1;

  /// A call or a return. Its position in the sorted history serves as the time from here on.
  struct Event {
    u64 time;
    bool returns;
    u32 call;
    auto operator<=>(const Event&) const = default;
  };
  struct Value {
    u64 value = 0;
    u32 writers = 0;
    u32 last_find = 0, finder = kNone;  // the time of the last find's call, and that find
    u32 first_return = kNone;           // the first return of a call that knows the value
  };
  struct Facts {
    u32 value = 0, returned = 0;
  };

  /// A possible state of the key, with the calls under way that have not taken effect.
  struct Configuration {
    u32 state = kAbsent;
    std::vector<u32> open{};  // those calls, in the order in which they were called
    u32 changed_by = kNone;   // the call that made the state, for messages
    bool operator<(const Configuration& other) const {
      return state != other.state ? state < other.state : open < other.open;
    }
  };
  using Configurations = std::set<Configuration>;

  static bool writes(const Call& call) {
    return call.kind == CallKind::kUpsert ||
           (call.yes && (call.kind == CallKind::kInsert || call.kind == CallKind::kUpdate));
  }
  static bool changes(const Call& call) { return writes(call) || (call.kind == CallKind::kErase && call.yes); }
  /// Returns true if the call's answer says that the key was present.
  static bool was_there(const Call& call) {
    return call.yes == (call.kind != CallKind::kInsert && call.kind != CallKind::kUpsert);
  }

  /// Returns the number of a value; kNone if no call writes it.
  u32 number_of(u64 value) const {
    const auto at = std::lower_bound(values_.begin(), values_.end(), value,
                                     [](const Value& a, u64 wanted) { return a.value < wanted; });
    return at != values_.end() && at->value == value ? static_cast<u32>(at - values_.begin()) : kNone;
  }
  Value& value_of(const Call& call) {
    const u32 number = number_of(call.value);
    return number == kNone ? unwritten_ : values_[number];
  }
  bool once(u32 value) const { return values_[value].writers == 1; }
  bool wanted(u32 value) const { return once(value) && values_[value].last_find > now_; }
  bool quiet(u32 value) const { return once(value) && values_[value].last_find <= now_; }
  bool is_value(u32 state) const { return state < kAny; }

  bool possible(const Configuration& config, u32 i) const {
    const Call& call = calls_[i];
    if (call.kind == CallKind::kFind && call.yes) return config.state == facts_[i].value && is_value(config.state);
    return was_there(call) == (config.state != kAbsent);
  }
  void take_effect(Configuration& config, u32 i) const {
    std::erase(config.open, i);
    if (!changes(calls_[i])) return;
    config.state = writes(calls_[i]) ? facts_[i].value : kAbsent;
    config.changed_by = i;
  }

  /// Applies rules 1, 4 and 5.
  void settle(Configuration& config) const {
    for (bool again = true; again;) {
      again = false;
      std::erase_if(config.open, [&](u32 i) { return !changes(calls_[i]) && possible(config, i); });
      if (is_value(config.state) && quiet(config.state)) config.state = kAny;
      if (config.state != kAny) return;
      const auto update = std::find_if(config.open.begin(), config.open.end(), [&](u32 i) {
        return writes(calls_[i]) && was_there(calls_[i]) && quiet(facts_[i].value);
      });
      if (again = update != config.open.end(); again) take_effect(config, *update);
    }
  }

  /// Calls `then` with the configuration after each change that may take effect next, before the return of `due`.
  template <class Then>
  void for_each_next(const Configuration& config, u32 due, const Then& then) const {
    if (is_value(config.state) && wanted(config.state)) return;  // rule 3
    const auto go = [&](u32 i) {
      Configuration next = config;
      take_effect(next, i);
      settle(next);
      then(std::move(next));
    };
    u32 write = kNone, write_return = kNone, erase = kNone, erase_return = kNone;  // rule 7
    for (const u32 i : config.open) {
      const Call& call = calls_[i];
      if (!changes(call) || !possible(config, i)) continue;
      const u32 value = facts_[i].value;
      if (!writes(call)) {
        if (facts_[i].returned < erase_return) erase_return = facts_[i].returned, erase = i;
      } else if (quiet(value)) {
        if (values_[value].first_return < write_return) write_return = values_[value].first_return, write = i;
      } else if (!wanted(value) || config.state == kAbsent || value == known_by(due)) {  // rule 6
        go(i);
      }
    }
    if (write != kNone) go(write);
    if (erase != kNone) go(erase);
  }
  /// Returns the number of the value that a call writes or finds.
  u32 known_by(u32 i) const {
    const bool finds = calls_[i].kind == CallKind::kFind && calls_[i].yes;
    return finds || writes(calls_[i]) ? facts_[i].value : kNone;
  }

  /// Applies rule 2: returns the configurations in which `due` has taken effect, reached from the given ones.
  Configurations let_return(u32 due, const Configurations& configs, u64& tried) const {
    Configurations returned, seen;
    std::vector<Configuration> left(configs.begin(), configs.end());
    while (!left.empty()) {
      const Configuration config = std::move(left.back());
      left.pop_back();
      ++tried;
      if (std::find(config.open.begin(), config.open.end(), due) == config.open.end()) {
        returned.insert(config);
        continue;
      }
      for_each_next(config, due, [&](Configuration next) {
        if (seen.insert(next).second) left.push_back(std::move(next));
      });
    }
    return returned;
  }

  /// Returns the text of a call and, if its value is wanted, of the last call that finds the value.
  std::string told(u32 i) const {
    const u32 value = known_by(i);
    return shown(calls_[i]) + (is_value(value) && wanted(value) ? until(value) : "");
  }
  std::string until(u32 value) const { return " until " + shown(calls_[values_[value].finder]); }

  std::string explain(u32 due, const Configurations& configs) const {
    static constexpr std::size_t kMostStates = 3, kMostCalls = 6;
    std::string text = told(due) + " is impossible";
    std::set<u32> states, beside;
    for (const Configuration& config : configs) {
      beside.insert(config.open.begin(), config.open.end());
      if (!states.insert(config.state).second || states.size() > kMostStates) continue;
      text += states.size() == 1 ? ": the key " : ", or ";
      text += config.state == kAbsent ? "is absent" : "is there";
      text += config.changed_by == kNone ? " from the beginning" : " by " + shown(calls_[config.changed_by]);
      if (is_value(config.state) && wanted(config.state)) text += until(config.state);
    }
    beside.erase(due);
    std::erase_if(beside, [&](u32 i) { return !changes(calls_[i]); });
    if (beside.empty()) return text;
    text += "; changes under way:";
    std::size_t count = 0;
    for (const u32 i : beside) {
      if (++count > kMostCalls) return text + " and others";
      text += " " + told(i);
    }
    return text;
  }

  const std::span<const Call> calls_;
  std::vector<Facts> facts_;   // one for each call
  std::vector<Value> values_;  // sorted
  Value unwritten_;            // stands for all values that no call writes
  std::vector<Event> events_;
  u32 start_ = kAbsent;
  u32 now_ = 0;
};

}  // namespace

KeyVerdict check_calls(std::optional<u64> before, std::span<const Call> calls) { return Checker(before, calls).run(); }

}  // namespace latchlab
