#include "services/rocksdb/ghosts.h"

#include <thread>
#include <vector>

#include "src/base/hash.h"
#include "src/testing/catch.h"

namespace latchlab::tier {
namespace {

u64 hash_of(u64 key) { return mix64(key + 1); }

TEST_CASE("A key is known from its second offer on") {
  Ghosts ghosts(1000);
  for (u64 key = 0; key < 100; ++key) CHECK_FALSE(ghosts.offer(hash_of(key)));
  for (u64 key = 0; key < 100; ++key) CHECK(ghosts.offer(hash_of(key)));
  for (u64 key = 0; key < 100; ++key) CHECK(ghosts.offer(hash_of(key)));
}

TEST_CASE("Ghosts of a half of the keys for which there is room are known, and those of eight times as many are not") {
  constexpr u64 kKeys = 8000;
  Ghosts ghosts(kKeys);
  CHECK(ghosts.bytes() == 4 * kKeys);
  for (u64 key = 0; key < 100 * kKeys; ++key) (void)ghosts.offer(hash_of(key));
  u64 late = 0, early = 0;
  for (u64 key = 99 * kKeys + kKeys / 2; key < 100 * kKeys; ++key) late += ghosts.offer(hash_of(key));
  for (u64 key = 90 * kKeys; key < 91 * kKeys; ++key) early += ghosts.offer(hash_of(key));
  CHECK(late > kKeys / 2 * 90 / 100);
  CHECK(early < kKeys / 100);
}

TEST_CASE("A key that is offered again and again stays known") {
  Ghosts ghosts(64);
  (void)ghosts.offer(hash_of(0));
  for (u64 key = 1; key < 10'000; ++key) {
    (void)ghosts.offer(hash_of(key));
    CHECK(ghosts.offer(hash_of(0)));
  }
}

TEST_CASE("Every hash has a row, and the smallest number of keys has one") {
  for (const u64 keys : {0, 1, 8, 9, 1000}) {
    Ghosts ghosts(keys);
    for (const u64 hash : {u64{0}, u64{1}, ~u64{0}, u64{1} << 32, ~u64{0} << 32}) {
      (void)ghosts.offer(hash);
      CHECK(ghosts.offer(hash));
    }
  }
}

TEST_CASE("Threads share ghosts") {
  Ghosts ghosts(100'000);
  std::vector<std::thread> threads;
  for (u64 thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&ghosts, thread] {
      for (u64 key = 0; key < 5000; ++key) (void)ghosts.offer(hash_of(4 * key + thread));
    });
  }
  for (std::thread& thread : threads) thread.join();
  u64 known = 0;
  for (u64 key = 0; key < 20'000; ++key) known += ghosts.offer(hash_of(key));
  CHECK(known > 19'000);
}

}  // namespace
}  // namespace latchlab::tier
