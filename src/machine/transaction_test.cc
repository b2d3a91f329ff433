// Tests of the transactions that machines make in software, and of the emulated machine's threads.
#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/machine/emulated.h"
#include "src/machine/modelled.h"
#include "src/machine/simulated.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

template <class M>
constexpr bool kVirtual = requires { typename M::World; };

/// Runs a body inside a fiber on a virtual machine and in place on Emulated; its checks are booleans, collected.
template <class M, class Body>
void inside(Body&& body) {
  if constexpr (kVirtual<M>) {
    M::World::get().reset();
    RandomCosts costs(1);
    const auto outcome = M::World::get().run(1, costs, 100'000, [&](u32) { body(); });
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
    return plain.load() == 1 && colour.load() == Colour::kRed && pair.load() == Pair{1, 2} && racy.load() == 2 &&
           atomic.load(kAcquire) == 3 && row.load(3) == 0 && racy_row.load(15) == 0 && wide.load(2) == 0;
  }
  bool changed() const {
    return plain.load() == 11 && colour.load() == Colour::kGreen && pair.load() == Pair{3, 4} && racy.load() == 20 &&
           atomic.load(kAcquire) == 50 && row.load(3) == 7 && racy_row.load(15) == 9 && wide.load(2) == 1000 &&
           row.load_all().equal_to(7) == 1u << 3 && racy_row.load_all().equal_to(9) == 1u << 15;
  }
};

TEMPLATE_TEST_CASE("a transaction commits everything or nothing", "[machine]", Emulated, Simulated, Modelled) {
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

TEMPLATE_TEST_CASE("planned aborts happen where and how they were planned", "[machine]", Emulated, Simulated,
                   Modelled) {
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
        PlannedAbort{AbortMoment::kAccess, 0xabcd0010, 100},  // never reached
        PlannedAbort{AbortMoment::kAccess, 0xab000001, 1},
    }));
    for (int i = 0; i < 7; ++i) {
      Cells<M> cells;
      u64 steps = 0;  // not a cell, so not undone
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

TEMPLATE_TEST_CASE("random injection of aborts is a function of its seed", "[machine]", Emulated, Simulated, Modelled) {
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

TEMPLATE_TEST_CASE("pauses, yields, waits and exceptions abort a transaction with status zero, as on hardware",
                   "[machine]", Emulated, Simulated, Modelled) {
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
    ready_wait_commits = M::transact([&] { M::wait_until(cells.atomic, [](u64 v) { return v == 3; }); }) == kCommitted;
  });
  CHECK(statuses == std::vector<u32>{0, 0, 0, 0});
  CHECK(untouched);
  CHECK(ready_wait_commits);
}

