#include "src/model/model.h"

#include <algorithm>
#include <numeric>

#include "src/base/rng.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab::model {
namespace {

constexpr u64 kBase = u64{1} << 40;
constexpr u64 kMiB = u64{1} << 20;

/// A machine without ticks and marks, whose pages are loaded: what remains is caches and memory.
MachineFile quiet(std::string_view changes = "") {
  return MachineFile::of(
      Spec::parse("haswell-ep:kernel.hz=0,kernel.marks_per_s=0,home.stale_directory=false" + std::string(changes)));
}

/// Threads whose references are taken in the order of their clocks, as the virtual machine does.
class Threads {
 public:
  Threads(const MachineFile& file, const Placement& placement) : model(file, placement, 1), clock(placement.size()) {}

  void access(u32 thread, Kind kind, u64 address, u64 block = 0, bool in_transaction = false, u32 bytes = 8) {
    clock[thread] += model.access({thread, kind, address, bytes, block, in_transaction}, clock[thread]);
  }
  void abort(u32 thread) {
    model.undone(thread, 0, clock[thread]);
    clock[thread] += model.abort(thread, clock[thread]);
  }
  u32 earliest() const { return static_cast<u32>(std::ranges::min_element(clock) - clock.begin()); }
  double ns(u32 thread) const { return static_cast<double>(clock[thread]) / kTicksPerNs; }
  double fenced_ns(u32 thread) {
    clock[thread] += model.fence(thread, clock[thread]);
    return ns(thread);
  }

