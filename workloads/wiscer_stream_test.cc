#include "workloads/wiscer_stream.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "src/testing/catch.h"
#include "workloads/no_gets_testing.h"

namespace latchlab {
namespace {

using testing::no_gets;

std::vector<Op> ops_of(const WiscerFile& file, u64 first, u64 count, u64 seed = 1) {
  const KeySet keys(Spec::parse("dense"), seed);
  std::vector<Op> ops(count);
  WiscerStream(file, seed, keys).fill(first, ops, no_gets);
  return ops;
}

/// Returns the keys by their number of fetches, the most frequent first.
std::vector<u64> by_popularity(std::span<const Op> ops) {
  std::map<u64, u64> counts;
  for (const Op& op : ops) counts[op.key] += op.kind == OpKind::kRead;
  std::vector<std::pair<u64, u64>> sorted;
  for (const auto& [key, count] : counts) sorted.emplace_back(count, key);
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<u64> keys;
  for (const auto& [count, key] : sorted) keys.push_back(key);
  return keys;
}

const WiscerFile kChanging{.zipf = 1,
                           .initial_size = 3000,
                           .operations = 1,
                           .fetch = .8,
                           .insert = .12,
                           .erase = .08,
                           .shift_every = 5000,
                           .shift_share = .3,
                           .sequential = true,
                           .sorted = false};

TEST_CASE("a Wiscer stream is the same for any number of threads, in any order", "[wiscer]") {
  constexpr u64 kOps = 40'000;
  const KeySet keys(Spec::parse("dense"), 1);
  const u64 expected = fingerprint(0, ops_of(kChanging, 0, kOps));
  for (const u64 threads : {1, 2, 7}) {
    const WiscerStream stream(kChanging, 1, keys);
    std::vector<u64> sums(threads);
    std::vector<std::thread> running;
    for (u64 t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        std::vector<Op> ops(1000);
        for (u64 chunk = t; chunk * ops.size() < kOps; chunk += threads) {
          stream.fill(chunk * ops.size(), ops, no_gets);
          sums[t] += fingerprint(chunk * ops.size(), ops);
        }
      });
    }
    for (std::thread& thread : running) thread.join();
    u64 sum = 0;
    for (const u64 part : sums) sum += part;
    CHECK(sum == expected);
  }
  CHECK(fingerprint(0, ops_of(kChanging, 0, kOps, 2)) != expected);
}

TEST_CASE("requests that are asked for again, or are no longer kept, are made again", "[wiscer]") {
  constexpr u64 kOps = 40'000;
  const KeySet keys(Spec::parse("dense"), 1);
  const u64 expected = fingerprint(0, ops_of(kChanging, 0, kOps));
  for (const std::size_t most_kept : {std::size_t{1}, std::size_t{7}, WiscerStream::kMostKept}) {
    const WiscerStream stream(kChanging, 1, keys, most_kept);
    for (const bool once_more : {false, true}) {  // from the end to the beginning
      u64 sum = 0;
      std::vector<Op> ops(8000);
      for (u64 first = kOps; first > 0;) {
        first -= ops.size();
        stream.fill(first, ops, no_gets);
        sum += fingerprint(first, ops);
      }
      CHECK(sum == expected);
      CHECK((stream.made_again() == 0) == (most_kept == WiscerStream::kMostKept && !once_more));
    }
    // The requests at the front are not affected.
    std::vector<Op> more(1000);
    stream.fill(kOps, more, no_gets);
    CHECK(more == ops_of(kChanging, kOps, more.size()));
  }
}

TEST_CASE("a very slow thread still finds the requests that it has claimed", "[wiscer]") {
  const KeySet keys(Spec::parse("dense"), 1);
  const WiscerFile file{.zipf = 0,
                        .initial_size = 100,
                        .operations = 1,
                        .fetch = 1,
                        .insert = 0,
                        .erase = 0,
                        .shift_every = {},
                        .shift_share = 0,
                        .sequential = true,
                        .sorted = false};
  const WiscerStream stream(file, 1, keys);
  std::vector<Op> ops(8192);
  for (u64 first = ops.size(); first < 3'000'000; first += ops.size()) stream.fill(first, ops, no_gets);
  stream.fill(0, ops, no_gets);
  CHECK(stream.made_again() == 0);
  CHECK(ops == ops_of(file, 0, ops.size()));
}

