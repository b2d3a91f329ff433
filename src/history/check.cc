// The checker follows all possible configurations of a key through its calls and returns, in the order of time (Lowe,
// "Testing for linearizability", 2017). A configuration is the key's state and the calls under way that have not taken
// effect yet. A call must have taken effect when it returns, so the calls that make this possible take effect then. If
// no configuration is left after a return, the history is impossible. Calls under way are few, but their orders are
// many. Nine rules skip orders that decide nothing:
//
//   1. A call that changes nothing takes effect as soon as it can: no other call notices.
//   2. A change waits until a return needs it: a call that could follow it at once can follow it later.
//
// The other rules are about values that only one call writes. A call knows a value if it writes it, finds it, or says
// that it was there. Two calls are known beforehand for such a value: the last to be called among those that meet it,
// and the first to return among all that know it.
//
//   3. A value is wanted until the last call that meets it is called. While a key holds a wanted value, no change takes
//      effect.
//   4. After that, all values are equivalent, unless a change says which it replaced: the key holds kAny.
//   5. A key that holds kAny takes every update to an unwanted value at once, and holds kAny again.
//   6. An update to a wanted value waits until the first return of a call that knows the value. The value may be
//      unwanted by then. The key is present either way, so no call notices the wait.
//   7. Erases take effect in the order of their returns. Inserts of unwanted values take effect in the order of the
//      first returns of calls that know the values. In any other order two of them can be exchanged.
//   8. A value that a change says it replaced is claimed by it. No other change takes effect while the key holds it.
//   9. If an unwanted value is claimed, its write and its claim count as one change: an insert, an update or an erase,
//      by the state before the one and after the other. So does a chain of claims. The change returns with the first
//      call that knows a value of the chain. All its calls are under way. Two such changes that leave nothing can be
//      exchanged only if one returns no later than the other and also ends no later. The end is the last claim's
//      return: until then, the change can keep the key present for a call that finds any value there. If there is no
//      such call in that time, the end does not matter.
//
// One choice is left: which insert of a wanted value is next, and how many erases and other inserts precede it. So if
// every value is written once, there are few configurations at a time, and usually one. That one is changed in place.
//
// A call that never returned takes effect or not, so it claims nothing and meets nothing.
#include "src/history/check.h"

#include <algorithm>
#include <compare>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace latchlab {

namespace {

std::string shown(const Call& call) { return "[" + call.str() + "]"; }

class Checker {
 public:
  Checker(std::optional<u64> before, std::span<const Call> calls) : calls_(calls), facts_(calls.size()) {
    sort_events();
    number_values(before);
    for (u32 i = 0; i < calls_.size(); ++i) {
      if (calls_[i].writes()) ++values_[facts_[i].value].writers;
      if (claims(i)) values_[facts_[i].was].claimed_by = i;
    }
    for (u32 now = 0; now < events_.size(); ++now) {
      const auto [time, returns, i] = events_[now];
      if (!calls_[i].has_returned()) continue;
      if (returns) facts_[i].returned = now;
      if (!returns && meets_any(i)) meetings_.push_back(now);
      for (const u32 value : {facts_[i].value, facts_[i].was}) {
        if (!is_value(value) || (value == facts_[i].value && !calls_[i].finds() && !calls_[i].writes())) continue;
        Value& known = values_[value];
        if (returns) known.first_return = std::min(known.first_return, now);
        const bool meets = value == facts_[i].was || calls_[i].finds();
        if (!returns && meets) known.last_met = now, known.met_by = i;
      }
    }
  }

  KeyVerdict run(const Effort& most) {
    KeyVerdict verdict;
    std::vector<Configuration> configs{{.state = start_, .open = {}, .changed_by = kNone}};
    Certain certain{.since = 0, .config = configs.front()};
    for (now_ = 0; now_ < events_.size(); ++now_) {
      const auto [time, returns, i] = events_[now_];
      for (Configuration& config : configs) {
        if (!returns && !takes_effect_at_once(config, i)) config.open.push_back(i);
        settle(config);
      }
      if (returns && (configs.size() > 1 || !return_in_place(i, configs.front()))) {
        std::vector<Configuration> returned = let_return(i, configs, most);
        verdict.undecided = gave_up_;
        if (gave_up_) break;
        if (returned.empty()) {
          verdict.conflict = explain(i, configs);
          verdict.impossible = i;
          verdict.suspects = suspects_since(certain);
          break;
        }
        configs = std::move(returned);
      } else if (!returns && configs.size() > 1) {
        keep_different(configs);
      }
      if (configs.size() == 1) certain.since = now_ + 1, certain.config = configs.front();
    }
    verdict.tried = tried_;
    return verdict;
  }

