#include "harness/host/limits.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>
#include <system_error>

#include "harness/host/barrier.h"
#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/native_team.h"
#include "harness/host/placement.h"
#include "src/arch/features.h"
#include "src/arch/opaque.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"

namespace latchlab {
namespace {

constexpr u64 kMinFootprint = u64{1} << 20;
constexpr u64 kMaxFootprint = u64{4} << 30;
constexpr u32 kTransactions = 1024;    // transactions in a batch
constexpr u64 kCycleTime = 2'000'000;  // ns
constexpr u32 kBatch = 16384;          // lines between two readings of the clock: some 100 us to 4 ms

struct LineTimes {
  double cycle = 0;
  double chase = 0;
  double independent = 0;
  double transaction = 0;  // 0 if transactions do not work
};

double transaction_ns(u64 time_ns) {
  alignas(kFalseSharingBytes) std::atomic<u64> word{0};
  [[maybe_unused]] const Native::Elision elision;
  return best_batch_ns(
             wall_clock(), time_ns,
             [&] {
               for (u32 i = 0; i < kTransactions; ++i) {
                 (void)Native::transact([&] { keep(word.load(kRelaxed)); });  // relaxed: no other thread has it
               }
             }) /
         kTransactions;
}

/// Returns the time of one cycle: that of an addition that depends on the one before it.
double cycle_ns() {
  u64 sum = 0;
  return best_batch_ns(wall_clock(), kCycleTime,
                       [&] {
                         u64 here = opaque(sum);
                         // In a register, since the processor may fold a constant before it reaches the adder.
                         const u64 step = opaque(u64{3});
                         for (u32 i = 0; i < kBatch; ++i) here = opaque(here + step);
                         keep(sum = here);
                       }) /
         kBatch;
}

LineTimes run_one(const LineBuffer& buffer, u32 thread, const LimitsPlan& plan, Barrier& barrier) {
  const u64 threads = plan.cpus.size();
  const Line* const lines = buffer.lines();
  const u64 n = buffer.size();
  LineTimes out;

  // Threads begin at lines of equal distances in memory, which are random positions of the cycle.
  u64 at = n / threads * thread;
  for (u32 i = 0; i < kBatch; ++i) at = lines[at].next;
  const auto chase = [&] {
    u64 here = at;  // in a register, since `at` is in memory, which would lengthen each step
    for (u32 i = 0; i < kBatch; ++i) here = lines[here].next;
    keep(at = here);
  };
  u64 batch = 0;
  const auto independent = [&] {
    // A multiplicative walk over 64-bit words. No load depends on another, and no prefetcher can predict it.
    u64 random = mix64(++batch * threads + thread);
    u64 sum = 0;
    for (u32 i = 0; i < kBatch; ++i) {
      random = random * 0xd1342543de82ef95ULL + 1;
      sum += lines[bounded(random, n)].next;
    }
    keep(sum);
  };
  const auto best = [&](double so_far, const auto& lines_of_a_kind) {
    barrier.arrive_and_wait();
    return std::min(so_far, best_batch_ns(wall_clock(), plan.time_ns / plan.turns(), lines_of_a_kind) / kBatch);
  };
  out.chase = out.independent = std::numeric_limits<double>::infinity();
  for (u64 turn = 0; turn < plan.turns(); ++turn) {
    out.chase = best(out.chase, chase);
    out.independent = best(out.independent, independent);
  }
  out.cycle = cycle_ns();
  if (Native::transactions_work()) out.transaction = transaction_ns(plan.time_ns / 4);
  return out;
}

}  // namespace

u64 limits_footprint(u64 reserved, u64 available) {
  const u64 most = std::min(kMaxFootprint, available / 2);
  return std::max(kMinFootprint, std::min(reserved, most)) / sizeof(Line) * sizeof(Line);
}

double best_batch_ns(Clock& clock, u64 time_ns, const std::function<void()>& batch) {
  u64 best = ~u64{0};
  const u64 start = clock.now();
  for (u32 done = 0; done == 0 || ((done < kMinBatches || clock.now() - start < time_ns) && !stop_requested());
       ++done) {
    const u64 batch_start = clock.now();
    batch();
    best = std::min(best, clock.now() - batch_start);
  }
  return static_cast<double>(best);
}

Limits no_limits(const std::string& why) {
  Limits out;
  for (auto* value : {&out.footprint, &out.page_bytes, &out.value_lines}) *value = OrReason<u64>::missing(why);
  for (auto* value : {&out.cycle_ns, &out.chase_ns, &out.independent_ns, &out.transaction_ns, &out.loop_ns,
                      &out.chase_ratio, &out.independent_ratio, &out.words_ns, &out.value_ratio, &out.loop_share}) {
    *value = OrReason<double>::missing(why);
  }
  return out;
}

PagePlacement placement_of_limits(const Topology& topology, const Seats& seats, const PagePlacement& pages) {
  if (!seats.binds || topology.nodes.size() == 1) return {};
  using Kind = PagePlacement::Kind;
  if (pages.kind == Kind::kInterleave || pages.kind == Kind::kBind) return pages;
  return {.kind = Kind::kInterleave, .nodes = nodes_of_seats(topology, seats)};
}

void on_seats(const LimitsPlan& plan, const std::function<void(u32 thread, Barrier& barrier)>& task) {
  Barrier barrier(static_cast<u32>(plan.cpus.size()));
  NativeTeam team(static_cast<u32>(plan.cpus.size()));
  const std::exception_ptr failure = team.run_all([&](u32 t) {
    // Ignore a refusal: an unpinned thread measures the same memory, only less repeatably. The placement in the result
    // reports it already.
    if (plan.pin) (void)team.pin(plan.cpus[t]);
    task(t, barrier);
  });
  if (failure) std::rethrow_exception(failure);
}

Limits measure_limits(const LimitsPlan& plan) {
  if (stop_requested()) return no_limits("the run was interrupted");
  try {
    const PageUse before = page_use();
    const LineBuffer buffer(plan.footprint, plan.huge_pages, plan.pages);
    Limits out = measure_limits(plan, buffer);
    if (out.footprint) out.page_bytes = page_bytes_between(before, page_use());
    return out;
  } catch (const std::bad_alloc&) {
    return no_limits("no memory for the buffer");
  }
}

Limits measure_limits(const LimitsPlan& plan, const LineBuffer& buffer) {
  if (stop_requested()) return no_limits("the run was interrupted");
  const u32 threads = static_cast<u32>(plan.cpus.size());
  std::vector<LineTimes> times(threads);
  try {
    on_seats(plan, [&](u32 t, Barrier& barrier) { times[t] = run_one(buffer, t, plan, barrier); });
  } catch (const std::system_error& error) {
    return no_limits(std::string("the threads cannot be started: ") + error.what());
  }
  LineTimes mean;
  for (const LineTimes& t : times) {
    mean.cycle += t.cycle / threads;
    mean.chase += t.chase / threads;
    mean.independent += t.independent / threads;
    mean.transaction += t.transaction / threads;
  }
  Limits out;
  out.footprint = plan.footprint;
  out.cycle_ns = mean.cycle;
  out.chase_ns = mean.chase;
  out.independent_ns = mean.independent;
  out.transaction_ns = Native::transactions_work()
                           ? OrReason<double>(mean.transaction)
                           : OrReason<double>::missing(why_no_rtm().value_or("transactions do not work"));
  return out;
}

}  // namespace latchlab
