// Tests that show why a transaction must look at the lock first.
//
// Looking last, before the commit (lazy subscription), would keep the word in the read set only for a moment. Such a
// transaction may see half of a holder's operation. Usually that does no damage, because the holder's next store aborts
// it. But until then it runs on values that no operation leaves. Its stores may then decide which word it looks at in
// the end. (Dice et al., "Pitfalls of lazy subscription", 2014, describe more such ways.)
//
//     holder of word 0             transaction
//     exchange, first = 1
//                                  begin; first is 1, second is 0; note[first - second] = 1, over the word's number
//                                  look at word 1: free; commit
//     second = 1, word 0 = 0
//
// The tests elide by hand, with variants that differ only in when they look at the lock, under the same bodies:
//
//     looks at the lock   runs on half an operation    commits half an operation    the same, if its store goes astray
//     never               found                        found                        found
//     before it begins    found                        found                        found
//     last                found                        never                        found
//     first               never                        never                        never
//
// The policies must behave like the last line.
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "src/testing/catch.h"
#include "sync/adaptive.h"
#include "sync/hle.h"
#include "sync/race_crew_test.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/spin_lock.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

constexpr std::string_view kRanOnHalf = "a transaction ran on half an operation";
constexpr std::string_view kCommittedHalf = "a transaction committed its view of half an operation";

/// The lines of the table above, and its columns.
enum class Subscribes { kNever, kBefore, kLast, kFirst };
enum class Asked { kRuns, kCommits, kCommitsAstray };

/// The private memory of a thread: scratch space, followed by the number of the word that it takes for the lock.
struct alignas(kLineBytes) Note {
  Simulated::Plain<u64> scratch_and_word[2];
};

/// Fibers that add to twins and read them.
template <class P>
struct Litmus : Crew<P> {
  using Both = Twins<typename P::Layout>::Both;
  using Crew<P>::Crew;

  Twins<typename P::Layout> twins;
  std::array<Note, kFibers> notes;

  /// Runs the operations of one fiber; `run(body)` runs a body as one operation.
  template <class Run>
  void take_turns(u32 id, bool asks_inside, bool astray, Run&& run) {
    for (u32 turn = 0; turn < kTurns; ++turn) {
      run([&](auto& tx) { return twins.add_in(tx); });
      const Both both = run([&](auto& tx) { return look_in(tx, notes[id], asks_inside, astray); });
      expect(both.first == both.second, kCommittedHalf);
    }
  }
  /// Reads the twins. The upgrade keeps scouts of adaptive, which do not validate, out of the code after it.
  template <class Tx>
  Attempt<Both> look_in(Tx& tx, Note& note, bool asks_inside, bool astray) {
    const auto both = twins.read_in(tx);
    if (!both || !tx.upgrade()) return kRestart;
    if (asks_inside) expect(both->first == both->second, kRanOnHalf);
    const u64 apart = both->first - both->second;
    if (astray) note.scratch_and_word[std::min<u64>(apart, 1)].store(1);
    return both;
  }
  std::string check() {
    const bool all = twins.now().first == kFibers * kTurns && twins.now().second == kFibers * kTurns;
    return std::string(all ? "" : kLost);
  }
};

/// Elision by hand. It uses Spin only for its threads.
template <Subscribes kWhen, Asked kAsked>
struct ByHand : Litmus<Spin<Simulated>> {
  static constexpr std::string_view kPolicy = "by hand";

  std::array<SpinLock<Simulated>, 2> words;  // no correct fiber takes the second

  void fiber(u32 id) {
    take_turns(id, kAsked == Asked::kRuns, kAsked == Asked::kCommitsAstray,
               [&](const auto& body) { return elide(id, body); });
  }
  SpinLock<Simulated>& lock_of(u32 id) { return words[notes[id].scratch_and_word[1].load()]; }