  Model model;
  std::vector<Ticks> clock;
};

/// Returns the ns a line of a random chase by one thread over huge pages of this footprint, after a walk over it.
double chase(const MachineFile& file, u64 bytes) {
  Threads t(file, {0});
  t.model.mapped(kBase, std::max(bytes, 2 * kMiB), {}, true);
  t.model.loaded(0, kBase, bytes);
  const u64 lines = bytes / kLineBytes;
  std::vector<u64> order(lines);
  std::iota(order.begin(), order.end(), u64{0});
  Rng rng(1);
  std::shuffle(order.begin(), order.end(), rng);
  const u64 rounds = std::max<u64>(2, 20'000 / lines);
  double begun = 0;
  for (u64 round = 0; round < rounds; ++round) {
    if (round == 1) begun = t.fenced_ns(0);
    for (const u64 line : order) t.access(0, Kind::kLoad, kBase + line * kLineBytes);
  }
  return (t.fenced_ns(0) - begun) / static_cast<double>((rounds - 1) * lines);
}

TEST_CASE("Model: a chase over a footprint takes the latency of the level that it fits into") {
  const MachineFile file = quiet(",core.per_reference=0");
  const Parameters& p = file.parameters();
  CHECK(chase(file, 16 << 10) == Approx(p.l1.ns).epsilon(0.05));
  CHECK(chase(file, 192 << 10) == Approx(p.l2.ns).epsilon(0.05).margin(0.7));  // an eighth hits in L1
  CHECK(chase(file, 8 * kMiB) == Approx(p.l3.ns).epsilon(0.05));
  CHECK(chase(file, 128 * kMiB) == Approx(p.dram.local).epsilon(0.05));
}

TEST_CASE("Model: a chase over small pages adds page walks beyond the TLB") {
  const MachineFile file = quiet(",core.per_reference=0,tlb.walk_ns=30");
  const auto small_pages = [&](u64 pages) {
    Threads t(file, {0});
    t.model.mapped(kBase, pages * 4096);
    t.model.loaded(0, kBase, pages * 4096);
    double begun = 0;
    for (u32 round = 0; round < 3; ++round) {
      if (round == 1) begun = t.fenced_ns(0);
      // One line a page, spread over all sets of L2.
      for (u64 i = 0; i < pages; ++i) t.access(0, Kind::kLoad, kBase + i * 4096 + i / 8 % 64 * 64);
    }
    return (t.fenced_ns(0) - begun) / static_cast<double>(2 * pages);
  };
  const Parameters& p = file.parameters();
  CHECK(small_pages(1024) == Approx(p.l2.ns).epsilon(0.05));
  CHECK(small_pages(2000) == Approx(p.l2.ns + p.tlb.walk_ns).epsilon(0.05));
}

/// Returns the GB/s of `threads` threads that read independent lines of memory, each of its own.
double independent(const MachineFile& file, u32 threads, u64 lines) {
  Placement placement(threads);
  std::iota(placement.begin(), placement.end(), 0u);
  Threads t(file, placement);
  for (u32 i = 0; i < threads; ++i) {
    t.model.mapped(kBase + i * 1024 * kMiB, 1024 * kMiB, {}, true);
    t.model.loaded(i, kBase + i * 1024 * kMiB, 1024 * kMiB);
  }
  std::vector<u64> done(threads);
  for (u64 i = 0; i < lines * threads; ++i) {
    const u32 thread = t.earliest();
    t.access(thread, Kind::kLoad, kBase + thread * 1024 * kMiB + done[thread]++ * 192, 1);
  }
  return static_cast<double>(lines * threads * kLineBytes) / t.fenced_ns(t.earliest());
}

TEST_CASE("Model: independent lines reach the limit of the fill buffers, and that of the channels") {
  const MachineFile file = quiet();
  const Parameters& p = file.parameters();
  const double of_core = p.core.fill_buffers * static_cast<double>(kLineBytes) / p.dram.local;
  CHECK(independent(file, 1, 50'000) == Approx(of_core).epsilon(0.1));
  CHECK(independent(file, 2, 50'000) == Approx(2 * of_core).epsilon(0.1));
  CHECK(independent(file, 7, 20'000) == Approx(p.dram.gbps_per_cluster).epsilon(0.1));
  CHECK(independent(file, 14, 20'000) == Approx(2 * p.dram.gbps_per_cluster).epsilon(0.1));
}

TEST_CASE("Model: more latency is never more throughput, for one thread") {
  for (const std::string key :
       {"dram.local", "l3.ns", "l2.ns", "l1.ns", "tlb.walk_ns", "core.per_operation", "core.atomic_ns"}) {
    double before = 0;
    for (const char* factor : {"0.5x", "1x", "1.5x", "3x"}) {
      const MachineFile file = quiet("," + key + "=" + factor);
      Threads t(file, {0});
      t.model.mapped(kBase, 256 * kMiB);
      t.model.loaded(0, kBase, 256 * kMiB);
      Rng rng(3);
      for (u32 op = 0; op < 5'000; ++op) {
        t.clock[0] += t.model.begin_operation(0, t.clock[0]);
        for (u64 depth = 1; depth <= 4; ++depth) {
          const u64 node = kBase + rng.below(depth == 4 ? 256 * kMiB : depth * depth * 16'384) / 64 * 64;
          t.access(0, Kind::kLoad, node, node);
          t.access(0, Kind::kLoad, node + 64, node);
        }
        if (op % 4 == 0) t.access(0, Kind::kReadModifyWrite, kBase);
      }
      const double ns = t.fenced_ns(0);
      CHECK(ns >= before);
      before = ns;
    }
  }
}

TEST_CASE("Model: one thread alone pays nothing for coherence") {
  const MachineFile file = quiet(",core.per_reference=0");
  Threads t(file, {0});
  t.model.mapped(kBase, 2 * kMiB, {}, true);
  t.model.loaded(0, kBase, 2 * kMiB);
  for (u32 round = 0; round < 2; ++round) {
    for (u64 line = 0; line < 400; ++line) t.access(0, Kind::kLoad, kBase + line * 64);
    const double begun = t.fenced_ns(0);
    for (u64 line = 0; line < 400; ++line) {
      t.access(0, Kind::kReadModifyWrite, kBase + line * 64);
      CHECK(t.model.ended().empty());
    }
    const double each = (t.fenced_ns(0) - begun) / 400;
    CHECK(each == Approx(file.parameters().l1.ns + file.parameters().core.atomic_ns).epsilon(0.05));
  }
}

/// Returns the ns of a read-modify-write of one line, which these hardware threads take in turn.
double hot_line(const Placement& placement) {
  Threads t(quiet(), placement);
  const u64 count = 10'000;
  for (u64 i = 0; i < count; ++i) t.access(t.earliest(), Kind::kReadModifyWrite, kBase);
  return t.ns(t.earliest()) / static_cast<double>(count);
}

TEST_CASE("Model: a hot line costs more, the farther it travels") {
  const double alone = hot_line({0});
  const double near = hot_line({0, 1});
  const double in_socket = hot_line({0, 7});
  const double far = hot_line({0, 14});
  CHECK(alone < 10);
  CHECK(near > 4 * alone);
  CHECK(in_socket > near);
  CHECK(far > in_socket);
  CHECK(hot_line({0, 28}) < 2 * alone);  // siblings share the core
  // One transfer at a time: more threads do not make the line faster.
  CHECK(hot_line({0, 1, 2, 3}) >= 0.95 * near);
  CHECK(hot_line({0, 1, 14, 15}) >= near);
}

/// Returns the clocks of threads on these places which each do their own work, and some work on shared lines.
std::vector<Ticks> work(const Placement& placement, const std::vector<u32>& names, u32 loader) {
  Threads t(quiet(), placement);
  t.model.mapped(kBase, 64 * kMiB);
  t.model.loaded(loader, kBase, 64 * kMiB);
  std::vector<Rng> draws;
  for (const u32 name : names) draws.emplace_back(name);
  for (u32 i = 0; i < 40'000; ++i) {
    const u32 thread = t.earliest();
    Rng& rng = draws[thread];
    const u64 address = kBase + rng.below(64 * kMiB) / 8 * 8;
    if (rng.below(10) == 0) t.clock[thread] += t.model.begin_operation(thread, t.clock[thread]);
    t.access(thread, Kind::kLoad, address, rng.below(2));
    if (rng.below(20) == 0) t.access(thread, Kind::kReadModifyWrite, kBase + rng.below(8) * 64);
    if (rng.below(20) == 0) t.access(thread, Kind::kStore, address);
  }
  return t.clock;
}

TEST_CASE("Model: other numbers for the same threads on the same places change nothing") {
  // Clocks start apart and steps are of many lengths, so no two threads are ever due at the same tick for long.
  const Placement placement{0, 1, 7, 14, 28};
  const std::vector<u32> names{1, 2, 3, 4, 5};
  const std::vector<u32> order{3, 0, 4, 2, 1};
  Placement permuted;
  std::vector<u32> permuted_names;
  for (const u32 i : order) {
    permuted.push_back(placement[i]);
    permuted_names.push_back(names[i]);
  }
  const std::vector<Ticks> one = work(placement, names, 0);
  const std::vector<Ticks> other = work(permuted, permuted_names, 1);
  for (u32 i = 0; i < order.size(); ++i) {
    CHECK(static_cast<double>(other[i]) == Approx(static_cast<double>(one[order[i]])).epsilon(0.02));
  }
}

TEST_CASE("Model: stores leave one after the other, which a fence waits for, and loads do not") {
  const auto ns = [](Kind kind, std::string_view changes) {
    const MachineFile file = quiet(changes);
    Threads t(file, {0});
    t.model.mapped(kBase, 2 * kMiB, {}, true);
    t.model.loaded(0, kBase, 2 * kMiB);
    for (int i = 0; i < 1000; ++i) t.access(0, kind, kBase);
    return t.fenced_ns(0);
  };
  CHECK(ns(Kind::kStore, ",core.store_ns=20") == Approx(1000 * 20).epsilon(0.02));
  CHECK(ns(Kind::kStore, ",core.store_ns=0") < 1000 * 2);
  CHECK(ns(Kind::kLoad, ",core.store_ns=20") == ns(Kind::kLoad, ",core.store_ns=0"));
}

TEST_CASE("Model: a prefetch hides a miss, and so does the end of an operation") {
  const MachineFile file = quiet(",core.per_operation=10");
  const auto ns = [&](bool prefetches, bool in_one_operation) {
    Threads t(file, {0});
    t.model.mapped(kBase, 256 * kMiB, {}, true);
    t.model.loaded(0, kBase, 256 * kMiB);
    for (u64 i = 0; i < 1000; ++i) {
      const u64 address = kBase + i * 128 * 64;
      if (!in_one_operation) t.clock[0] += t.model.begin_operation(0, t.clock[0]);
      if (prefetches) t.access(0, Kind::kPrefetch, address + 8 * 128 * 64);
      t.access(0, Kind::kLoad, address);
    }
    return t.fenced_ns(0) / 1000;
  };
  const double dependent = ns(false, true);
  CHECK(dependent > file.parameters().dram.local);
  CHECK(ns(true, true) < 0.3 * dependent);
  CHECK(ns(false, false) < 0.3 * dependent);
}

TEST_CASE("Model: begin, commit and a fence wait for what is under way") {
  const MachineFile file = quiet();
  Threads t(file, {0});
  t.model.mapped(kBase, 2 * kMiB, {}, true);
  t.model.loaded(0, kBase, 2 * kMiB);
  const double local = file.parameters().dram.local;
  t.access(0, Kind::kLoad, kBase);
  CHECK(t.ns(0) < local);
  t.clock[0] += t.model.begin(0, t.clock[0]);
  CHECK(t.ns(0) > local + file.parameters().htm.begin);
  const double begun = t.ns(0);
  t.access(0, Kind::kStore, kBase + 64, 0, true);
  t.clock[0] += t.model.commit(0, t.clock[0]);
  CHECK(t.ns(0) > begun + local + file.parameters().htm.commit);
  CHECK(t.model.ended().empty());
}

TEST_CASE("Model: a locked instruction waits for what is under way, and a load for its line") {
  const MachineFile file = quiet();
  const double local = file.parameters().dram.local;
  Threads t(file, {0});
  t.model.mapped(kBase, 2 * kMiB, {}, true);
  t.model.loaded(0, kBase, 2 * kMiB);
  t.access(0, Kind::kReadModifyWrite, kBase);
  const double before = t.ns(0);
  t.access(0, Kind::kLoad, kBase + 64);
  CHECK(t.ns(0) < before + local);
  t.access(0, Kind::kReadModifyWrite, kBase);
  CHECK(t.ns(0) > before + local);
  const double prefetched = t.ns(0);
  t.access(0, Kind::kPrefetch, kBase + 128);
  t.access(0, Kind::kLoad, kBase + 128);  // L1 has its tag, but not yet the line
  CHECK(t.fenced_ns(0) > prefetched + local);
}

TEST_CASE("Model: lines that an aborted transaction wrote have left its core") {
  const MachineFile file = quiet(",core.per_reference=0");
  Threads t(file, {0});
  for (const bool aborts : {false, true}) {
    t.clock[0] += t.model.begin(0, t.clock[0]);
    t.access(0, Kind::kStore, kBase, 0, true);
    if (aborts) {
      t.abort(0);
    } else {
      t.clock[0] += t.model.commit(0, t.clock[0]);
    }
    const double before = t.fenced_ns(0);
    t.access(0, Kind::kLoad, kBase);
    const Parameters& p = file.parameters();
    CHECK(t.fenced_ns(0) - before == Approx(aborts ? p.l3.ns : p.l1.ns).margin(0.1));
  }
}

using Ends = std::vector<Ended>;
Ends ended(const Model& model) { return {model.ended().begin(), model.ended().end()}; }

TEST_CASE("Model: nine written lines of one set end a transaction, nine read ones do not") {
  for (const Kind kind : {Kind::kStore, Kind::kLoad}) {
    Threads t(quiet(), {0});
    t.clock[0] += t.model.begin(0, 0);
    Ends ends;
    for (u64 i = 0; i < 9; ++i) {
      CHECK(ends.empty());
      t.access(0, kind, kBase + i * 4096, 0, true);
      ends = ended(t.model);
    }
    if (kind == Kind::kLoad) {
      CHECK(ends.empty());
      continue;
    }
    CHECK(ends == Ends{{0, kAbortCapacity}});
    t.abort(0);
    CHECK(t.model.ended().empty());
  }
}

TEST_CASE("Model: a sibling's references end a transaction that has written") {
  Threads t(quiet(), {0, 28});
  t.clock[0] += t.model.begin(0, 0);
  t.access(0, Kind::kStore, kBase, 0, true);
  Ends ends;
  for (u64 i = 1; i < 9 && ends.empty(); ++i) {
    t.access(1, Kind::kLoad, kBase + i * 4096);
    ends = ended(t.model);
  }
  CHECK(ends == Ends{{0, kAbortCapacity}});
}

TEST_CASE("Model: an undone transaction is not ended again, before its thread goes on") {
  Threads t(quiet(), {0, 28});
  t.clock[0] += t.model.begin(0, 0);
  t.access(0, Kind::kStore, kBase, 0, true);
  t.model.undone(0, kAbortConflict, t.clock[0]);
  for (u64 i = 1; i < 20; ++i) {
    t.access(1, Kind::kLoad, kBase + i * 4096);
    CHECK(t.model.ended().empty());
  }
  // Undoing what was ended leaves the list, over which the caller iterates.
  t.clock[0] += t.model.abort(0, t.clock[0]);
  t.clock[0] += t.model.begin(0, t.clock[0]);
  CHECK(t.model.trap(0, Call::kMap, t.clock[0]) == 0);
  for (const Ended& end : t.model.ended()) t.model.undone(end.thread, end.status, t.clock[end.thread]);
  CHECK(ended(t.model) == Ends{{0, 0}});
  t.clock[0] += t.model.abort(0, t.clock[0]);
  CHECK(t.model.ended().empty());
}

TEST_CASE("Model: a first touch inside a transaction ends it with status 0, and leaves the page untouched") {
  const MachineFile file = quiet();
  Threads t(file, {0});
  t.model.mapped(kBase, kMiB);
  for (u32 i = 0; i < 3; ++i) {
    t.clock[0] += t.model.begin(0, t.clock[0]);
    t.access(0, Kind::kStore, kBase, 0, true);
    CHECK(ended(t.model) == Ends{{0, 0}});
    t.abort(0);
  }
  const double before = t.ns(0);
  t.access(0, Kind::kStore, kBase);
  CHECK(t.ns(0) > before + file.parameters().kernel.fault_ns);
  t.clock[0] += t.model.begin(0, t.clock[0]);
  t.access(0, Kind::kStore, kBase, 0, true);
  CHECK(t.model.ended().empty());
}

TEST_CASE("Model: the kernel leaves a page that it has cleared in the caches of the core") {
  const MachineFile file = quiet(",core.per_reference=0");
  const Parameters& p = file.parameters();
  for (const bool huge : {false, true}) {
    Threads t(file, {0, 1});
    t.model.mapped(kBase, 2 * kMiB, {}, huge);
    t.access(0, Kind::kStore, kBase + 8192);
    const auto ns = [&](u32 thread, u64 address) {
      t.clock[thread] = std::max(t.clock[0], t.clock[1]);
      (void)t.fenced_ns(thread);
      const double before = t.ns(thread);
      t.access(thread, Kind::kLoad, address);
      return t.fenced_ns(thread) - before;
    };
    CHECK(ns(0, kBase + 12'224) <= p.l2.ns + 0.1);
    CHECK(ns(1, kBase + 12'160) == Approx(p.l3.modified_elsewhere + p.tlb.walk_ns).margin(0.1));
    if (huge) CHECK(ns(0, kBase) == Approx(p.dram.local).margin(0.1));
  }
}

TEST_CASE("Model: a prefetch of an untouched page does nothing") {
  Threads t(quiet(), {0});
  t.model.mapped(kBase, kMiB);
  t.clock[0] += t.model.begin(0, 0);
  t.access(0, Kind::kPrefetch, kBase, 0, true);
  CHECK(t.model.ended().empty());
  t.access(0, Kind::kStore, kBase, 0, true);
  CHECK(ended(t.model) == Ends{{0, 0}});
}

TEST_CASE("Model: a system call ends a transaction, and outside one takes its time") {
  const MachineFile file = quiet();
  Threads t(file, {0});
  CHECK(t.model.trap(0, Call::kProtect, 1000) == ticks(file.parameters().kernel.mprotect_ns));
  t.clock[0] = 10'000'000;
  t.clock[0] += t.model.begin(0, t.clock[0]);
  CHECK(t.model.trap(0, Call::kProtect, t.clock[0]) == 0);
  CHECK(ended(t.model) == Ends{{0, 0}});
}

TEST_CASE("Model: ticks come at their rate, and end transactions") {
  const MachineFile file = MachineFile::of(Spec::parse("haswell-ep:kernel.hz=7001,kernel.marks_per_s=0"));
  Threads t(file, {0});
  u32 aborts = 0;
  Rng rng(1);
  while (t.clock[0] < ticks(10e6)) {  // 10 ms
    t.clock[0] += rng.below(300);     // so that ticks are not in step with transactions
    t.clock[0] += t.model.begin(0, t.clock[0]);
    t.access(0, Kind::kLoad, kBase, 0, true);
    if (t.model.ended().empty()) t.clock[0] += t.model.commit(0, t.clock[0]);
    if (t.model.ended().empty()) continue;
    CHECK(ended(t.model) == Ends{{0, 0}});
    ++aborts;
    t.abort(0);
  }
  CHECK(aborts >= 10);
  CHECK(aborts <= 70);  // 70 ticks, some of which come while no transaction runs
}

TEST_CASE("Model: marks end transactions that touch the page, once") {
  const MachineFile file = MachineFile::of(
      Spec::parse("haswell-ep:kernel.hz=0,kernel.marks_per_s=1000,kernel.mark_period_ms=0,kernel.marks_after_ms=0"));
  Threads t(file, {0});
  t.model.mapped(kBase, 4096);
  t.access(0, Kind::kStore, kBase);
  t.clock[0] = ticks(1.5e6);
  for (const bool aborts : {true, true, false}) {
    t.clock[0] += t.model.begin(0, t.clock[0]);
    t.access(0, Kind::kLoad, kBase, 0, true);
    CHECK(ended(t.model) == (aborts ? Ends{{0, 0}} : Ends{}));
    t.abort(0);
    if (aborts && t.clock[0] > ticks(1.5e6)) t.access(0, Kind::kLoad, kBase);  // a load outside repairs the page
    t.clock[0] = std::max(t.clock[0], ticks(2.5e6));
    if (!aborts) break;
  }
}

TEST_CASE("Model: a waiting thread notices a store at the end of a turn of its loop") {
  const MachineFile file = quiet();
  Model model(file, {0}, 1);
  const Ticks turn = ticks(file.parameters().l1.ns);
  CHECK(model.wake(0, 1000, 900) == 1000);
  CHECK(model.wake(0, 1000, 1001) == 1000 + turn);
  CHECK(model.wake(0, 1000, 1000 + turn) == 1000 + turn);
  CHECK(model.wake(0, 1003, 1000 + turn) == 1003 + turn);
}

TEST_CASE("Model: a reference that straddles pays for both lines") {
  const MachineFile file = quiet(",core.per_reference=0");
  Threads t(file, {0});
  t.access(0, Kind::kLoad, kBase + 60, 0, false, 16);
  (void)t.fenced_ns(0);
  const double before = t.ns(0);
  t.access(0, Kind::kLoad, kBase + 64);
  CHECK(t.fenced_ns(0) - before == Approx(file.parameters().l1.ns).margin(0.1));
}

TEST_CASE("Model: memory that was loaded from afar is slow under a stale directory") {
  const MachineFile file = MachineFile::of(Spec::parse("haswell-ep:kernel.hz=0,kernel.marks_per_s=0"));
  const auto ns = [&](u32 loader) {
    Threads t(file, {0, 14});
    t.model.mapped(kBase, 2 * kMiB, {Homes::Kind::kBind, 1}, true);
    t.model.loaded(loader, kBase, 2 * kMiB);
    t.access(0, Kind::kLoad, kBase);
    return t.fenced_ns(0);
  };
  CHECK(ns(1) - ns(0) == Approx(file.parameters().home.snoop_local).margin(0.1));
}

TEST_CASE("Model: memory that is mapped again is untouched, in TLBs too, and has a new home") {
  const MachineFile file = quiet();
  const Parameters& p = file.parameters();
  for (const u64 bytes : {u64{8192}, 2 * kMiB}) {
    Threads t(file, {0});
    t.model.mapped(kBase, bytes);
    t.access(0, Kind::kStore, kBase);
    t.model.unmapped(kBase, bytes);
    t.model.mapped(kBase, bytes, {Homes::Kind::kBind, 0b0100});
    const double before = t.fenced_ns(0);
    t.access(0, Kind::kStore, kBase);
    CHECK(t.ns(0) - before > p.kernel.fault_ns);
    t.model.loaded(0, kBase + 4096, 4096);
    const double loaded = t.fenced_ns(0);
    t.access(0, Kind::kLoad, kBase + 4096);
    CHECK(t.fenced_ns(0) - loaded > p.dram.socket - 1);
  }
}

TEST_CASE("Model: a thread that runs ahead overlaps operations, and not the references of one") {
  // Operations of two dependent misses each.
  const auto ns_each = [](std::string_view changes) {
    Threads t(quiet(std::string(",core.per_reference=0,core.per_operation=10") + std::string(changes)), {0});
    t.model.mapped(kBase, 512 * kMiB, {}, true);
    t.model.loaded(0, kBase, 512 * kMiB);
    Rng rng(1);
    for (u32 i = 0; i < 20'000; ++i) {
      t.clock[0] += t.model.begin_operation(0, t.clock[0]);
      for (u32 miss = 0; miss < 2; ++miss) t.access(0, Kind::kLoad, kBase + rng.below(512 * kMiB / 64) * 64);
    }
    return t.fenced_ns(0) / 20'000;
  };
  const double stops = ns_each(""), runs = ns_each(",core.run_ahead=1");
  const double window_of_one = ns_each(",core.run_ahead=1,core.window=10");
  CHECK(stops > 71);
  CHECK(runs < stops / 3);
  CHECK(window_of_one > 2 * 71 * 0.9);  // no operation behind is in the window
}

TEST_CASE("Model: a place that the machine has not is refused") {
  CHECK(latchlab::testing::refusal([] { Model model(quiet(), {0, 56}, 1); }) ==
        "machine haswell-ep: there is no hardware thread 56; there are 0 to 55");
}

TEST_CASE("Model: every shipped machine runs") {
  for (const ShippedMachine& shipped : shipped_machines()) {
    const MachineFile file = MachineFile::of(Spec::parse(shipped.name));
    Placement placement(file.parameters().all_threads());
    std::iota(placement.begin(), placement.end(), 0u);
    Threads t(file, placement);
    t.model.mapped(kBase, 64 * kMiB);
    Rng rng(1);
    for (u32 i = 0; i < 20'000; ++i) {
      const u32 thread = t.earliest();
      const Ticks before = t.clock[thread];
      t.access(thread, rng.below(4) == 0 ? Kind::kStore : Kind::kLoad, kBase + rng.below(64 * kMiB) / 8 * 8,
               rng.below(3));
      CHECK(t.clock[thread] >= before);
    }
  }
}

}  // namespace
}  // namespace latchlab::model
