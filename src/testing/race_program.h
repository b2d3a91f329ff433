#pragma once
// Scenarios of the race finder for any index. A program is the operations of a few fibers on an index that was loaded
// before, and all their answers must be linearizable.
//
// A mix aims the programs. It has the keys that are present at first, the keys that the fibers use, and the weights of
// the operations. Any number of programs can be drawn from a mix. The number of a program and the seed of a schedule
// replay a failure:
//
//     mix "grow 4 to 16", program 17: 1 of 212 schedules fail, the first with LATCHLAB_SEED=8712: key 3, at
//     first ...
//
// The fiber that ends last reads everything once more, still inside virtual time. So a latch that was left locked is
// reported as a deadlock rather than an endless wait.
//
// kScan is a scan of an ordered index, a walk over any other that walks beside changes, and else some finds.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/machine/race_finder.h"
#include "src/memory/memory_config.h"
#include "src/testing/history.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab::testing {

enum class RaceVerb : u8 { kFind, kInsert, kUpdate, kUpsert, kErase, kScan };

/// The weights of the operations, in the order of RaceVerb.
using RaceWeights = std::array<u32, 6>;

/// The operations of each fiber, for programs that would hardly ever be drawn at random.
template <class Key>
using RaceScript = std::vector<std::vector<std::pair<RaceVerb, Key>>>;

template <class Key>
struct RaceMix {
  std::string name;
  std::vector<Key> preload;  // inserted in this order
  std::vector<Key> erased;   // then erased again, before the fibers begin
  std::vector<Key> hot;      // the keys that the fibers use
  RaceWeights weights;
  u32 ops_each = 3;
  const RaceScript<Key>* script = nullptr;  // if set, the only program; must outlive the mix
  u32 zero_one_in = 0;                      // one in this many values is 0; 0 for none
};

struct RaceOp {
  RaceVerb verb;
  u32 key;    // the key's number
  u64 value;  // a unique value or 0; for a scan its limit
};

// A quarter of the changes are made by modify.
inline bool goes_by_modify(const RaceOp& op) { return op.value % 4 == 3; }
/// Returns the value of the key after the operation, if this was its value before.
inline Found after(const RaceOp& op, Found before) {
  switch (op.verb) {
    case RaceVerb::kInsert: return before ? before : Found(op.value);
    case RaceVerb::kUpdate: return before ? Found(op.value) : before;
    case RaceVerb::kUpsert: return op.value;
    default: return Found();
  }
}
/// Returns the operation's answer if this was the value of the key before.
inline bool answer(const RaceOp& op, Found before) {
  const bool wants_absent = op.verb == RaceVerb::kInsert || op.verb == RaceVerb::kUpsert;
  return before.has_value() != wants_absent;
}

template <class Key>
struct RaceProgram {
  std::vector<Key> keys;  // all keys, sorted: a key's number is its position
  std::vector<u32> preload, erased;
  std::vector<u64> values;  // the values of the preloaded keys
  std::vector<std::vector<RaceOp>> fibers;

  u32 number_of(const auto& key) const {
    const auto at = std::lower_bound(keys.begin(), keys.end(), key);
    return at != keys.end() && *at == key ? static_cast<u32>(at - keys.begin()) : ~0u;
  }
};

/// Returns the program with this number: always the same for the same mix.
template <class Key>
RaceProgram<Key> draw_program(const RaceMix<Key>& mix, u64 number, u32 fibers) {
  RaceProgram<Key> program;
  for (const auto* keys : {&mix.preload, &mix.erased, &mix.hot}) {
    program.keys.insert(program.keys.end(), keys->begin(), keys->end());
  }
  std::sort(program.keys.begin(), program.keys.end());
  program.keys.erase(std::unique(program.keys.begin(), program.keys.end()), program.keys.end());
  for (const Key& key : mix.preload) {
    program.preload.push_back(program.number_of(key));
    const u64 nth = program.preload.size();
    program.values.push_back(mix.zero_one_in != 0 && nth % mix.zero_one_in == 0 ? 0 : nth);
  }
  for (const Key& key : mix.erased) program.erased.push_back(program.number_of(key));

  Rng rng(number);
  u64 sum = 0, value = 100;
  for (const u32 weight : mix.weights) sum += weight;
  if (mix.script != nullptr) {
    for (const auto& steps : *mix.script) {
      auto& ops = program.fibers.emplace_back();
      for (const auto& [verb, key] : steps) ops.push_back({verb, program.number_of(key), value++});
    }
    return program;
  }
  for (u32 f = 0; f < fibers; ++f) {
    auto& ops = program.fibers.emplace_back();
    for (u32 i = 0; i < mix.ops_each; ++i) {
      u64 ticket = rng.below(sum);
      u32 verb = 0;
      while (ticket >= mix.weights[verb]) ticket -= mix.weights[verb++];
      RaceOp op{static_cast<RaceVerb>(verb), program.number_of(mix.hot[rng.below(mix.hot.size())]), value++};
      if (op.verb == RaceVerb::kScan) {
        op.value = 1 + rng.below(program.keys.size() + 1);
      } else if (mix.zero_one_in != 0 && rng.below(mix.zero_one_in) == 0) {
        op.value = 0;
      }
      ops.push_back(op);
    }
  }
  return program;
}

