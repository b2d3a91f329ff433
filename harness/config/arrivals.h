// The arrivals of an open loop: the times at which operations come. These times are fixed beforehand; no arrival waits
// for the operation before it. In a closed loop a call that takes 10 ms counts as one slow call. The thousands of
// operations that would have come meanwhile are never begun (G. Tene's "coordinated omission").
//
//   fixed     equal distances between arrivals
//   poisson   independent clients: distances are exponential, and the numbers of arrivals in two disjoint intervals are
//             independent
//   sine      Poisson arrivals at a rate that varies around its mean:  rate * (1 + amplitude * sin(2 pi t / period))
//   trace     the recorded times of a trace's operations (workloads/trace_times.h), or the same times sped up by a
//             factor
//
// Every thread has its own arrivals, so no thread asks another for the next one. Together they are exactly the offered
// load:
//
//   fixed           thread t of n has arrivals t, t + n, t + 2 n, ...; all n together have the same times for any n
//   poisson, sine   n independent Poisson processes of rate / n together are one Poisson process of that rate
//
// (Dealing out one sequence instead would cost a thread n draws for each arrival that it keeps.)
//
// Arrival k of a thread is a function of the seed, the thread, its share, and k. If each thread has its own part of a
// trace, the rate of a thread is in proportion to its number of operations. So all threads finish at the same time.
//
// Sine is Poisson in another time. With L(t) = the arrivals expected until t, unit-rate arrivals u become t = L^-1(u).
//
// With --rate=trace each thread has the recorded times of its own operations. All threads count from one moment: the
// recorded time of the first operation that is left for the measured phase. The warm-up executes the beginning of each
// thread's part, as far as it gets. With --ops each thread executes its share. So threads may begin and end at
// different times of the trace, unless the whole trace is measured, as is usual.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "workloads/stream.h"

namespace latchlab {

/// The offered load of an open loop, as `--rate` gives it.
struct Rate {
  enum class Law { kFixed, kPoisson, kSine, kTrace };
  Law law = Law::kFixed;
  u64 per_second = 1;              ///< mean rate over all threads, operations a second, 1..kMost; unused by kTrace
  double amplitude = 0.5;          ///< relative amplitude of kSine, 0..1
  u64 period_ns = 10'000'000'000;  ///< period of kSine
  double factor = 1;               ///< speed of kTrace, relative to the recording, 1e-6..1e6

  static constexpr u64 kMost = 1'000'000'000;  // one arrival a nanosecond, the clock's unit

  /// Reads "1M" or "fixed:1M", "poisson:1M", "sine:1M,amplitude=0.5,period=10s", "trace" or "trace:2". Throws
  /// InputError.
  [[nodiscard]] static Rate parse(std::string_view text);
  /// Returns the text that parse() reads back, with all options.
  [[nodiscard]] std::string str() const;

  /// Returns the expected number of arrivals in the first `seconds`. Not for kTrace, whose arrivals are recorded.
  [[nodiscard]] double expected(double seconds) const;
};

/// One thread's arrivals, in order of time.
class Arrivals {
 public:
  static constexpr u64 kNever = u64{1} << 62;  // ns: 146 years

  virtual ~Arrivals() = default;
  /// Returns the time of the next arrival, in ns from the start of the open loop; kNever if there are no more. Times
  /// never decrease.
  [[nodiscard]] virtual u64 next() = 0;
};

/// How late a thread was in an open loop, ns.
struct Lag {
  u64 largest = 0;  ///< longest time from an arrival to the start of its operation
  /// Time from the first arrival that had not started to the end; the last operation's lag if all had started.
  u64 at_end = 0;
};

/// A thread's share of all arrivals: `part` of `whole`.
struct ArrivalShare {
  u64 part = 1, whole = 1;
  [[nodiscard]] double of_all() const { return part == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole); }
};

/// Returns the arrivals of `thread`, which has this share of them all, under any law but kTrace. The shares of all
/// threads must add up to one. The arrivals of a share of zero must not be asked for.
[[nodiscard]] std::unique_ptr<Arrivals> arrivals_of(const Rate& rate, u64 seed, u32 thread, const ArrivalShare& share);
/// Returns the arrivals of `thread`, one of `threads` with equal shares.
[[nodiscard]] inline std::unique_ptr<Arrivals> arrivals_of(const Rate& rate, u64 seed, u32 thread, u32 threads) {
  return arrivals_of(rate, seed, thread, ArrivalShare{.part = 1, .whole = threads});
}

/// Returns the next `count` arrivals of a recording, sped up by `factor`. They count from `begin_ns` of the recording,
/// which must not be later than the first of them.
[[nodiscard]] std::unique_ptr<Arrivals> recorded_arrivals(std::unique_ptr<RecordedTimes> times, u64 count, u64 begin_ns,
                                                          double factor);

}  // namespace latchlab
