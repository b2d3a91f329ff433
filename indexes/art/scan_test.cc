// Tests of ART's scans: the pairs of a batch, the reach of a trail, and the pairs that are of one moment.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/direct_tx.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/seeded_bugs_testing.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// Counts the attempts of gather_in and notes the sizes of their batches, so that a visitor of pairs can tell batches
/// apart.
struct Runs {
  static inline u32 count = 0;
  static inline std::vector<u32> sizes;
};
template <class Layout, class Key>
class CountingArt : public Art<Layout, Key> {
 public:
  template <class Tx>
  Attempt<bool> gather_in(Tx& tx, const Key& from, bool after, std::size_t wanted,
                          typename Art<Layout, Key>::Batch& batch) const {
    ++Runs::count;
    const Attempt<bool> done = Art<Layout, Key>::gather_in(tx, from, after, wanted, batch);
    Runs::sizes.push_back(batch.size());
    return done;
  }
};

TEST_CASE("Scan: a batch continues across nodes until it is full", "[scan]") {
  Synchronized<CountingArt, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  // The tree has 150 nodes of eight leaves, on two levels.
  for (u32 i = 0; i < 1200; ++i) index.insert(me, spelled({1, i / 80, i / 8 % 10, i % 8 * 30}), i);
  Runs::sizes.clear();
  u64 next = 0;
  CHECK(index.scan(me, 0, 640, [&](u64, u64 value) { next += value == next; }) == 640);
  CHECK(next == 640);
  CHECK(Runs::sizes == std::vector<u32>(10, 64));
}

TEST_CASE("Scan: a batch collects what was asked for, and at most the rest of the last pair's leaf", "[scan]") {
  Synchronized<CountingArt, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  for (u64 i = 0; i < 1000; ++i) index.insert(me, spelled({u32(i / 250), u32(i % 250)}), i);
  for (const u32 limit : {1u, 2u, 10u, 63u}) {
    Runs::sizes.clear();
    CHECK(index.scan(me, spelled({1, 7}), limit, [](u64, u64) {}) == limit);
    CHECK(Runs::sizes == std::vector<u32>{limit});
  }
}

/// Compares scans with a map: from every key, from between keys, with short and long limits.
template <class Index>
void compare_scans(const std::vector<std::string>& keys, const std::vector<std::string>& from) {
  Index index(Spec::parse(Index::Policy::kName), MemoryConfig{});
  auto me = index.join();
  std::map<std::string, u64> model;
  for (const std::string& key : keys) {
    index.insert(me, key, model.size());
    model.emplace(key, model.size());
  }
  for (const std::string& begin : from) {
    for (const std::size_t limit : {std::size_t{1}, std::size_t{3}, keys.size(), 2 * keys.size()}) {
      auto expected = model.lower_bound(begin);
      bool same = true;
      const std::size_t seen = index.scan(me, begin, limit, [&](std::string_view key, u64 value) {
        same = same && expected != model.end() && expected->first == key && expected->second == value;
        if (expected != model.end()) ++expected;
      });
      INFO("from '" << begin << "', limit " << limit);
      CHECK(same);
      CHECK((seen == limit || expected == model.end()));
    }
  }
}

TEST_CASE("Scan: a scan misses nothing if the way back is longer than the trail remembers", "[scan]") {
  // A node for each of a hundred prefixes. Only some of them have a key on either side of the longer ones.
  std::vector<std::string> keys{"b"}, from{"", "b", "c"};
  for (std::size_t length = 1; length <= 100; ++length) {
    const std::string path(length, 'm');
    keys.push_back(path);
    if (length % 13 == 0) keys.push_back(path + "z");
    if (length % 7 == 0) keys.push_back(path + "a");
    for (const char* end : {"", "a", "l", "n", "z", "zz"}) from.push_back(path + end);
  }
  compare_scans<Synchronized<Art, Olc<Native>, BytesKey>>(keys, from);
  // A path without any key beside it, except in the root.
  std::vector<std::string> barren{"z"};
  for (std::size_t length = 1; length <= 40; ++length) barren.push_back(std::string(length, 'm'));
  compare_scans<Synchronized<Art, Olc<Native>, BytesKey>>(barren, from);
}

TEST_CASE("Scan: a scan compares the whole path of a node that skips more bytes than it stores", "[scan]") {
  const std::string path = "abcdefghijkl";
  const std::vector<std::string> keys{"a", path + "1", path + "2", path + "3x", path + "3y", "z"};
  const std::vector<std::string> from{"",
                                      "aa",
                                      "abc",
                                      "abcdefghijkk",
                                      "abcdefghijkl",
                                      "abcdefghijkm",
                                      "abzdefghijkl2",
                                      "abadefghijkl2",
                                      path + "2",
                                      path + "2a",
                                      path + "3x",
                                      path + "3z"};
  compare_scans<Synchronized<Art, Olc<Native>, BytesKey>>(keys, from);
}

/// The transaction of rowex readers, with a hook at each step.
struct SteppedTx : DirectTx<Native> {
  using DirectTx<Native>::DirectTx;
  static inline std::function<void()> at_step;
  template <class N>
  struct Reader : DirectTx<Native>::Reader<N> {
    using Base = DirectTx<Native>::Reader<N>;
    using Base::Base;
    template <class... Guess>
    auto step_to(N* child, Guess... guess) {
      if (at_step) at_step();
      return Base::step_to(child, guess...);
    }
  };
  template <class N>
  Reader<N> enter(N* node) {
    return Reader<N>(node);
  }
};
struct SteppedRowex : Rowex<Native> {
  using Rowex<Native>::Rowex;
  using ReadTx = SteppedTx;
  template <class Me, class Body>
  auto read(Me& me, const Body& body) {
    return read_by(me, body, [&] { return SteppedTx(*me.pool); });
  }
};