 private:
  static constexpr u32 kNone = ~u32{0};
  /// The state of a key is the number of a value, or kAbsent, or kAny: an unwanted, unclaimed value that is written
  /// once.
  static constexpr u32 kAbsent = kNone, kAny = kNone - 1;
  /// Numbers that are no state: of a value that no call writes, and of an answer that does not say what was there.
  static constexpr u32 kUnwritten = kNone - 2, kUnsaid = kNone - 3;

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
    u32 last_met = 0, met_by = kNone;  // the time of the last call that meets the value, and that call
    u32 first_return = kNone;          // the first return of a call that knows the value
    u32 claimed_by = kNone;            // a change that says it replaced the value
  };
  struct Facts {
    u32 value = kUnwritten, was = kUnsaid, returned = kNone;
  };

  /// A possible state of the key, with the calls under way that have not taken effect.
  struct Configuration {
    u32 state = kAbsent;
    std::vector<u32> open{};  // those calls, in the order in which they were called
    u32 changed_by = kNone;   // the call that made the state, for messages
    bool operator<(const Configuration& other) const {
      return state != other.state ? state < other.state : open < other.open;
    }
    bool operator==(const Configuration& other) const { return state == other.state && open == other.open; }
  };
  /// The only configuration that was possible before event number `since`.
  struct Certain {
    u32 since;
    Configuration config;
  };

  void sort_events() {
    events_.reserve(2 * calls_.size());
    for (u32 i = 0; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      if (call.called > call.returned) throw std::invalid_argument(call.str() + ": it returns before it is called");
      if (!call.has_returned() && !call.changes()) continue;
      events_.push_back({call.called, false, i});
      if (call.has_returned()) events_.push_back({call.returned, true, i});
    }
    std::sort(events_.begin(), events_.end());  // calls precede returns of the same time
  }

  /// Gives every value that is written a number. One sort does so: a search for each value would miss the caches.
  void number_values(std::optional<u64> before) {
    struct Mention {
      u64 value;
      bool writes;
      u32* number;
    };
    std::vector<Mention> mentions;
    mentions.reserve(calls_.size() + 1);
    for (u32 i = 0; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      if (call.writes() || call.finds()) mentions.push_back({call.value, call.writes(), &facts_[i].value});
      if (call.was && call.has_returned() && call.kind != CallKind::kFind)
        mentions.push_back({*call.was, false, &facts_[i].was});
    }
    if (before) mentions.push_back({*before, true, &start_});
    std::sort(mentions.begin(), mentions.end(), [](const Mention& a, const Mention& b) {
      return a.value != b.value ? a.value < b.value : a.writes > b.writes;
    });
    const Mention* last = nullptr;
    for (const Mention& mention : mentions) {
      const bool first = last == nullptr || last->value != mention.value;
      if (first && mention.writes) values_.push_back({.value = mention.value});
      *mention.number = first && !mention.writes ? kUnwritten : first ? number_of_last() : *last->number;
      last = &mention;
    }
    if (before) ++values_[start_].writers;
  }
  u32 number_of_last() const { return static_cast<u32>(values_.size() - 1); }

  bool is_value(u32 state) const { return state < kUnsaid; }
  bool once(u32 value) const { return values_[value].writers == 1; }
  bool wanted(u32 value) const { return once(value) && values_[value].last_met > now_; }
  bool claimed(u32 value) const { return once(value) && values_[value].claimed_by != kNone; }
  bool quiet(u32 value) const { return once(value) && values_[value].last_met <= now_ && !claimed(value); }
  /// The end of a value: by rule 9, that of its chain. A chain has no circle, since its first write claims no value of
  /// it, and each value is written once.
  struct End {
    enum { kPresent, kGone, kWanted, kUnknown } kind;  // kUnknown: several calls write the value
    u32 first_return = kNone;                          // of the calls that know a value of the chain
    u32 last_return = kNone;                           // of the erase that ends the chain
    bool is_due = false;                               // the call that is about to return knows one
  };
  End end_of(u32 value, u32 due) const {
    End end{.kind = End::kUnknown};
    while (once(value)) {
      end.first_return = std::min(end.first_return, values_[value].first_return);
      end.is_due |= due != kNone && knows(due, value);
      const u32 claim = values_[value].claimed_by;
      end.kind = wanted(value) ? End::kWanted : claim == kNone ? End::kPresent : End::kGone;
      if (end.kind != End::kGone) return end;
      if (!calls_[claim].writes()) {
        end.last_return = facts_[claim].returned;
        return end;
      }
      value = facts_[claim].value;
    }
    end.kind = End::kUnknown;
    return end;
  }
  bool claims(u32 i) const {
    return is_value(facts_[i].was) && calls_[i].has_returned() && calls_[i].changes() && calls_[i].was_there();
  }
  bool knows(u32 i, u32 value) const { return facts_[i].value == value || facts_[i].was == value; }

