#pragma once
// Runs programs of few keys (src/testing/race_program.h) over any type-erased index, on real threads that are
// interrupted inside their operations. The answers of all calls must be linearizable.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/erased_testing.h"
#include "src/machine/preemption.h"
#include "src/testing/history.h"
#include "src/testing/race_program.h"

namespace latchlab::testing {

inline constexpr u32 kHistoryThreads = 4;

/// Returns the mix with keys as a StringSession takes them, and `ops_each` operations of each thread.
inline RaceMix<std::string> for_threads(const RaceMix<u64>& mix, u32 ops_each) {
  const auto spelled_all = [](const std::vector<u64>& numbers) {
    std::vector<std::string> keys;
    for (const u64 number : numbers) keys.push_back(number_key(number));
    return keys;
  };
  return {.name = mix.name,
          .preload = spelled_all(mix.preload),
          .erased = spelled_all(mix.erased),
          .hot = spelled_all(mix.hot),
          .weights = mix.weights,
          .ops_each = ops_each,
          .zero_one_in = mix.zero_one_in};
}

/// One run of a program on an index that is empty at first.
class ThreadsHistory {
 public:
  ThreadsHistory(Erased& index, const RaceProgram<std::string>& program)
      : index_(index),
        program_(program),
        history_(program.keys.size(), static_cast<u32>(program.fibers.size())),
        complaints_(program.fibers.size()) {}

