// What a transaction must be on every machine that makes it in software; and the emulated machine's threads.
#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/machine/emulated.h"
#include "src/machine/simulated.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Runs a body inside a fiber on Simulated and in place on Emulated; its checks are booleans, collected.
template <class M, class Body>
void inside(Body&& body) {
  if constexpr (std::is_same_v<M, Simulated>) {
    World::get().reset();
    RandomCosts costs(1);
    const auto outcome = World::get().run(1, costs, 100'000, [&](u32) { body(); });
    REQUIRE(outcome.failure == "");
  } else {
    body();
  }
}

enum class Colour : u8 { kRed, kGreen };
struct Pair {
  u32 a, b;
  bool operator==(const Pair&) const = default;
};

template <class M>
struct Cells {
  typename M::template Plain<u64> plain{1};
  typename M::template Plain<Colour> colour{Colour::kRed};
  typename M::template Plain<Pair> pair{Pair{1, 2}};
  typename M::template Racy<u16> racy{2};
  typename M::template Atomic<u64> atomic{3};
  typename M::template PlainRow<u8, 16> row;
  typename M::template RacyRow<u8, 16> racy_row;
  typename M::template PlainRow<u64, 4> wide;

  void change() {
    plain.store(10);
    plain.store(11);
    colour.store(Colour::kGreen);
    pair.store({3, 4});
    racy.store(20);
    atomic.store(30, kRelease);
    atomic.fetch_add(5, kRelaxed);
    atomic.exchange(40, kAcquire);
    u64 expected = 40;
    atomic.compare_exchange(expected, 50, kAcquire);
    row.store(3, 7);
    racy_row.store(15, 9);
    wide.store(2, 1000);
  }
  bool untouched() const {
    return plain.load() == 1 && colour.load() == Colour::kRed && pair.load() == Pair{1, 2} &&
           racy.load() == 2 && atomic.load(kAcquire) == 3 && row.load(3) == 0 && racy_row.load(15) == 0 &&
           wide.load(2) == 0;
  }
  bool changed() const {
    return plain.load() == 11 && colour.load() == Colour::kGreen && pair.load() == Pair{3, 4} &&
           racy.load() == 20 && atomic.load(kAcquire) == 50 && row.load(3) == 7 && racy_row.load(15) == 9 &&
           wide.load(2) == 1000 && row.load_all().equal_to(7) == 1u << 3 &&
           racy_row.load_all().equal_to(9) == 1u << 15;
  }
};

TEMPLATE_TEST_CASE("a transaction commits everything or nothing", "[machine]", Emulated, Simulated) {
  using M = TestType;
  bool committed = false, aborted = false, inside_seen = false, outside_seen = true;
  inside<M>([&] {
    Cells<M> cells;
    const u32 abort = M::transact([&] {
      inside_seen = M::in_transaction();
      cells.change();
      M::template abort<kBusyCode>();
    });
    aborted = abort == explicit_status(kBusyCode) && cells.untouched();
    const u32 commit = M::transact([&] { cells.change(); });
    committed = commit == kCommitted && cells.changed();
    outside_seen = M::in_transaction();
  });
  CHECK(aborted);
  CHECK(committed);
  CHECK(inside_seen);
  CHECK_FALSE(outside_seen);
}

TEMPLATE_TEST_CASE("planned aborts happen where and how they were planned", "[machine]", Emulated,
                   Simulated) {
  using M = TestType;
  std::vector<u32> statuses;
  std::vector<bool> as_before;
  std::vector<u64> reached;
  inside<M>([&] {
    const auto injected = M::inject(AbortInjection::script({
        PlannedAbort{AbortMoment::kBegin, kAbortCapacity, 1},
        std::nullopt,
        PlannedAbort{AbortMoment::kCommit, kAbortConflict | kAbortRetry, 1},
        PlannedAbort{AbortMoment::kAccess, 0, 2},
        PlannedAbort{AbortMoment::kAccess, 0xabcd0010, 100},   // is never reached
        PlannedAbort{AbortMoment::kAccess, 0xab000001, 1},
    }));
    for (int i = 0; i < 7; ++i) {
      Cells<M> cells;
      u64 steps = 0;   // a local, and so not rolled back
      statuses.push_back(M::transact([&] {
        steps = 1;
        cells.plain.store(10);
        steps = 2;
        cells.atomic.store(11, kRelease);
        steps = 3;
      }));
      reached.push_back(steps);
      as_before.push_back(cells.untouched());
    }
  });
  CHECK(statuses == std::vector<u32>{kAbortCapacity, kCommitted, kAbortConflict | kAbortRetry, 0, kCommitted,
                                     0xab000001, kCommitted});
  CHECK(as_before == std::vector<bool>{true, false, true, true, false, true, false});
  CHECK(reached == std::vector<u64>{0, 3, 3, 2, 3, 1, 3});
}

TEMPLATE_TEST_CASE("random injection is a function of its seed and reaches all moments", "[machine]",
                   Emulated, Simulated) {
  using M = TestType;
  const auto statuses_of = [](u64 seed) {
    std::vector<u32> statuses;
    inside<M>([&] {
      const auto injected = M::inject(AbortInjection::random(seed, 0.5, {0, kAbortCapacity, kAbortRetry}));
      typename M::template Plain<u64> cell{0};
      for (int i = 0; i < 400; ++i) {
        statuses.push_back(M::transact([&] {
          for (int k = 0; k < 20; ++k) cell.store(cell.load() + 1);
        }));
      }
    });
    return statuses;
  };
  const auto first = statuses_of(7);
  CHECK(first == statuses_of(7));
  CHECK(first != statuses_of(8));
  const auto commits = std::count(first.begin(), first.end(), kCommitted);
  CHECK(commits > 150);
  CHECK(commits < 300);
}

TEMPLATE_TEST_CASE("what hardware cannot do inside a transaction aborts it with status zero", "[machine]",
                   Emulated, Simulated) {
  using M = TestType;
  std::vector<u32> statuses;
  bool untouched = false, ready_wait_commits = false;
  inside<M>([&] {
    Cells<M> cells;
    statuses.push_back(M::transact([&] { cells.change(), M::pause(); }));
    statuses.push_back(M::transact([&] { cells.change(), M::yield(); }));
    statuses.push_back(M::transact([&] { M::wait_until(cells.atomic, [](u64 v) { return v == 99; }); }));
    statuses.push_back(M::transact([&] { cells.change(), throw std::runtime_error("in a body"); }));
    untouched = cells.untouched();
    ready_wait_commits =
        M::transact([&] { M::wait_until(cells.atomic, [](u64 v) { return v == 3; }); }) == kCommitted;
  });
  CHECK(statuses == std::vector<u32>{0, 0, 0, 0});
  CHECK(untouched);
  CHECK(ready_wait_commits);
}

TEMPLATE_TEST_CASE("transactions nest flatly, seven deep", "[machine]", Emulated, Simulated) {
  using M = TestType;
  u32 inner_committed = 0, outer = 0, nested_abort = 0, deep = 0, deep_enough = 0;
  bool untouched = false;
  inside<M>([&] {
    Cells<M> cells;
    outer = M::transact([&] {
      inner_committed = M::transact([&] { cells.change(); });
      M::template abort<7>();
    });
    nested_abort = M::transact([&] { M::transact([&] { cells.change(), M::template abort<7>(); }); });
    const auto nest = [&](auto& self, int depth) -> u32 {
      return M::transact([&] { depth > 1 ? self(self, depth - 1) : 0u; });
    };
    deep_enough = nest(nest, 7);
    deep = nest(nest, 8);
    untouched = cells.untouched();
  });
  CHECK(inner_committed == kCommitted);
  CHECK(outer == explicit_status(7));
  CHECK(nested_abort == (explicit_status(7) | kAbortNested));
  CHECK(deep_enough == kCommitted);
  CHECK(deep == kAbortNested);
  CHECK(untouched);
}

TEMPLATE_TEST_CASE("destructors of an aborted body change nothing", "[machine]", Emulated, Simulated) {
  using M = TestType;
  bool untouched = false;
  inside<M>([&] {
    Cells<M> cells;
    struct Guard {
      Cells<M>& cells;
      ~Guard() {
        cells.change();
        M::wait_until(cells.atomic,
                      [](u64 v) { return v == 50; });   // returns at once, since nothing can change
        M::pause();
      }
    };
    M::transact([&] {
      const Guard guard{cells};
      M::template abort<1>();
    });
    untouched = cells.untouched();
  });
  CHECK(untouched);
}

TEMPLATE_TEST_CASE("a block freed in a transaction is freed by its commit only", "[machine]", Emulated,
                   Simulated) {
  using M = TestType;
  bool still_there = false;
  inside<M>([&] {
    using Cell = typename M::template Plain<u64>;
    auto* const cell = new (M::allocate(sizeof(Cell))) Cell(5);
    M::transact([&] {
      M::deallocate(cell, sizeof(Cell));
      M::template abort<1>();
    });
    still_there = cell->load() == 5;   // AddressSanitizer, or the access map, would object
    M::transact([&] { M::deallocate(cell, sizeof(Cell)); });
  });
  CHECK(still_there);
  if constexpr (std::is_same_v<M, Simulated>) CHECK(World::get().memory().live_blocks() == 0);
}

TEST_CASE("an elided lock on threads: nothing is lost and nothing is seen half done", "[machine]") {
  struct Shared {
    Emulated::Elision elision;
    Emulated::Atomic<u32> lock{0};
    Emulated::Plain<u64> a{0};
    Emulated::Plain<u64> b{0};
  } shared;
  constexpr u64 kRounds = 2000;
  std::atomic<u64> torn{0};
  std::vector<std::thread> threads;
  for (u64 id = 0; id < 3; ++id) {
    threads.emplace_back([&, id] {
      const auto injected =
          Emulated::inject(AbortInjection::random(id, 0.3, {0, kAbortConflict | kAbortRetry}));
      for (u64 i = 0; i < kRounds; ++i) {
        const auto body = [&] {
          const u64 a = shared.a.load();
          shared.a.store(a + 1);
          if (shared.b.load() != a) torn.fetch_add(1, kRelaxed);
          shared.b.store(a + 1);
        };
        bool done = false;
        for (int attempt = 0; attempt < 2 && !done; ++attempt) {
          Emulated::wait_until(shared.lock, [](u32 v) { return v == 0; });
          done = Emulated::transact([&] {
                   // Relaxed: the transaction orders it.
                   if (shared.lock.load(kRelaxed) != 0) Emulated::abort<kBusyCode>();
                   body();
                 }) == kCommitted;
        }
        if (done) continue;
        while (shared.lock.exchange(1, kAcquire) != 0)   // pairs with the release below
          Emulated::wait_until(shared.lock, [](u32 v) { return v == 0; });
        body();
        shared.lock.store(0, kRelease);   // pairs with the exchange and the wait
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(shared.a.load() == 3 * kRounds);
  CHECK(shared.b.load() == 3 * kRounds);
  CHECK(torn.load() == 0);
}

TEST_CASE("while an Elision lives, atomic and racy cells never show an open transaction", "[machine]") {
  const Emulated::Elision elision;
  Emulated::Atomic<u64> atomic{0};
  Emulated::Racy<u64> racy{0};
  std::atomic<bool> stop{false};
  std::atomic<u64> seen{0};
  std::thread looker([&] {
    while (!stop.load(kRelaxed)) {
      // Acquire, against the release in the transaction, which must never be seen.
      if (atomic.load(kAcquire) != 0 || racy.load() != 0) seen.fetch_add(1, kRelaxed);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    Emulated::transact([&] {
      atomic.store(1, kRelease);
      racy.store(1);
      Emulated::abort<1>();
    });
  }
  stop.store(true, kRelaxed);
  looker.join();
  CHECK(seen.load() == 0);
}

}  // namespace
}  // namespace latchlab
