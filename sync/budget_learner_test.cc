#include "sync/budget_learner.h"

#include <functional>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kOps = 4'000'000;
constexpr u64 kStart = 1'000'000;  // ns; real clocks do not begin at 0

struct Spent {
  std::array<u64, kBudgets.size()> ops{};
  double ns = 0;

  double share(u32 budget) const {
    for (std::size_t arm = 0; arm < ops.size(); ++arm) {
      if (kBudgets[arm] == budget) return static_cast<double>(ops[arm]) / kOps;
    }
    return 0;
  }
};

/// Runs kOps operations; operation i costs `cost(budget, i)` ns under a budget.
Spent run(BudgetLearner<>& learner, const std::function<double(u32, u64)>& cost) {
  Spent spent;
  double now = kStart;
  for (u64 i = 0; i < kOps; ++i) {
    const u32 budget = learner.budget();
    now += cost(budget, i);
    for (std::size_t arm = 0; arm < spent.ops.size(); ++arm) spent.ops[arm] += kBudgets[arm] == budget;
    if (learner.count()) learner.end_window(static_cast<u64>(now));
  }
  spent.ns = now - kStart;
  return spent;
}

TEST_CASE("The learner finds the cheapest budget, whichever it is, and nearly all operations get it") {
  for (const u32 best : kBudgets) {
    CAPTURE(best);
    BudgetLearner<> learner;
    const Spent spent = run(learner, [&](u32 budget, u64) { return budget == best ? 100.0 : 200.0; });
    CHECK(spent.share(best) > .99);
    CHECK(spent.ns < 1.01 * 100 * kOps);
    CHECK(learner.changes() == (best == 20 ? 0 : 1));
  }
}

TEST_CASE("Noise does not change the learner's budget") {
  BudgetLearner<> learner;
  Rng rng(test_seed());
  run(learner, [&](u32, u64) { return 90.0 + static_cast<double>(rng.below(21)); });
  CHECK(learner.changes() <= 1);
}

TEST_CASE("The learner finds another budget when that becomes the cheapest") {
  BudgetLearner<> learner;
  run(learner, [](u32 budget, u64) { return budget == 0 ? 50.0 : 100.0; });
  CHECK(learner.budget() == 0);
  const Spent later = run(learner, [](u32 budget, u64) { return budget == 7 ? 60.0 : budget == 0 ? 400.0 : 100.0; });
  CHECK(later.share(7) > .9);
}

TEST_CASE("When the cheapest budget becomes much more expensive, the learner soon tries the others") {
  for (const u32 next : {2, 4, 7, 12, 20}) {
    CAPTURE(next);
    BudgetLearner<> learner;
    run(learner, [](u32 budget, u64) { return budget == 0 ? 50.0 : 100.0; });
    const Spent later = run(learner, [&](u32 budget, u64) { return budget == next ? 60.0 : 100.0; });
    CHECK(later.share(next) > .95);
  }
}

TEST_CASE("A learner that knows the cheapest budget tries the others ever less often") {
  BudgetLearner<> learner;
  const auto cost = [](u32 budget, u64) { return budget == 4 ? 100.0 : 200.0; };
  const double first = run(learner, cost).share(4);
  CHECK(1 - run(learner, cost).share(4) < (1 - first) / 2);
}

TEST_CASE("Time between operations changes no budget if the learner is told of it") {
  Rng rng(test_seed());
  for (const bool told : {true, false}) {
    BudgetLearner<> learner;
    u64 now = kStart;
    for (u64 i = 0; i < kOps; ++i) {
      const u32 budget = learner.budget();
      now += (budget == 20 ? 85 : budget == 0 ? 88 : 86) + rng.below(31);
      if (learner.count()) learner.end_window(now);
      if (i % 8192 != 8191) continue;
      if (told) learner.pause(now);
      now += u64{8192} * 25;  // the thread generates its next requests
    }
    CAPTURE(told, learner.changes());
    CHECK((learner.changes() <= 1) == told);
  }
}

TEST_CASE("A pause within a window does not change the window's number of operations") {
  BudgetLearner<4, 4> learner;
  u64 now = kStart;
  const auto run = [&](u32 operations, u64 each) {
    u32 windows = 0;
    for (u32 i = 0; i < operations; ++i) {
      now += each;
      if (!learner.count()) continue;
      ++windows;
      learner.end_window(now);
    }
    return windows;
  };
  CHECK(run(4, 100) == 1);  // not timed, because its begin is unknown
  CHECK(run(2, 100) == 0);
  learner.pause(now);
  learner.pause(now + 50);  // the same pause goes on
  now += 1'000'000;
  CHECK(run(1, 100) == 1);  // ends the pause
  CHECK(run(1, 100) == 0);
  CHECK(run(1, 100) == 1);  // the fourth of the window
}

TEST_CASE("A pause before the first timed window has no effect") {
  BudgetLearner<4, 4> learner;
  learner.pause(kStart);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(learner.count());
  CHECK(learner.count());
}

TEST_CASE("A long interruption now and then changes no budget") {
  BudgetLearner<> learner;
  const Spent spent = run(
      learner, [](u32 budget, u64 i) { return (budget == 2 ? 100.0 : 130.0) + (i % 100'000 == 99'999 ? 1e9 : 0.0); });
  CHECK(spent.share(2) > .97);
}

}  // namespace
}  // namespace latchlab
