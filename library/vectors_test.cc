// Tests of the operations on vectors of a map.
#include "library/vectors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "library/in_place.h"
#include "library/map.h"
#include "src/testing/catch.h"
#include "sync/mutex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"

namespace latchlab {
namespace {

using Floats = std::vector<float>;

TEST_CASE("A map keeps vectors of numbers, of no element and of many") {
  Map<u64, Floats> map;
  CHECK(map.insert(1, Floats{}));
  CHECK(map.insert(2, Floats{1.5f}));  // lies in the cell, at an odd address
  CHECK(map.insert(3, Floats(10'000, 2.f)));
  CHECK(map.find(1) == Floats{});
  CHECK(map.find(2) == Floats{1.5f});
  CHECK(map.find(3) == Floats(10'000, 2.f));
  float seen = 0;
  CHECK(map.visit(2, [&](VectorView<float> value) { seen = value[value.size() - 1]; }));
  CHECK(seen == 1.5f);
  const auto longer = [](std::optional<Floats> value) {
    value->push_back(3);
    return value;
  };
  CHECK(map.modify(2, longer).after == Floats{1.5f, 3});
  const std::array keys{u64{4}, u64{5}};
  const Floats four{4}, five{5, 5};
  std::array<bool, 2> added{};
  map.upsert_batch(keys, std::array<VectorView<float>, 2>{four, five}, added);
  CHECK(map.find(5) == five);
}

TEST_CASE("A map updates a vector, and returns the one before or after") {
  Map<std::string, Floats> map;
  map.insert("row", Floats{1, 2, 3});
  CHECK(map.update_vector("row", {UpdateFunction::kAdd, 1.f}) == VectorStatus::kDone);
  CHECK(map.find("row") == Floats{2, 3, 4});
  const Floats gradients{.5f, 0, 1};
  const VectorUpdate step(UpdateFunction::kSub, std::span(gradients));
  CHECK(map.fetch_update_vector("row", step, Fetch::kOld).value == Floats{2, 3, 4});
  CHECK(map.find("row") == Floats{1.5f, 3, 3});
  const auto after = map.fetch_update_vector("row", step, Fetch::kNew);
  CHECK(after.status == VectorStatus::kDone);
  CHECK(after.value == Floats{1, 3, 2});
  CHECK(map.reduce_vector<float>("row", Reduction::kSum).number == vectors::Number(6.));
  CHECK(map.filter_vector<float>("row", VectorComparison::kGe, 2).matches == Floats{3, 2});
  const auto bitmap = map.filter_bitmap<float>("row", VectorComparison::kGe, 2);
  CHECK(bitmap.matches == std::vector{std::byte{6}});
  CHECK(bitmap.count == 2);
}

TEST_CASE("An operation on a vector that does not fit, or is not there, changes nothing") {
  Map<u64, std::string> map;
  map.insert(1, "123456789");
  CHECK(map.update_vector(2, {UpdateFunction::kAdd, u32{1}}) == VectorStatus::kAbsent);
  CHECK(map.update_vector(1, {UpdateFunction::kAdd, u32{1}}) == VectorStatus::kRagged);
  CHECK(map.update_vector(1, {UpdateFunction::kXor, 1.}) == VectorStatus::kUnsuited);
  CHECK(map.fetch_update_vector(1, {UpdateFunction::kClip, u32{1}}, Fetch::kOld).status == VectorStatus::kMismatched);
  CHECK(map.reduce_vector<u32>(1, Reduction::kSum).status == VectorStatus::kRagged);
  CHECK(map.reduce_vector<u32>(2, Reduction::kSum).status == VectorStatus::kAbsent);
  CHECK(map.filter_vector<u64>(1, VectorComparison::kEq, 0).status == VectorStatus::kRagged);
  CHECK(map.filter_bitmap<u64>(2, VectorComparison::kEq, 0).status == VectorStatus::kAbsent);
  CHECK(map.find(1) == "123456789");
  CHECK(map.find(2) == std::nullopt);
  STATIC_REQUIRE_FALSE(Map<u64, u64>::kHoldsVectors);
}

/// Two threads add to all elements of a few vectors, and a third looks: it never sees a part of an update.
template <class TestedMap>
void check_atomic() {
  constexpr u64 kKeys = 3, kUpdates = 3000;
  constexpr std::size_t kElements = 77;
  TestedMap map;
  for (u64 key = 0; key < kKeys; ++key) map.insert(key, std::vector<i64>(kElements));
  const std::vector<i64> ones(kElements, 1);
  std::atomic<bool> ended{false}, whole{true};
  const auto adds = [&](bool each) {
    const VectorUpdate for_each(UpdateFunction::kAdd, std::span(ones)), for_all(UpdateFunction::kAdd, i64{1});
    for (u64 i = 0; i < kUpdates; ++i) {
      const auto [status, value] = map.fetch_update_vector(i % kKeys, each ? for_each : for_all, Fetch::kNew);
      if (status != VectorStatus::kDone || value != std::vector<i64>(kElements, value[0])) whole = false;
    }
  };
  std::thread first(adds, true), second(adds, false), reader([&] {
    for (u64 i = 0; !ended; ++i) {
      const auto low = map.template reduce_vector<i64>(i % kKeys, Reduction::kMin).number;
      const auto values = map.find(i % kKeys);
      if (*values != std::vector<i64>(kElements, (*values)[0])) whole = false;
      if ((*values)[0] < low.template as<i64>()) whole = false;
    }
  });
  first.join();
  second.join();
  ended = true;
  reader.join();
  CHECK(whole);
  for (u64 key = 0; key < kKeys; ++key) CHECK(map.find(key) == std::vector<i64>(kElements, 2 * kUpdates / kKeys));
}

TEST_CASE("An update of a vector is atomic under every kind of policy") {
  check_atomic<Map<u64, std::vector<i64>>>();
  check_atomic<Map<u64, std::vector<i64>, Cuckoo>>();
  check_atomic<Map<u64, std::vector<i64>, Chained, Mutex>>();
  check_atomic<Map<u64, std::vector<i64>, Chained, Rtm>>();
  check_atomic<Map<u64, InPlace<std::vector<i64>>, Chained, Mutex>>();
  check_atomic<Map<u64, InPlace<std::vector<i64>>, Cuckoo, RwSpin>>();
}

template <class TestedMap>
void check_batch() {
  constexpr u64 kKeys = 37;
  TestedMap map;
  std::vector<u64> keys;
  std::vector<VectorUpdate> updates;
  for (u64 key = 0; key < kKeys; ++key) {
    if (key != 30) map.insert(key, Floats(key, 1.f));
    keys.push_back(key);
    updates.emplace_back(UpdateFunction::kAdd, static_cast<float>(key));
  }
  keys.push_back(5);  // again
  updates.emplace_back(UpdateFunction::kXor, 1.f);
  std::vector<VectorStatus> statuses(keys.size());
  map.update_vector_batch(keys, updates, statuses);
  for (u64 key = 0; key < kKeys; ++key) {
    CHECK(statuses[key] == (key == 30 ? VectorStatus::kAbsent : VectorStatus::kDone));
    if (key != 30) CHECK(map.find(key) == Floats(key, 1.f + static_cast<float>(key)));
  }
  CHECK(statuses[kKeys] == VectorStatus::kUnsuited);
}

TEST_CASE("A batch of updates of vectors is one after the other") {
  check_batch<Map<u64, Floats, Cuckoo>>();
  check_batch<Map<u64, InPlace<Floats>, Chained, Mutex>>();
}

TEST_CASE("A vector that changes in place is updated, read, replaced and erased") {
  Map<u64, InPlace<Floats>, Chained, Mutex> map;
  CHECK(map.insert(1, Floats{1.5f}));  // lies in the cell
  CHECK(map.insert(2, Floats(1000, 2.f)));
  CHECK(map.update_vector(1, {UpdateFunction::kAdd, 1.f}) == VectorStatus::kDone);
  CHECK(map.find(1) == Floats{2.5f});
  const u64 reserved = map.bytes().reserved, live = map.bytes().live;
  for (int i = 0; i < 1000; ++i) REQUIRE(map.update_vector(2, {UpdateFunction::kAdd, 1.f}) == VectorStatus::kDone);
  CHECK(map.bytes().live == live);  // no other block was made
  CHECK(map.bytes().reserved == reserved);
  CHECK(map.find(2) == Floats(1000, 1002.f));
  CHECK(map.fetch_update_vector(2, {UpdateFunction::kSet, 7.f}, Fetch::kOld).value == Floats(1000, 1002.f));
  CHECK(map.fetch_update_vector(2, {UpdateFunction::kAdd, 1.f}, Fetch::kNew).value == Floats(1000, 8.f));
  CHECK(map.reduce_vector<float>(2, Reduction::kSum).number == vectors::Number(8000.));
  CHECK(map.filter_bitmap<float>(1, VectorComparison::kEq, 2.5f).count == 1);
  CHECK(map.update_vector(2, {UpdateFunction::kAdd, 1.}) == VectorStatus::kDone);  // 500 elements of f64
  CHECK(map.update_vector(1, {UpdateFunction::kAdd, 1.}) == VectorStatus::kRagged);
  CHECK(map.update_vector(3, {UpdateFunction::kAdd, 1.f}) == VectorStatus::kAbsent);
  std::size_t seen = 0;
  const auto see = [&](VectorView<float> value) { seen = value.size(); };
  CHECK(map.visit(2, see));
  CHECK(seen == 1000);
  CHECK_FALSE(map.insert(1, Floats{}, see));
  CHECK(seen == 1);
  CHECK(map.update(2, Floats{3, 4}, see));
  CHECK(seen == 1000);
  CHECK(map.erase(2, see));
  CHECK(seen == 2);
  CHECK(map.contains(1));
  CHECK(map.size() == 1);
  std::array<std::optional<Floats>, 2> found;
  map.find_batch(std::array{u64{1}, u64{2}}, found);
  CHECK(found[0] == Floats{2.5f});
  CHECK(found[1] == std::nullopt);
  struct Thrown {};
  CHECK_THROWS_AS(map.visit(1, [](const auto&) { throw Thrown(); }), Thrown);
}

}  // namespace
}  // namespace latchlab
