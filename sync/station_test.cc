#include "sync/station.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab {
namespace {

using testing::Seeded;

/// An index over a map that notes its calls.
template <class Key>
class Noted {
 public:
  using Raw = Key;
  struct ThreadState {};

  Found find(ThreadState&, Raw key) const {
    const auto at = pairs.find(key);
    return at != pairs.end() ? Found(at->second) : Found();
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found[i] = find(me, keys[i]);
      events.push_back("get");
    }
  }
  template <class F>
  void modify_batch(ThreadState& me, std::span<const Raw> keys, std::span<Modified> modified, const F& f, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (events.size() == fails_at) throw std::bad_alloc();
      const Found before = find(me, keys[i]);
      (void)f(i, before);  // an attempt that did not succeed
      modified[i] = {before, f(i, before)};
      if (modified[i].after) {
        pairs[keys[i]] = *modified[i].after;
      } else {
        pairs.erase(keys[i]);
      }
      events.push_back("change");
    }
  }

  std::map<Raw, u64> pairs;
  std::vector<std::string> events;
  std::size_t fails_at = ~std::size_t{0};
};

enum class Kind : u8 { kGet, kInsert, kUpdate, kUpsert, kErase, kAdd };
struct Operation {
  Kind kind;
  u64 key;
  u64 value = 0;
};

Found next_of(const Operation& operation, const Found& before) noexcept {
  switch (operation.kind) {
    case Kind::kGet: return before;
    case Kind::kInsert: return before ? before : Found(operation.value);
    case Kind::kUpdate: return before ? Found(operation.value) : before;
    case Kind::kUpsert: return operation.value;
    case Kind::kErase: return std::nullopt;
    case Kind::kAdd: return before.value_or(0) + operation.value;
  }
  return before;
}

/// What each operation was answered, and in which order.
struct Answers {
  std::vector<Found> before;
  std::vector<std::size_t> order;
};

/// A batch of operations that notes its answers.
template <class Index>
class Batch {
 public:
  Batch(Index& index, const std::vector<Operation>& operations) : index_(index), operations_(operations) {
    answers.before.resize(operations.size());
    answers.order.reserve(operations.size());
    index.events.reserve(2000);  // so that an answer may note itself
  }
  u64 key(std::size_t i) const { return operations_[i].key; }
  bool changes(std::size_t i) const { return operations_[i].kind != Kind::kGet; }
  Found next(std::size_t i, const Found& before) const noexcept { return next_of(operations_[i], before); }
  void answer(std::size_t i, const Found& before) noexcept {
    CHECK(std::ranges::find(answers.order, i) == answers.order.end());
    answers.before[i] = before;
    answers.order.push_back(i);
    index_.events.push_back("answer " + std::to_string(i));
  }

  Answers answers;

 private:
  Index& index_;
  const std::vector<Operation>& operations_;
};

template <class Station, class Index>
Answers run(Station& station, Index& index, const std::vector<Operation>& operations) {
  Batch batch(index, operations);
  typename Index::ThreadState me;
  station.run(index, me, operations.size(), batch, BatchOrder::kInTurn);
  return batch.answers;
}

std::vector<Operation> random_batch(Rng& rng, u64 keys, std::size_t count) {
  std::vector<Operation> batch;
  for (std::size_t i = 0; i < count; ++i) batch.push_back({static_cast<Kind>(rng.below(6)), rng.below(keys), rng()});
  return batch;
}

