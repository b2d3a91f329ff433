// Tests of indexes of sized values, under policies of every class of transactions.
#include "indexes/sized.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "indexes/any_sized_test.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using namespace any_sized;

using Model = std::map<u64, std::string>;

void check_against_a_map(const Subject& subject, Alloc alloc) {
  Indexed index(subject, alloc);
  {
    const auto me = index->join();
    Rng rng(test_seed());
    Model model;
    for (u64 i = 0; i < 4000; ++i) {
      const u64 key = rng.below(40);
      const std::string text = text_of(kLengths[rng.below(i % 50 == 0 ? 11 : 8)], i);
      const auto at = model.find(key);
      const bool present = at != model.end();
      std::optional<std::string> before;
      const auto keep = [&](ByteSpan value) { before = text_in(value); };
      const auto shows = [&] { return present ? std::optional(at->second) : std::nullopt; };
      switch (rng.below(8)) {
        case 0: REQUIRE(me->insert(key, bytes_of(text)) == model.emplace(key, text).second); break;
        case 1:
          REQUIRE(me->insert(key, bytes_of(text), keep) == !present);
          REQUIRE(before == shows());
          model.emplace(key, text);
          break;
        case 2:
          REQUIRE(me->upsert(key, bytes_of(text), keep) == !present);
          REQUIRE(before == shows());
          model[key] = text;
          break;
        case 3:
          REQUIRE(me->update(key, bytes_of(text), keep) == present);
          REQUIRE(before == shows());
          if (present) at->second = text;
          break;
        case 4:
          REQUIRE(me->erase(key, keep) == present);
          REQUIRE(before == shows());
          model.erase(key);
          break;
        case 5: {
          const u64 wish = rng.below(3);
          const Effect effect = me->modify(key, [&](std::optional<ByteSpan> old) {
            REQUIRE(old.has_value() == present);
            if (old) REQUIRE(text_in(*old) == at->second);
            if (wish == 0) return Change::leave();
            if (wish == 1) return Change::erase();
            return Change::to(old.value_or(ByteSpan()).first(std::min<u64>(old ? old->size() : 0, 50)), bytes_of(text));
          });
          if (wish == 1) {
            REQUIRE(effect == (present ? Effect::kErased : Effect::kNone));
            model.erase(key);
          } else if (wish == 2) {
            REQUIRE(effect == (present ? Effect::kReplaced : Effect::kInserted));
            model[key] = model[key].substr(0, 50) + text;
          } else {
            REQUIRE(effect == Effect::kNone);
          }
          break;
        }
        case 6: {
          std::vector<u64> keys;
          for (u64 k = 0; k < 100; ++k) keys.push_back((k * 7 + i) % 50);
          std::vector<std::optional<std::string>> seen(keys.size());
          const std::size_t count = me->find_batch(std::span<const u64>(keys),
                                                   [&](std::size_t n, ByteSpan value) { seen[n] = text_in(value); });
          std::size_t wanted = 0;
          for (std::size_t n = 0; n < keys.size(); ++n) {
            const auto one = model.find(keys[n]);
            wanted += one != model.end();
            REQUIRE(seen[n] == (one == model.end() ? std::nullopt : std::optional(one->second)));
          }
          REQUIRE(count == wanted);
          break;
        }
        default: REQUIRE(found(*me, key) == shows());
      }
    }
    for (const auto& [key, text] : model) REQUIRE(me->erase(key));
    me->idle();
  }
  CHECK(index.live_after_all() == 0);
  CHECK(index->reclaim_counters().pending == 0);
}

TEST_CASE("Sized: operations agree with a map of strings", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const Alloc alloc : {Alloc::kMalloc, Alloc::kArenaTouch}) check_against_a_map(subject, alloc);
    }
  }
}

void check_exceptions(const Subject& subject) {
  struct Thrown {};
  const auto fail = [](auto&&...) -> Change { throw Thrown(); };
  Indexed index(subject, Alloc::kMalloc);
  {
    const auto me = index->join();
    const std::string first = text_of(100, 1), second = text_of(200, 2);
    CHECK_THROWS_AS(me->modify(1, fail), Thrown);
    CHECK_FALSE(found(*me, 1).has_value());
    REQUIRE(me->insert(1, bytes_of(first)));
    CHECK_THROWS_AS(me->find(1, fail), Thrown);
    CHECK_THROWS_AS(me->insert(1, bytes_of(second), fail), Thrown);
    CHECK_THROWS_AS(me->modify(1, fail), Thrown);
    CHECK(found(*me, 1) == first);
    CHECK_THROWS_AS(me->update(1, bytes_of(second), fail), Thrown);  // done all the same
    CHECK(found(*me, 1) == second);
    CHECK_THROWS_AS(me->upsert(1, bytes_of(first), fail), Thrown);
    CHECK(found(*me, 1) == first);
    CHECK_THROWS_AS(me->erase(1, fail), Thrown);
    CHECK_FALSE(found(*me, 1).has_value());
    const std::string most(Values<Native>::kMostBytes + 1, 'x');
    CHECK_THROWS_AS(me->upsert(1, bytes_of(most)), std::length_error);
    CHECK_THROWS_AS(me->modify(1, [&](auto) { return Change::to(bytes_of(most)); }), std::length_error);
    CHECK_FALSE(found(*me, 1).has_value());
  }
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: what a visitor or a function throws leaves the index usable", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) { check_exceptions(subject); }
  }
}

