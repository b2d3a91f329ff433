// The recorder of calls: its buffers, and the cut where one of them is full.
#include "src/history/recorder.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "src/history/check_history.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using enum CallKind;

/// Records a call of a thread, if there is room for it.
void record(HistoryRecorder& recorder, u32 thread, u64 key, const Call& call) {
  if (!recorder.goes_on()) return;
  const auto slot = recorder.take(thread, 1, call.called);
  if (!slot.empty()) slot[0] = {key, call};
}

TEST_CASE("a share of keys is about as large as it says") {
  for (const u64 one_in : {1, 2, 64, 500}) {
    const KeyShare share{one_in};
    u64 chosen = 0;
    for (u64 key = 0; key < 100'000; ++key) chosen += share.has(key);
    CAPTURE(one_in, chosen);
    CHECK(chosen * one_in >= 80'000);
    CHECK(chosen * one_in <= 120'000);
  }
}

TEST_CASE("recorded calls have their thread, and those under way at the end have no answer") {
  HistoryRecorder recorder(2, 9);
  CHECK(recorder.room() == 10);
  for (const u32 thread : {0, 1}) recorder.make_room(thread);
  record(recorder, 0, 7, {kInsert, true, 70, 1, 2});
  record(recorder, 1, 7, {kFind, true, 70, 3, 4});
  record(recorder, 1, 7, {kUpdate, true, 71, 5, kNeverReturned, 0, 70});
  const RecordedCalls recorded = recorder.collect();
  CHECK_FALSE(recorded.cut);
  REQUIRE(recorded.calls.size() == 3);
  CHECK(recorded.calls[0].call.str() == Call{kInsert, true, 70, 1, 2, 0}.str());
  CHECK(recorded.calls[1].call.str() == Call{kFind, true, 70, 3, 4, 1}.str());
  CHECK(recorded.calls[2].call.str() == Call{kUpdate, false, 71, 5, kNeverReturned, 1}.str());
}

TEST_CASE("a full buffer ends the recording of all threads at one moment") {
  HistoryRecorder recorder(2, 6);
  for (const u32 thread : {0, 1}) recorder.make_room(thread);
  record(recorder, 0, 1, {kInsert, true, 10, 1, 2});
  record(recorder, 0, 2, {kInsert, true, 20, 3, 4});
  record(recorder, 0, 3, {kInsert, true, 30, 5, 20});   // returns after the cut
  record(recorder, 1, 1, {kUpdate, true, 11, 12, 13});  // began after the cut, which the thread had not seen
  CHECK(recorder.goes_on());
  record(recorder, 0, 4, {kInsert, true, 40, 10, 11});  // finds no room
  CHECK_FALSE(recorder.goes_on());
  record(recorder, 1, 2, {kErase, true, 0, 14, 15});
  const RecordedCalls recorded = recorder.collect();
  CHECK(recorded.cut == 10);
  REQUIRE(recorded.calls.size() == 3);
  CHECK(std::ranges::all_of(recorded.calls, [](const KeyedCall& one) { return one.call.called < 10; }));
  CHECK_FALSE(recorded.calls[2].call.has_returned());
}

TEST_CASE("the earliest call without room makes the cut") {
  HistoryRecorder recorder(2, 2);
  for (const u32 thread : {0, 1}) recorder.make_room(thread);
  record(recorder, 0, 1, {kInsert, true, 10, 1, 3});
  record(recorder, 1, 2, {kInsert, true, 20, 2, 3});
  REQUIRE(recorder.goes_on());
  // Both threads have asked before either finds its buffer full, and the one that began later finds it first.
  CHECK(recorder.take(0, 1, 8).empty());
  CHECK(recorder.take(1, 1, 6).empty());
  CHECK(recorder.collect().cut == 6);
}

TEST_CASE("calls at a time without room for all of them are not recorded at all") {
  HistoryRecorder recorder(1, 3);
  recorder.make_room(0);
  CHECK(recorder.take(0, 2, 1).size() == 2);
  CHECK(recorder.take(0, 2, 5).empty());
  CHECK(recorder.collect().cut == 5);
}

TEST_CASE("a call that found a value without a record is no mistake of the index") {
  // The update finds no room. The find began before it, met its value, and returned after it.
  HistoryRecorder recorder(2, 2);
  for (const u32 thread : {0, 1}) recorder.make_room(thread);
  record(recorder, 0, 1, {kInsert, true, 10, 1, 2});
  const auto find = recorder.take(1, 1, 3);
  find[0] = {1, {kFind, true, 11, 3, 9}};
  record(recorder, 0, 1, {kUpdate, true, 11, 5, 6});
  std::vector<KeyedCall> with_answer{{1, {kInsert, true, 10, 1, 2}}, find[0]};
  RecordedCalls recorded = recorder.collect();
  CHECK(check_history(with_answer).answer == Linearizable::kNo);
  const HistoryVerdict verdict = check_history(recorded.calls);
  CHECK(verdict.answer == Linearizable::kYes);
  CHECK(verdict.pending == 1);
}

TEST_CASE("a history that several threads fill up is linearizable to its cut") {
  // A map that counts as ordered by its own turns: each call takes effect at the turn between its times.
  for (u64 round = 0; round < 20; ++round) {
    HistoryRecorder recorder(3, 3 * 200);
    std::atomic<u64> clock{1};
    std::atomic<u64> cell{0};  // 0: the key is absent
    const auto work = [&](u32 thread) {
      recorder.make_room(thread);
      for (u64 i = 0; i < 400 && recorder.goes_on(); ++i) {
        const u64 called = clock.fetch_add(1, kSeqCst);
        const auto slot = recorder.take(thread, 1, called);
        const u64 stored = (i + 1) * 4 + thread;
        Call call{kUpsert, false, stored, called, kNeverReturned};
        if (i % 2 == 0) {
          call.yes = cell.exchange(stored, kSeqCst) == 0;
        } else {
          const u64 found = cell.load(kSeqCst);
          call = {kFind, found != 0, found, called, kNeverReturned};
        }
        call.returned = clock.fetch_add(1, kSeqCst);
        if (!slot.empty()) slot[0] = {1, call};
      }
    };
    std::vector<std::thread> threads;
    for (const u32 thread : {0, 1, 2}) threads.emplace_back(work, thread);
    for (std::thread& thread : threads) thread.join();
    RecordedCalls recorded = recorder.collect();
    CHECK(recorded.cut);
    const HistoryVerdict verdict = check_history(recorded.calls);
    INFO((verdict.shown ? verdict.shown->witness.drawing() : ""));
    CHECK(verdict.answer == Linearizable::kYes);
  }
}

}  // namespace
}  // namespace latchlab