/// Runs random batches, and compares answers and contents with operations one after the other. Returns false at the
/// first difference.
template <class Flag = std::false_type>
bool equals_one_by_one(const StationOptions& options, u64 keys) {
  Station<Noted<u64>, Flag> station(options);
  Noted<u64> index;
  std::map<u64, u64> oracle;
  Rng rng(test_seed());
  for (u32 round = 0; round < 200; ++round) {
    const std::vector<Operation> batch = random_batch(rng, keys, 1 + rng.below(256));
    const Answers answers = run(station, index, batch);
    if (answers.order.size() != batch.size()) return false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto at = oracle.find(batch[i].key);
      const Found before = at != oracle.end() ? Found(at->second) : Found();
      if (answers.before[i] != before) return false;
      const Found after = next_of(batch[i], before);
      if (after) {
        oracle[batch[i].key] = *after;
      } else {
        oracle.erase(batch[i].key);
      }
    }
    index.events.clear();
    if (index.pairs != oracle) return false;
  }
  return true;
}

constexpr StationOptions kOptions[] = {{StationMode::kOn, StationOrder::kRequest},
                                       {StationMode::kOn, StationOrder::kCompletion},
                                       {StationMode::kStall, StationOrder::kRequest},
                                       {StationMode::kStall, StationOrder::kCompletion},
                                       {StationMode::kAuto, StationOrder::kRequest}};