void check_overtaken(const Subject& subject) {
  constexpr u32 kMostStale = Sized<Synchronized<Art, Spin<Native>, U64Key>>::kMostStale;
  struct Thrown {};
  Indexed index(subject, Alloc::kMalloc);
  {
    const auto me = index->join(), other = index->join();
    REQUIRE(me->insert(1, bytes_of("begin of a value")));
    u32 runs = 0;
    // Other changes come between the word and the attempt, as long as the function runs outside attempts.
    const auto overtaken = [&](std::optional<ByteSpan>) {
      if (++runs <= kMostStale) {
        REQUIRE(other->modify(1, [](std::optional<ByteSpan> old) { return Change::to(*old, bytes_of("+other")); }) ==
                Effect::kReplaced);
      }
    };
    const auto modify = [&](auto&& wish) {
      runs = 0;
      return me->modify(1, [&](std::optional<ByteSpan> old) {
        overtaken(old);
        return wish(old);
      });
    };
    std::string wanted = "begin of a value";
    const auto others = [&] {
      for (u32 i = 0; i < kMostStale; ++i) wanted += "+other";
    };
    const std::string piece = text_of(300, 3);
    others();
    CHECK(modify([&](auto old) { return Change::to(*old, bytes_of(piece)); }) == Effect::kReplaced);
    wanted += piece;
    CHECK(runs == kMostStale + 1);
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK(modify([&](auto) { return runs > kMostStale ? Change::leave() : Change::to(bytes_of(piece)); }) ==
          Effect::kNone);
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK_THROWS_AS(modify([&](auto) -> Change {
                      if (runs > kMostStale) throw Thrown();
                      return Change::to(bytes_of(piece));
                    }),
                    Thrown);
    CHECK(found(*me, 1) == wanted);
    // The room has the size of the last result outside; the next is larger.
    others();
    const std::string large = text_of(100'000, 4);
    CHECK(modify([&](auto old) { return Change::to(*old, runs > kMostStale ? bytes_of(large) : bytes_of(piece)); }) ==
          Effect::kReplaced);
    wanted += large;
    CHECK(found(*me, 1) == wanted);
    others();
    ByteSpan there;
    const auto turn = [&](std::span<std::byte> to) { std::ranges::reverse_copy(there, to.begin()); };
    const Change::Writer writer(turn);
    CHECK(modify([&](auto old) {
            there = *old;
            return Change::by(old->size(), writer);
          }) == Effect::kReplaced);
    std::ranges::reverse(wanted);
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK(modify([](auto) { return Change::to(bytes_of("short")); }) == Effect::kReplaced);
    CHECK(found(*me, 1) == "short");
    CHECK(modify([](auto) { return Change::erase(); }) == Effect::kErased);
    CHECK_FALSE(found(*me, 1).has_value());
  }
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: a function that others always overtake runs inside the attempt", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) { check_overtaken(subject); }
  }
}

void check_pins(const Subject& subject, Alloc alloc, u64 size) {
  Indexed index(subject, alloc);
  {
    const std::string first = text_of(size, 1);
    const auto me = index->join();
    CHECK_FALSE(me->pin(1));
    REQUIRE(me->insert(1, bytes_of(first)));
    auto pinned = me->pin(1);
    REQUIRE(pinned);
    for (u64 i = 0; i < 1000; ++i) REQUIRE_FALSE(me->upsert(1, bytes_of(text_of(300, i))));
    REQUIRE(me->erase(1));
    std::string seen;
    std::thread([&] {
      seen = text_in(pinned());
      pinned = {};
    }).join();
    CHECK(seen == first);
  }
  CHECK(index.live_after_all() == 0);
  CHECK(index->reclaim_counters().pending == 0);
}

TEST_CASE("Sized: a pin keeps a value that was replaced and erased since", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const u64 size : {3, 3000}) {
        check_pins(subject, Alloc::kMalloc, size);
        check_pins(subject, Alloc::kArena, size);
      }
    }
  }
}

TEST_CASE("Sized: large values that were replaced are freed long before a batch is full", "[sized]") {
  Indexed index(subjects().front());
  const auto me = index->join();
  const std::string large = text_of(3 << 20, 1);
  for (u64 i = 0; i < 20; ++i) {
    (void)me->upsert(1, bytes_of(large));
    CHECK(index->bytes().values.live < u64{20} << 20);
  }
}

