#include "workloads/mix_stream.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "workloads/no_gets_testing.h"

namespace latchlab {
namespace {

using testing::no_gets;

struct Setup {
  std::string keys = "u64";
  std::string workload = "lookup";
  std::string distribution = "uniform";
  u64 records = 1000;
  double negative = 0;
  u64 seed = 1;
  u64 phase = 1;
};

/// A stream together with the keys that it needs.
struct Made {
  explicit Made(const Setup& setup)
      : keys(Spec::parse(setup.keys), setup.seed),
        stream(setup.seed, setup.phase, keys, Distribution(Spec::parse(setup.distribution)),
               Mix(Spec::parse(setup.workload), setup.negative), setup.records) {}

  [[nodiscard]] std::vector<Op> ops(u64 first, u64 count) const {
    std::vector<Op> result(count), gets;
    stream.fill(first, result, gets);
    return result;
  }
  [[nodiscard]] u64 print(u64 first, u64 count) const {
    std::vector<Op> result(count), gets;
    stream.fill(first, result, gets);
    return fingerprint(first, result, gets);
  }

  KeySet keys;
  MixStream stream;
};

const char* const kWorkloads[] = {
    "lookup", "mix:read=90,insert=5,erase=5",
    "mix:read=20,insert=20,update=10,upsert=10,erase=10,scan=10,rmw=5,modify=5,multi_get=10,scan_length=1-50,"
    "multi_get_keys=7"};

TEST_CASE("a stream is the same for any number of threads and any size of chunks") {
  constexpr u64 kOps = 10'000;
  for (const char* workload : kWorkloads) {
    for (const char* distribution : {"uniform", "zipf:0.99", "latest"}) {
      const Made made({.workload = workload, .distribution = distribution, .negative = 0.1});
      const u64 expected = made.print(0, kOps);
      for (const u64 threads : {1, 2, 7}) {
        for (const u64 chunk : {u64{1}, u64{100}, u64{256}, u64{257}, u64{4096}, kOps}) {
          std::vector<u64> sums(threads);
          std::vector<std::thread> running;
          for (u64 t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
              std::vector<Op> ops(chunk);
              for (u64 first = t * chunk; first < kOps; first += threads * chunk) {
                const std::span<Op> here = std::span(ops).first(std::min(chunk, kOps - first));
                std::vector<Op> gets;
                made.stream.fill(first, here, gets);
                sums[t] += fingerprint(first, here, gets);
              }
            });
          }
          for (std::thread& thread : running) thread.join();
          u64 sum = 0;
          for (const u64 part : sums) sum += part;
          INFO(workload << " " << distribution << " threads " << threads << " chunk " << chunk);
          REQUIRE(sum == expected);
        }
      }
    }
  }
}

TEST_CASE("a fingerprint changes with any change of an operation or of its place") {
  std::vector<Op> ops = Made({.workload = kWorkloads[1]}).ops(0, 1000);
  const u64 original = fingerprint(0, ops);
  CHECK(fingerprint(1, ops) != original);
  std::swap(ops[3], ops[4]);
  CHECK((ops[3] == ops[4] || fingerprint(0, ops) != original));
  std::swap(ops[3], ops[4]);
  CHECK(fingerprint(0, ops) == original);
  ops[5].keys ^= 1;
  CHECK(fingerprint(0, ops) != original);
  ops[5].keys ^= 1;
  ops[5].absent = !ops[5].absent;
  CHECK(fingerprint(0, ops) != original);
}

TEST_CASE("seed and phase determine the operations, and the seed alone determines the keys") {
  const std::vector<Op> ops = Made({}).ops(0, 1000);
  CHECK(fingerprint(0, Made({.phase = 2}).ops(0, 1000)) != fingerprint(0, ops));
  CHECK(fingerprint(0, Made({.seed = 2}).ops(0, 1000)) != fingerprint(0, ops));
  std::set<u64> keys;
  std::set<u64> other_phase;
  for (const Op& op : Made({.records = 10}).ops(0, 1000)) keys.insert(op.key);
  for (const Op& op : Made({.records = 10, .phase = 2}).ops(0, 1000)) other_phase.insert(op.key);
  CHECK(keys.size() == 10);
  CHECK(keys == other_phase);
}

