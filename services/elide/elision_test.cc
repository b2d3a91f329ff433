// The decisions of a thread that elides, with transactions that begin, roll back and commit (ForkedHardware). Each
// scenario is also run with the bugs that it must find.
#include <algorithm>
#include <memory>

#include "services/elide/forked_hardware_testing.h"
#include "src/testing/catch.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab::elide {
namespace {

using testing::ForkedHardware;
using testing::run_in_process;
using testing::Seen;

using Bugs = BugFlags<bool>;
using latchlab::testing::Seeded;

// A thread with glibc's calls as the real ones. A call that would wait for ever returns EDEADLK instead.
struct Program {
  ElidingThread<ForkedHardware, Bugs>& thread = *new ElidingThread<ForkedHardware, Bugs>(ForkedHardware{});
  long waits = 0, held_at_wait = 0;

  int lock(pthread_mutex_t& mutex) const {
    return thread.lock(mutex, [&] {
      const int result = pthread_mutex_trylock(&mutex);
      return result == EBUSY ? EDEADLK : result;
    });
  }
  int try_lock(pthread_mutex_t& mutex) const {
    return thread.try_lock(mutex, [&] { return pthread_mutex_trylock(&mutex); });
  }
  int unlock(pthread_mutex_t& mutex) const {
    return thread.unlock(mutex, [&] { return pthread_mutex_unlock(&mutex); });
  }
  int wait(pthread_mutex_t& mutex) {
    return thread.wait(mutex, [&] {
      ++waits;
      held_at_wait += mutex.__data.__lock != 0;
      return 0;
    });
  }
  LockCounts& counts(pthread_mutex_t& mutex) const { return thread.table().at(&mutex).counts; }
  u64 aborts(pthread_mutex_t& mutex, Cause cause) const {
    return counts(mutex).aborts[static_cast<std::size_t>(cause)].value();
  }
};

void found(std::initializer_list<u64> results) {
  std::copy(results.begin(), results.end(), ForkedHardware::seen->results.begin());
}

// True if the scenario ended, found these results, and ended as many transactions, all of them rightly.
bool is_right(const std::function<void(Program&)>& scenario, u32 ends, std::initializer_list<long> results) {
  const Seen seen = run_in_process([&] {
    Program program;
    scenario(program);
  });
  return seen.finished && seen.ends == ends && seen.bare_ends == 0 && seen.ends_on_held == 0 &&
         std::equal(results.begin(), results.end(), seen.results.begin());
}

pthread_mutex_t free_mutex() { return PTHREAD_MUTEX_INITIALIZER; }

constexpr u32 kConflict = kAbortConflict | kAbortRetry;

}  // namespace

TEST_CASE("Elision: a section commits and leaves the lock alone", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        long data = 0;
        const int locked = program.lock(lock);
        const int word = lock.__data.__lock;
        const bool inside = ForkedHardware::test();
        data = 1;
        const int unlocked = program.unlock(lock);
        const LockCounts& counts = program.counts(lock);
        found({counts.begins.value(), counts.commits.value(), u64(locked), u64(word), u64(inside), u64(unlocked),
               u64(data), u64(ForkedHardware::test()), lock.__data.__nusers});
      },
      1, {1, 1, 0, 0, 1, 0, 1, 0, 0}));
}

TEST_CASE("Elision: an abort in the caller rolls the section back and repeats it under the lock", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        long data = 0;
        program.lock(lock);
        // The frame of lock() is gone, and its stack in use by others.
        const auto overwrite = [&](auto& self, int depth) -> long {
          volatile long frame[64];
          std::fill_n(frame, 64, depth);
          return depth == 0 ? frame[7] : self(self, depth - 1) + frame[9];
        };
        data += overwrite(overwrite, 40);
        ForkedHardware::system_call();
        const int word = lock.__data.__lock;
        program.unlock(lock);
        const LockCounts& counts = program.counts(lock);
        found({counts.begins.value(), counts.commits.value(), counts.fallbacks.value(),
               program.aborts(lock, Cause::kOther), u64(data), u64(word), u64(lock.__data.__lock)});
      },
      0, {1, 0, 1, 1, 820, 1, 0}));
}