/// A scenario: a program on a fresh index. `Index` is a Synchronized on the Simulated machine.
template <class Index, class Key>
class ProgramOnIndex {
 public:
  ProgramOnIndex(const RaceProgram<Key>& program, std::string_view policy)
      : program_(program),
        history_(program.keys.size(), static_cast<u32>(program.fibers.size())),
        index_(Spec::parse(policy), MemoryConfig{}) {
    for (u32 i = 0; i < program_.fibers.size(); ++i) threads_.push_back(index_.join());
    for (std::size_t i = 0; i < program_.preload.size(); ++i) {
      const u32 key = program_.preload[i];
      (void)index_.insert(threads_[0], program_.keys[key], program_.values[i]);
      history_.starts_with(key, program_.values[i]);
    }
    for (const u32 key : program_.erased) {
      (void)index_.erase(threads_[0], program_.keys[key]);
      history_.starts_absent(key);
    }
  }

  void fiber(u32 id) {
    for (const RaceOp& op : program_.fibers[id]) run(id, op);
    if (++ended_ == program_.fibers.size()) run(id, {RaceVerb::kScan, 0, ~u64{0}});
  }

  std::string check() {
    for (const auto& thread : threads_) {
      if constexpr (requires { thread.counters.inconsistency(); }) {
        if (std::string wrong = thread.counters.inconsistency(); !wrong.empty()) return wrong;
      }
    }
    return history_.complaint();
  }

 private:
  void run(u32 id, const RaceOp& op) {
    auto& me = threads_[id];
    const Key& key = program_.keys[op.key];
    if (op.verb == RaceVerb::kScan) {
      if constexpr (Index::kOrdered) return scan(id, op);
      if constexpr (requires { requires Index::kWalksBesideWriters; }) {
        walk(id);
        if (op.value != ~u64{0}) return;
      }
      for (u32 number = op.key; number < program_.keys.size(); ++number) run(id, {RaceVerb::kFind, number, 1});
      return;
    }
    if (op.verb == RaceVerb::kFind && op.value % 2 == 0) return find_two(id, op.key);
    Call call{static_cast<CallKind>(op.verb), false, op.value, history_.now(), 0, id};
    if constexpr (requires(Found (*change)(Found) noexcept) { index_.modify(me, key, change); }) {
      if (op.verb != RaceVerb::kFind && goes_by_modify(op)) return modify(op, call);
    }
    const auto put = [&](auto&& answer) {
      try {
        call.yes = answer();
      } catch (const IndexFull&) {
        call.kind = CallKind::kFind;  // it counts as a find of an absent key
      }
    };
    switch (op.verb) {
      case RaceVerb::kFind: {
        const std::optional<u64> found = index_.find(me, key);
        call.yes = found.has_value();
        call.value = found.value_or(0);
        break;
      }
      case RaceVerb::kInsert: put([&] { return index_.insert(me, key, op.value); }); break;
      case RaceVerb::kUpdate: call.yes = index_.update(me, key, op.value); break;
      case RaceVerb::kUpsert: put([&] { return index_.upsert(me, key, op.value); }); break;
      default: call.yes = index_.erase(me, key);
    }
    call.returned = history_.now();
    history_.add(op.key, call);
  }

  // Does what the operation does by modify, whose answer also says what was there.
  void modify(const RaceOp& op, Call call) {
    try {
      const Modified done = index_.modify(threads_[call.caller], program_.keys[op.key],
                                          [&op](Found before) noexcept { return after(op, before); });
      expect(done.after == after(op, done.before), "modify returned another value than it stored");
      call.yes = answer(op, done.before);
      call.was = done.before;
    } catch (const IndexFull&) {
      call.kind = CallKind::kFind;  // it counts as a find of an absent key
    }
    call.returned = history_.now();
    history_.add(op.key, call);
  }

