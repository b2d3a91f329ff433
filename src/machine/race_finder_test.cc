// Tests that the race finder finds classic races, reports nothing for correct code, and replays its schedules.
#include "src/machine/race_finder.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

template <class T>
using Plain = Simulated::Plain<T>;
// Orders mean nothing on this machine. The orders below are those that the same code would need elsewhere.
template <class T>
using Atomic = Simulated::Atomic<T>;

const auto kFree = [](u32 v) { return v == 0; };

struct LostUpdate {
  Plain<u64> count{0};
  void fiber(u32) { count.store(count.load() + 1); }
  std::string check() { return count.load() == 3 ? "" : "an update was lost"; }
};

struct AtomicUpdate {
  Atomic<u64> count{0};
  void fiber(u32) {
    for (int i = 0; i < 10; ++i) count.fetch_add(1, kRelaxed);
  }
  std::string check() { return count.load(kRelaxed) == 30 ? "" : "an update was lost"; }
};

TEST_CASE("race finder: finds a lost update, and none if the update is atomic", "[race]") {
  const auto bad = find_races<LostUpdate>({.schedules = 200});
  CHECK(bad.failures == 1);
  CHECK(bad.message == "an update was lost");
  const auto good = find_races<AtomicUpdate>({.schedules = 2000});
  INFO(good.str());
  CHECK(good.failures == 0);
  CHECK(good.schedules == 2000);
}

struct Nodes {
  void fiber(u32 id) { expect(Simulated::node() == id % 2, "another node"); }
  std::string check() { return Simulated::node() == 0 ? "" : "a node outside of virtual time"; }
};

TEST_CASE("race finder: every other fiber is on the second of two nodes", "[race]") {
  const auto report = find_races<Nodes>({.schedules = 10, .fibers = 4});
  INFO(report.str());
  CHECK(report.failures == 0);
}

/// Fibers that ask a server for a number each, and wait for it. The server watches all of their words at once.
template <bool kStops>
struct Served {
  struct Client {
    Atomic<u32> asked{0}, answer{0};
  };
  Client clients[3];
  u32 calls = 0;
  Simulated::ServerThread server{[this] { serve(); }};

  void serve() {
    ++calls;
    const auto words = [this](const auto& watch) {
      for (const Client& client : clients) watch(&client.asked);
    };
    u32 open = 3;
    const auto wanted = [&] {
      for (open = 0; open < 3; ++open) {
        if (clients[open].asked.load(kAcquire) != clients[open].answer.load(kRelaxed)) return true;
      }
      return false;
    };
    while (server.wait(words, wanted) && !kStops) {
      clients[open].answer.store(clients[open].asked.load(kAcquire), kRelease);
    }
  }
  void fiber(u32 id) {
    for (u32 turn = 1; turn < 4; ++turn) {
      clients[id].asked.store(turn, kRelease);
      Simulated::wait_until(clients[id].answer, [&](u32 now) { return now == turn; });
    }
  }
  std::string check() { return calls == 1 ? "" : "the server did not begin once"; }
};

TEST_CASE("race finder: a server beside the fibers misses no request, and ends when they have returned", "[race]") {
  const auto good = find_races<Served<false>>({.schedules = 2000});
  INFO(good.str());
  CHECK(good.failures == 0);
  const auto bad = find_races<Served<true>>({.schedules = 10});
  CHECK(bad.message.starts_with("deadlock: fibers wait for ever: "));
  CHECK(World::get().servers() == 0);  // although the scenario of a failed schedule is not destroyed
}

struct BeginsInside {
  void fiber(u32) {
    Simulated::ServerThread late([] {});
  }
  std::string check() { return ""; }
};

TEST_CASE("race finder: a server cannot begin in virtual time", "[race]") {
  CHECK(find_races<BeginsInside>({.schedules = 1}).message.find("a server begins in virtual time") !=
        std::string::npos);
}

struct PrefetchingUpdate : AtomicUpdate {
  void fiber(u32 id) {
    for (const Access access : {Access::kRead, Access::kWrite}) {
      Simulated::prefetch(&count, access);
      Simulated::prefetch(nullptr, access);
    }
    AtomicUpdate::fiber(id);
  }
};

TEST_CASE("race finder: a prefetch is not an event", "[race]") {
  const auto without = find_races<AtomicUpdate>({.schedules = 20}),
             with = find_races<PrefetchingUpdate>({.schedules = 20});
  CHECK(with.trace == without.trace);
  CHECK(with.events == without.events);
}