TEST_CASE("Elision: a lock that is taken at the begin aborts, and is waited for", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          static pthread_mutex_t lock = free_mutex();
          ForkedHardware::at_begin = [](u32 earlier) { lock.__data.__lock = earlier == 0; };
          ForkedHardware::at_pause = [](u32 earlier) { lock.__data.__lock = earlier < 3; };
          program.lock(lock);
          program.unlock(lock);
          found({program.aborts(lock, Cause::kHeld), program.counts(lock).begins.value(),
                 program.counts(lock).commits.value(), ForkedHardware::pauses});
        },
        1, {1, 2, 1, 4});
  };
  CHECK(right());
  const Seeded bug(Bugs::kDropSubscription);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a lock that stays held is left to the real call", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        lock.__data.__lock = 1;
        const int result = program.lock(lock);
        found({u64(result), program.counts(lock).begins.value(), program.counts(lock).refused.value(),
               ForkedHardware::pauses});
      },
      0, {EDEADLK, 0, 1, 512}));
}

TEST_CASE("Elision: each cause has its answer", "[elide]") {
  const u32 held = explicit_status(kBusyCode);
  const auto begins_of = [](const std::vector<u32>& statuses) {
    return run_in_process([&] {
             Program program;
             pthread_mutex_t lock = free_mutex();
             for (const u32 status : statuses) ForkedHardware::fail({status});
             program.lock(lock);
             const int word = lock.__data.__lock;
             program.unlock(lock);
             const LockCounts& counts = program.counts(lock);
             u64 aborts = 0;
             for (const Count& count : counts.aborts) aborts += count.value();
             found({counts.begins.value(), counts.fallbacks.value(), aborts, u64(word)});
           })
        .results;
  };
  const auto of = [&](u32 status, u32 times) { return begins_of(std::vector<u32>(times, status)); };
  const auto fallback_after = [](long begins) { return std::array<long, 16>{begins, 1, begins, 1}; };
  CHECK(of(kConflict, 60) == fallback_after(21));
  CHECK(of(kAbortNested | kAbortRetry, 60) == fallback_after(21));
  CHECK(of(kAbortRetry, 60) == fallback_after(21));
  CHECK(of(explicit_status(kInnerHeldCode), 60) == fallback_after(21));
  CHECK(of(held, 60) == fallback_after(17));
  CHECK(of(kAbortCapacity, 60) == fallback_after(2));
  CHECK(of(0, 60) == fallback_after(1));
  CHECK(of(explicit_status(kTrylockCode), 60) == fallback_after(1));
  CHECK(of(explicit_status(kUnlockCode), 60) == fallback_after(1));
  CHECK(of(explicit_status(7), 60) == fallback_after(1));
  // The last of 20 retries may commit. Held locks and capacity cost none of them.
  std::vector<u32> statuses(20, kConflict);
  CHECK(begins_of(statuses) == std::array<long, 16>{21, 0, 20, 0});
  statuses.insert(statuses.end() - 1, 10, held);
  statuses.insert(statuses.begin() + 1, kAbortCapacity);
  CHECK(begins_of(statuses) == std::array<long, 16>{32, 0, 31, 0});
}

TEST_CASE("Elision: locks nest flat, and the last unlock in any order ends", "[elide]") {
  const auto right = [](bool outer_first) {
    return is_right(
        [outer_first](Program& program) {
          pthread_mutex_t outer = free_mutex(), inner = free_mutex();
          program.lock(outer);
          program.lock(inner);
          program.unlock(outer_first ? outer : inner);
          const bool still_inside = ForkedHardware::test();
          program.unlock(outer_first ? inner : outer);
          found({still_inside, program.counts(outer).commits.value(), program.counts(inner).inside.value(),
                 program.counts(inner).begins.value(), u64(ForkedHardware::test())});
        },
        1, {1, 1, 1, 0, 0});
  };
  CHECK(right(false));
  CHECK(right(true));
  const Seeded bug(Bugs::kEndByInner);
  CHECK_FALSE(right(false));
  CHECK_FALSE(right(true));
}

TEST_CASE("Elision: an inner lock that is held aborts", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t outer = free_mutex(), inner = free_mutex();
          inner.__data.__lock = 1;
          program.lock(outer);
          const int result = program.lock(inner);
          program.unlock(outer);
          found({u64(result), program.aborts(outer, Cause::kNested), program.counts(outer).fallbacks.value(),
                 program.counts(inner).inside.value(), u64(outer.__data.__lock)});
        },
        0, {EDEADLK, 21, 1, 0, 0});
  };
  CHECK(right());
  const Seeded bug(Bugs::kDropInnerSubscription);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a second lock of one lock is a deadlock as before", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        program.lock(lock);
        const int again = program.lock(lock);
        found({u64(again), program.aborts(lock, Cause::kNested), program.counts(lock).fallbacks.value()});
      },
      0, {EDEADLK, 21, 1}));
}