TEST_CASE("loading inserts every record once, and insert is the same stream") {
  for (const u64 records : {u64{1}, u64{2}, u64{1000}, u64{4099}}) {
    const Made made({.keys = "dense", .workload = "insert", .records = records});
    const MixStream loading = MixStream::loading(1, made.keys, records);
    CHECK(made.stream.size() == records);
    CHECK(loading.size() == records);
    const std::vector<Op> ops = made.ops(0, records);
    std::vector<Op> loaded(records);
    loading.fill(0, loaded, no_gets);
    CHECK(loaded == ops);
    std::set<u64> keys;
    for (const Op& op : ops) {
      REQUIRE(op.kind == OpKind::kInsert);
      REQUIRE(op.key < records);
      keys.insert(op.key);
    }
    CHECK(keys.size() == records);
    const auto by_key = [](const Op& a, const Op& b) { return a.key < b.key; };
    const bool sorted = std::is_sorted(ops.begin(), ops.end(), by_key);
    CHECK((records < 100 || !sorted));
  }
}

TEST_CASE("the kinds have their exact shares in every stretch, at random places") {
  const Made made({.workload = "mix:read=40,insert=20,update=10,upsert=10,erase=10,scan=10,scan_length=33",
                   .records = 100'000,
                   .negative = 0.5});
  constexpr u64 kOps = 256 * 2000;
  const std::vector<Op> ops = made.ops(0, kOps);
  std::map<OpKind, u64> counts;
  u64 absent = 0;
  u64 odd = 0;
  std::vector<u64> inserts_at(Mix::kBlock);
  u64 pairs = 0;
  for (u64 i = 0; i < kOps; ++i) {
    ++counts[ops[i].kind];
    absent += ops[i].absent;
    inserts_at[i % Mix::kBlock] += ops[i].kind == OpKind::kInsert;
    pairs += i > 0 && ops[i].kind == OpKind::kInsert && ops[i - 1].kind == OpKind::kInsert;
    odd += ops[i].absent && ops[i].kind != OpKind::kRead;
    odd += ops[i].keys != (ops[i].kind == OpKind::kScan ? 33 : 0);
  }
  CHECK(odd == 0);
  CHECK(counts[OpKind::kRead] == kOps * 4 / 10);
  CHECK(absent == kOps * 2 / 10);
  CHECK(counts[OpKind::kInsert] == kOps * 2 / 10);
  CHECK(counts[OpKind::kUpdate] == kOps / 10);
  CHECK(counts[OpKind::kUpsert] == kOps / 10);
  CHECK(counts[OpKind::kErase] == kOps / 10);
  CHECK(counts[OpKind::kScan] == kOps / 10);
  // 2000 blocks give 400 +- 18 inserts at each place of the block.
  CHECK(*std::min_element(inserts_at.begin(), inserts_at.end()) > 300);
  CHECK(*std::max_element(inserts_at.begin(), inserts_at.end()) < 500);
  // Two inserts in a row occur at 80 +- 9 of a place's 2000 chances.
  CHECK(pairs > 256 * 80 * 0.9);
  CHECK(pairs < 256 * 80 * 1.1);
}

/// Executes a stream one operation after the other, and counts those that succeed.
struct Tally {
  std::map<OpKind, u64> tried;
  std::map<OpKind, u64> succeeded;
  u64 absent_found = 0;
  std::size_t size = 0;
  [[nodiscard]] double rate(OpKind kind) {
    return static_cast<double>(succeeded[kind]) / static_cast<double>(std::max<u64>(1, tried[kind]));
  }
};