/// Peterson's lock. It needs sequential consistency, which this machine has.
template <bool kBroken>
struct Peterson {
  Atomic<u32> wants[2];
  Atomic<u32> turn{0};
  Plain<u64> count{0};
  void fiber(u32 me) {
    for (int i = 0; i < 3; ++i) {
      if (!kBroken) wants[me].store(1, kSeqCst);
      turn.store(1 - me, kSeqCst);
      while (wants[1 - me].load(kSeqCst) == 1 && turn.load(kSeqCst) == 1 - me) Simulated::pause();
      if (kBroken) wants[me].store(1, kSeqCst);
      count.store(count.load() + 1);
      wants[me].store(0, kSeqCst);
    }
  }
  std::string check() { return count.load() == 6 ? "" : "two were inside"; }
};

TEST_CASE("race finder: Peterson's lock excludes, and with its stores swapped it does not", "[race]") {
  const auto good = find_races<Peterson<false>>({.schedules = 4000, .fibers = 2});
  INFO(good.str());
  CHECK(good.failures == 0);
  CHECK(find_races<Peterson<true>>({.schedules = 1000, .fibers = 2}).failures == 1);
}

/// A reader that loads a pointer and then follows it, beside a writer that unlinks the node and frees it at once.
template <bool kFrees>
struct Unlink {
  using Node = Plain<u64>;
  Atomic<Node*> head{new (Simulated::allocate(sizeof(Node))) Node(1)};
  Atomic<Node*> garbage{nullptr};
  ~Unlink() {
    if (Node* left = garbage.load(kRelaxed)) Simulated::deallocate(left, sizeof(Node));
  }
  void fiber(u32 id) {
    if (id == 0) {
      Node* const old = head.exchange(nullptr, kAcqRel);
      if (kFrees) {
        Simulated::deallocate(old, sizeof(Node));
      } else {
        garbage.store(old, kRelease);
      }
    } else if (Node* node = head.load(kAcquire)) {
      expect(node->load() == 1, "the node's value");
    }
  }
  std::string check() { return {}; }
};

TEST_CASE("race finder: finds an access after free", "[race]") {
  const auto bad = find_races<Unlink<true>>({.schedules = 500});
  REQUIRE(bad.failures == 1);
  CHECK(bad.message.find("read of freed memory at byte 0 of block 1 (8 bytes, allocated outside virtual time)") == 0);
  CHECK(bad.history.find(": fiber 0 change byte 0 of block 0\n") != std::string::npos);
  const auto good = find_races<Unlink<false>>({.schedules = 2000});
  INFO(good.str());
  CHECK(good.failures == 0);
}

struct Memory {
  int what;
  Plain<u64> shared{0};
  explicit Memory(int w) : what(w) {}
  void fiber(u32) {
    auto* const bytes = static_cast<char*>(Simulated::allocate(64));
    switch (what) {
      case 0: Simulated::deallocate(bytes, 64); return;
      case 1: return;
      case 2: Simulated::deallocate(bytes, 64), Simulated::deallocate(bytes, 64); return;
      case 3: Simulated::deallocate(bytes + 16, 48); return;
      case 4: reinterpret_cast<Plain<u64>*>(bytes + 64)->store(1); return;
      case 5: Simulated::poison(bytes + 16, 16), Simulated::touch(bytes, 64, Access::kWrite); return;
      default: Simulated::poison(bytes, 64), Simulated::unpoison(bytes, 64), Simulated::touch(bytes, 64, Access::kRead);
    }
    Simulated::deallocate(bytes, 64);
  }
  std::string check() { return {}; }
};

TEST_CASE("race finder: names each kind of wrong use of memory", "[race]") {
  const auto message = [](int what) { return find_races<Memory>({.schedules = 2, .fibers = 1}, what).message; };
  CHECK(message(0) == "");
  CHECK(message(6) == "");
  CHECK(message(1).find("leak: 1 blocks, the oldest block 1 (64 bytes, allocated by fiber 0)") == 0);
  CHECK(message(2).find("double free of block 1") == 0);
  CHECK(message(3).find("free of something that is not a block") == 0);
  CHECK(message(4).find("write to memory that was never allocated at byte 64 of block 1") == 0);
  CHECK(message(5).find("write to poisoned memory at byte 16 of block 1") == 0);
}

struct CrossedLocks {
  bool ordered;
  Atomic<u32> locks[2];
  explicit CrossedLocks(bool o) : ordered(o) {}
  void lock(u32 i) {
    do Simulated::wait_until(locks[i], kFree);
    while (locks[i].exchange(1, kAcquire) != 0);
  }
  void fiber(u32 id) {
    const u32 first = ordered ? 0 : id % 2;
    lock(first);
    lock(1 - first);
    locks[1 - first].store(0, kRelease);
    locks[first].store(0, kRelease);
  }
  std::string check() { return {}; }
};