  /// Returns true for a call that finds any value there: it changes nothing and says no more.
  bool meets_any(u32 i) const {
    return !calls_[i].changes() && calls_[i].was_there() && !calls_[i].finds() && facts_[i].was == kUnsaid;
  }

  bool possible(const Configuration& config, u32 i) const {
    const Call& call = calls_[i];
    if (!call.has_returned()) {
      return call.kind == CallKind::kUpsert || (call.kind == CallKind::kInsert) == (config.state == kAbsent);
    }
    if (call.finds()) return config.state == facts_[i].value;
    if (facts_[i].was != kUnsaid && facts_[i].was != config.state) return false;
    return call.was_there() == (config.state != kAbsent);
  }
  void take_effect(Configuration& config, u32 i) const {
    config.open.erase(std::find(config.open.begin(), config.open.end(), i));
    if (!calls_[i].changes()) return;
    config.state = calls_[i].writes() ? facts_[i].value : kAbsent;
    config.changed_by = i;
  }

  bool takes_effect_at_once(const Configuration& config, u32 i) const {
    return !calls_[i].changes() && possible(config, i);
  }
  /// Applies rules 1, 4 and 5. In a settled configuration, rule 1 is at rest until the state changes.
  void settle(Configuration& config) const {
    for (;;) {
      if (is_value(config.state) && quiet(config.state)) config.state = kAny;
      if (config.state != kAny) return;
      const auto update = std::find_if(config.open.begin(), config.open.end(), [&](u32 i) {
        const Call& call = calls_[i];
        return call.writes() && call.has_returned() && call.was_there() && facts_[i].was == kUnsaid &&
               end_of(facts_[i].value, kNone).kind == End::kPresent;
      });
      if (update == config.open.end()) return;
      change(config, *update);
      while (claimed(config.state)) change(config, values_[config.state].claimed_by);
    }
  }
  /// Lets a change take effect, and then the calls of rule 1 that it makes possible.
  void change(Configuration& config, u32 i) const {
    take_effect(config, i);
    std::erase_if(config.open, [&](u32 other) { return takes_effect_at_once(config, other); });
  }

  /// Collects the changes that may take effect next, before the return of `due`.
  void find_next(const Configuration& config, u32 due, std::vector<u32>& next) {
    next.clear();
    if (is_value(config.state) && wanted(config.state)) return;          // rule 3
    const bool claim = is_value(config.state) && claimed(config.state);  // rule 8
    // Rule 7: inserts, erases, and changes from nothing to nothing.
    u32 write = kNone, write_return = kNone;
    erases_.clear(), passes_.clear();
    const auto later = std::upper_bound(meetings_.begin(), meetings_.end(), now_);
    u32 next_meeting = later == meetings_.end() ? kNone : *later;
    for (const u32 i : config.open) {
      if (meets_any(i)) next_meeting = now_;
    }
    for (const u32 i : config.open) {
      const Call& call = calls_[i];
      if (!call.changes() || !possible(config, i)) continue;
      const auto [value, was, returned] = facts_[i];
      if (claim && was != config.state) continue;
      if (!call.writes()) {
        was == kUnsaid ? erases_.push_back({i, returned, returned}) : next.push_back(i);
        continue;
      }
      const End end = end_of(value, due);
      // An upsert that never returned is an insert or an update, so it has no place in an order of one of them.
      const bool ordered = was == kUnsaid && (call.kind != CallKind::kUpsert || call.has_returned());
      if (end.kind == End::kWanted) {
        if (end.is_due || (config.state == kAbsent && meets_any(due))) next.push_back(i);  // rules 3 and 6
      } else if (!ordered || end.kind == End::kUnknown) {
        next.push_back(i);
      } else if (end.kind == End::kPresent) {
        if (write == kNone || end.first_return < write_return) write = i, write_return = end.first_return;
      } else {
        (config.state == kAbsent ? passes_ : erases_)
            .push_back({i, end.first_return, end.last_return > next_meeting ? end.last_return : end.first_return});
      }
    }
    if (write != kNone) next.push_back(write);
    add_earliest(erases_, next);
    add_earliest(passes_, next);
  }
  /// A change that leaves nothing.
  struct Gone {
    u32 call, first_return, last_return;
  };
  /// Adds the changes before which no other must come, by rules 7 and 9.
  static void add_earliest(std::vector<Gone>& gone, std::vector<u32>& next) {
    std::sort(gone.begin(), gone.end(), [](const Gone& a, const Gone& b) {
      return std::tie(a.first_return, a.last_return, a.call) < std::tie(b.first_return, b.last_return, b.call);
    });
    const Gone* earliest = nullptr;  // the least last return so far
    for (const Gone& one : gone) {
      if (earliest != nullptr && earliest->last_return <= one.last_return) continue;
      next.push_back(one.call);
      earliest = &one;
    }
  }

