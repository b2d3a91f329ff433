#include "harness/commands/survey.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "sync/spin_lock.h"

namespace latchlab {

namespace {

constexpr u32 kLines = 16384;      // lines between two readings of the clock
constexpr u32 kIncrements = 1024;  // increments between two readings of the clock
constexpr std::array<u32, 12> kBatches{1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32};

/// Returns the mean of what the threads measured.
double mean_of(const LimitsPlan& plan, const std::function<double(u32 thread, Barrier& barrier)>& measure) {
  std::vector<double> of_threads(plan.cpus.size());
  on_seats(plan, [&](u32 t, Barrier& barrier) { of_threads[t] = measure(t, barrier); });
  double sum = 0;
  for (const double value : of_threads) sum += value;
  return sum / static_cast<double>(of_threads.size());
}

/// `kInFlight` pointer chases of a thread side by side. The first is the chase of limits.h, step for step, on the cycle
/// through all lines. Each other chase has a path of its own, shifted from the cycle by its offset. If all were on one
/// path, a chase would find lines in the cache that the chases ahead of it have loaded.
template <u32 kInFlight>
class Chases {
 public:
  Chases(const LineBuffer& buffer, u32 thread, u32 threads) : lines_(buffer.lines()), n_(buffer.size()) {
    for (u32 i = 0; i < kInFlight; ++i) {
      const u64 which = u64{thread} * kInFlight + i;
      at_[i] = n_ / (threads * kInFlight) * which;
      offset_[i] = bounded(mix64(which + 1), n_);
    }
  }

  /// Continues the chases for `time_ns`, and returns the time of a line in ns.
  double go_on(u64 time_ns) {
    const std::array<u64, kInFlight> offset = offset_;
    return best_batch_ns(wall_clock(), time_ns,
                         [&] {
                           std::array<u64, kInFlight> here = at_;
                           for (u32 step = 0; step < kLines / kInFlight; ++step) {
                             here[0] = lines_[here[0]].next;
                             for (u32 i = 1; i < kInFlight; ++i) {
                               const u64 next = lines_[here[i]].next + offset[i];
                               // Without a branch, since no predictor could guess it.
                               here[i] = next - (n_ & (0 - u64{next >= n_}));
                             }
                           }
                           at_ = here;
                           for (const u64 line : at_) keep(line);
                         }) /
           (kLines / kInFlight * kInFlight);
  }

