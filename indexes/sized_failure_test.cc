// Tests of sized values with memory that ends at the n-th allocation of an operation or a batch, for every n until it
// is done (allocation_failure_test.cc does so for indexes of words).
#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "indexes/any_sized_test.h"
#include "indexes/sized.h"
#include "indexes/starving_test.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using namespace any_sized;

using Model = std::map<u64, std::string>;

void starve(const Subject& subject, Alloc alloc, Reclaim reclaim, FailurePlan::Then then) {
  INFO(word(alloc) << ", " << word(reclaim));
  Indexed index(subject, alloc, reclaim);
  Model model;
  u64 failures = 0;
  {
    const auto me = index->join(), quiet = index->join();
    CHECK_FALSE(found(*quiet, 1).has_value());  // it is quiet from now on: under qsbr all that is retired waits for it
    const auto live = [&] {
      const SizedFootprint bytes = index->bytes();
      return bytes.index.live - bytes.index.room + bytes.values.live;
    };
    const auto unchanged = [&] {
      for (u64 key = 0; key < 8; ++key) {
        const auto at = model.find(key);
        if (found(*me, key) != (at == model.end() ? std::nullopt : std::optional(at->second))) return false;
      }
      return true;
    };
    const Starving starving{index.plan, live, unchanged, 2};  // of the index, and of the values
    const auto until_done = [&](const char* what, auto&& operation) {
      INFO(what);
      failures += starve_until_done(starving, then, operation);
    };
    for (u64 round = 0; round < 40; ++round) {
      const u64 key = round % 8, size = kLengths[round * 3 % 10];
      const bool present = model.contains(key);
      const std::string text = text_of(size, round), more = text_of(size + 20, round + 1);
      until_done("upsert", [&] { return me->upsert(key, bytes_of(text)) == !present; });
      model[key] = text;
      until_done("update", [&] { return me->update(key, bytes_of(more)); });
      model[key] = more;
      const auto append = [&](std::optional<ByteSpan> old) { return Change::to(*old, bytes_of(text)); };
      until_done("modify to replace", [&] { return me->modify(key, append) == Effect::kReplaced; });
      model[key] += text;
      until_done("refused insert", [&] { return !me->insert(key, bytes_of(text)); });
      if (round % 3 == 0) continue;
      until_done("erase", [&] { return me->erase(key); });
      model.erase(key);
      if (round % 3 == 1) continue;
      until_done("insert", [&] { return me->insert(key, bytes_of(text)); });
      model[key] = text;
      const auto leave_nothing = [](std::optional<ByteSpan>) { return Change::erase(); };
      until_done("modify to erase", [&] { return me->modify(key, leave_nothing) == Effect::kErased; });
      model.erase(key);
      const auto put = [&](std::optional<ByteSpan>) { return Change::to(bytes_of(more)); };
      until_done("modify to insert", [&] { return me->modify(key, put) == Effect::kInserted; });
      model[key] = more;
    }
    if (then == FailurePlan::Then::kForEver) CHECK(failures > 50);  // after one failure the second try succeeds
    for (const auto& [key, text] : model) REQUIRE(me->erase(key));
  }
  const u64 live = index.live_after_all();
  if (reclaim != Reclaim::kLeak) CHECK(live == 0);
  index.index.reset();
  CHECK(index.limit.charged() == 0);
}

TEST_CASE("Sized: every operation beside a quiet thread succeeds or changes nothing, no matter which allocation fails",
          "[sized][no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
        for (const Reclaim reclaim : {Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak}) {
          starve(subject, Alloc::kMalloc, reclaim, then);
          starve(subject, Alloc::kArena, reclaim, then);
        }
      }
    }
  }
}

/// Runs a batch of changes with its n-th allocation failing, for every n until it is done. What a refused batch tells
/// to have done must be there, and no more: `told(i)` is the value of keys[i] then, or nothing. Between two tries the
/// keys get their first values again.
template <class Batch, class Told>
u64 starve_batch(Indexed& index, AnySession& me, FailurePlan::Then then, const Model& first, std::span<const u64> keys,
                 const Batch& batch, const Told& told) {
  for (u64 n = 1;; ++n) {
    REQUIRE(n < 100);
    for (const u64 key : keys) {
      const auto at = first.find(key);
      if (at == first.end()) {
        (void)me.erase(key);
      } else {
        (void)me.upsert(key, bytes_of(at->second));
      }
    }
    bool threw = false;
    index.plan.arm(n, then);
    try {
      batch();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    index.plan.disarm();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CAPTURE(n, i);
      const std::optional<std::string> wanted = told(i);
      REQUIRE(found(me, keys[i]) == wanted);
    }
    if (!threw) return n - 1;
  }
}