  /// Runs the body in one try or, after an abort, under the lock.
  template <class Body>
  auto elide(u32 id, const Body& body) {
    DirectTx<Simulated> tx(*threads[id].pool);
    std::optional<std::invoke_result_t<const Body&, DirectTx<Simulated>&>> attempt;
    const auto run = [&] { attempt.emplace(body(tx)); };
    const auto subscribe = [&] {
      if (lock_of(id).busy()) Simulated::abort<kBusyCode>();
    };
    if constexpr (kWhen == Subscribes::kBefore) lock_of(id).await_free();
    const u32 status = Simulated::transact([&] {
      if constexpr (kWhen == Subscribes::kFirst) subscribe();
      run();
      if constexpr (kWhen == Subscribes::kLast) subscribe();
    });
    if (status != kCommitted) {
      lock_of(id).lock();
      run();
      lock_of(id).unlock();
    }
    return finish_writing(tx, *attempt);
  }
};

/// The same bodies under a policy, with all checks at once.
template <class P>
struct UnderPolicy : Litmus<P> {
  using Litmus<P>::Litmus;

  void fiber(u32 id) {
    this->take_turns(id, true, true,
                     [&](const auto& body) { return this->house.policy.write(this->threads[id], body); });
  }
};

TEST_CASE("Lazy subscription: a transaction that looks at the lock last commits half an operation", "[race][no-tsan]") {
  constexpr auto kLast = Subscribes::kLast;
  CHECK(fails_with<ByHand<kLast, Asked::kRuns>>(kRanOnHalf));
  check_no_race<ByHand<kLast, Asked::kCommits>>();  // the abort repairs it, if it still finds the lock
  CHECK(fails_with<ByHand<kLast, Asked::kCommitsAstray>>(kCommittedHalf));
}

TEST_CASE(
    "Lazy subscription: a transaction that looks at the lock before it begins, or never, commits half an operation",
    "[race][no-tsan]") {
  CHECK(fails_with<ByHand<Subscribes::kBefore, Asked::kRuns>>(kRanOnHalf));
  CHECK(fails_with<ByHand<Subscribes::kBefore, Asked::kCommits>>(kCommittedHalf));
  CHECK(fails_with<ByHand<Subscribes::kBefore, Asked::kCommitsAstray>>(kCommittedHalf));
  CHECK(fails_with<ByHand<Subscribes::kNever, Asked::kRuns>>(kRanOnHalf));
  CHECK(fails_with<ByHand<Subscribes::kNever, Asked::kCommits>>(kCommittedHalf));
  CHECK(fails_with<ByHand<Subscribes::kNever, Asked::kCommitsAstray>>(kCommittedHalf));
}

TEST_CASE("Lazy subscription: a transaction that looks at the lock first sees no half operation", "[race][no-tsan]") {
  constexpr auto kFirst = Subscribes::kFirst;
  check_no_race<ByHand<kFirst, Asked::kRuns>>();
  check_no_race<ByHand<kFirst, Asked::kCommits>>();
  check_no_race<ByHand<kFirst, Asked::kCommitsAstray>>();
}

TEST_CASE("Lazy subscription: no policy that elides a lock lets a transaction see half an operation",
          "[race][no-tsan]") {
  check_no_race<UnderPolicy<Rtm<Simulated>>>("rtm:1");
  check_no_race<UnderPolicy<Rtm<Simulated>>>("rtm:0,wait=0,busy_counts=0,respec=0,obey_retry=1");
  check_no_race<UnderPolicy<Hle<Simulated>>>("hle:emulated");
  check_no_race<UnderPolicy<Tiny<Adaptive<Simulated>>>>("adaptive");
}

TEST_CASE("Lazy subscription: a policy that drops its subscription is found", "[race][no-tsan]") {
  const Seeded bug(BugsOnRequest::kDropSubscription);
  CHECK(fails_with<UnderPolicy<Rtm<Simulated, BugsOnRequest>>>(kRanOnHalf, "rtm:1"));
  CHECK(fails_with<UnderPolicy<Hle<Simulated, BugsOnRequest>>>(kRanOnHalf, "hle:emulated"));
  CHECK(fails_with<UnderPolicy<Tiny<Adaptive<Simulated, BugsOnRequest>>>>(kRanOnHalf, "adaptive"));
}

}  // namespace
}  // namespace latchlab::testing
