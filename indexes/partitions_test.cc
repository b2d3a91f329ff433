// Tests of partitions: keys are spread over them, and a batch is split and put together again in the order of its keys.
#include "indexes/partitions.h"

#include <array>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "indexes/art/art.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

using PartsOfArt = Partitions<Synchronized<Art, Spin<Native>, U64Key>>;
static_assert(SharedIndex<PartsOfArt> && kModifies<PartsOfArt> && kFindsBatches<PartsOfArt> &&
              kChangesBatches<PartsOfArt>);

PartsOfArt parts(const std::string& spec) { return PartsOfArt(Spec::parse("spin"), {}, Spec::parse(spec)); }

TEST_CASE("partitions: a batch with repeated keys answers in the order of its keys") {
  for (const auto* spec : {"parts:1", "parts:3", "parts:1024"}) {
    PartsOfArt index(Spec::parse("spin"), {}, Spec::parse(spec));
    auto me = index.join();
    std::vector<u64> keys, values;
    for (u64 i = 0; i < 200; ++i) {
      keys.push_back(i % 50 * 1'000'003);
      values.push_back(1000 + i);
    }
    const auto done = std::make_unique<bool[]>(keys.size());
    const std::span<bool> all(done.get(), keys.size());
    index.insert_batch(me, keys, values, all);
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(all[i] == (i < 50));
    index.update_batch(me, keys, values, all);
    std::vector<Found> found(keys.size());
    index.find_batch(me, keys, found);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      CHECK(all[i]);
      CHECK(found[i] == 1150 + i % 50);  // that of the last update in the batch
      CHECK(found[i] == index.find(me, keys[i]));
    }
    index.erase_batch(me, std::span(keys).first(120), all.first(120));
    for (std::size_t i = 0; i < 120; ++i) CHECK(all[i] == (i < 50));
    std::size_t left = 0;
    index.for_each(me, [&](u64, u64) { ++left; });
    CHECK(left == 0);
  }
}

TEST_CASE("partitions: a batch that runs out of memory answers for what it has done") {
  FailurePlan plan;
  PartsOfArt index(Spec::parse("spin"), {.alloc = MemoryConfig::Alloc::kMalloc, .fail = &plan}, Spec::parse("parts:4"));
  auto me = index.join();
  std::array<u64, 64> keys, values{};
  for (u64 i = 0; i < keys.size(); ++i) keys[i] = i << 40;  // each in a leaf of its own
  std::array<bool, 64> inserted{};
  inserted.back() = true;  // is not reached, and stays
  plan.arm(30, FailurePlan::Then::kForEver);
  CHECK_THROWS_AS(index.insert_batch(me, keys, values, inserted), std::bad_alloc);
  plan.disarm();
  u64 present = 0;
  for (std::size_t i = 0; i < keys.size() - 1; ++i) {
    CHECK(inserted[i] == index.find(me, keys[i]).has_value());
    present += inserted[i];
  }
  CHECK(present > 10);
  CHECK_FALSE(index.find(me, keys.back()));
  CHECK(inserted.back());
}

TEST_CASE("partitions: dense and scattered keys are spread evenly, and all operations agree on the place") {
  PartsOfArt index(Spec::parse("spin"), {}, Spec::parse("parts:8"));
  auto me = index.join();
  std::map<u64, u64> expected;
  for (u64 i = 1; i <= 2000; ++i) {
    const u64 key = i % 2 == 0 ? i : i * 0x9e3779b97f4a7c15u;
    CHECK(index.upsert(me, key, i));
    CHECK_FALSE(index.insert(me, key, 0));
    CHECK(index.update(me, key, i + 1));
    CHECK(index.modify(me, key, [](const Found& is) noexcept { return Found(*is + 1); }).after == i + 2);
    CHECK(index.find(me, key) == i + 2);
    expected.emplace(key, i + 2);
    if (i % 10 == 0) {
      CHECK(index.erase(me, key));
      expected.erase(key);
    }
  }
  std::map<u64, u64> visited;
  index.for_each(me, [&](u64 key, u64 value) { visited.emplace(key, value); });
  CHECK(visited == expected);
  std::array<u32, 8> in_part{};
  for (const u64 key : {u64{0}, u64{1} << 40}) {
    for (u64 i = 0; i < 8000; ++i) ++in_part[PartsOfArt::part_of(key + i, 8)];
  }
  for (const u32 keys : in_part) {
    CHECK(keys > 1800);
    CHECK(keys < 2200);
  }
}

TEST_CASE("partitions: their number has bounds") {
  CHECK_THROWS_AS(parts("parts:0"), InputError);
  CHECK_THROWS_AS(parts("parts:1025"), InputError);
  CHECK_THROWS_AS(parts("parts:4,x=1"), InputError);
  CHECK(PartitionsOptions::parse(Spec::parse("parts")).parts == 64);
}

}  // namespace
}  // namespace latchlab
