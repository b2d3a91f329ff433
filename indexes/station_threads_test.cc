// Histories of reservation stations (sync/station.h): real threads, which are interrupted inside operations, run
// batches on few keys under each class of policies. All answers must be linearizable. LATCHLAB_HISTORY_CALLS sets how
// many calls a history has; 10^7 take some minutes.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/rng.h"
#include "src/history/check_history.h"
#include "src/history/history_file.h"
#include "src/machine/native.h"
#include "src/machine/preemption.h"
#include "src/testing/catch.h"
#include "sync/combine.h"
#include "sync/ffwd.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/seeded_bugs_testing.h"
#include "sync/seq.h"
#include "sync/spin.h"
#include "sync/station.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

constexpr u32 kThreads = 3;
constexpr u32 kBatch = 16;
constexpr u64 kKeysAtOnce = 4;
constexpr u64 kCallsOfKeys = 20'000;  // after so many calls the threads go on to other keys

u64 calls_of_run() {
  const char* const asked = std::getenv("LATCHLAB_HISTORY_CALLS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 8'000;
}

/// The calls of one batch, which a station runs.
struct Batch {
  /// Draws calls on some keys from `first_key` on. Values are written once.
  void draw(Rng& rng, u64 first_key, u32 caller) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      keys[i] = first_key + rng.below(kKeysAtOnce);
      calls[i] = {.kind = static_cast<CallKind>(rng.below(5)),
                  .yes = false,
                  .value = rng(),
                  .called = 0,
                  .returned = 0,
                  .caller = caller};
    }
  }
  Found next(std::size_t i, const Found& before) const noexcept {
    switch (calls[i].kind) {
      case CallKind::kFind: return before;
      case CallKind::kInsert: return before ? before : Found(calls[i].value);
      case CallKind::kUpdate: return before ? Found(calls[i].value) : before;
      case CallKind::kUpsert: return calls[i].value;
      case CallKind::kErase: break;
    }
    return {};
  }
  void answer(std::size_t i, const Found& before) noexcept {
    Call& call = calls[i];
    call.returned = now();
    const bool grows = call.kind == CallKind::kInsert || call.kind == CallKind::kUpsert;
    call.yes = before.has_value() != grows;
    if (call.kind == CallKind::kFind) {
      call.value = before.value_or(0);
    } else {
      call.was = before;
    }
  }

  u64 key(std::size_t i) const { return keys[i]; }
  bool changes(std::size_t i) const { return calls[i].kind != CallKind::kFind; }
  /// A full fence, which pairs with those of other threads: a call that begins after a return sees what the returned
  /// call did.
  u64 now() noexcept { return clock.fetch_add(1, kSeqCst) + 1; }

  std::atomic<u64>& clock;
  std::array<u64, kBatch> keys{};
  std::array<Call, kBatch> calls{};
};

/// Runs batches in threads, and checks their calls.
template <class Index, class Flag = std::false_type>
HistoryVerdict run(std::string_view policy, const StationOptions& options) {
  Index index(Spec::parse(policy), MemoryConfig{});
  std::atomic<u64> clock{0};
  std::vector<KeyedCall> all[kThreads];
  std::vector<std::thread> threads;
  for (u32 id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      auto me = index.join();
      Station<Index, Flag> station(options);
      Rng rng(draw(test_seed(), 1, id));
      Preemption preemption(draw(test_seed(), 2, id));
      Batch batch{clock};
      for (u64 done = 0; done < calls_of_run() / kThreads; done += kBatch) {
        batch.draw(rng, done * kThreads / kCallsOfKeys * kKeysAtOnce, id);
        preemption.arm();
        for (Call& call : batch.calls) call.called = batch.now();
        station.run(index, me, kBatch, batch, BatchOrder::kSideBySide);
        for (std::size_t i = 0; i < kBatch; ++i) all[id].push_back({batch.keys[i], batch.calls[i]});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<KeyedCall> history;
  for (const auto& calls : all) history.insert(history.end(), calls.begin(), calls.end());
  return check_history(history);
}

template <class Index>
void check(std::string_view policy) {
  for (const StationMode mode : {StationMode::kOn, StationMode::kStall}) {
    for (const StationOrder order : {StationOrder::kRequest, StationOrder::kCompletion}) {
      INFO(policy << ", mode " << static_cast<int>(mode) << ", order " << static_cast<int>(order));
      const HistoryVerdict verdict = run<Index>(policy, {mode, order});
      CHECK(verdict.answer == Linearizable::kYes);
      CHECK(verdict.calls >= calls_of_run());
      if (verdict.shown) FAIL_CHECK("key " << verdict.shown->key);
    }
  }
}

template <template <class, class> class Index, class Policy>
using Numbers = Synchronized<Index, Policy, U64Key>;

TEST_CASE("Batches of a station are linearizable under locks") {
  check<Numbers<Art, Spin<Native>>>("spin");
  check<Numbers<Cuckoo, RwSpin<Native>>>("rwspin");
}

TEST_CASE("Batches of a station are linearizable where another thread runs them") {
  check<Numbers<Art, Combine<Native>>>("combine");
  check<Numbers<Art, Ffwd<Native>>>("ffwd");
}

TEST_CASE("Batches of a station are linearizable under elision") {
  check<Numbers<Art, Rtm<Native>>>("rtm:20");
  check<Numbers<Cuckoo, Hybrid<Native>>>("hybrid");
}

TEST_CASE("Batches of a station are linearizable under versions") {
  check<Numbers<Art, Olc<Native>>>("olc");
  check<Numbers<Cuckoo, Olc<Native>>>("olc");
  check<Numbers<Chained, Rowex<Native>>>("rowex");
  check<Numbers<Cuckoo, Seq<Native>>>("seq");
  check<Numbers<Art, Striped<Native>>>("striped");
}

TEST_CASE("A station that answers early is found by a history", "[no-tsan]") {  // no thread is interrupted there
  const testing::Seeded bug(station::BugFlags<bool>::kAnswerEarly);
  const StationOptions options{StationMode::kOn, StationOrder::kCompletion};
  CHECK(run<Numbers<Cuckoo, Olc<Native>>, bool>("olc", options).answer == Linearizable::kNo);
}

}  // namespace
}  // namespace latchlab