TEST_CASE("Elision: more locks than are noted take the outermost", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        std::array<pthread_mutex_t, 9> locks;
        locks.fill(free_mutex());
        for (pthread_mutex_t& lock : locks) program.lock(lock);
        const int first = locks[0].__data.__lock, second = locks[1].__data.__lock;
        for (pthread_mutex_t& lock : locks) program.unlock(lock);
        found({program.aborts(locks[0], Cause::kNested), program.counts(locks[0]).fallbacks.value(), u64(first),
               u64(second), program.counts(locks[1]).commits.value(), program.counts(locks[8]).inside.value()});
      },
      1, {21, 1, 1, 0, 1, 1}));
}

TEST_CASE("Elision: a try inside aborts, so that a try of an own lock fails", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t lock = free_mutex();
          program.lock(lock);
          const int tried = program.try_lock(lock);
          program.unlock(lock);
          found({u64(tried), program.aborts(lock, Cause::kTrylock), program.counts(lock).fallbacks.value(),
                 program.counts(lock).refused.value()});
        },
        0, {EBUSY, 1, 1, 1});
  };
  CHECK(right());
  const Seeded bug(Bugs::kTryInside);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a try outside elides a free lock, and fails on a held one", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        ForkedHardware::fail({kConflict});
        const int first = program.try_lock(lock), word = lock.__data.__lock;
        const int again = program.try_lock(lock);
        program.unlock(lock);
        const int second = program.try_lock(lock), elided = lock.__data.__lock;
        program.unlock(lock);
        const LockCounts& counts = program.counts(lock);
        found({u64(first), u64(word), u64(again), u64(second), u64(elided), counts.begins.value(),
               counts.commits.value(), counts.fallbacks.value(), counts.refused.value()});
      },
      1, {0, 1, EBUSY, 0, 0, 2, 1, 1, 1}));
}

TEST_CASE("Elision: a condition wait is repeated under the lock, which is not elided again", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t lock = free_mutex();
          program.lock(lock);
          program.wait(lock);
          program.unlock(lock);
          program.lock(lock);
          program.unlock(lock);
          const LockCounts& counts = program.counts(lock);
          found({u64(program.waits), u64(program.held_at_wait), program.aborts(lock, Cause::kWait),
                 counts.begins.value(), counts.fallbacks.value(), counts.direct.value()});
        },
        0, {1, 1, 1, 1, 1, 1});
  };
  CHECK(right());
  {
    const Seeded bug(Bugs::kWaitInside);
    CHECK_FALSE(right());
  }
  const Seeded bug(Bugs::kForgetWait);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a wait for another lock inside is remembered of the outermost", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t outer = free_mutex(), inner = free_mutex();
        program.lock(outer);
        program.lock(inner);
        program.wait(inner);
        program.unlock(inner);
        program.unlock(outer);
        // The outermost is taken now; the inner one begins, and waits in its turn.
        found({u64(program.waits), u64(program.held_at_wait), program.aborts(outer, Cause::kWait),
               program.aborts(inner, Cause::kWait), program.counts(outer).fallbacks.value(),
               program.counts(inner).fallbacks.value()});
      },
      0, {1, 1, 1, 1, 1, 1}));
}

TEST_CASE("Elision: an unlock of a free lock outside ends nothing", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t lock = free_mutex(), other = free_mutex();
          program.lock(other);
          program.unlock(other);
          const int result = program.unlock(lock);
          found({u64(result), u64(lock.__data.__lock), program.counts(other).commits.value()});
        },
        1, {0, 0, 1});
  };
  CHECK(right());
  const Seeded bug(Bugs::kEndOutside);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a transaction does not end on a lock that is held", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          // Code of glibc itself takes the lock inside, as C11's mtx_lock would, and both are unlocked.
          static pthread_mutex_t lock = free_mutex();
          ForkedHardware::watched = &lock;
          program.lock(lock);
          pthread_mutex_lock(&lock);
          program.unlock(lock);
          const bool still_inside = ForkedHardware::test();
          program.unlock(lock);
          found({still_inside, program.counts(lock).commits.value(), u64(lock.__data.__lock)});
        },
        1, {1, 1, 0});
  };
  CHECK(right());
  const Seeded bug(Bugs::kEndOnHeld);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: a lock from before is really unlocked inside", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t before = free_mutex(), lock = free_mutex();
        ForkedHardware::fail({0});
        program.lock(before);
        program.lock(lock);
        program.unlock(before);
        const bool still_inside = ForkedHardware::test();
        program.unlock(lock);
        found({still_inside, program.counts(before).fallbacks.value(), program.counts(lock).commits.value(),
               u64(before.__data.__lock)});
      },
      1, {1, 1, 1, 0}));
}

