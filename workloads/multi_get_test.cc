// Tests of the keys that the multi-gets of a mix look up.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "workloads/mix_stream.h"

namespace latchlab {
namespace {

struct GetStream {
  GetStream(const std::string& workload, const std::string& distribution, u64 records, u64 phase = 1)
      : keys(Spec::parse("dense"), 1),
        stream(1, phase, keys, Distribution(Spec::parse(distribution)), Mix(Spec::parse(workload), 0), records) {}

  void make(u64 first, u64 count) {
    ops.resize(count);
    gets.clear();
    stream.fill(first, ops, gets);
  }

  KeySet keys;
  MixStream stream;
  std::vector<Op> ops, gets;
};

TEST_CASE("each multi-get has the requested number of keys, which are reads of records", "[multi-get]") {
  GetStream made("mix:multi_get=30,update=70,multi_get_keys=7", "uniform", 1000);
  made.make(0, 256 * 100);
  u64 multi_gets = 0;
  for (const Op& op : made.ops) {
    multi_gets += op.kind == OpKind::kMultiGet;
    REQUIRE(op.keys == (op.kind == OpKind::kMultiGet ? 7 : 0));
  }
  CHECK(multi_gets == 256 * 30);
  REQUIRE(made.gets.size() == multi_gets * 7);
  std::set<u64> seen;
  for (const Op& get : made.gets) {
    REQUIRE(get.kind == OpKind::kRead);
    REQUIRE_FALSE(get.absent);
    REQUIRE(get.key < 1000);
    seen.insert(get.key);
  }
  CHECK(seen.size() == 1000);
  CHECK(made.stream.most_keys() == 7);
  CHECK(GetStream("ycsb-a", "uniform", 1000).stream.most_keys() == 1);
}

TEST_CASE("the keys of multi-gets follow their operations no matter how the stream is cut", "[multi-get]") {
  constexpr u64 kOps = 256 * 9;
  // 102 multi-gets take 26 batches of draws.
  GetStream made("mix:multi_get=40,insert=30,erase=30,multi_get_keys=64", "zipf:0.99", 1000);
  made.make(0, kOps);
  const std::vector<Op> whole = made.gets;
  for (const u64 chunk : {u64{1}, u64{77}, u64{256}, u64{300}}) {
    std::vector<Op> pieces;
    for (u64 first = 0; first < kOps; first += chunk) {
      made.make(first, std::min(chunk, kOps - first));
      pieces.insert(pieces.end(), made.gets.begin(), made.gets.end());
    }
    CAPTURE(chunk);
    CHECK(pieces == whole);
  }
}

TEST_CASE("multi-gets draw their keys as reads do, with draws of their own", "[multi-get]") {
  const auto shares = [](const std::vector<Op>& reads) {
    std::map<u64, double> share;
    for (const Op& op : reads) share[op.key] += 1.0 / static_cast<double>(reads.size());
    return share;
  };
  GetStream reads("lookup", "zipf:1", 100), gets("mix:multi_get=100", "zipf:1", 100);
  reads.make(0, 160'000);
  gets.make(0, 10'000);
  const auto of_reads = shares(reads.ops), of_gets = shares(gets.gets);
  for (const auto& [key, share] : of_reads) {
    // Five standard deviations of the difference of two shares of 160'000.
    CHECK(std::abs(share - of_gets.at(key)) < 5 * std::sqrt(2 * share / 160'000));
  }
  CHECK(std::ranges::equal(reads.ops, gets.gets) == false);
  // Different multi-gets, blocks and phases have different draws.
  const auto part = [&](std::size_t first) {
    return std::vector<Op>(gets.gets.begin() + first, gets.gets.begin() + first + 16);
  };
  std::set<std::vector<u64>> different;
  for (std::size_t first = 0; first < gets.gets.size(); first += 16) {
    std::vector<u64> keys;
    for (const Op& op : part(first)) keys.push_back(op.key);
    different.insert(keys);
  }
  CHECK(different.size() == 10'000);
  GetStream other("mix:multi_get=100", "zipf:1", 100, 2);
  other.make(0, 10'000);
  CHECK(other.gets != gets.gets);
}

TEST_CASE("multi-gets look up records of the current window, and follow churn", "[multi-get]") {
  GetStream moving("mix:multi_get=20,insert=40,erase=40", "uniform", 1000);
  for (const u64 block : {0, 1003}) {
    moving.make(256 * block, 256);
    const u64 erased = 256 * block * 4 / 10;
    for (const Op& get : moving.gets) REQUIRE((get.key - erased) % 2048 < 1000);  // numbers wrap around at 2048
  }

  const KeySet keys(Spec::parse("dense"), 1);
  const MixStream drifting(1, 1, keys, Distribution(Spec::parse("zipf:3")), Mix(Spec::parse("mix:multi_get=100"), 0),
                           1000, Churn::parse(Spec::parse("drift:1k")));
  const auto most_read = [&](u64 first) {
    std::vector<Op> ops(256), gets;
    drifting.fill(first, ops, gets);
    std::map<u64, int> count;
    for (const Op& get : gets) ++count[get.key];
    return std::ranges::max_element(count, {}, [](const auto& one) { return one.second; })->first;
  };
  // Drift follows the number of the operation, not of the key's draw: 512 operations are 8,192 keys.
  CHECK(most_read(0) == most_read(512));
  CHECK(most_read(0) != most_read(1024));
}

TEST_CASE("a fingerprint changes with a key of a multi-get, and with the order of its keys", "[multi-get]") {
  GetStream made("mix:multi_get=50,update=50", "uniform", 1000);
  made.make(0, 1000);
  const u64 original = fingerprint(0, made.ops, made.gets);
  made.gets[100].key ^= 1;
  CHECK(fingerprint(0, made.ops, made.gets) != original);
  made.gets[100].key ^= 1;
  REQUIRE(made.gets[0].key != made.gets[1].key);
  std::swap(made.gets[0], made.gets[1]);
  CHECK(fingerprint(0, made.ops, made.gets) != original);
  std::swap(made.gets[0], made.gets[1]);
  CHECK(fingerprint(0, made.ops, made.gets) == original);
}

}  // namespace
}  // namespace latchlab