TEMPLATE_TEST_CASE("transactions nest flatly, seven deep", "[machine]", Emulated, Simulated, Modelled) {
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

TEMPLATE_TEST_CASE("destructors of an aborted body change nothing", "[machine]", Emulated, Simulated, Modelled) {
  using M = TestType;
  bool untouched = false;
  inside<M>([&] {
    Cells<M> cells;
    struct Guard {
      Cells<M>& cells;
      ~Guard() {
        cells.change();
        M::wait_until(cells.atomic, [](u64 v) { return v == 50; });  // returns at once while unwinding
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

TEMPLATE_TEST_CASE("suspended loads see the transaction's own stores, and an abort among them undoes everything",
                   "[machine]", Emulated, Simulated, Modelled) {
  using M = TestType;
  u32 aborted = kCommitted, committed = 0;
  bool own = false, untouched = false, changed = false;
  inside<M>([&] {
    Cells<M> cells;
    aborted = M::transact([&] {
      cells.plain.store(10);
      M::suspend_loads();
      own = cells.plain.load() == 10 && M::in_transaction();
      cells.change();
      own = own && cells.atomic.load(kAcquire) == 50;
      M::template abort<5>();
    });
    untouched = cells.untouched();
    committed = M::transact([&] {
      M::suspend_loads();
      cells.change();
      M::resume_loads();
    });
    changed = cells.changed();
  });
  CHECK(aborted == explicit_status(5));
  CHECK(own);
  CHECK(untouched);
  CHECK(committed == kCommitted);
  CHECK(changed);
}

TEMPLATE_TEST_CASE("forbidden actions while loads are suspended abort, and so does a resume without a suspend",
                   "[machine]", Emulated, Simulated, Modelled) {
  using M = TestType;
  std::vector<u32> statuses;
  bool untouched = false, clean = false;
  inside<M>([&] {
    [[maybe_unused]] const typename M::Elision elision;
    Cells<M> cells;
    statuses.push_back(M::transact([&] { cells.change(), M::suspend_loads(); }));  // ends while suspended
    statuses.push_back(M::transact([&] { cells.change(), M::suspend_loads(), M::suspend_loads(), M::resume_loads(); }));
    statuses.push_back(
        M::transact([&] { cells.change(), M::suspend_loads(), M::transact([&] { M::resume_loads(); }); }));
    statuses.push_back(M::transact([&] { cells.change(), M::resume_loads(); }));
    statuses.push_back(M::transact([&] { cells.change(), M::suspend_loads(), M::pause(); }));
    statuses.push_back(M::transact([&] { cells.change(), M::suspend_loads(), throw std::runtime_error("in a body"); }));
    untouched = cells.untouched();
    clean = M::transact([&] { cells.change(); }) == kCommitted && cells.changed();
  });
  CHECK(statuses == std::vector<u32>(6, 0));
  CHECK(untouched);
  CHECK(clean);
}

TEMPLATE_TEST_CASE("a block freed in a transaction is freed only when the transaction commits", "[machine]", Emulated,
                   Simulated, Modelled) {
  using M = TestType;
  bool still_there = false;
  inside<M>([&] {
    using Cell = typename M::template Plain<u64>;
    auto* const cell = new (M::allocate(sizeof(Cell))) Cell(5);
    M::transact([&] {
      M::deallocate(cell, sizeof(Cell));
      M::template abort<1>();
    });
    still_there = cell->load() == 5;  // after a free, AddressSanitizer or the memory map would fail here
    M::transact([&] { M::deallocate(cell, sizeof(Cell)); });
  });
  CHECK(still_there);
  if constexpr (kVirtual<M>) CHECK(M::World::get().memory().live_blocks() == 0);
}

TEST_CASE("an elided lock on threads loses no update and shows no torn pair", "[machine]") {
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
      const auto injected = Emulated::inject(AbortInjection::random(id, 0.3, {0, kAbortConflict | kAbortRetry}));
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
                   // Relaxed: the transaction orders the load.
                   if (shared.lock.load(kRelaxed) != 0) Emulated::abort<kBusyCode>();
                   body();
                 }) == kCommitted;
        }
        if (done) continue;
        while (shared.lock.exchange(1, kAcquire) != 0)  // pairs with the release below
          Emulated::wait_until(shared.lock, [](u32 v) { return v == 0; });
        body();
        shared.lock.store(0, kRelease);  // pairs with the exchange and the wait
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(shared.a.load() == 3 * kRounds);
  CHECK(shared.b.load() == 3 * kRounds);
  CHECK(torn.load() == 0);
}

TEST_CASE("while an Elision lives, atomic and racy cells never show an open transaction", "[machine]") {
  const bool suspended = GENERATE(false, true);  // the looker loads outside transactions, or suspended inside one
  const Emulated::Elision elision;
  Emulated::Atomic<u64> atomic{0};
  Emulated::Racy<u64> racy{0};
  std::atomic<bool> looks{false}, stop{false};
  std::atomic<u64> seen{0};
  std::thread looker([&] {
    const auto look = [&] {
      looks.store(true, kRelaxed);
      while (!stop.load(kRelaxed)) {
        // Acquire: would pair with the release in the transaction, which must never be seen.
        if (atomic.load(kAcquire) != 0 || racy.load() != 0) seen.fetch_add(1, kRelaxed);
      }
    };
    if (!suspended) return look();
    Emulated::transact([&] {
      Emulated::suspend_loads();
      look();
      Emulated::resume_loads();
    });
  });
  while (!looks.load(kRelaxed)) std::this_thread::yield();
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

/// A number that one thread loads in transactions while another changes it all the time.
template <class M>
struct Looks {
  static constexpr u32 kTransactions = 20;

  [[no_unique_address]] typename M::Elision elision;
  alignas(kLineBytes) typename M::template Atomic<u64> number{0};
  alignas(kLineBytes) typename M::template Atomic<u64> own{0};
  alignas(kLineBytes) typename M::template Atomic<u64> done{0};
  u32 commits = 0, changed_while_suspended = 0, changed_while_tracked = 0, conflicts = 0;

  bool changes_within(u32 looks) const {
    const u64 first = number.load(kRelaxed);  // relaxed: only the value matters
    while (looks != 0 && number.is(first)) --looks;
    return looks != 0;
  }
  void look(bool suspended, bool tracked) {
    M::wait_until(number, [](u64 v) { return v != 0; });  // until the other thread has begun
    for (u32 i = 0; i < kTransactions; ++i) {
      bool suspended_change = false, tracked_change = false;
      const u32 status = M::transact([&] {
        own.store(i, kRelease);
        if (suspended) {
          M::suspend_loads();
          suspended_change = changes_within(1'000'000);
          M::resume_loads();
        }
        if (tracked) tracked_change = changes_within(2'000);
      });
      conflicts += status != kCommitted && (status & kAbortConflict) != 0;
      if (status != kCommitted) continue;
      ++commits;
      changed_while_suspended += suspended_change;
      changed_while_tracked += tracked_change;
    }
    done.store(1, kRelease);  // pairs with the load in change
  }
  void change() {
    while (done.load(kAcquire) == 0) number.fetch_add(1, kRelaxed);
  }
};

/// Runs both side by side, in fibers on a virtual machine and in threads elsewhere.
template <class M>
void look_beside_changes(Looks<M>& looks, bool suspended, bool tracked) {
  if constexpr (kVirtual<M>) {
    M::World::get().reset();
    RandomCosts costs(2);
    const auto outcome = M::World::get().run(
        2, costs, 1'000'000, [&](u32 id) { id == 0 ? looks.look(suspended, tracked) : looks.change(); });
    REQUIRE(outcome.failure == "");
  } else {
    std::thread other([&] { looks.change(); });
    looks.look(suspended, tracked);
    other.join();
  }
}

TEMPLATE_TEST_CASE("a transaction with suspended loads sees another thread's changes and commits", "[machine]",
                   Emulated, Simulated, Modelled) {
  Looks<TestType> looks;
  look_beside_changes(looks, true, false);
  CHECK(looks.commits == looks.kTransactions);
  CHECK(looks.changed_while_suspended > 0);
}

TEMPLATE_TEST_CASE("loads outside a suspension are tracked", "[machine]", Emulated, Simulated, Modelled) {
  for (const bool suspended : {false, true}) {
    Looks<TestType> looks;
    look_beside_changes(looks, suspended, true);
    CHECK(looks.changed_while_tracked == 0);
    if constexpr (kVirtual<TestType>) CHECK(looks.conflicts > looks.kTransactions / 2);
  }
}

}  // namespace
}  // namespace latchlab