TEST_CASE("race finder: deadlock, livelock and stray exceptions end a schedule", "[race]") {
  const auto deadlock = find_races<CrossedLocks>({.schedules = 500, .fibers = 2}, false);
  REQUIRE(deadlock.failures == 1);
  CHECK(deadlock.message.find("deadlock: fibers wait for ever: 0, 1") == 0);
  const auto ordered = find_races<CrossedLocks>({.schedules = 2000, .fibers = 4}, true);
  INFO(ordered.str());
  CHECK(ordered.failures == 0);

  struct Spins {
    Atomic<u32> never{0};
    void fiber(u32) {
      while (never.load(kAcquire) == 0) {}
    }
    std::string check() { return {}; }
  };
  CHECK(find_races<Spins>({.schedules = 1, .event_limit = 1000}).message.find("livelock: more than 1000 events") == 0);

  struct Throws {
    Atomic<u32> cell{0};
    void fiber(u32 id) {
      cell.fetch_add(1, kRelaxed);
      if (id == 1) throw std::runtime_error("lost");
      cell.fetch_add(1, kRelaxed);
    }
    std::string check() { return {}; }
  };
  CHECK(find_races<Throws>({.schedules = 1}).message.find("an exception left the fiber: lost") == 0);
}

TEST_CASE("race finder: a failure leaves nothing behind for the next schedule", "[race]") {
  const auto all = find_races<CrossedLocks>({.schedules = 2000, .fibers = 2, .stop_at_failure = false}, false);
  CHECK(all.schedules == 2000);
  CHECK(all.failures > 100);
  CHECK(all.failures < 1900);
  const auto again = find_races<CrossedLocks>({.schedules = 2000, .fibers = 2, .stop_at_failure = false}, false);
  CHECK(again.failures == all.failures);
  CHECK(again.trace == all.trace);
}

/// Fibers that throw, access cells while the exception is in flight and while it is handled, and rethrow.
struct Exceptions {
  Atomic<u64> cell{0};
  struct Guard {
    Atomic<u64>& cell;
    int in_flight;
    ~Guard() {
      for (int i = 0; i < 3; ++i) cell.fetch_add(1, kRelaxed);
      expect(std::uncaught_exceptions() == in_flight, "uncaught exceptions of another fiber");
    }
  };
  void fiber(u32 id) {
    for (int i = 0; i < 3; ++i) {
      try {
        try {
          const Guard guard{cell, 1};
          throw static_cast<int>(id);
        } catch (int caught) {
          const Guard guard{cell, 1};
          for (int k = 0; k < 3; ++k) cell.fetch_add(1, kRelaxed);
          expect(caught == static_cast<int>(id), "caught another fiber's exception");
          throw;
        }
      } catch (int again) {
        const Guard guard{cell, 0};
        expect(again == static_cast<int>(id), "rethrew another fiber's exception");
      }
    }
  }
  std::string check() { return cell.load(kRelaxed) == 4 * 3 * 12 ? "" : "the count"; }
};

TEST_CASE("race finder: exceptions belong to their fiber", "[race]") {
  const auto report = find_races<Exceptions>({.schedules = 1000, .fibers = 4});
  INFO(report.str());
  CHECK(report.failures == 0);
  CHECK(report.switches > 1000);
}

/// Transfers between accounts under an elided lock. A transfer that aborts twice takes the lock.
template <bool kSubscribe, bool kLockFallback = true>
struct Elision {
  Plain<u64> from{1000};
  alignas(64) Plain<u64> to{0};
  alignas(64) Atomic<u32> lock{0};
  void transfer() {
    from.store(from.load() - 1);
    to.store(to.load() + 1);
  }
  void fiber(u32) {
    for (int i = 0; i < 4; ++i) {
      bool done = false;
      for (int attempt = 0; attempt < 2 && !done; ++attempt) {
        Simulated::wait_until(lock, kFree);
        done = Simulated::transact([&] {
                 if (kSubscribe && lock.load(kRelaxed) != 0) Simulated::abort<kBusyCode>();
                 transfer();
               }) == kCommitted;
      }
      if (done) continue;
      if (kLockFallback) {
        do Simulated::wait_until(lock, kFree);
        while (lock.exchange(1, kAcquire) != 0);
      }
      transfer();
      if (kLockFallback) lock.store(0, kRelease);
    }
  }
  std::string check() { return from.load() == 1000 - 12 && to.load() == 12 ? "" : "transfers were lost"; }
};

TEST_CASE("race finder: finds a missing lock subscription and a missing fallback lock, and nothing in a correct one",
          "[race]") {
  for (const double rate : {0.0, 0.3}) {
    const RaceOptions options{.schedules = 10000, .abort_rate = rate};
    const auto sound = find_races<Elision<true>>(options);
    INFO(sound.str());
    CHECK(sound.failures == 0);
    CHECK(sound.schedules == 10000);
    CHECK(sound.aborts > 10000);
    CHECK(find_races<Elision<false>>(options).failures == 1);
    CHECK(find_races<Elision<true, false>>(options).failures == 1);
  }
}

