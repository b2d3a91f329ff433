// Tests of the account: what a wait is charged to, attempts that are undone, and hot lines among many cold ones.
#include "src/model/account.h"

#include <numeric>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

Ticks of(const Account& account, Cause cause) { return account.times()[static_cast<std::size_t>(cause)]; }
Ticks all_of(const Account& account) {
  return std::accumulate(account.times().begin(), account.times().end(), Ticks{0});
}

/// A miss that started at 1000: 40 ticks of a walk, 30 for the line's owner, 20 in a queue, then 100 from far memory.
Arrival far_miss() {
  Arrival arrival = 1190;
  arrival.walk = 40;
  arrival.transfer = 30;
  arrival.channel = 20;
  arrival.source = 100;
  arrival.from = Cause::kDramFar;
  return arrival;
}

TEST_CASE("Model account: a wait is charged to what the miss did in that time") {
  Account account;
  account.wait(far_miss(), 1150, 1190);
  CHECK(of(account, Cause::kDramFar) == 40);
  CHECK(all_of(account) == 40);

  account = {};
  account.wait(far_miss(), 1060, 1190);
  CHECK(of(account, Cause::kDramFar) == 100);
  CHECK(of(account, Cause::kChannels) == 20);
  CHECK(of(account, Cause::kLineInTransfer) == 10);
  CHECK(all_of(account) == 130);

  account = {};
  account.wait(far_miss(), 1000, 1080);  // a part of it
  CHECK(of(account, Cause::kPageWalks) == 40);
  CHECK(of(account, Cause::kLineInTransfer) == 30);
  CHECK(of(account, Cause::kChannels) == 10);
  CHECK(all_of(account) == 80);

  account = {};
  account.wait(far_miss(), 1190, 1190);
  CHECK(all_of(account) == 0);
}

TEST_CASE("Model account: a fence waits for a store, whatever the store waits for") {
  Account account;
  Arrival arrival = far_miss();
  arrival.store = true;
  account.wait(arrival, 1000, 1190);
  CHECK(of(account, Cause::kFences) == 190);
}

TEST_CASE("Model account: an attempt that is undone loses all its time, which ends with the conflict") {
  Account account;
  account.restart(0, nullptr, 100);
  account.charge(Cause::kInstructions, 10);
  account.begin();
  account.charge(Cause::kTransactions, 20);
  account.charge(Cause::kL3, 70);
  CHECK(account.undone(150) == 40);  // at 200 by its own clock
  CHECK(of(account, Cause::kInstructions) == 10);
  CHECK(of(account, Cause::kAborted) == 40);
  account.at(150);
  account.begin();
  account.charge(Cause::kL3, 70);
  account.commit();
  CHECK(account.undone(160) == 0);
  CHECK(of(account, Cause::kL3) == 70);
  CHECK(all_of(account) == 120);
}

TEST_CASE("Model account: a thread is idle before its calls, in gaps between them, and after them") {
  Account account;
  account.restart(0, nullptr, 4000);
  account.at(5000);
  CHECK(of(account, Cause::kIdle) == 1000);
  account.charge(Cause::kL1, 10);
  account.at(5100);
  CHECK(of(account, Cause::kIdle) == 1090);
  account.end(5200);
  CHECK(of(account, Cause::kIdle) == 1190);
  CHECK(all_of(account) == 1200);
}

TEST_CASE("Model account: a wait that a conflict cuts short counts up to the conflict, for its line too") {
  HotLines lines;
  Account account;
  account.restart(3, &lines, 1000);
  account.begin();
  Arrival arrival = far_miss();
  arrival.line = 7;
  arrival.shared = true;
  account.wait(arrival, 1000, 1190);
  CHECK(account.undone(1050) == 50);
  REQUIRE(lines.hottest(10).size() == 1);
  CHECK(lines.hottest(10)[0].line == 7);
  CHECK(lines.hottest(10)[0].waited == 50);
  CHECK(lines.hottest(10)[0].thread_numbers() == std::vector<u32>{3});
}

TEST_CASE("Model hot lines: the hot ones are found among a million cold ones") {
  HotLines lines;
  Rng rng(1);
  for (u64 i = 0; i < 1'000'000; ++i) {
    lines.waited(1000 + rng() % 10'000'000, static_cast<u32>(i % 56), 500);
    if (i % 100 == 0) lines.waited(i / 100 % 10, 255, 500 + i / 100 % 10);
  }
  const std::vector<HotLine> hottest = lines.hottest(10);
  REQUIRE(hottest.size() == 10);
  for (u64 i = 0; i < 10; ++i) {
    CHECK(hottest[i].line == 9 - i);
    CHECK(hottest[i].waited > 990 * 500);
    CHECK(hottest[i].thread_numbers() == std::vector<u32>{255});
  }
}

}  // namespace
}  // namespace latchlab::model
