#include "src/model/caches.h"

#include "src/base/rng.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

// Cores 0 to 6 are cluster 0, 7 to 13 cluster 1 of the same socket, 14 to 27 the other socket.
constexpr u32 kNear = 1, kInSocket = 7, kFar = 14;
constexpr u64 kLine = 12345;

Parameters haswell() {
  Parameters p = MachineFile::of(Spec::parse("haswell-ep")).parameters();
  p.home.stale_directory = false;
  return p;
}

/// Caches in which references follow each other far apart, so that nothing queues.
struct Calm {
  explicit Calm(const Parameters& parameters) : p(parameters), caches(p) {}

  /// Returns the ns of a reference to a line whose home is `home`.
  double ns(u32 core, u64 line, bool writes, u32 home = 0, bool snoop_all = false) {
    now += ticks(10'000);
    if (caches.hit(core, line, writes)) return p.l1.ns;
    return static_cast<double>(caches.miss(core, line, writes, {home, snoop_all}, now)) / kTicksPerNs;
  }
  double load(u32 core, u64 line = kLine, u32 home = 0) { return ns(core, line, false, home); }
  double store(u32 core, u64 line = kLine) { return ns(core, line, true); }

  const Parameters p;
  Caches caches;
  Ticks now = 0;
};

/// Equal up to the rounding of ticks.
Approx about(double ns) { return Approx(ns).margin(0.1); }

TEST_CASE("Model caches: a line from memory takes as long as its home is far") {
  const Parameters p = haswell();
  Calm c(p);
  CHECK(c.load(0, 1, 0) == about(p.dram.local));
  CHECK(c.load(0, 2, 1) == about(p.dram.cluster));
  CHECK(c.load(0, 3, 2) == about(p.dram.socket));
  CHECK(c.load(0, 1) == about(p.l1.ns));
}

TEST_CASE("Model caches: a line comes from the core that owns it, near or far, written or not") {
  const Parameters p = haswell();
  const auto after = [&](bool written, u32 reader) {
    Calm c(p);
    (void)(written ? c.store(0) : c.load(0));
    return c.load(reader);
  };
  CHECK(after(false, kNear) == about(p.l3.exclusive_elsewhere));
  CHECK(after(true, kNear) == about(p.l3.modified_elsewhere));
  CHECK(after(false, kInSocket) == about(p.cluster.l3));
  CHECK(after(true, kInSocket) == about(p.cluster.modified));
  CHECK(after(false, kFar) == about(p.socket.l3));
  CHECK(after(true, kFar) == about(p.socket.modified));
}

TEST_CASE("Model caches: a shared line comes from the own L3, else from the nearest cluster") {
  const Parameters p = haswell();
  Calm c(p);
  for (const u32 core : {0u, kNear}) (void)c.load(core);
  CHECK(c.load(2) == about(p.l3.ns));
  CHECK(c.load(kFar) == about(p.socket.l3));
  CHECK(c.load(kFar + 1) == about(p.l3.ns));
  CHECK(c.load(kInSocket) == about(p.cluster.l3));
}

TEST_CASE("Model caches: a store to a shared line waits for the farthest holder, and owns the line then") {
  const Parameters p = haswell();
  const auto shared_with = [&](std::initializer_list<u32> others) {
    Calm c(p);
    (void)c.load(0);
    for (const u32 other : others) (void)c.load(other);
    const double ns = c.store(0);
    CHECK(c.store(0) == about(p.l1.ns));
    for (const u32 other : others) CHECK_FALSE(c.caches.hit(other, kLine, false));
    return ns;
  };
  CHECK(shared_with({kNear}) == about(p.l3.exclusive_elsewhere));
  CHECK(shared_with({kNear, kInSocket}) == about(std::max(p.cluster.l3, p.l3.exclusive_elsewhere)));
  CHECK(shared_with({kInSocket, kFar}) == about(p.socket.l3));
}

TEST_CASE("Model caches: a line that one core alone has loaded is written without asking") {
  Calm c(haswell());
  (void)c.load(0);
  CHECK(c.store(0) == about(c.p.l1.ns));
}

TEST_CASE("Model caches: one transfer of a written line follows the other") {
  const Parameters p = haswell();
  Caches caches(p);
  const Ticks now = ticks(10'000);
  (void)caches.miss(0, kLine, true, {0, false}, ticks(1000));
  Ticks before = 0;
  for (const u32 core : {1, 2, 3, 4}) {
    const Ticks took = caches.miss(core, kLine, true, {0, false}, now);
    CHECK(took == before + ticks(p.l3.modified_elsewhere));
    before = took;
  }
}

TEST_CASE("Model caches: L1 evicts to L2, and L2 to L3") {
  const Parameters p = haswell();
  Calm c(p);
  const auto chase_twice = [&](u64 lines) {
    double sum = 0;
    for (u32 round = 0; round < 2; ++round) {
      sum = 0;
      for (u64 line = 0; line < lines; ++line) sum += c.load(0, (u64{1} << 20) + line);
    }
    return sum / static_cast<double>(lines);
  };
  CHECK(chase_twice(256) == about(p.l1.ns));
  CHECK(chase_twice(3000) == about(p.l2.ns));
  CHECK(chase_twice(100'000) == about(p.l3.ns));
  CHECK(chase_twice(600'000) == about(p.dram.local));
}

TEST_CASE("Model caches: an inclusive L3 takes what it evicts from the cores, a victim L3 does not") {
  Parameters p = haswell();
  p.l3.mb_per_cluster = 1;
  p.l3.ways = 16;  // 1024 sets
  for (const L3Kind kind : {L3Kind::kInclusive, L3Kind::kVictim}) {
    p.l3.kind = kind;
    Calm c(p);
    (void)c.load(0, 0);
    c.caches.forget_evictions();
    // Another core of the cluster fills the L3's set, while the first core does not use its line.
    for (u64 i = 1; i <= 60; ++i) (void)c.load(1, i * 1024);
    const bool inclusive = kind == L3Kind::kInclusive;
    CHECK(c.caches.hit(0, 0, false) == !inclusive);
    bool left_core = false;
    for (const Caches::Gone& gone : c.caches.gone_from_l1()) left_core |= gone.from == 0 && gone.line == 0;
    CHECK(left_core == inclusive);
    CHECK_FALSE(c.caches.gone_from_l3().empty());
  }
}

TEST_CASE("Model caches: a victim L3 has what its cores have evicted") {
  Parameters p = haswell();
  p.l3.kind = L3Kind::kVictim;
  Calm c(p);
  (void)c.load(0, 0);
  CHECK(c.load(kNear, 0) == about(p.l3.exclusive_elsewhere));  // asked of core 0: L3 has not got it
  Calm evicted(p);
  (void)evicted.load(0, 0);
  for (u64 i = 1; i <= 20; ++i) (void)evicted.load(0, i * 512);
  CHECK(evicted.load(kNear, 0) == about(p.l3.ns));
}

TEST_CASE("Model caches: a stale directory snoops for lines that were read from afar, until a local store") {
  Parameters p = haswell();
  // Pushes a line out of all caches of a cluster, by lines of the same sets.
  const u64 sets = static_cast<u64>(p.l3.mb_per_cluster * 1048576 / 64 / p.l3.ways);
  for (const bool stale : {false, true}) {
    p.home.stale_directory = stale;
    Calm c(p);
    const auto evict = [&](u32 core) {
      for (u64 i = 1; i <= 21; ++i) (void)c.load(core, kLine + i * sets * 64);
    };
    const double more = stale ? p.home.snoop_local : 0;
    CHECK(c.load(0) == about(p.dram.local));
    evict(0);
    CHECK(c.load(0) == about(p.dram.local));  // a local read leaves it clean
    evict(0);
    CHECK(c.load(kFar) == about(p.dram.socket));
    evict(kFar);
    CHECK(c.load(0) == about(p.dram.local + more));
    evict(0);
    CHECK(c.load(0) == about(p.dram.local + more));  // evictions do not clear it
    (void)c.store(0);
    evict(0);
    CHECK(c.load(0) == about(p.dram.local));
    CHECK(c.ns(0, kLine + 7, false, 0, true) == about(p.dram.local + more));  // loaded from afar
  }
}

TEST_CASE("Model caches: a line in no cache is at the home of its page, which may be another one now") {
  const Parameters p = haswell();
  Calm c(p);
  const u64 sets = static_cast<u64>(p.l3.mb_per_cluster * 1048576 / 64 / p.l3.ways);
  CHECK(c.load(0, kLine, 0) == about(p.dram.local));
  for (u64 i = 1; i <= 21; ++i) (void)c.load(0, kLine + i * sets * 64);
  CHECK(c.load(0, kLine, 2) == about(p.dram.socket));
}

TEST_CASE("Model caches: channels and links are shared") {
  const Parameters p = haswell();
  Caches caches(p);
  const u32 lines = 1000;
  const auto last = [&](u64 first, u32 home) {
    Ticks longest = 0;
    for (u64 i = 0; i < lines; ++i)
      longest = std::max(longest, caches.miss(0, first + i, false, {home, false}, ticks(100'000)));
    return static_cast<double>(longest) / kTicksPerNs;
  };
  CHECK(last(0, 0) == Approx(lines * 64 / p.dram.gbps_per_cluster + p.dram.local).epsilon(0.02));
  // The channels of both clusters of the other socket together are faster than the link.
  Caches others(p);
  Ticks longest = 0;
  for (u64 i = 0; i < lines; ++i) {
    longest = std::max(longest, others.miss(0, i, false, {static_cast<u32>(2 + i % 2), false}, ticks(100'000)));
  }
  CHECK(static_cast<double>(longest) / kTicksPerNs == Approx(lines * 64 / p.qpi.gbps + p.dram.socket).epsilon(0.02));
}

TEST_CASE("Model caches: a line that is dropped comes from L3 again, and nobody owns it") {
  const Parameters p = haswell();
  Calm c(p);
  (void)c.store(0);
  c.caches.drop(0, kLine);
  CHECK(c.load(kNear) == about(p.l3.ns));
  CHECK(c.load(0) == about(p.l3.exclusive_elsewhere));
}

TEST_CASE("Model caches: the holders of a line are known, whatever cores do to it") {
  for (const char* name : {"haswell-ep", "sapphire-rapids", "epyc"}) {
    Parameters p = MachineFile::of(Spec::parse(name)).parameters();
    // Caches of tens of lines, so that all evict all the time.
    p.l1 = {1, 2, 1};  // 8 sets
    p.l2 = {4, 4, 3};  // 16 sets
    p.l3.ways = 8;
    p.l3.mb_per_cluster = 64.0 * 8 * 13 / 1048576;  // 13 sets
    Caches caches(p);
    Rng rng(test_seed());
    for (u32 i = 0; i < 30'000; ++i) {
      // A few cores of each cluster, and lines of which some are hot.
      const u32 core = static_cast<u32>(rng.below(p.all_clusters()) * p.topology.cores + rng.below(2));
      const u64 line = rng.below(rng.below(2) == 0 ? 8 : 400);
      const bool writes = rng.below(3) == 0;
      const Caches::Home home{static_cast<u32>(line % p.all_clusters()), false};
      if (rng.below(20) == 0) {
        caches.drop(core, line);
      } else if (rng.below(20) == 0) {
        caches.place(core, line, home);
      } else if (!caches.hit(core, line, writes)) {
        (void)caches.miss(core, line, writes, home, i * 100);
        REQUIRE(caches.hit(core, line, writes));
      }
      if (i % 50 == 0) REQUIRE(caches.broken_invariant() == "");
    }
  }
}

}  // namespace
}  // namespace latchlab::model