/// Modifies random values through two sessions in turn, each time to another random size. From a tenth of the
/// modifications on, the memory may grow by an eighth. The sessions have one thread: a thread that waits for a
/// processor inside an operation would hold memory for a time that a test cannot know.
void check_flat(const Subject& subject, u64 modifies) {
  constexpr u64 kKeys = 4000, kMostBytes = 3000, kParts = 10;
  Indexed index(subject);
  const std::unique_ptr<AnySession> sessions[] = {index->join(), index->join()};
  const std::string text = text_of(kMostBytes, 1);
  u64 reserved = 0, live = 0;
  Rng rng(test_seed());
  for (u64 part = 0; part < kParts; ++part) {
    for (u64 i = 0; i < modifies / kParts; ++i) {
      const ByteSpan value = bytes_of(text).first(rng() % kMostBytes);
      sessions[rng() % 2]->modify(rng() % kKeys, [&](std::optional<ByteSpan>) { return Change::to(value); });
    }
    const Footprint now = index->bytes().values;
    if (part == 0) {
      reserved = now.reserved;
      live = now.live;
    }
    CAPTURE(subject.name, part);
    CHECK(now.reserved <= reserved + reserved / 8);
    CHECK(now.live <= live + live / 8);
  }
}

TEST_CASE("Sized: values of random sizes hold as much memory after many modifications as after a tenth",
          "[sized][no-tsan]") {  // one thread
  check_flat(subject<Cuckoo, Olc<Native>>(), 2'000'000);
}
TEST_CASE("Sized: values of random sizes hold as much memory after 100 million modifications as after 10 million",
          "[.all][release]") {
  check_flat(subject<Cuckoo, Olc<Native>>(), 100'000'000);
}

TEST_CASE("Sized: small values that one thread makes and another frees take no more memory with time", "[sized]") {
  const bool counts = GENERATE(true, false);
  MemoryConfig memory;
  if (counts) memory.sharing = {.classes = Sharing::Classes::kPowers, .least = 32, .kept_blocks = 200};
  Sized<Synchronized<Cuckoo, Olc<Native>, U64Key>> index(memory, Spec::parse("olc"), memory);
  auto makes = index.join(), frees = index.join();
  for (u64 i = 0; i < 100'000; ++i) {
    REQUIRE(index.insert(makes, 1, bytes_of("a block of 32 bytes")));
    REQUIRE(index.erase(frees, 1));
  }
  CHECK(index.bytes().values.reserved < 1'000'000);  // all values together took 3,200,000 bytes
}

void check_threads(const Subject& subject, Reclaim reclaim) {
  constexpr u32 kThreads = 4, kRounds = 1500, kKeys = 3;
  Indexed index(subject, Alloc::kMalloc, reclaim);
  std::atomic<u64> wrong{0};
  std::vector<u32> appended(kThreads);
  const u64 seed = test_seed();
  // A value is a row of pieces of 4 bytes: the thread, the number of its piece in two bytes, and a check.
  const auto whole = [](ByteSpan value) {
    if (value.size() % 4 != 0) return false;
    for (std::size_t i = 0; i < value.size(); i += 4) {
      if ((value[i] ^ value[i + 1] ^ value[i + 2]) != value[i + 3]) return false;
    }
    return true;
  };
  std::vector<std::vector<std::string>> taken(kThreads);
  const auto work = [&](u32 number) {
    const auto me = index->join();
    for (u32 i = 0; i < kRounds; ++i) {
      const u64 random = draw(seed, number, i), key = random % kKeys;
      const std::byte piece[] = {static_cast<std::byte>(number), static_cast<std::byte>(i),
                                 static_cast<std::byte>(i >> 8), static_cast<std::byte>(number ^ i ^ i >> 8)};
      switch (random >> 8 & 3) {
        case 0:
        case 1:
          me->modify(key, [&](std::optional<ByteSpan> old) { return Change::to(old.value_or(ByteSpan()), piece); });
          ++appended[number];
          break;
        case 2: me->find(key, [&](ByteSpan value) { wrong.fetch_add(!whole(value), kRelaxed); }); break;
        default:
          // Long values are taken away, so that keys come and go.
          if (random >> 10 & 3) break;
          me->erase(key, [&](ByteSpan value) { taken[number].push_back(text_in(value)); });
      }
    }
    me->idle();
  };
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  u64 pieces = 0, wanted = 0;
  {
    const auto me = index->join();
    std::vector<std::string> last;
    for (u64 key = 0; key < kKeys; ++key) me->erase(key, [&](ByteSpan value) { last.push_back(text_in(value)); });
    taken.push_back(last);
  }
  for (const auto& some : taken) {
    for (const std::string& value : some) {
      wrong.fetch_add(!whole(bytes_of(value)), kRelaxed);
      pieces += value.size() / 4;
    }
  }
  for (const u32 count : appended) wanted += count;
  CHECK(wrong.load(kRelaxed) == 0);
  CHECK(pieces == wanted);
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: threads that append lose nothing, and readers see whole values", "[sized]") {
  for (const Subject& subject : subjects()) {
    if (!subject.shared) continue;
    DYNAMIC_SECTION(subject.name) {
      for (const Reclaim reclaim : {Reclaim::kEpoch, Reclaim::kQsbr}) check_threads(subject, reclaim);
    }
  }
}

}  // namespace
}  // namespace latchlab::testing