  static bool is_open(const Configuration& config, u32 i) {
    return std::find(config.open.begin(), config.open.end(), i) != config.open.end();
  }

  /// Applies rule 2 as long as there is no choice. Returns false if there is one, or if the return is impossible. The
  /// configuration is unchanged then.
  bool return_in_place(u32 due, Configuration& config) {
    ++tried_;
    if (!is_open(config, due)) return true;
    scratch_ = config;
    while (is_open(scratch_, due)) {
      ++tried_;
      find_next(scratch_, due, next_);
      if (next_.size() != 1) return false;
      change(scratch_, next_.front());
      settle(scratch_);
    }
    std::swap(config, scratch_);
    return true;
  }

  /// Applies rule 2: returns the configurations in which `due` has taken effect, reached from the given ones.
  std::vector<Configuration> let_return(u32 due, std::vector<Configuration> left, const Effort& most) {
    const u64 last = most.at_once > most.in_all - std::min(tried_, most.in_all) ? most.in_all : tried_ + most.at_once;
    std::vector<Configuration> returned;
    std::set<Configuration> seen;
    while (!left.empty() && !gave_up_) {
      Configuration config = std::move(left.back());
      left.pop_back();
      gave_up_ = ++tried_ > last;
      if (!is_open(config, due)) {
        returned.push_back(std::move(config));
        continue;
      }
      find_next(config, due, next_);
      for (const u32 i : next_) {
        Configuration next = config;
        change(next, i);
        settle(next);
        if (seen.insert(next).second) left.push_back(std::move(next));
      }
    }
    keep_different(returned);
    return returned;
  }
  static void keep_different(std::vector<Configuration>& configs) {
    std::sort(configs.begin(), configs.end());
    configs.erase(std::unique(configs.begin(), configs.end()), configs.end());
  }

  Suspects suspects_since(const Certain& certain) const {
    Suspects out;
    if (certain.config.state == kAny) {
      const u32 i = certain.config.changed_by;
      out.before = i == kNone ? values_[start_].value : calls_[i].value;
    } else if (certain.config.state != kAbsent) {
      out.before = values_[certain.config.state].value;
    }
    out.calls = certain.config.open;
    for (u32 now = certain.since; now < events_.size(); ++now) {
      if (!events_[now].returns) out.calls.push_back(events_[now].call);
    }
    std::sort(out.calls.begin(), out.calls.end());
    return out;
  }

  /// Returns the text of a call and, if its value is wanted, of the last call that meets the value.
  std::string told(u32 i) const {
    const u32 value = facts_[i].value;
    return shown(calls_[i]) + (is_value(value) && wanted(value) ? until(value) : "");
  }
  std::string until(u32 value) const { return " until " + shown(calls_[values_[value].met_by]); }

  std::string explain(u32 due, const std::vector<Configuration>& configs) const {
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
    std::erase_if(beside, [&](u32 i) { return !calls_[i].changes(); });
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
  std::vector<Value> values_;  // those that are written, by their numbers
  std::vector<Event> events_;
  std::vector<u32> meetings_;  // the times of calls that find any value there
  u32 start_ = kAbsent;
  u32 now_ = 0;
  u64 tried_ = 0;
  bool gave_up_ = false;
  std::vector<u32> next_;  // the space of these is used again
  std::vector<Gone> erases_, passes_;
  Configuration scratch_;
};

}  // namespace

KeyVerdict check_calls(std::optional<u64> before, std::span<const Call> calls, const Effort& most) {
  return Checker(before, calls).run(most);
}

}  // namespace latchlab
