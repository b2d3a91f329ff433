// The side table, the places of threads, the totals of a report, causes, and emulated aborts.
#include "services/elide/lock_table.h"

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "services/elide/hardware.h"
#include "services/elide/report.h"
#include "services/elide/threads.h"
#include "src/testing/catch.h"

namespace latchlab::elide {
namespace {

const pthread_mutex_t* address(u64 number) { return reinterpret_cast<const pthread_mutex_t*>(64 + 40 * number); }

using Emulating = ElidingThread<EmulatedAborts>;

}  // namespace

TEST_CASE("LockTable: each lock has its entry, and those beyond the room share one", "[elide]") {
  const auto table = std::make_unique<LockTable>();
  const u64 number = LockTable::kMostLocks + 500;
  std::set<LockEntry*> entries;
  for (u64 i = 0; i < number; ++i) {
    table->at(address(i)).counts.direct.add();
    entries.insert(&table->at(address(i)));
  }
  CHECK(entries.size() == LockTable::kMostLocks + 1);
  CHECK(table->at(address(7)).lock == address(7));
  CHECK(table->at(address(number)).lock == nullptr);
  u64 seen = 0, shared = 0;
  table->for_each([&](const LockEntry& entry) {
    seen += entry.counts.direct.value();
    if (entry.lock == nullptr) shared = entry.counts.direct.value();
  });
  CHECK(seen == number);
  CHECK(shared == 500);
}

TEST_CASE("Threads: a new thread takes over the place of one that left", "[elide]") {
  Threads<Emulating> threads;
  u64 made = 0;
  const auto hardware = [&] { return EmulatedAborts(1, 1, made++); };
  auto* one = threads.enter(hardware);
  auto* other = threads.enter(hardware);
  CHECK(one != other);
  one->thread.table().at(address(1)).counts.direct.add();
  Threads<Emulating>::leave(*one);
  CHECK(threads.enter(hardware) == one);
  CHECK(made == 2);
  CHECK(one->thread.table().at(address(1)).counts.direct.value() == 1);
  other->thread.table().at(address(1)).counts.direct.add();
  u64 direct = 0;
  const auto add = [&](const LockEntry& entry) { direct += entry.counts.direct.value(); };
  threads.for_each(add);
  CHECK(direct == 2);
  // In the child of fork() the thread of `one` is alone, and counts from 0.
  threads.keep_only(one);
  threads.for_each(add);
  CHECK(direct == 2);
  CHECK(threads.enter(hardware) != other);
}

TEST_CASE("Threads: each of those that come at once has a place of its own", "[elide]") {
  Threads<Emulating> threads;
  std::array<Threads<Emulating>::Place*, 4> places{};
  std::vector<std::thread> running;
  for (auto& place : places) {
    running.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        place = threads.enter([] { return EmulatedAborts(1, 1, 0); });
        place->thread.table().at(address(3)).counts.passed.add();
        if (i != 199) Threads<Emulating>::leave(*place);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(std::set(places.begin(), places.end()).size() == 4);
  u64 passed = 0;
  threads.for_each([&](const LockEntry& entry) { passed += entry.counts.passed.value(); });
  CHECK(passed == 800);
}

TEST_CASE("Totals: the counts of threads for one lock are one total", "[elide]") {
  LockEntry one(address(2)), other(address(2)), unused(address(1)), third(address(1));
  one.counts.begins.add();
  one.counts.commits.add();
  other.counts.begins.add();
  other.counts.aborts[static_cast<std::size_t>(Cause::kNested)].add();
  other.counts.fallbacks.add();
  other.waits = true;
  other.retries = 7;
  third.counts.passed.add();
  third.kind = 1;
  std::vector<LockTotal> totals(4);
  totals[0].add(one);
  totals[1].add(unused);
  totals[2].add(third);
  totals[3].add(other);
  REQUIRE(merge(totals.data(), totals.size()) == 2);
  CHECK(totals[0].lock == address(1));
  CHECK(totals[0].passed == 1);
  CHECK(totals[0].kind == 1);
  CHECK(totals[1].begins == 2);
  CHECK(totals[1].commits == 1);
  CHECK(totals[1].fallbacks == 1);
  CHECK(totals[1].aborts == std::array<u64, kCauses>{0, 0, 0, 1});
  CHECK(totals[1].retries == std::array<u64, kBudgets.size()>{0, 0, 0, 1, 0, 1});
  CHECK(totals[1].waits);
}

TEST_CASE("Cause: each status has one", "[elide]") {
  CHECK(cause_of(kAbortConflict | kAbortRetry) == Cause::kConflict);
  CHECK(cause_of(kAbortCapacity) == Cause::kCapacity);
  CHECK(cause_of(kAbortNested | kAbortConflict) == Cause::kNested);
  CHECK(cause_of(0) == Cause::kOther);
  CHECK(cause_of(kAbortRetry) == Cause::kOther);
  CHECK(cause_of(kAbortDebug) == Cause::kOther);
  CHECK(cause_of(explicit_status(kBusyCode)) == Cause::kHeld);
  CHECK(cause_of(explicit_status(kInnerHeldCode)) == Cause::kNested);
  CHECK(cause_of(explicit_status(kAgainCode)) == Cause::kNested);
  CHECK(cause_of(explicit_status(kTooManyCode)) == Cause::kNested);
  CHECK(cause_of(explicit_status(kWaitCode)) == Cause::kWait);
  CHECK(cause_of(explicit_status(kTrylockCode)) == Cause::kTrylock);
  CHECK(cause_of(explicit_status(kUnlockCode)) == Cause::kUnlock);
  CHECK(cause_of(explicit_status(1)) == Cause::kOther);
}

TEST_CASE("EmulatedAborts: the share and the sequence come from rate and seed", "[elide]") {
  const auto statuses = [](double rate, u64 seed, u64 stream) {
    EmulatedAborts hardware(rate, seed, stream);
    std::vector<u32> out(2000);
    for (u32& status : out) status = hardware.begin();
    return out;
  };
  const auto failed = [&](double rate) { return 2000 - std::ranges::count(statuses(rate, 1, 0), kCommitted); };
  CHECK(failed(1) == 2000);
  CHECK(failed(0) == 0);
  CHECK(failed(.25) > 400);
  CHECK(failed(.25) < 600);
  const auto all = statuses(1, 1, 0);
  for (const u32 status : EmulatedAborts::kStatuses) CHECK(std::ranges::count(all, status) > 200);
  CHECK(statuses(.5, 1, 0) == statuses(.5, 1, 0));
  CHECK(statuses(.5, 1, 0) != statuses(.5, 2, 0));
  CHECK(statuses(.5, 1, 0) != statuses(.5, 1, 1));
}

TEST_CASE("EmulatedAborts: a begin that does not fail takes the lock", "[elide]") {
  const auto thread = std::make_unique<Emulating>(EmulatedAborts(0, 1, 0));
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 5; ++i) {
    CHECK(thread->lock(lock, [&] { return pthread_mutex_lock(&lock); }) == 0);
    CHECK(lock.__data.__lock != 0);
    CHECK(thread->try_lock(lock, [&] { return pthread_mutex_trylock(&lock); }) == EBUSY);
    CHECK(thread->unlock(lock, [&] { return pthread_mutex_unlock(&lock); }) == 0);
    CHECK(lock.__data.__lock == 0);
  }
  const LockCounts& counts = thread->table().at(&lock).counts;
  CHECK(counts.commits.value() == 5);
  CHECK(counts.begins.value() == 5);
  CHECK(counts.refused.value() == 5);
}

}  // namespace latchlab::elide