TEST_CASE("fetched and deleted keys are present, and each is deleted once", "[wiscer]") {
  std::set<u64> there;
  for (u64 key = 0; key < kChanging.initial_size; ++key) there.insert(key);
  u64 kinds[kOpKinds] = {};
  for (const Op& op : ops_of(kChanging, 0, 100'000)) {
    ++kinds[static_cast<std::size_t>(op.kind)];
    REQUIRE_FALSE(op.absent);
    if (op.kind == OpKind::kInsert) {
      REQUIRE(there.insert(op.key).second);
    } else {
      REQUIRE(there.count(op.key) == 1);
    }
    if (op.kind == OpKind::kErase) there.erase(op.key);
  }
  // Exact only at the ends of 100,000 / 256 blocks, where shares are met.
  CHECK(kinds[static_cast<std::size_t>(OpKind::kInsert)] == Approx(12'000).margin(64));
  CHECK(kinds[static_cast<std::size_t>(OpKind::kErase)] == Approx(8'000).margin(64));
}

TEST_CASE("fetches follow Zipf's law over the present keys", "[wiscer]") {
  WiscerFile file;
  file.initial_size = 1000;
  constexpr u64 kOps = 1600 * 256;  // whole blocks, since shares are met at their ends
  // With inserts instead of some fetches in a million, ranks are drawn one by one, and some are drawn again.
  for (const double inserts : {0.0, 2e-5}) {
    file.insert = inserts;
    file.fetch = 1 - inserts;
    const std::vector<Op> ops = ops_of(file, 0, kOps);
    std::map<u64, u64> counts;
    u64 inserted = 0;
    for (const Op& op : ops) op.kind == OpKind::kRead ? ++counts[op.key] : ++inserted;
    CHECK(inserted == static_cast<u64>(inserts * kOps));
    const std::vector<u64> keys = by_popularity(ops);
    double weights = 0;
    for (u64 rank = 1; rank <= 1000; ++rank) weights += 1.0 / static_cast<double>(rank);
    for (u64 rank = 0; rank < 20; ++rank) {
      const double expected = kOps / (static_cast<double>(rank + 1) * weights);
      INFO("rank " << rank << " inserts " << inserts);
      CHECK(std::abs(static_cast<double>(counts[keys[rank]]) - expected) < 5 * std::sqrt(expected));
    }
  }
}

TEST_CASE("a shift moves the hottest keys away and nothing else", "[wiscer]") {
  const WiscerFile file{.zipf = 1.5,
                        .initial_size = 10'000,
                        .operations = 1,
                        .fetch = 1,
                        .insert = 0,
                        .erase = 0,
                        .shift_every = 200'000,
                        .shift_share = .55,
                        .sequential = true,
                        .sorted = true};
  const std::vector<Op> ops = ops_of(file, 0, 400'000);
  const std::vector<u64> before = by_popularity(std::span(ops).first(200'000));
  const std::vector<u64> after = by_popularity(std::span(ops).subspan(200'000));
  // The order is sorted, so the last key is the hottest. The first two ranks have .39 and .52 of the popularity
  // together, and change; up to the third it is .60.
  CHECK(std::vector<u64>(before.begin(), before.begin() + 4) == std::vector<u64>{9999, 9998, 9997, 9996});
  CHECK(after[0] != 9999);
  CHECK(after[1] != 9998);
  CHECK(after[2] == 9997);
  CHECK(after[3] == 9996);
}

TEST_CASE("inserted keys take random ranks, and hot keys stay hot", "[wiscer]") {
  // An insert draws a uniform rank, and the new key takes it only if the ranks up to it have less than .9 of the
  // popularity. Of 1000 new keys among 10,000 about 1000 * 413/10,500 do.
  const WiscerFile file{.zipf = 1.3,
                        .initial_size = 10'000,
                        .operations = 1,
                        .fetch = .9,
                        .insert = .1,
                        .erase = 0,
                        .shift_every = {},
                        .shift_share = 0,
                        .sequential = true,
                        .sorted = true};
  const std::vector<Op> ops = ops_of(file, 0, 10'000);
  std::set<u64> fetched_new;
  u64 fetches_of_hottest = 0, fetches = 0;
  for (const Op& op : ops) {
    if (op.kind != OpKind::kRead) continue;
    ++fetches;
    if (op.key >= 10'000) fetched_new.insert(op.key);
    fetches_of_hottest += op.key == 9999;
  }
  CHECK(fetched_new.size() > 10);
  CHECK(fetched_new.size() < 200);
  CHECK(fetches_of_hottest > fetches / 8);  // its weight is .26
}

TEST_CASE("small and empty Wiscer workloads run", "[wiscer]") {
  for (const u64 size : {u64{0}, u64{1}, u64{2}}) {
    for (const double inserts : {0.0, 0.5, 1.0}) {
      WiscerFile file{.zipf = 1,
                      .initial_size = size,
                      .operations = 1,
                      .fetch = (1 - inserts) / 2,
                      .insert = inserts,
                      .erase = (1 - inserts) / 2,
                      .shift_every = 10,
                      .shift_share = 1,
                      .sequential = true,
                      .sorted = false};
      u64 there = size, absent = 0;
      for (const Op& op : ops_of(file, 0, 5000)) {
        INFO("size " << size << " inserts " << inserts);
        REQUIRE(op.absent == (there == 0 && op.kind != OpKind::kInsert));
        absent += op.absent;
        there += op.kind == OpKind::kInsert;
        there -= op.kind == OpKind::kErase && !op.absent;
      }
      if (inserts == 0) CHECK(absent > 4000);
      if (inserts == 1) CHECK(there == size + 5000);
    }
  }
}

}  // namespace
}  // namespace latchlab
