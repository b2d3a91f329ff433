// Tests of a map and its threads: which of them ends first, several maps, sessions, and fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "library/map.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("A map outlives its threads, and keeps their pairs and counts") {
  Map<u64, u64> map;
  const auto round = [&](u64 first) {
    std::array<std::thread, 2> threads;
    for (u64 t = 0; t < threads.size(); ++t) {
      threads[t] = std::thread([&map, first, t] {
        for (u64 i = 0; i < 1000; ++i) map.insert(first + 2 * i + t, i);
        for (u64 i = 500; i < 1000; ++i) map.erase(first + 2 * i + t);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  round(0);
  CHECK(map.size() == 1000);
  for (u64 i = 1; i <= 20; ++i) {
    map.for_each([&](u64 key, u64) { map.erase(key); });
    CHECK(map.size() == 0);
    round(i << 32);
  }
  CHECK(map.size() == 1000);
  // At most three threads used it at once. Pools of forty-two would have taken 64 KiB each at least.
  CHECK(map.bytes().reserved < u64{42} * (64 << 10));
}

TEST_CASE("Threads outlive a map, and join the next one at its address") {
  std::optional<Map<u64, u64>> map;
  std::atomic<int> turn{0};
  std::atomic<bool> right{true};
  std::thread other([&] {
    for (int round = 1; round <= 3; ++round) {
      turn.wait(2 * round - 2);
      right = right && map->insert(7, 1) && map->find(7) == 1u && map->size() == 1;
      turn = 2 * round;
      turn.notify_all();
    }
    turn.wait(6);  // it exits after the last map
  });
  for (int round = 1; round <= 3; ++round) {
    map.emplace();
    turn = 2 * round - 1;
    turn.notify_all();
    turn.wait(2 * round - 1);
    CHECK(map->find(7) == 1u);
    map.reset();
  }
  turn = 7;
  turn.notify_all();
  other.join();
  CHECK(right);
}

TEST_CASE("A map may end while threads that have used it exit") {
  for (int round = 0; round < 100; ++round) {
    auto map = std::make_unique<Map<u64, u64>>();
    std::latch used(3);
    std::array<std::thread, 2> threads;
    for (u64 t = 0; t < threads.size(); ++t) {
      threads[t] = std::thread([&, t] {
        map->insert(t, t);
        map->erase(t);
        used.arrive_and_wait();
      });
    }
    used.arrive_and_wait();
    map.reset();
    for (std::thread& thread : threads) thread.join();
  }
  SUCCEED();
}

TEST_CASE("A thread uses many maps at once, and outlives most of them") {
  std::array<std::unique_ptr<Map<u64, u64>>, 40> maps;  // more than recent_members holds
  bool right = true;
  for (u64 round = 0; round < 30; ++round) {
    for (u64 i = 0; i < maps.size(); ++i) {
      if (round % 3 == 0 && i % 2 == 0) maps[i] = nullptr;
      if (maps[i] == nullptr) maps[i] = std::make_unique<Map<u64, u64>>();
    }
    for (u64 i = 0; i < maps.size(); ++i) maps[i]->upsert(i, round);
    for (u64 i = 0; i < maps.size(); ++i) right = right && maps[i]->find(i) == round && maps[i]->size() == 1;
  }
  CHECK(right);
}

TEST_CASE("A session is a member of its own, which may move and outlive the map") {
  auto map = std::make_unique<Map<u64, u64>>();
  auto session = map->join();
  CHECK(session.insert(1, 2));
  CHECK(map->find(1) == 2u);
  {
    auto other = map->join();
    CHECK(other.erase(1));
    CHECK(other.insert(3, 4));
  }
  CHECK(map->size() == 1);
  auto moved = std::move(session);
  std::thread([&] { moved.insert(5, 6); }).join();
  CHECK(moved.find(5) == 6u);
  CHECK(map->size() == 2);
  map.reset();
}

/// Calls `map` from the destructor of a thread_local variable.
struct AtExit {
  ~AtExit() {
    if (map != nullptr) map->insert(2, 2);
  }
  Map<u64, u64>* map = nullptr;
};

TEST_CASE("A thread that exits may still call the map") {
  Map<u64, u64> map;
  std::thread([&map] {
    static thread_local AtExit last;  // made before the thread's members, so destroyed after them
    last.map = &map;
    map.insert(1, 1);
  }).join();
  CHECK(map.find(2) == 2u);
  CHECK(map.size() == 2);
}

TEST_CASE("The child of a fork uses and destroys its copy of a map") {
  auto map = std::make_unique<Map<u64, u64>>();
  std::atomic<bool> ends{false};
  std::latch inserted(2);
  std::thread other([&] {
    for (u64 i = 0; i < 1000; ++i) map->insert(i, i);
    inserted.arrive_and_wait();
    ends.wait(false);
  });
  inserted.arrive_and_wait();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    bool right = map->size() == 1000 && map->insert(5000, 1);
    // Enough changes for blocks to be freed, which needs that no thread is inside.
    for (u64 round = 0; round < 20; ++round) {
      for (u64 i = 0; i < 1000; ++i) right = map->erase(i) && map->insert(i, i + round) && right;
    }
    right = right && map->find(999) == 999u + 19 && map->size() == 1001;
    map.reset();
    Map<u64, u64> next;
    _exit(right && next.insert(1, 1) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(map->find(999) == 999u);
  CHECK_FALSE(map->contains(5000));
  ends = true;
  ends.notify_all();
  other.join();
}

TEMPLATE_TEST_CASE("Threads change one map at once, and no change is lost", "", (Map<u64, u64>),
                   (Map<u64, u64, Chained>)) {
  constexpr u64 kCounter = 1 << 20;
  TestType map;
  std::atomic<u64> won{0};
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      u64 mine = 0;
      for (u64 i = 0; i < 5000; ++i) mine += map.insert(i, i);
      for (u64 i = 0; i < 5000; i += 2) mine -= map.erase(i);
      for (u64 i = 0; i < 5000; ++i) map.modify(kCounter, [](std::optional<u64> n) { return n.value_or(0) + 1; });
      won += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(map.find(kCounter) == 10'000u);
  CHECK(map.erase(kCounter));
  CHECK(map.size() == won);
  u64 pairs = 0;
  map.for_each([&](u64 key, u64 value) { pairs += key == value; });
  CHECK(pairs == won);
}

u64 value_of(u64 number, u64) { return number; }
std::string value_of(u64 number, std::string_view) { return std::to_string(number) + std::string(number % 30, '.'); }

TEMPLATE_TEST_CASE("for_each visits each key that stays, beside a thread that changes others", "",
                   (Map<u64, u64, Chained>), (Map<u64, u64, Cuckoo>), (Map<u64, std::string, Cuckoo>),
                   (Map<u64, std::string, Chained>), (Map<u64, u64>)) {
  using Value = typename TestType::Value;
  const auto value = [](u64 number) { return value_of(number, Value()); };
  constexpr u64 kStay = 500, kCome = 20'000;
  TestType map;
  for (u64 key = 0; key < kStay; ++key) map.insert(key, value(key));
  std::atomic<bool> ended = false;
  std::thread changes([&] {
    for (u64 key = kStay; key < kCome; ++key) {  // the table grows by five doublings
      map.insert(key, value(key));
      if (key % 3 == 0) map.erase(key);
      map.upsert(key % kStay, value(key % kStay));
    }
    ended = true;
  });
  u64 walks = 0, wrong = 0;
  for (bool last = false; !last; ++walks) {
    last = ended;
    std::vector<u32> visits(kStay);
    map.for_each([&](u64 key, const auto& seen) {
      wrong += seen != value(key);
      if (key < kStay) ++visits[key];
    });
    wrong += static_cast<u64>(std::count_if(visits.begin(), visits.end(), [](u32 n) { return n != 1; }));
  }
  changes.join();
  CHECK(walks >= 1);
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("Threads change one table of string keys at once, and no change is lost", "",
                   (Map<std::string, u64, Cuckoo>), (Map<std::string, std::string, Cuckoo>)) {
  using Value = typename TestType::Value;
  const auto value_of = [](u64 n) {
    if constexpr (std::is_same_v<Value, u64>) {
      return n;
    } else {
      return std::to_string(n) + " is kept in the store, since it is longer than a cell";
    }
  };
  const auto number_of = [](const Value& value) {
    if constexpr (std::is_same_v<Value, u64>) {
      return value;
    } else {
      return u64{std::stoull(value)};
    }
  };
  TestType map;
  std::atomic<u64> won{0}, wrong{0};
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      u64 mine = 0, bad = 0;
      for (u64 i = 0; i < 3000; ++i) mine += map.insert(std::to_string(i), value_of(i));
      for (u64 i = 0; i < 3000; i += 2) {
        mine -= map.erase(std::to_string(i));
        map.visit(std::to_string(i + 1), [&](const auto& value) { bad += number_of(Value(value)) != i + 1; });
      }
      for (u64 i = 0; i < 3000; ++i) {
        map.modify("counter", [&](const std::optional<Value>& n) { return value_of(n ? number_of(*n) + 1 : 1); });
      }
      won += mine, wrong += bad;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(map.find("counter") == value_of(6000));
  CHECK(map.erase("counter"));
  CHECK(map.size() == won);
  u64 pairs = 0;
  map.for_each([&](std::string_view key, const auto& value) {
    pairs += Value(value) == value_of(std::stoull(std::string(key)));
  });
  CHECK(pairs == won);
}

}  // namespace
}  // namespace latchlab