TEST_CASE("Elision: an unlock of a lock that was not locked inside aborts", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t lock = free_mutex(), stranger = free_mutex();
          program.lock(lock);
          program.unlock(stranger);
          const int word = lock.__data.__lock;
          program.unlock(lock);
          found({u64(word), program.aborts(lock, Cause::kUnlock), program.counts(lock).fallbacks.value()});
        },
        0, {1, 1, 1});
  };
  CHECK(right());
  const Seeded bug(Bugs::kEndByStranger);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: mutexes of other kinds are passed on", "[elide]") {
  const auto right = [] {
    return is_right(
        [](Program& program) {
          pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, lock = free_mutex();
          for (int i = 0; i < 2; ++i) program.lock(recursive);
          const int depth = recursive.__data.__count;
          for (int i = 0; i < 2; ++i) program.unlock(recursive);
          // Inside a transaction, too.
          program.lock(lock);
          program.try_lock(recursive);
          program.unlock(recursive);
          program.unlock(lock);
          const LockCounts& counts = program.counts(recursive);
          found({u64(depth), counts.passed.value(), counts.begins.value(), program.counts(lock).commits.value()});
        },
        1, {2, 3, 0, 1});
  };
  CHECK(right());
  const Seeded bug(Bugs::kElideAllKinds);
  CHECK_FALSE(right());
}

TEST_CASE("Elision: calls inside a transaction of the program are the real ones", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t lock = free_mutex();
        if (ForkedHardware::begin() != kCommitted) return;
        const int locked = program.lock(lock), word = lock.__data.__lock;
        program.unlock(lock);
        const int tried = program.try_lock(lock);
        program.unlock(lock);
        const bool still_inside = ForkedHardware::test();
        ForkedHardware::end();
        found({u64(locked), u64(word), u64(tried), still_inside, program.counts(lock).begins.value()});
      },
      1, {0, 1, 0, 1, 0}));
}

TEST_CASE("Elision: a count inside is undone with its transaction", "[elide]") {
  CHECK(is_right(
      [](Program& program) {
        pthread_mutex_t outer = free_mutex(), inner = free_mutex();
        program.lock(outer);
        program.lock(inner);
        ForkedHardware::system_call();  // aborts twice: the transaction of each lock
        program.unlock(inner);
        program.unlock(outer);
        const LockCounts& counts = program.counts(inner);
        found({counts.inside.value(), counts.begins.value(), counts.fallbacks.value()});
      },
      0, {0, 1, 1}));
}

TEST_CASE("Elision: a lock whose transactions only cost is learned to be taken", "[elide]") {
  const auto direct_of = [](u64 time_of_begin) {
    return run_in_process([&] {
             Program program;
             pthread_mutex_t lock = free_mutex();
             ForkedHardware::failures = ~0u;
             ForkedHardware::failing.fill(0);
             ForkedHardware::time_of_begin = time_of_begin;
             ForkedHardware::at_begin = [](u32) { ForkedHardware::begun = 0; };
             for (int i = 0; i < 40'000; ++i) {
               program.lock(lock);
               ForkedHardware::time += 10;
               program.unlock(lock);
             }
             const LockEntry& entry = program.thread.table().at(&lock);
             found({entry.counts.direct.value(), entry.counts.fallbacks.value(), entry.retries.load()});
           })
        .results;
  };
  const auto costly = direct_of(1000);
  CHECK(costly[0] + costly[1] == 40'000);
  CHECK(costly[0] > 30'000);
  CHECK(costly[2] == 0);
  CHECK(direct_of(0)[0] < 10'000);
}

}  // namespace latchlab::elide
