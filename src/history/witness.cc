#include "src/history/witness.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "src/history/check.h"

namespace latchlab {

namespace {

class WitnessSearch {
 public:
  /// The calls are in the order of their times.
  WitnessSearch(std::optional<u64> before, const std::vector<Call>& calls)
      : before_(before), all_(calls), calls_(calls) {
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].caller = static_cast<u32>(i);
  }

  Witness run() {
    cut_end();
    cut_beginning();
    while (drop_reads() || drop_writes()) {}
    Witness witness{.before = before_, .calls = {}, .conflict = ""};
    for (Call& call : calls_) {
      // A call whose end was cut off is shown as a whole. That says more, so it is as impossible.
      const Call& whole = all_[call.caller];
      call.caller = whole.caller;
      witness.calls.push_back(call.has_returned() ? call : whole);
    }
    witness.conflict = verdict_of(before_, calls_).conflict;
    return witness;
  }

 private:
  /// The work that is spent on leaving calls out, in calls checked.
  static constexpr u64 kMostChecked = 20'000'000;

  KeyVerdict verdict_of(std::optional<u64> before, const std::vector<Call>& calls) {
    checked_ += calls.size();
    return check_calls(before, calls, {.in_all = 100'000 + 20 * u64{calls.size()}, .at_once = 100'000});
  }
  bool conflicts(const std::vector<Call>& calls) { return !verdict_of(before_, calls).conflict.empty(); }

  /// Returns the history as it was at a time.
  std::vector<Call> until(u64 time) const {
    std::vector<Call> out;
    for (Call call : calls_) {
      if (call.called > time) break;
      if (call.returned > time && call.has_returned()) {
        if (!call.changes()) continue;
        // The answer says more than that an upsert may have taken effect.
        if (call.kind == CallKind::kUpsert) call.kind = call.yes ? CallKind::kInsert : CallKind::kUpdate;
        call.returned = kNeverReturned;
        call.was.reset();
      }
      out.push_back(call);
    }
    return out;
  }

  /// Step 1. The conflict shows no earlier than at the return of the impossible call. Mostly it shows there.
  void cut_end() {
    const KeyVerdict verdict = verdict_of(before_, calls_);
    std::vector<u64> ends;
    for (const Call& call : calls_) {
      if (call.has_returned() && call.returned >= calls_[verdict.impossible].returned) ends.push_back(call.returned);
    }
    std::sort(ends.begin(), ends.end());
    std::size_t low = 0, high = 0;  // ends before number `low` show no conflict
    for (std::size_t step = 1; high < ends.size() && !conflicts(until(ends[high])); step *= 2) {
      low = high + 1;
      high += step;
    }
    high = std::min(high, ends.size() - 1);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      conflicts(until(ends[middle])) ? high = middle : low = middle + 1;
    }
    calls_ = until(ends[high]);
  }

  /// Step 2.
  void cut_beginning() {
    const KeyVerdict verdict = verdict_of(before_, calls_);
    std::vector<Call> rest;
    for (const u32 i : verdict.suspects.calls) rest.push_back(calls_[i]);
    if (verdict_of(verdict.suspects.before, rest).conflict.empty()) return;
    before_ = verdict.suspects.before;
    calls_ = std::move(rest);
  }

  /// Step 3: leaves out runs of calls, long ones first. Returns true if it left any out.
  bool drop_reads() {
    bool any = false;
    for (std::size_t length = std::max<std::size_t>(calls_.size() / 2, 1); length > 0; length /= 2) {
      for (std::size_t first = 0; first < calls_.size() && checked_ < kMostChecked;) {
        const std::size_t end = std::min(first + length, calls_.size());
        std::vector<Call> rest(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(first));
        for (std::size_t i = first; i < calls_.size(); ++i) {
          if (i >= end || calls_[i].changes()) rest.push_back(calls_[i]);
        }
        if (!take(std::move(rest))) {
          first = end;
          continue;
        }
        any = true;
        while (first < calls_.size() && calls_[first].changes() && first < end) ++first;
      }
    }
    return any;
  }

  /// Step 4, once for each write.
  bool drop_writes() {
    bool any = false;
    for (std::size_t i = 0; i < calls_.size() && checked_ < kMostChecked;) {
      const Call write = calls_[i];
      const auto of_value = [&](const Call& call) {
        return (call.writes() || call.finds()) && call.value == write.value;
      };
      const bool alone = write.value != before_ && std::count_if(calls_.begin(), calls_.end(), [&](const Call& call) {
                                                     return call.writes() && call.value == write.value;
                                                   }) == 1;
      if (!write.writes() || !write.has_returned() || !write.was_there() || !alone) {
        ++i;
        continue;
      }
      std::vector<Call> rest = calls_;
      std::erase_if(rest, of_value);
      for (Call& call : rest) {
        if (call.was == write.value) call.was.reset();
      }
      if (take(std::move(rest))) {
        any = true;
      } else {
        ++i;
      }
    }
    return any;
  }

  bool take(std::vector<Call> rest) {
    if (rest.size() == calls_.size() || !conflicts(rest)) return false;
    calls_ = std::move(rest);
    return true;
  }

  std::optional<u64> before_;
  const std::vector<Call>& all_;
  std::vector<Call> calls_;  // those that are left; `caller` is a position in all_
  u64 checked_ = 0;
};

std::string in_brackets(const Call& call) { return fmt::format("[{}]", call.str()); }