  // Looks up a batch of the key and its neighbour. It counts as one find of each.
  void find_two(u32 id, u32 key) {
    const u32 numbers[] = {key, static_cast<u32>((key + 1) % program_.keys.size())};
    const typename Index::Raw keys[] = {program_.keys[numbers[0]], program_.keys[numbers[1]]};
    std::optional<u64> found[2];
    const u64 called = history_.now();
    if constexpr (requires { index_.prefetch(threads_[id], keys, Hint::kFind); }) {
      index_.prefetch(threads_[id], keys, Hint::kFind);  // changes nothing, and must bear any change beside it
    }
    if constexpr (requires { index_.prefetch_further(threads_[id], keys); })
      index_.prefetch_further(threads_[id], keys);
    index_.find_batch(threads_[id], keys, found);
    const u64 returned = history_.now();
    for (u32 i = 0; i < 2; ++i) {
      history_.add(numbers[i], {CallKind::kFind, found[i].has_value(), found[i].value_or(0), called, returned, id});
    }
  }

  // Scans. It counts as one find for every key in its range, which ends at the last pair of a full limit.
  void scan(u32 id, const RaceOp& op) {
    const u64 called = history_.now();
    std::vector<std::pair<u32, u64>> pairs;
    const std::size_t seen =
        index_.scan(threads_[id], program_.keys[op.key], op.value, [&](const auto& key, u64 value) {
          const u32 number = program_.number_of(key);
          expect(number != ~0u, "a scan returned a key that was never inserted");
          expect(number >= op.key, "a scan returned a key before its start");
          expect(pairs.empty() || pairs.back().first < number, "a scan is out of order");
          pairs.emplace_back(number, value);
        });
    const u64 returned = history_.now();
    expect(seen == pairs.size() && seen <= op.value, "a scan's count is wrong");
    const u32 end = seen == op.value ? pairs.back().first + 1 : static_cast<u32>(program_.keys.size());
    auto pair = pairs.begin();
    for (u32 number = op.key; number < end; ++number) {
      const bool found = pair != pairs.end() && pair->first == number;
      history_.add(number, {CallKind::kFind, found, found ? pair->second : 0, called, returned, id});
      if (found) ++pair;
    }
  }

  // Visits every pair. Each key counts as one find for each visit, or as a find of an absent key if it is not visited.
  void walk(u32 id) {
    const u64 called = history_.now();
    std::vector<std::pair<u32, u64>> pairs;
    index_.for_each(threads_[id], [&](const auto& key, u64 value) {
      const u32 number = program_.number_of(key);
      expect(number != ~u32{0}, "a walk visited a key that was never inserted");
      pairs.emplace_back(number, value);
    });
    const u64 returned = history_.now();
    std::vector<bool> visited(program_.keys.size());
    for (const auto& [number, value] : pairs) {
      visited[number] = true;
      history_.add(number, {CallKind::kFind, true, value, called, returned, id});
    }
    for (u32 number = 0; number < visited.size(); ++number) {
      if (!visited[number]) history_.add(number, {CallKind::kFind, false, 0, called, returned, id});
    }
  }

  const RaceProgram<Key>& program_;
  History history_;
  u32 ended_ = 0;
  Index index_;
  std::vector<typename Index::ThreadState> threads_;
};

struct ProgramsReport {
  u64 schedules = 0;
  u64 failures = 0;
  std::string message;  // the first failure, or how much was tried
};

/// Runs `programs` programs of the mix under `options.schedules` schedules each; ends at the first failure.
template <class Index, class Key>
ProgramsReport run_programs(const RaceMix<Key>& mix, std::string_view policy, u32 programs, RaceOptions options) {
  ProgramsReport report;
  u64 events = 0, aborts = 0;
  double seconds = 0;
  const u64 first_seed = options.seed;
  for (u32 number = 0; number < programs && report.failures == 0; ++number) {
    options.seed = first_seed + u64{number} * options.schedules;
    const RaceProgram<Key> program = draw_program(mix, number, options.fibers);
    options.fibers = static_cast<u32>(program.fibers.size());
    const RaceReport one = find_races<ProgramOnIndex<Index, Key>>(options, program, policy);
    report.schedules += one.schedules;
    report.failures += one.failures;
    events += one.events;
    aborts += one.aborts;
    seconds += static_cast<double>(one.schedules) / one.schedules_per_second;
    if (one.failures != 0)
      report.message = "mix \"" + mix.name + "\", program " + std::to_string(number) + ": " + one.str();
  }
  if (report.failures == 0) {
    report.message = "mix \"" + mix.name + "\": " + std::to_string(report.schedules) + " schedules, " +
                     std::to_string(events) + " events, " + std::to_string(aborts) + " aborts, " +
                     std::to_string(static_cast<u64>(static_cast<double>(report.schedules) / seconds)) + " schedules/s";
  }
  return report;
}

}  // namespace latchlab::testing