TEST_CASE("Scan: without validation, a scan misses nothing above when all nodes of its trail lost their keys",
          "[scan]") {
  // A node for each prefix of m, in which x comes after m. Below all of them are two keys before the scan's first key.
  constexpr u32 kDeepest = 20, kKept = 4;
  Synchronized<Art, SteppedRowex, BytesKey> index(Spec::parse("rowex"), MemoryConfig{});
  auto me = index.join(), writer = index.join();
  const std::string path(kDeepest, 'm');
  for (u32 level = 0; level < kDeepest; ++level) index.insert(me, path.substr(0, level) + "x", level);
  for (const char* last : {"1", "2"}) index.insert(me, path + last, 0);

  // On the way to the deepest node every x except the uppermost ones is erased in place: a and b keep its node's kind.
  u32 steps = 0;
  SteppedTx::at_step = [&] {
    if (++steps != kDeepest) return;
    for (u32 level = kKept; level < kDeepest; ++level) {
      for (const char* byte : {"a", "b"}) CHECK(index.insert(writer, path.substr(0, level) + byte, 0));
      CHECK(index.erase(writer, path.substr(0, level) + "x"));
    }
  };
  std::vector<u64> seen;
  index.scan(me, path + "5", 100, [&](std::string_view, u64 level) { seen.push_back(level); });
  SteppedTx::at_step = nullptr;
  CHECK(steps > kDeepest);  // the scan restarted
  CHECK(seen == std::vector<u64>{3, 2, 1, 0});
  CHECK(me.counters.read_restarts == 1);
}

/// One writer updates three pairs of one node, between which a child lies, again and again. The pairs that a batch
/// takes from that node are of one moment, even if the scan visited the child in between, or ends there.
template <class Policy>
struct PairsOfOneNode {
  using Index = Synchronized<CountingArt, Policy, U64Key>;
  static std::vector<u64> own() { return {spelled({1, 10}), spelled({1, 15}), spelled({1, 30})}; }

  PairsOfOneNode() {
    for (u32 i = 0; i < 3; ++i) threads.push_back(index.join());
    for (const u64 key : own()) index.insert(threads[0], key, 0);
    for (u32 i = 1; i <= 5; ++i) index.insert(threads[0], spelled({1, 20, i}), 0);  // too many pairs for a leaf
  }
  void fiber(u32 id) {
    if (id == 0) {
      for (u64 value = 1; value <= 3; ++value) {
        for (const u64 key : own()) index.update(threads[0], key, value);
      }
    } else if (id == 1) {
      index.insert(threads[1], spelled({1, 20, 6}), 0);
      index.erase(threads[1], spelled({1, 20, 1}));
    } else {
      for (const std::size_t limit : {2u, 3u, 10u}) scan(limit);  // the scan ends in the node, below it, and after it
    }
  }
  void scan(std::size_t limit) {
    u64 first = 0, previous = 0;
    u32 run = 0;  // no batch yet
    const std::vector<u64> mine = own();
    index.scan(threads[2], 0, limit, [&](u64 key, u64 value) {
      if (std::find(mine.begin(), mine.end(), key) == mine.end()) return;
      if (run == Runs::count) {
        expect(value <= previous && first <= value + 1, "a node's pairs are not of one moment");
      } else {
        first = value, run = Runs::count;
      }
      previous = value;
    });
  }
  std::string check() { return {}; }

  Index index{Spec::parse(Policy::kName), MemoryConfig{}};
  std::vector<typename Index::ThreadState> threads;
};

template <class Policy>
RaceReport scan_one_node(u32 schedules = kRaceSchedules) {
  return find_races<PairsOfOneNode<Policy>>({.schedules = schedules});
}

template <class Policy>
void check_one_moment() {
  const RaceReport report = scan_one_node<Policy>(kRacePrograms * schedules_of_a_proof());
  INFO(report.str());
  CHECK(report.failures == 0);
}

TEST_CASE("Races: the pairs that a batch takes from one node are of one moment under olc and striped", "[race][scan]") {
  check_one_moment<Tiny<Olc<Simulated>>>();
  check_one_moment<Tiny<Striped<Simulated>>>();
}

TEST_CASE("Races: the pairs that a batch takes from one node need not be of one moment under rowex", "[race][scan]") {
  CHECK(scan_one_node<Tiny<Rowex<Simulated>>>().failures != 0);  // as scan.h says
}

TEST_CASE("Seeded bugs: the race finder finds a scan that does not validate the nodes that it leaves",
          "[race][scan][no-asan]") {
  const Seeded bug(BugsOnRequest::kDropValidation);
  CHECK(scan_one_node<Tiny<Olc<Simulated, BugsOnRequest>>>().failures != 0);
  CHECK(scan_one_node<Tiny<Striped<Simulated, BugsOnRequest>>>().failures != 0);
}

TEST_CASE("Seeded bugs: the race finder finds a scan that keeps the pairs that it cannot prove",
          "[race][scan][no-asan]") {
  const Seeded bug(art::BugFlags<bool>::kKeepUnproven);
  CHECK(scan_one_node<Tiny<Olc<Simulated, BugsOnRequest>>>().failures != 0);
}

}  // namespace
}  // namespace latchlab::testing
