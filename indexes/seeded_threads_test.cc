// Histories of real threads find seeded bugs: with one step of a protocol left out (sync/seeded_bugs.h) they are not
// linearizable. Bugs that threads find seldom or never have no check here, since the race finder finds them.
#include <sys/time.h>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/chained/chained.h"
#include "indexes/chained/chained_line.h"
#include "indexes/chained/race_line_mixes_test.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "indexes/threads_history_test.h"
#include "indexes/vip/race_mixes_test.h"
#include "indexes/vip/vip.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/synchronized.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

/// Policies with tiny scales: tables begin with two buckets, and retired memory is freed soon.
using OlcOnThreads = Tiny<Olc<Native, BugsOnRequest>>;
using RowexOnThreads = Tiny<Rowex<Native, BugsOnRequest>>;

/// Returns a mix in which a table grows all the time: many keys are inserted into an empty one.
std::vector<RaceMix<u64>> growth() {
  std::vector<u64> keys;
  for (u64 key = 0; key < 400; ++key) keys.push_back(key);
  return {{"growth", {}, {}, keys, {5, 6, 1, 1, 2, 0}}};
}

/// Limits the time of a history. In a broken index threads may wait for each other without end. A history takes some
/// milliseconds of processor time, and SIGPROF ends the process after a hundred times as much.
void watch_history() {
  const itimerval watch{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 300'000}};
  setitimer(ITIMER_PROF, &watch, nullptr);
}

/// Runs up to `most` histories, of the mixes in turn. Ends with the first impossible one.
template <template <class Layout, class Key> class Index, class Policy>
ProgramsReport run_histories(const std::vector<RaceMix<u64>>& mixes, u32 most, void (*before_each)()) {
  ProgramsReport report;
  for (u32 number = 0; number < most && report.failures == 0; ++number) {
    const RaceMix<u64>& mix = mixes[number % mixes.size()];
    const auto program = draw_program(for_threads(mix, 200), draw(test_seed(), 0, number), kHistoryThreads);
    ErasedOf<Synchronized<Index, Policy, U64Key>> index(Spec::parse(Policy::kName), {}, Spec::parse("index"));
    before_each();
    const std::string complaint = ThreadsHistory(index, program).run(draw(test_seed(), 1, number));
    ++report.schedules;
    if (complaint.empty()) continue;
    ++report.failures;
    report.message = "mix \"" + mix.name + "\": " + complaint;
  }
  return report;
}

template <template <class Layout, class Key> class Index, class Policy>
auto histories(const std::vector<RaceMix<u64>>& mixes, u32 most) {
  return [=] { return run_histories<Index, Policy>(mixes, most, watch_history); };
}

/// Returns the complaint about histories of sound code, or an empty string.
template <template <class Layout, class Key> class Index, class Policy>
std::string complaint_of(const std::vector<RaceMix<u64>>& mixes) {
  return run_histories<Index, Policy>(mixes, 200, [] {}).message;
}

// The limit of each search is about ten times the histories that a find took at most in 24 trials, and at least a
// hundred.

TEST_CASE("Seeded bugs: histories of threads find those of art", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = number_mixes();
  CHECK(complaint_of<Art, OlcOnThreads>(mixes) == "");
  CHECK(caught("threads: validation", B::kDropValidation, histories<Art, OlcOnThreads>(mixes, 3000)));
  CHECK(caught("threads: link", B::kDropLink, histories<Art, OlcOnThreads>(mixes, 2000)));
  CHECK(caught("threads: upgrade", B::kDropUpgrade, histories<Art, OlcOnThreads>(mixes, 100)));
  CHECK(caught("threads: grace period", B::kDropGracePeriod, histories<Art, OlcOnThreads>(mixes, 2000)));
  CHECK(complaint_of<Art, RowexOnThreads>(mixes) == "");
  CHECK(caught("threads, rowex: upgrade", B::kDropUpgrade, histories<Art, RowexOnThreads>(mixes, 100)));
  CHECK(caught("threads, rowex: grace period", B::kDropGracePeriod, histories<Art, RowexOnThreads>(mixes, 2000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of chained", "[threads]") {
  using B = BugsOnRequest;
  CHECK(complaint_of<Chained, OlcOnThreads>(growth()) == "");
  CHECK(caught("threads: validation", B::kDropValidation, histories<Chained, OlcOnThreads>(growth(), 10'000)));
  CHECK(caught("threads: upgrade", B::kDropUpgrade, histories<Chained, OlcOnThreads>(growth(), 100)));
  CHECK(complaint_of<Chained, RowexOnThreads>(growth()) == "");
  CHECK(caught("threads, rowex: trusted miss", chained::BugFlags<bool>::kTrustMiss,
               histories<Chained, RowexOnThreads>(growth(), 10'000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of chained_line", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = chained_line_mixes();
  CHECK(complaint_of<ChainedLine, OlcOnThreads>(mixes) == "");
  CHECK(caught("threads: validation", B::kDropValidation, histories<ChainedLine, OlcOnThreads>(mixes, 8000)));
  CHECK(caught("threads: upgrade", B::kDropUpgrade, histories<ChainedLine, OlcOnThreads>(mixes, 100)));
}

TEST_CASE("Seeded bugs: histories of threads find those of vip", "[threads]") {
  using B = BugsOnRequest;
  CHECK(complaint_of<Vip, OlcOnThreads>(growth()) == "");
  CHECK(caught("threads: validation", B::kDropValidation, histories<Vip, OlcOnThreads>(growth(), 10'000)));
  CHECK(caught("threads: upgrade", B::kDropUpgrade, histories<Vip, OlcOnThreads>(growth(), 100)));
}

TEST_CASE("Seeded bugs: histories of threads find those of cuckoo", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = four_mixes();
  CHECK(complaint_of<Cuckoo, OlcOnThreads>(mixes) == "");
  CHECK(caught("threads: validation", B::kDropValidation, histories<Cuckoo, OlcOnThreads>(mixes, 4000)));
  CHECK(caught("threads: upgrade", B::kDropUpgrade, histories<Cuckoo, OlcOnThreads>(mixes, 200)));
  CHECK(caught("threads: update latch", B::kDropUpdateLatch, histories<Cuckoo, OlcOnThreads>(mixes, 2000)));
  CHECK(caught("threads: tag", cuckoo::BugFlags<bool>::kDropTag, histories<Cuckoo, OlcOnThreads>(mixes, 200)));
  CHECK(caught("threads: strays", cuckoo::BugFlags<bool>::kForgetStrays, histories<Cuckoo, OlcOnThreads>(mixes, 500)));
  CHECK(
      caught("threads: stale path", cuckoo::BugFlags<bool>::kTrustPath, histories<Cuckoo, OlcOnThreads>(mixes, 1500)));
  CHECK(complaint_of<Cuckoo, OlcOnThreads>(growth()) == "");
  CHECK(complaint_of<Cuckoo3, OlcOnThreads>(three_mixes()) == "");
  CHECK(complaint_of<Cuckoo7, OlcOnThreads>(seven_mixes()) == "");
}

}  // namespace
}  // namespace latchlab::testing