TEST_CASE("A batch in a station is answered as if its operations ran one after the other") {
  for (const StationOptions& options : kOptions) {
    for (const u64 keys : {1, 3, 100, 100'000}) {
      INFO("mode " << static_cast<int>(options.mode) << ", order " << static_cast<int>(options.order) << ", " << keys
                   << " keys");
      CHECK(equals_one_by_one(options, keys));
    }
  }
}

TEST_CASE("The operations of one key are one operation of the index") {
  Station<Noted<u64>> station({.mode = StationMode::kOn});
  Noted<u64> index;
  const std::vector<Operation> batch(64, {Kind::kAdd, 7, 1});
  (void)run(station, index, batch);
  CHECK(index.pairs == std::map<u64, u64>{{7, 64}});
  CHECK(std::ranges::count(index.events, "change") == 1);
  CHECK(station.counters().issued == 64);
  CHECK(station.counters().applied == 1);
}

TEST_CASE("A chain that only gets is a lookup") {
  Station<Noted<u64>> station({.mode = StationMode::kOn});
  Noted<u64> index;
  index.pairs[7] = 1;
  const Answers answers = run(station, index, {{Kind::kGet, 7}, {Kind::kGet, 8}, {Kind::kGet, 7}, {Kind::kErase, 8}});
  CHECK(std::vector(index.events.begin(), index.events.begin() + 2) == std::vector<std::string>{"get", "change"});
  CHECK(answers.before[0] == Found(1));
  CHECK(answers.before[1] == Found());
  CHECK(answers.before[2] == Found(1));
}

TEST_CASE("Answers come in the order of the batch, or by chains, and never before the change") {
  const std::vector<Operation> batch = {{Kind::kUpsert, 1, 5}, {Kind::kGet, 2}, {Kind::kGet, 1}, {Kind::kUpsert, 3, 6}};
  Noted<u64> index;
  Station<Noted<u64>> by_request({.mode = StationMode::kOn});
  CHECK(run(by_request, index, batch).order == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(index.events ==
        std::vector<std::string>{"get", "change", "change", "answer 0", "answer 1", "answer 2", "answer 3"});
  index.events.clear();
  Station<Noted<u64>> by_completion({.mode = StationMode::kOn, .order = StationOrder::kCompletion});
  CHECK(run(by_completion, index, batch).order == std::vector<std::size_t>{1, 0, 2, 3});
  CHECK(index.events.front() == "get");
}

TEST_CASE("An operation on a busy key stalls those behind it") {
  Station<Noted<u64>> station({.mode = StationMode::kStall});
  Noted<u64> index;
  (void)run(station, index, {{Kind::kAdd, 1, 1}, {Kind::kAdd, 2, 1}, {Kind::kAdd, 1, 1}, {Kind::kAdd, 3, 1}});
  CHECK(index.events == std::vector<std::string>{"change", "change", "answer 0", "answer 1", "change", "change",
                                                 "answer 2", "answer 3"});
  CHECK(station.counters().applied == 4);
}

TEST_CASE("An automatic station is on while many operations have the key of another") {
  Station<Noted<u64>> station({.mode = StationMode::kAuto});
  Noted<u64> index;
  Rng rng(test_seed());
  const auto took = [&](u64 keys) {
    u32 batches = 0;
    for (u32 i = 0; i < 2560;) {
      if (const u32 elsewhere = station.elsewhere()) {
        i += elsewhere;
        continue;
      }
      ++i;
      ++batches;
      (void)run(station, index, random_batch(rng, keys, 64));
    }
    return batches;
  };
  CHECK(took(1'000'000'000) == 10);  // one in 256 tries
  CHECK(took(10) > 2000);
  CHECK(took(1'000'000'000) < 40);
}

/// Adds one to strings.
struct AddOne {
  std::span<const std::string_view> keys;
  u32 answered = 0;

  std::string_view key(std::size_t i) const { return keys[i]; }
  bool changes(std::size_t) const { return true; }
  Found next(std::size_t, const Found& before) const noexcept { return before.value_or(0) + 1; }
  void answer(std::size_t, const Found&) noexcept { ++answered; }
};

TEST_CASE("Keys that are strings meet in a station") {
  Station<Noted<std::string_view>> station({.mode = StationMode::kOn});
  Noted<std::string_view> index;
  Noted<std::string_view>::ThreadState me;
  const std::string a = "key", same = "key";
  const std::string_view keys[] = {a, "other", same};
  AddOne batch{keys};
  station.run(index, me, std::size(keys), batch, BatchOrder::kInTurn);
  CHECK(index.pairs == std::map<std::string_view, u64>{{"key", 2}, {"other", 1}});
  CHECK(batch.answered == 3);
}

TEST_CASE("If the index throws, what was done before is answered") {
  for (const StationOrder order : {StationOrder::kRequest, StationOrder::kCompletion}) {
    Station<Noted<u64>> station({.mode = StationMode::kOn, .order = order});
    Noted<u64> index;
    index.fails_at = 2;
    const std::vector<Operation> operations = {
        {Kind::kUpsert, 1, 0}, {Kind::kUpsert, 2, 1}, {Kind::kUpsert, 3, 2}, {Kind::kUpsert, 1, 3}};
    Batch batch(index, operations);
    Noted<u64>::ThreadState me;
    CHECK_THROWS_AS(station.run(index, me, 4, batch, BatchOrder::kInTurn), std::bad_alloc);
    std::ranges::sort(batch.answers.order);
    CHECK(batch.answers.order == std::vector<std::size_t>{0, 1, 3});
    CHECK(index.pairs == std::map<u64, u64>{{1, 3}, {2, 1}});
    // The next batch finds the station empty.
    index.fails_at = ~std::size_t{0};
    CHECK(run(station, index, operations).order.size() == 4);
  }
}

using BuggyStation = Station<Noted<u64>, bool>;

TEST_CASE("A station that answers early is found") {
  const Seeded bug(station::BugFlags<bool>::kAnswerEarly);
  BuggyStation station({.mode = StationMode::kOn, .order = StationOrder::kCompletion});
  Noted<u64> index;
  (void)run(station, index, {{Kind::kUpsert, 1, 5}});
  CHECK(index.events == std::vector<std::string>{"change", "answer 0", "change"});
}

TEST_CASE("A station that forwards across an erase is found") {
  const Seeded bug(station::BugFlags<bool>::kForwardErased);
  CHECK_FALSE(equals_one_by_one<bool>({.mode = StationMode::kOn}, 3));
}

TEST_CASE("A station with two chains of one key is found") {
  const Seeded bug(station::BugFlags<bool>::kTwoChains);
  CHECK_FALSE(equals_one_by_one<bool>({.mode = StationMode::kOn}, 3));
}

}  // namespace
}  // namespace latchlab