TEST_CASE("race finder: a conflicting access aborts a transaction, also from outside transactions", "[race]") {
  struct Conflict {
    Plain<u64> cell{0};
    Plain<u64> status{kCommitted};
    void fiber(u32 id) {
      if (id == 1) {
        expect(cell.load() == 0, "an open transaction was seen");
        return;
      }
      const u32 end = Simulated::transact([&] {
        cell.store(1);
        for (int i = 0; i < 20; ++i) cell.load();
        cell.store(0);
      });
      status.store(end);
    }
    std::string check() {
      const u64 end = status.load();
      if (end == kCommitted) return {};
      return end == (kAbortConflict | kAbortRetry) ? "conflict" : "another status";
    }
  };
  const auto report = find_races<Conflict>({.schedules = 500, .fibers = 2, .stop_at_failure = false});
  CHECK(report.message == "conflict");
  CHECK(report.failures > 50);
  CHECK(report.failures < 500);
  CHECK(report.aborts == report.failures);
}

/// A scope without LATCHLAB_SEED, for tests that choose their own seeds.
class WithoutSeedOfEnvironment {
 public:
  WithoutSeedOfEnvironment() {
    if (const char* seed = std::getenv("LATCHLAB_SEED")) seed_ = seed;
    unsetenv("LATCHLAB_SEED");
  }
  ~WithoutSeedOfEnvironment() {
    setenv("LATCHLAB_SEED", seed_.c_str(), 1);  // an empty value means no seed
  }
  WithoutSeedOfEnvironment(const WithoutSeedOfEnvironment&) = delete;
  WithoutSeedOfEnvironment& operator=(const WithoutSeedOfEnvironment&) = delete;

 private:
  std::string seed_;
};

TEST_CASE("race finder: LATCHLAB_SEED replays a failure", "[race]") {
  const WithoutSeedOfEnvironment restored_later;
  const auto found = find_races<Elision<false>>({.schedules = 10000});
  REQUIRE(found.failures == 1);
  setenv("LATCHLAB_SEED", std::to_string(found.failing_seed).c_str(), 1);
  const auto replayed = find_races<Elision<false>>({.schedules = 1});
  CHECK(replayed.failing_seed == found.failing_seed);
  CHECK(replayed.message == found.message);
  CHECK(replayed.history == found.history);
  setenv("LATCHLAB_SEED", "soon", 1);
  CHECK_THROWS_AS(find_races<LostUpdate>({}), std::invalid_argument);
}

TEST_CASE("race finder: a seed determines a schedule", "[race]") {
  const WithoutSeedOfEnvironment restored_later;
  const auto trace = [](u64 seed) {
    return find_races<Elision<true>>({.seed = seed, .schedules = 1, .abort_rate = 0.2}).trace;
  };
  for (const u64 seed : {1u, 2u, 3u, 4u}) CHECK(trace(seed) == trace(seed));
  CHECK(trace(1) != trace(3));
  CHECK(trace(2) != trace(4));
}

/// Two ordered stores of one fiber, far apart, must fall into one gap of another. Uniform costs hardly ever do that.
TEST_CASE("race finder: priorities find a race that uniform costs hardly ever find", "[race]") {
  struct Deep {
    Plain<u64> a{0};
    Plain<u64> b{0};
    Plain<u64> noise{0};
    void fiber(u32 id) {
      if (id == 0) {
        const u64 before = a.load();
        const u64 after = b.load();
        expect(!(before == 0 && after == 1), "both stores in one gap");
      } else {
        a.store(1);
        for (int i = 0; i < 300; ++i) noise.load();
        b.store(1);
      }
    }
    std::string check() { return {}; }
  };
  CHECK(find_races<Deep>({.schedules = 10000, .fibers = 2}).failures == 1);
}

TEST_CASE("race finder: refuses options out of range", "[race]") {
  CHECK_THROWS_AS(find_races<LostUpdate>({.fibers = 0}), std::invalid_argument);
  CHECK_THROWS_AS(find_races<LostUpdate>({.fibers = 65}), std::invalid_argument);
  CHECK_THROWS_AS(find_races<LostUpdate>({.abort_rate = 0.5, .abort_statuses = {}}), std::invalid_argument);
}

TEST_CASE("race finder: runs 64 fibers", "[race]") {
  struct Many {
    Atomic<u64> count{0};
    void fiber(u32) {
      for (int i = 0; i < 20; ++i) count.fetch_add(1, kRelaxed);
    }
    std::string check() { return count.load(kRelaxed) == 64 * 20 ? "" : "the count"; }
  };
  const auto report = find_races<Many>({.schedules = 200, .fibers = 64});
  INFO(report.str());
  CHECK(report.failures == 0);
}

}  // namespace
}  // namespace latchlab