/// Starves the four batches of changes of keys of which every third is present. A batch has two groups.
void starve_batches(const Subject& subject, Alloc alloc, FailurePlan::Then then) {
  INFO(word(alloc));
  constexpr std::size_t kKeys = sized::Group<Sized<Synchronized<Art, Olc<Native>, U64Key>>>::kMost + 4;
  Indexed index(subject, alloc);
  u64 refused = 0;
  {
    const auto me = index->join();
    Model first;
    std::vector<u64> keys;
    std::vector<std::string> texts;
    for (u64 i = 0; i < kKeys; ++i) {
      keys.push_back(i << 32 | i);  // art makes a node for each
      texts.push_back(text_of(kLengths[i % 9], i));
      if (i % 3 == 0) first[keys[i]] = text_of(50 + i, i);
    }
    const std::vector<ByteSpan> values = [&] {
      std::vector<ByteSpan> all;
      for (const std::string& text : texts) all.push_back(bytes_of(text));
      return all;
    }();
    bool done[kKeys];
    Effect effects[kKeys];
    const auto before = [&](std::size_t i) {
      const auto at = first.find(keys[i]);
      return at == first.end() ? std::nullopt : std::optional(at->second);
    };
    const auto starved = [&](const char* what, const auto& batch, const auto& told) {
      INFO(what);
      refused += starve_batch(index, *me, then, first, keys, batch, told);
    };
    starved(
        "insert", [&] { me->insert_batch(keys, values, done); },
        [&](std::size_t i) { return done[i] ? std::optional(texts[i]) : before(i); });
    CHECK(std::ranges::count(done, true) == static_cast<i64>(kKeys - first.size()));
    starved(
        "erase", [&] { me->erase_batch(keys, done); },
        [&](std::size_t i) { return done[i] ? std::nullopt : before(i); });
    CHECK(std::ranges::count(done, true) == static_cast<i64>(first.size()));
    // A key that is present shows by its value whether its turn has come. So there the value may be either.
    starved(
        "upsert", [&] { me->upsert_batch(keys, values, done); },
        [&](std::size_t i) {
          if (done[i]) return std::optional(texts[i]);
          return before(i) && found(*me, keys[i]) == texts[i] ? std::optional(texts[i]) : before(i);
        });
    CHECK(std::ranges::count(done, true) == static_cast<i64>(kKeys - first.size()));
    const auto wish = [&](std::size_t i, std::optional<ByteSpan> now) {
      if (!now) return Change::to(values[i]);
      return i % 2 == 0 ? Change::erase() : Change::to(*now, values[i]);
    };
    starved(
        "modify", [&] { me->modify_batch(keys, effects, wish); },
        [&](std::size_t i) -> std::optional<std::string> {
          switch (effects[i]) {
            case Effect::kInserted: return texts[i];
            case Effect::kReplaced: return *before(i) + texts[i];
            case Effect::kErased: return std::nullopt;
            default: return before(i);
          }
        });
    CHECK(std::ranges::count(effects, Effect::kNone) == 0);
    for (const u64 key : keys) (void)me->erase(key);
  }
  if (then == FailurePlan::Then::kForEver) CHECK(refused > 20);
  CHECK(index.live_after_all() == 0);
  index.index.reset();
  CHECK(index.limit.charged() == 0);
}

TEST_CASE("Sized: a batch that lacks memory tells what it has done, no matter which allocation fails",
          "[sized][no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
        starve_batches(subject, Alloc::kMalloc, then);
        starve_batches(subject, Alloc::kArena, then);
      }
    }
  }
}

TEST_CASE("Sized: what reads needs no memory of the index", "[sized][no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      Indexed index(subject, Alloc::kMalloc);
      const auto me = index->join();
      Model model;
      for (u64 key = 0; key < 200; ++key) {
        model[key] = text_of(kLengths[key % 9], key);
        REQUIRE(me->insert(key, bytes_of(model[key])));
      }
      index.plan.arm(1, FailurePlan::Then::kForEver);
      for (const auto& [key, text] : model) {
        REQUIRE(found(*me, key) == text);
        const auto pinned = me->pin(key);
        REQUIRE(pinned);
        REQUIRE(text_in(pinned()) == text);
      }
      Model walked, scanned;
      me->for_each([&](u64 key, ByteSpan value) { walked[key] = text_in(value); });
      me->scan(0, model.size(), [&](u64 key, ByteSpan value) { scanned[key] = text_in(value); });
      index.plan.disarm();
      CHECK((walked == model));
      CHECK((scanned.empty() || scanned == model));
    }
  }
}

}  // namespace
}  // namespace latchlab::testing