template <class Raw>
Tally execute(const Made& made, u64 ops) {
  std::set<Raw> index;
  std::vector<Op> load(made.stream.records());
  MixStream::loading(1, made.keys, made.stream.records()).fill(0, load, no_gets);
  for (const Op& op : load) REQUIRE(index.insert(made.keys.raw<Raw>(op)).second);
  Tally tally;
  for (const Op& op : made.ops(0, ops)) {
    const Raw key = made.keys.raw<Raw>(op);
    bool success = false;
    switch (op.kind) {
      case OpKind::kInsert: success = index.insert(key).second; break;
      case OpKind::kErase: success = index.erase(key) > 0; break;
      default: success = index.count(key) > 0;
    }
    if (op.absent) {
      tally.absent_found += success;
      continue;
    }
    ++tally.tried[op.kind];
    tally.succeeded[op.kind] += success;
  }
  tally.size = index.size();
  return tally;
}

TEST_CASE("with as many inserts as erases the size stays, inserts insert, erases erase, and reads hit") {
  for (const char* keys : {"u64", "dense"}) {
    for (const char* distribution : {"uniform", "zipf:0.99"}) {
      const Made made({.keys = keys,
                       .workload = "mix:read=60,insert=20,erase=20",
                       .distribution = distribution,
                       .records = 20'000,
                       .negative = 0.1});
      // Whole blocks, in which every record is replaced four times.
      Tally tally = execute<u64>(made, 256 * 5 * 320);
      INFO(keys << " " << distribution);
      CHECK(tally.rate(OpKind::kInsert) == 1);
      CHECK(tally.rate(OpKind::kErase) == 1);
      CHECK(tally.rate(OpKind::kRead) > 0.99);
      CHECK(tally.absent_found == 0);
      CHECK(tally.size == 20'000);
    }
  }
}

TEST_CASE("a record that an early erase has left behind does not stay for ever") {
  constexpr u64 kRecords = 500, kStretch = 4096;
  for (const char* workload : {"mix:read=50,insert=25,erase=25", "mix:read=40,insert=25,upsert=10,erase=25"}) {
    for (const char* keys : {"u64", "dense"}) {
      const Made made({.keys = keys, .workload = workload, .records = kRecords});
      std::set<u64> index;
      for (u64 record = 0; record < kRecords; ++record) {
        Op op;
        made.keys.put(op, record);
        index.insert(made.keys.raw<u64>(op));
      }
      for (u64 i = 0; i < 100; ++i) {  // stretches overtake each other in pairs, each longer than the window
        for (const Op& op : made.ops((i ^ 1) * kStretch, kStretch)) {
          const u64 key = made.keys.raw<u64>(op);
          if (op.kind == OpKind::kInsert || op.kind == OpKind::kUpsert) index.insert(key);
          if (op.kind == OpKind::kErase) index.erase(key);
        }
        REQUIRE(index.size() <= 1024);
      }
    }
  }
}

TEST_CASE("reads, updates and modifies without erases always hit, also when the index grows") {
  const Made made(
      {.workload = "mix:read=30,insert=30,update=20,upsert=10,modify=10", .distribution = "zipf:1", .records = 500});
  Tally tally = execute<u64>(made, 256 * 400);
  CHECK(tally.rate(OpKind::kRead) == 1);
  CHECK(tally.rate(OpKind::kUpdate) == 1);
  CHECK(tally.rate(OpKind::kUpsert) == 1);
  CHECK(tally.tried[OpKind::kModify] == 10'240);
  CHECK(tally.rate(OpKind::kModify) == 1);
  CHECK(tally.rate(OpKind::kInsert) == 1);
  CHECK(tally.size == 500 + 30'720);
}

TEST_CASE("popularity survives replacement: a successor is read as often as the hottest record was") {
  const Made made({.workload = "mix:read=80,insert=10,erase=10", .distribution = "zipf:1.5", .records = 1000});
  const auto hottest_share = [&](u64 first) {
    std::map<u64, u64> reads;
    u64 total = 0;
    for (const Op& op : made.ops(first, 5000)) {
      if (op.kind != OpKind::kRead) continue;
      ++reads[op.key];
      ++total;
    }
    u64 most = 0;
    for (const auto& [key, count] : reads) most = std::max(most, count);
    return static_cast<double>(most) / static_cast<double>(total);
  };
  // The hottest of 1000 ranks at 1.5 has 39 %. It is replaced once in 10,000 operations, so one of three stretches may
  // share it between two keys.
  CHECK(hottest_share(1'000'000) + hottest_share(1'005'000) + hottest_share(1'010'000) > 0.39 * 2);
}

TEST_CASE("keys of a file wrap around while the index has room for them") {
  const std::string path = source_folder() + "/workloads/mix_stream_test.cc";
  const KeySet lines(Spec::parse("file:" + path), 1);
  const u64 records = lines.capacity() * 3 / 4;
  const Made made(
      {.keys = "file:" + path, .workload = "mix:read=80,insert=10,erase=10", .records = records, .negative = 0.2});
  Tally tally = execute<std::string_view>(made, 100'000);
  CHECK(tally.absent_found == 0);
  // Blocks of 256 with some 26 erases are a tenth of these few records, so overtaking is visible.
  CHECK(tally.rate(OpKind::kInsert) > 0.95);
  CHECK(tally.rate(OpKind::kErase) > 0.95);
  CHECK(tally.rate(OpKind::kRead) > 0.9);
}

TEST_CASE("latest reads the newest records, as of 65,536 operations ago") {
  const Made made(
      {.keys = "dense", .workload = "mix:read=90,insert=10", .distribution = "latest:1.5", .records = 5000});
  CHECK(made.stream.addresses_new());
  constexpr u64 kOps = 300 * Mix::kBlock;
  const std::vector<Op> ops = made.ops(0, kOps);
  std::vector<u64> inserted_before(kOps + 1);  // number of records inserted before an operation
  for (u64 i = 0; i < kOps; ++i) inserted_before[i + 1] = inserted_before[i] + (ops[i].kind == OpKind::kInsert);
  u64 reads = 0, newest = 0;
  for (u64 i = 0; i < kOps; ++i) {
    if (ops[i].kind != OpKind::kRead) continue;
    const u64 block = i / Mix::kBlock * Mix::kBlock;
    const u64 records = 5000 + inserted_before[block - std::min(block, MixStream::kLatestLag)];
    REQUIRE(ops[i].key < records);
    REQUIRE(ops[i].key >= records - 5000);
    ++reads;
    newest += ops[i].key + 1 == records;
  }
  // The weight of the first of 5000 ranks is .39.
  CHECK(static_cast<double>(newest) / static_cast<double>(reads) == Approx(0.388).margin(0.01));
  CHECK_FALSE(Made({.distribution = "latest"}).stream.addresses_new());
  for (const Op& op : Made({.keys = "dense", .distribution = "latest:9"}).ops(0, 1000)) REQUIRE(op.key > 900);
}

TEST_CASE("scans ask for uniform lengths from the shortest to the longest") {
  const Made made({.workload = "mix:read=50,scan=50,scan_length=3-7"});
  std::vector<u64> counts(10);
  for (const Op& op : made.ops(0, 100'000)) {
    if (op.kind == OpKind::kScan) ++counts[op.keys];
  }
  for (u64 length = 0; length < counts.size(); ++length) {
    INFO("length " << length);
    if (length < 3 || length > 7) {
      CHECK(counts[length] == 0);
    } else {
      CHECK(static_cast<double>(counts[length]) == Approx(10'000).margin(500));
    }
  }
}

TEST_CASE("keys in order are loaded in order") {
  const Made made({.keys = "dense:in_order=1", .records = 100});
  std::vector<Op> ops(100);
  MixStream::loading(1, made.keys, 100).fill(0, ops, no_gets);
  for (u64 i = 0; i < ops.size(); ++i) REQUIRE(ops[i].key == i);
}

TEST_CASE("a stream needs at least one record, and no more than there are keys") {
  CHECK_THROWS_AS(Made({.records = 0}), InputError);
  CHECK_THROWS_AS(Made({.records = Ranks::kMost + 1}), InputError);
  const std::string path = source_folder() + "/workloads/mix_stream_test.cc";
  CHECK_THROWS_WITH(Made({.keys = "file:" + path, .records = 1'000'000}),
                    Catch::Matchers::Contains("records=1000000 is more than"));
}

}  // namespace
}  // namespace latchlab