/// The calls that know a value: they write it, find it, or say that it was there.
struct Knowers {
  u32 writers = 0;
  const Call* writer = nullptr;  // null if the key begins with the value
  const Call* first = nullptr;   // the first of all to return
  const Call* meets = nullptr;   // the last to be called among those that do not write the value
  const Call* early = nullptr;   // the first to return among those
  const Call* claims = nullptr;  // a change that says it replaced the value
  const Call* other = nullptr;   // another such change
};

/// Returns a witness of the kinds A to D, if there is one. The calls are in the order of their times.
std::optional<Witness> value_witness(std::optional<u64> before, const std::vector<Call>& calls) {
  absl::flat_hash_map<u64, Knowers> values;
  if (before) ++values[*before].writers;
  const auto sooner = [](const Call* a, const Call& b) { return a == nullptr || b.returned < a->returned; };
  for (const Call& call : calls) {
    if (call.writes()) {
      Knowers& knowers = values[call.value];
      ++knowers.writers, knowers.writer = &call;
      if (sooner(knowers.first, call)) knowers.first = &call;
    }
    if (!call.has_returned() || (!call.finds() && !call.was)) continue;
    Knowers& knowers = values[call.finds() ? call.value : *call.was];
    if (sooner(knowers.first, call)) knowers.first = &call;
    if (sooner(knowers.early, call)) knowers.early = &call;
    knowers.meets = &call;
    if (call.changes()) knowers.other = std::exchange(knowers.claims, &call);
  }
  // The change that returns first, among this and all later calls.
  std::vector<const Call*> next_change(calls.size() + 1, nullptr);
  for (std::size_t i = calls.size(); i-- > 0;) {
    const bool is_sooner = calls[i].changes() && calls[i].has_returned() && sooner(next_change[i + 1], calls[i]);
    next_change[i] = is_sooner ? &calls[i] : next_change[i + 1];
  }
  std::optional<Witness> out;
  const auto take = [&](std::vector<const Call*> shown, std::string conflict) {
    std::sort(shown.begin(), shown.end());  // by time, as they lie in `calls`
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
    if (out && out->calls.size() <= shown.size()) return;
    out = Witness{before, {}, std::move(conflict)};
    for (const Call* call : shown) out->calls.push_back(*call);
  };
  for (const auto& [value, knowers] : values) {
    if (knowers.meets == nullptr || knowers.writers > 1) continue;
    const std::string meeting = in_brackets(*knowers.meets);
    if (knowers.writers == 0) {
      take({knowers.meets}, fmt::format("{} meets a value that no call writes", meeting));
      continue;
    }
    if (knowers.writer != nullptr && knowers.early->returned < knowers.writer->called) {
      take({knowers.early, knowers.writer},
           fmt::format("{} meets a value that is written later", in_brackets(*knowers.early)));
      continue;
    }
    if (knowers.other != nullptr) {
      std::vector<const Call*> shown{knowers.claims, knowers.other};
      if (knowers.writer != nullptr) shown.push_back(knowers.writer);
      take(std::move(shown), fmt::format("{} and {} both end the value {}", in_brackets(*knowers.other),
                                         in_brackets(*knowers.claims), value));
      continue;
    }
    // A value from the beginning is known before the first call.
    const auto begin = knowers.writer == nullptr
                           ? calls.begin()
                           : std::upper_bound(calls.begin(), calls.end(), knowers.first->returned,
                                              [](u64 time, const Call& c) { return time < c.called; });
    const Call* const change = next_change[static_cast<std::size_t>(begin - calls.begin())];
    if (change == nullptr || change->returned >= knowers.meets->called) continue;
    std::vector<const Call*> shown{change, knowers.meets};
    if (knowers.writer != nullptr) shown.insert(shown.end(), {knowers.writer, knowers.first});
    take(std::move(shown),
         fmt::format("{} ends the value {}, and {} meets it later", in_brackets(*change), value, meeting));
  }
  return out;
}

std::vector<Call> in_order(std::span<const Call> calls) {
  std::vector<Call> sorted(calls.begin(), calls.end());
  std::sort(sorted.begin(), sorted.end(), [](const Call& a, const Call& b) { return a.called < b.called; });
  return sorted;
}

}  // namespace

std::optional<Witness> find_value_witness(std::optional<u64> before, std::span<const Call> calls) {
  return value_witness(before, in_order(calls));
}

Witness find_witness(std::optional<u64> before, std::span<const Call> calls) {
  const std::vector<Call> sorted = in_order(calls);
  if (auto witness = value_witness(before, sorted)) return *witness;
  return WitnessSearch(before, sorted).run();
}

std::string Witness::drawing() const {
  constexpr std::size_t kMostColumns = 72;
  std::vector<u64> times;
  for (const Call& call : calls) {
    times.push_back(call.called);
    if (call.has_returned()) times.push_back(call.returned);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const std::size_t step = std::clamp<std::size_t>(kMostColumns / std::max<std::size_t>(times.size(), 1), 1, 8);
  const auto column = [&](u64 time) {
    return step * static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  const std::size_t width = times.empty() ? 0 : step * (times.size() - 1) + 2;
  std::string text = before ? fmt::format("  before these calls the key holds {}\n", *before)
                            : std::string("  before these calls the key is absent\n");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    std::string line(width, ' ');
    const std::size_t from = column(call.called), to = call.has_returned() ? column(call.returned) : width - 1;
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(from), line.begin() + static_cast<std::ptrdiff_t>(to), '-');
    line[from] = '|';
    line[to] = call.has_returned() ? '|' : '>';
    text += fmt::format("  {}  {}\n", line, call.str());
  }
  return text;
}

}  // namespace latchlab