 private:
  const Line* const lines_;
  const u64 n_;
  std::array<u64, kInFlight> at_;
  std::array<u64, kInFlight> offset_;
};

/// Measures all batches in turns, like the chase of limits.h, and takes each thread's best turn.
template <std::size_t... kIndices>
std::vector<Survey::BatchCost> measure_batches(const LimitsPlan& plan, const LineBuffer& buffer,
                                               std::index_sequence<kIndices...>) {
  const auto threads = static_cast<u32>(plan.cpus.size());
  std::vector<std::array<double, sizeof...(kIndices)>> of_threads(threads);
  on_seats(plan, [&](u32 t, Barrier& barrier) {
    std::tuple<Chases<kBatches[kIndices]>...> chases{Chases<kBatches[kIndices]>(buffer, t, threads)...};
    std::array<double, sizeof...(kIndices)>& best = of_threads[t];
    best.fill(std::numeric_limits<double>::infinity());
    const auto turn = [&](double& ns, auto& of_a_number) {
      barrier.arrive_and_wait();
      ns = std::min(ns, of_a_number.go_on(plan.time_ns / plan.turns()));
    };
    for (u64 i = 0; i < plan.turns(); ++i) (turn(best[kIndices], std::get<kIndices>(chases)), ...);
  });
  std::vector<Survey::BatchCost> batches{Survey::BatchCost{.lines = kBatches[kIndices], .ns = 0}...};
  for (const auto& best : of_threads) ((batches[kIndices].ns += best[kIndices] / threads), ...);
  return batches;
}

/// Measures independent lines like those of limits.h, each of which is read and then changed by a locked instruction: a
/// compare-and-swap, which leaves the line as it was. Takes each thread's best batch.
double locked_ns(const LimitsPlan& plan, const LineBuffer& buffer) {
  const u64 threads = plan.cpus.size();
  return mean_of(plan, [&](u32 t, Barrier& barrier) {
    u64 batch = 0;
    const auto lines = [&] {
      u64 random = mix64(++batch * threads + t);
      u64 changed = 0;
      for (u32 i = 0; i < kLines; ++i) {
        random = random * 0xd1342543de82ef95ULL + 1;
        const std::atomic_ref<u64> word(buffer.lines()[bounded(random, buffer.size())].next);
        u64 seen = word.load(kRelaxed);
        changed += word.compare_exchange_strong(seen, seen, kRelaxed) ? 1 : 0;
      }
      keep(changed);
    };
    barrier.arrive_and_wait();
    return best_batch_ns(wall_clock(), plan.time_ns, lines) / kLines;
  });
}

/// Streams over the buffer and returns the 10^9 bytes a second of all threads together. Each thread runs over its share
/// again and again, all at the same time. There is no best turn here: one thread's may come while others are
/// descheduled. `run` reads or writes the lines from first to end.
double stream(const LimitsPlan& plan, const LineBuffer& buffer,
              const std::function<void(Line* first, Line* end)>& run) {
  const u64 share = buffer.size() / plan.cpus.size();
  const u64 batch = std::min<u64>(share, kLines);
  const double mean = mean_of(plan, [&](u32 t, Barrier& barrier) {
    Line* const first = buffer.lines() + t * share;
    u64 at = 0;
    barrier.arrive_and_wait();
    const u64 begin = Native::now();
    u64 done = 0, now = begin;
    while (now - begin < plan.time_ns && (done == 0 || !stop_requested())) {
      run(first + at, first + at + batch);
      at = at + 2 * batch <= share ? at + batch : 0;
      done += batch;
      now = Native::now();
    }
    return static_cast<double>(done * sizeof(Line)) / static_cast<double>(now - begin);
  });
  return mean * static_cast<double>(plan.cpus.size());
}

void read_lines(Line* first, Line* end) {
  u64 sum = 0;
  for (const Line* line = first; line != end; ++line) {
    sum += line->next;
    for (const u64 word : line->rest) sum += word;
  }
  keep(sum);
}

/// Overwrites lines, and with them the cycle of the chases.
void write_lines(Line* first, Line* end) {
  for (Line* line = first; line != end; ++line) {
    line->next = 0;
    for (u64& word : line->rest) word = 0;
    keep(reinterpret_cast<u64>(line));  // a line at a time, lest the compiler call a memset that bypasses the caches
  }
}

// Ways to add one to a shared number. The atomic ones are relaxed, since the number publishes nothing.
struct FetchAdd {
  alignas(kFalseSharingBytes) std::atomic<u64> number{0};
  void add() { number.fetch_add(1, kRelaxed); }
};
struct CompareAndSwap {
  alignas(kFalseSharingBytes) std::atomic<u64> number{0};
  void add() {
    u64 seen = number.load(kRelaxed);
    while (!number.compare_exchange_weak(seen, seen + 1, kRelaxed)) {}
  }
};
template <class Lock>
struct Locked {
  alignas(kFalseSharingBytes) Lock lock;
  u64 number = 0;
  void add() {
    const std::lock_guard guard(lock);
    keep(++number);
  }
};

template <class Way>
double alone_ns(const LimitsPlan& plan) {
  return mean_of(plan, [&](u32, Barrier& barrier) {
    Way own;
    barrier.arrive_and_wait();
    return best_batch_ns(wall_clock(), plan.time_ns / 4,
                         [&] {
                           for (u32 i = 0; i < kIncrements; ++i) own.add();
                         }) /
           kIncrements;
  });
}

/// Returns the time from one increment to the next if all threads share one number. There is no best turn here, since a
/// turn without contention is not what is measured.
template <class Way>
double contended_ns(const LimitsPlan& plan) {
  Way shared;
  const auto threads = static_cast<double>(plan.cpus.size());
  const double rate = mean_of(plan, [&](u32, Barrier& barrier) {
    barrier.arrive_and_wait();
    const u64 begin = Native::now();
    u64 done = 0;
    u64 now = begin;
    while (now - begin < plan.time_ns / 2 && (done == 0 || !stop_requested())) {
      for (u32 i = 0; i < kIncrements; ++i) shared.add();
      done += kIncrements;
      now = Native::now();
    }
    return static_cast<double>(done) / static_cast<double>(now - begin);
  });
  return 1 / (rate * threads);
}

template <class Way>
Survey::LockCost measure_lock(const LimitsPlan& plan, const char* name) {
  return {.name = name,
          .alone_ns = alone_ns<Way>(plan),
          .contended_ns = plan.cpus.size() > 1 ? OrReason<double>(contended_ns<Way>(plan))
                                               : OrReason<double>::missing("one thread alone has no contention")};
}

void leave_out(Survey& survey, const std::string& why) {
  survey.limits = no_limits(why);
  survey.batches = OrReason<std::vector<Survey::BatchCost>>::missing(why);
  for (auto* value : {&survey.locked_ns, &survey.read_gb, &survey.write_gb, &survey.operation_ns})
    *value = OrReason<double>::missing(why);
  survey.locks.clear();
}

void measure_lines(Survey& survey, const LimitsPlan& plan, Progress& progress) {
  progress.begin("lines", 0, 0);
  const PageUse before = page_use();
  const LineBuffer buffer(plan.footprint, plan.huge_pages, plan.pages);
  survey.limits = measure_limits(plan, buffer);
  survey.limits.page_bytes = page_bytes_between(before, page_use());
  survey.batches = measure_batches(plan, buffer, std::make_index_sequence<kBatches.size()>());
  survey.locked_ns = locked_ns(plan, buffer);
  progress.begin("stream", 0, 0);
  survey.read_gb = read_gb_of(plan, buffer);
  survey.write_gb = stream(plan, buffer, write_lines);
}

}  // namespace

double read_gb_of(const LimitsPlan& plan, const LineBuffer& buffer) { return stream(plan, buffer, read_lines); }

OrReason<double> Survey::random_gb() const {
  return then(limits.independent_ns,
              [this](double ns) { return static_cast<double>(config.threads * sizeof(Line)) / ns; });
}

const Survey::BatchCost& Survey::best_batch() const {
  return *std::min_element(batches->begin(), batches->end(),
                           [](const BatchCost& a, const BatchCost& b) { return a.ns < b.ns; });
}

Survey survey_limits(const Config& config, const LimitsPlan& plan, const Topology& topology, Progress& progress) {
  Survey survey;
  survey.config = config;
  survey.machine = read_machine(topology);
  try {
    measure_lines(survey, plan, progress);
    OperationCost operation = measure_operation(config, plan, topology, progress);
    survey.operation_ns = std::move(operation.ns);
    if (!operation.note.empty()) survey.notes.push_back(std::move(operation.note));
    progress.begin("locks", 0, 0);
    survey.locks = {measure_lock<FetchAdd>(plan, "fetch_add"), measure_lock<CompareAndSwap>(plan, "compare_and_swap"),
                    measure_lock<Locked<SpinLock<Native>>>(plan, "spin"),
                    measure_lock<Locked<std::mutex>>(plan, "mutex")};
  } catch (const std::bad_alloc&) {
    leave_out(survey, "no memory for the buffer");
  } catch (const std::system_error& error) {
    leave_out(survey, std::string("the threads cannot be started: ") + error.what());
  }
  progress.end();
  if (stop_requested()) leave_out(survey, "interrupted");
  return survey;
}

}  // namespace latchlab
