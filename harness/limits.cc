#include "harness/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <new>
#include <thread>

#include "harness/barrier.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/placement.h"
#include "src/arch/features.h"
#include "src/base/hash.h"
#include "src/machine/native.h"

namespace latchlab {
namespace {

constexpr u64 kMinFootprint = u64{1} << 20;
constexpr u64 kMaxFootprint = u64{4} << 30;
constexpr u64 kHugePage = u64{2} << 20;
constexpr u32 kTransactions = 1024;   // a batch of them
constexpr u32 kBatch = 16384;  // lines between two looks at the clock: some 100 us to 4 ms

struct Line {
  u64 next;
  u64 rest[7];
};
static_assert(sizeof(Line) == kLineBytes);

/// Lines straight from the kernel, so that the page size is ours to choose.
class Buffer {
 public:
  Buffer(u64 bytes, HugePages pages)
      : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage), lines_(bytes / sizeof(Line)) {
    // One huge page more than needed, so that the lines can begin at the boundary of one.
    mapped_ = mmap(nullptr, bytes_ + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    const u64 start = (reinterpret_cast<u64>(mapped_) + kHugePage - 1) / kHugePage * kHugePage;
    first_ = reinterpret_cast<Line*>(start);
    // A kernel without huge pages refuses both: then there is nothing to choose.
    (void)madvise(first_, bytes_, pages == HugePages::kThp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  ~Buffer() { munmap(mapped_, bytes_ + kHugePage); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Line* lines() const { return first_; }
  u64 size() const { return lines_; }

 private:
  u64 bytes_;
  u64 lines_;
  void* mapped_ = nullptr;
  Line* first_ = nullptr;
};

/// x * high / 2^64: a number below `high` from a random word, without a division.
u64 below(u64 random, u64 high) { return multiply_high(random, high); }

/// Sattolo's shuffle: one cycle through all lines, so that no chase falls into a short loop.
void lay_cycle(Line* lines, u64 n) {
  for (u64 i = 0; i < n; ++i) lines[i].next = i;
  for (u64 i = n - 1; i > 0; --i) std::swap(lines[i].next, lines[below(mix64(i), i)].next);
}

using Clock = std::chrono::steady_clock;

double elapsed_ns(Clock::time_point since) {
  return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
}

/// The result of every load goes into a sum that is kept, so that no load can be left out.
void keep(u64 value) { asm volatile("" : : "r"(value) : "memory"); }

struct LineTimes {
  double chase = 0;
  double independent = 0;
  double transaction = 0;   // where transactions work
};

double transaction_ns(u64 time_ns) {
  alignas(kFalseSharingBytes) std::atomic<u64> word{0};
  [[maybe_unused]] const Native::Elision elision;
  return best_batch_ns(time_ns, [&] {
    for (u32 i = 0; i < kTransactions; ++i) {
      (void)Native::transact([&] { keep(word.load(kRelaxed)); });   // relaxed: nobody else knows it
    }
  }) / kTransactions;
}

LineTimes run_one(const Buffer& buffer, u32 thread, u32 threads, u64 time_ns, Barrier& barrier) {
  const Line* const lines = buffer.lines();
  const u64 n = buffer.size();
  LineTimes out;

  // Threads begin at equal distances of the cycle's numbering, which is random along the cycle.
  u64 at = n / threads * thread;
  for (u32 i = 0; i < kBatch; ++i) at = lines[at].next;
  barrier.arrive_and_wait();
  out.chase = best_batch_ns(time_ns, [&] {
    u64 here = at;   // a register: `at` is in memory, which would make each step longer
    for (u32 i = 0; i < kBatch; ++i) here = lines[here].next;
    keep(at = here);
  }) / kBatch;

  barrier.arrive_and_wait();
  u64 batch = 0;
  out.independent = best_batch_ns(time_ns, [&] {
    // A multiplicative walk over 64-bit words: no load depends on another, and no prefetcher can tell where
    // it goes.
    u64 random = mix64(++batch * threads + thread);
    u64 sum = 0;
    for (u32 i = 0; i < kBatch; ++i) {
      random = random * 0xd1342543de82ef95ULL + 1;
      sum += lines[below(random, n)].next;
    }
    keep(sum);
  }) / kBatch;
  if (Native::transactions_work()) out.transaction = transaction_ns(time_ns / 4);
  return out;
}

}  // namespace

u64 limits_footprint(u64 reserved, u64 available) {
  const u64 most = std::min(kMaxFootprint, available / 2);
  return std::max(kMinFootprint, std::min(reserved, most)) / sizeof(Line) * sizeof(Line);
}

double best_batch_ns(u64 time_ns, const std::function<void()>& batch) {
  double best = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  for (u32 done = 0; done == 0 || ((done < kMinBatches || elapsed_ns(start) < static_cast<double>(time_ns)) &&
                                   !stop_requested());
       ++done) {
    const auto batch_start = Clock::now();
    batch();
    best = std::min(best, elapsed_ns(batch_start));
  }
  return best;
}

Limits no_limits(const std::string& why) {
  Limits out;
  for (auto* value : {&out.footprint, &out.page_bytes}) *value = Measured<u64>::missing(why);
  for (auto* value : {&out.chase_ns, &out.independent_ns, &out.transaction_ns, &out.chase_ratio, &out.independent_ratio}) {
    *value = Measured<double>::missing(why);
  }
  return out;
}

Limits measure_limits(const LimitsPlan& plan) {
  Limits out;
  out.footprint = plan.footprint;
  if (stop_requested()) return no_limits("the run was interrupted");
  try {
    const PageUse before = page_use();
    const Buffer buffer(plan.footprint, plan.huge_pages);
    lay_cycle(buffer.lines(), buffer.size());
    out.page_bytes = page_bytes_between(before, page_use());
    const u32 threads = static_cast<u32>(plan.cpus.size());
    Barrier barrier(threads);
    std::vector<LineTimes> times(threads);
    std::vector<std::thread> crew;
    for (u32 t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        // An unpinned thread measures the same memory, only less repeatably: placement reports the refusal
        // already.
        if (plan.pin) (void)pin_this_thread(plan.cpus[t]);
        times[t] = run_one(buffer, t, threads, plan.time_ns, barrier);
      });
    }
    for (std::thread& thread : crew) thread.join();
    double chase = 0;
    double independent = 0;
    double transaction = 0;
    for (const LineTimes& t : times) {
      chase += t.chase / threads;
      independent += t.independent / threads;
      transaction += t.transaction / threads;
    }
    out.chase_ns = chase;
    out.independent_ns = independent;
    out.transaction_ns = Native::transactions_work() ? Measured<double>(transaction)
                                                     : Measured<double>::missing(why_no_rtm().value_or("transactions do not work"));
    return out;
  } catch (const std::bad_alloc&) {
    return no_limits("no memory for the buffer");
  }
}

void set_limit_ratios(Limits& limits, const Throughput& throughput, u32 processors) {
  const double operation_ns =
      throughput.seconds * 1e9 * processors / static_cast<double>(throughput.operations);
  if (limits.chase_ns && *limits.chase_ns > 0) limits.chase_ratio = operation_ns / *limits.chase_ns;
  if (limits.independent_ns && *limits.independent_ns > 0) {
    limits.independent_ratio = operation_ns / *limits.independent_ns;
  }
}

}  // namespace latchlab