  /// Runs the program. When all threads have ended, it looks everything up once more. Returns a description of an
  /// impossible history, or an empty string.
  std::string run(u64 seed) {
    StringSession session(index_);
    load(session);
    std::atomic<u32> ready{0};
    std::vector<std::thread> threads;
    for (u32 id = 0; id < program_.fibers.size(); ++id) {
      threads.emplace_back([this, &ready, seed, id] {
        StringSession mine(index_);
        // Relaxed: joining the index has ordered everything that matters.
        ready.fetch_add(1, kRelaxed);
        while (ready.load(kRelaxed) < program_.fibers.size()) std::this_thread::yield();
        Preemption preemption(draw(seed, 1, id));
        for (const RaceOp& op : program_.fibers[id]) {
          preemption.arm();
          call(mine, id, op);
        }
        if (complaints_[id].empty()) complaints_[id] = mine.inconsistency();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (u32 key = 0; key < program_.keys.size(); ++key) find(session, 0, key);
    look_at_all(session);
    for (const std::string& complaint : complaints_) {
      if (!complaint.empty()) return complaint;
    }
    return history_.complaint();
  }

 private:
  void load(StringSession& session) {
    for (std::size_t i = 0; i < program_.preload.size(); ++i) {
      const u32 key = program_.preload[i];
      session.insert(program_.keys[key], program_.values[i]);
      history_.starts_with(key, program_.values[i]);
    }
    for (const u32 key : program_.erased) {
      session.erase(program_.keys[key]);
      history_.starts_absent(key);
    }
  }

  void call(StringSession& session, u32 id, const RaceOp& op) {
    if (op.verb == RaceVerb::kScan && index_.ordered()) return scan(session, id, op);
    if (op.verb == RaceVerb::kScan && index_.walks_beside_writers() && program_.keys.size() <= kMostWalked)
      return walk(session, id);
    if (op.verb == RaceVerb::kScan) return find_batch(session, id, op);
    if (op.verb == RaceVerb::kFind) return find(session, id, op.key);
    const std::string& key = program_.keys[op.key];
    Call call{static_cast<CallKind>(op.verb), false, op.value, history_.now(), 0, id};
    try {
      if (session.modifies() && goes_by_modify(op)) return modify(session, op, call);
      switch (op.verb) {
        case RaceVerb::kInsert: call.yes = session.insert(key, op.value); break;
        case RaceVerb::kUpdate: call.yes = session.update(key, op.value); break;
        case RaceVerb::kUpsert: call.yes = session.upsert(key, op.value); break;
        default: call.yes = session.erase(key);
      }
    } catch (const IndexFull&) {
      call.kind = CallKind::kFind;  // a find that finds nothing, since the index was full and the key absent
    }
    call.returned = history_.now();
    history_.add(op.key, call);
  }

  // Does what the operation does by modify, whose answer also says what was there.
  void modify(StringSession& session, const RaceOp& op, Call call) {
    const Modified done = session.modify(program_.keys[op.key], [&op](Found before) { return after(op, before); });
    call.returned = history_.now();
    call.yes = answer(op, done.before);
    call.was = done.before;
    history_.add(op.key, call);
  }

  void look_at_all(StringSession& session) {
    const u64 called = history_.now();
    std::vector<std::optional<u64>> found(program_.keys.size());
    session.for_each([&](std::string_view key, u64 value) {
      const u32 number = program_.number_of(key);
      if (number == ~u32{0} || found[number]) {
        complaints_[0] = "for_each showed a key twice, or a key that no thread inserted";
      } else {
        found[number] = value;
      }
    });
    const u64 returned = history_.now();
    for (u32 key = 0; key < found.size(); ++key) found_is(0, key, found[key], called, returned);
  }

  /// Visits every pair while other threads change them. Each key counts as a find for each visit, or as a find of an
  /// absent key.
  void walk(StringSession& session, u32 id) {
    std::vector<std::pair<u32, u64>> pairs;
    std::vector<bool> visited(program_.keys.size());
    const u64 called = history_.now();
    session.for_each([&](std::string_view key, u64 value) {
      const u32 number = program_.number_of(key);
      if (number == ~u32{0}) {
        complaints_[id] = "a walk visited a key that no thread inserted";
      } else {
        pairs.emplace_back(number, value);
        visited[number] = true;
      }
    });
    const u64 returned = history_.now();
    for (const auto& [key, value] : pairs) found_is(id, key, value, called, returned);
    for (u32 key = 0; key < visited.size(); ++key) {
      if (!visited[key]) found_is(id, key, std::nullopt, called, returned);
    }
  }
  /// The largest number of keys of a program whose threads walk, since each of its keys is a call of the history.
  static constexpr std::size_t kMostWalked = 2000;

  void find(StringSession& session, u32 id, u32 key) {
    const u64 called = history_.now();
    const std::optional<u64> found = session.find(program_.keys[key]);
    found_is(id, key, found, called, history_.now());
  }

  /// Looks up several keys from the operation's on, in one batch. Each key is a find of its own in the history.
  void find_batch(StringSession& session, u32 id, const RaceOp& op) {
    const u32 end = op.key + static_cast<u32>(std::min(limit_of(op), program_.keys.size() - op.key));
    const std::vector<std::string> keys(program_.keys.begin() + op.key, program_.keys.begin() + end);
    const u64 called = history_.now();
    session.prefetch(keys, Hint::kFind);  // changes nothing, and must bear any change beside it
    const std::vector<std::optional<u64>> found = session.find_batch(keys, BatchOrder::kSideBySide);
    const u64 returned = history_.now();
    for (u32 key = op.key; key < end; ++key) found_is(id, key, found[key - op.key], called, returned);
  }

  /// Scans from the operation's key. Each key that the scan covers is a find in the history: up to the limit's last
  /// pair, or all.
  void scan(StringSession& session, u32 id, const RaceOp& op) {
    const std::size_t limit = limit_of(op);
    std::vector<std::pair<u32, u64>> pairs;
    const u64 called = history_.now();
    const std::size_t seen = session.scan(program_.keys[op.key], limit, [&](std::string_view key, u64 value) {
      const u32 number = program_.number_of(key);
      const bool in_order = number >= (pairs.empty() ? op.key : pairs.back().first + 1);
      if (number == ~u32{0} || !in_order)
        complaints_[id] = "a scan is out of order, or returned a key that no thread inserted";
      pairs.emplace_back(number, value);
    });
    const u64 returned = history_.now();
    if (seen != pairs.size() || seen > limit) complaints_[id] = "a scan's count is wrong";
    if (!complaints_[id].empty()) return;
    const u32 end = seen == limit ? pairs.back().first + 1 : static_cast<u32>(program_.keys.size());
    auto pair = pairs.begin();
    for (u32 key = op.key; key < end; ++key) {
      const bool found = pair != pairs.end() && pair->first == key;
      found_is(id, key, found ? std::optional(pair->second) : std::nullopt, called, returned);
      if (found) ++pair;
    }
  }
  /// Returns the limit of a scan or a batch, bounded since each of its keys is a call of the history.
  static std::size_t limit_of(const RaceOp& op) { return std::min<std::size_t>(op.value, 100); }

  void found_is(u32 id, u32 key, std::optional<u64> found, u64 called, u64 returned) {
    history_.add(key, {CallKind::kFind, found.has_value(), found.value_or(0), called, returned, id});
  }

  Erased& index_;
  const RaceProgram<std::string>& program_;
  History history_;
  std::vector<std::string> complaints_;  // one for each thread
};

}  // namespace latchlab::testing
