#include "harness/loop/payloads.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "src/memory/page_source.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kPlaces = 1000;
constexpr u32 kBytes = 72;  // does not divide a page: payloads cross page boundaries

std::unique_ptr<Payloads> filled(u32 parts, u64 places = kPlaces, u32 bytes = kBytes, const MemoryConfig& memory = {}) {
  auto payloads = std::make_unique<Payloads>(places, bytes, memory, system_pages());
  for (u32 part = 0; part < parts; ++part) payloads->fill(part, parts, {});
  return payloads;
}

/// Returns a value that leads to this place.
u64 leads_to(u64 place, u64 places = kPlaces) { return ((place << 32) / places + 1) << 32; }

TEST_CASE("a payload's place depends on the tag of the value and on nothing else of it", "[payloads]") {
  std::set<u64> used;
  for (u64 key = 0; key < kPlaces; ++key) {
    const u64 place = payload_place(value_of(key, key), kPlaces);
    CHECK(place < kPlaces);
    CHECK(payload_place(value_of(key, 12345), kPlaces) == place);
    used.insert(place);
  }
  CHECK(used.size() > 580);  // 632 are expected for 1000 keys
  CHECK(used.size() < 680);
  CHECK(payload_place(0, kPlaces) == 0);
  CHECK(payload_place(~u64{0}, kPlaces) == kPlaces - 1);
  CHECK(payload_place(leads_to(321), kPlaces) == 321);
  CHECK(payload_place(~u64{0}, kMostPlaces) == kMostPlaces - 1);
  CHECK(payload_place(u64{12'345} << 32, kMostPlaces) == 12'345);
}

TEST_CASE("payloads have the same content whichever thread filled them, and no two words are equal", "[payloads]") {
  const auto alone = filled(1);
  std::set<u64> words;
  for (u64 place = 0; place < kPlaces; ++place) {
    CHECK(alone->read(leads_to(place)));
    const auto own = alone->words_of(leads_to(place));
    CHECK(own.size() == kBytes / 8);
    words.insert(own.begin(), own.end());
  }
  CHECK(words.size() == kPlaces * kBytes / 8);
  CHECK(words.count(0) == 0);                        // the word that fresh pages hold
  for (const u32 parts : {2u, 3u, 18u, 19u, 64u}) {  // the arena has 18 pages
    const auto shared = filled(parts);
    u64 wrong = 0;
    for (u64 place = 0; place < kPlaces; ++place)
      wrong += !std::ranges::equal(shared->words_of(leads_to(place)), alone->words_of(leads_to(place)));
    CHECK(wrong == 0);
  }
}

TEST_CASE("a read detects a part of the arena that no thread has filled", "[payloads]") {
  Payloads payloads(kPlaces, kBytes, {}, system_pages());
  for (const u32 part : {0u, 2u}) payloads.fill(part, 3, {});
  CHECK(payloads.read(leads_to(0)));
  CHECK_FALSE(payloads.read(leads_to(kPlaces / 2)));
  CHECK(payloads.read(leads_to(kPlaces - 1)));
}

TEST_CASE("a read detects one wrong word, and a write repairs the whole payload", "[payloads]") {
  const auto payloads = filled(1);
  for (const u64 place : {u64{0}, u64{7}, kPlaces - 1}) {
    const u64 value = leads_to(place);
    for (u64 word = 0; word < kBytes / 8; ++word) {
      payloads->words_of(value)[word] ^= u64{1} << (word * 7);
      CHECK_FALSE(payloads->read(value));
      for (const u64 other : {place - 1, place + 1}) {
        if (other < kPlaces) CHECK(payloads->read(leads_to(other)));
      }
      payloads->write(value);
      CHECK(payloads->read(value));
    }
  }
}

TEST_CASE("an arena larger than the memory limit throws bad_alloc", "[payloads]") {
  CHECK_THROWS_AS(Payloads(1000, 4096, {.limit = 4'095'999}, system_pages()), std::bad_alloc);
  CHECK_NOTHROW(Payloads(1000, 4096, {.limit = 4'096'000}, system_pages()));
}

TEST_CASE("payloads are right when read while other threads write them", "[payloads]") {
  const auto payloads = filled(1, 3);  // three places, so that all threads meet in each
  std::vector<std::thread> threads;
  std::vector<u64> wrong(4);
  for (u64 t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (u64 i = 0; i < 20'000; ++i) {
        const u64 value = leads_to((i + t) % 3, 3);
        if (i % 2 == 0) payloads->write(value);
        wrong[t] += !payloads->read(value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<u64>(4));
}

}  // namespace
}  // namespace latchlab
