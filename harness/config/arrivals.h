// When operations come, in an open loop: not when the one before is done, but at times that were fixed before. Who is
// late does not keep the next one from coming, as in a closed loop, where a call that takes 10 ms is one slow call, and
// the thousands that would have come meanwhile are never asked for (G. Tene's "coordinated omission").
//
//   fixed     one after the other at the same distance
//   poisson   as clients come that do not know of each other: distances are exponential, numbers in two intervals
//             independent
//   sine      the same at a rate that goes up and down around its mean:  rate * (1 + amplitude * sin(2 pi t / period))
//   trace     the operations of a trace as they came when it was recorded (workloads/trace_times.h), or so many times
//             as fast
//
// Every thread has arrivals of its own, so that none asks another for the next one. Together they are what was asked
// for, exactly: of fixed ones thread t of n has numbers t, t + n, t + 2 n, ..., the same times for any n; and n
// independent Poisson processes of a rate / n are one of the rate. (Dealing out the arrivals of one sequence instead
// would cost a thread n draws for each that it gets to keep.) Arrival k of a thread is a function of the seed, the
// thread, its share, and k. Where threads have operations of their own, parts of a trace, one that has twice as many
// has twice the rate: all are done at the same time.
//
// Sine is Poisson in another time. With L(t) = the arrivals expected until t, unit-rate arrivals u become t = L^-1(u).
//
// Of a trace each thread has the times of its own operations, and all count from one moment: when the first of them
// came that is left to the measured phase. What a warm-up does before is the beginning of each thread's part, as far as
// it gets; of --ops each thread does its share. So threads need not begin nor end at the same time of the trace, unless
// all of it is measured, as is usual.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "workloads/stream.h"

namespace latchlab {

/// What `--rate` says.
struct Rate {
  enum class Law { kFixed, kPoisson, kSine, kTrace };
  Law law = Law::kFixed;
  u64 per_second = 1;      ///< operations a second over all threads, on average; at most kMost; of all but a trace
  double amplitude = 0.5;  ///< of sine, 0..1
  u64 period_ns = 10'000'000'000;  ///< of sine
  double factor = 1;               ///< of a trace: how many times as fast as it was recorded, 1e-6..1e6

  static constexpr u64 kMost = 1'000'000'000;  // one a nanosecond, the clock's unit

  /// "1M" or "fixed:1M", "poisson:1M", "sine:1M,amplitude=0.5,period=10s", "trace" or "trace:2". Throws InputError.
  [[nodiscard]] static Rate parse(std::string_view text);
  /// As it would be given, with all options.
  [[nodiscard]] std::string str() const;

  /// How many are expected in the first `seconds`. Not of a trace, which has them.
  [[nodiscard]] double expected(double seconds) const;
};

/// One thread's arrivals, one after the other.
class Arrivals {
 public:
  static constexpr u64 kNever = u64{1} << 62;  // ns: in 146 years

  virtual ~Arrivals() = default;
  /// The next one, ns since the first could come; never less than the one before. kNever where there is none.
  [[nodiscard]] virtual u64 next() = 0;
};

/// How late a thread was in an open loop, ns.
struct Lag {
  u64 largest = 0;  ///< between an arrival and when its operation began
  /// Between an arrival that had not begun at the end and the end; of the last one where all have begun.
  u64 at_end = 0;
};

/// How much of all arrivals is a thread's: `part` of `whole`.
struct ArrivalShare {
  u64 part = 1, whole = 1;
  [[nodiscard]] double of_all() const { return part == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole); }
};

/// Those of thread `thread`, which has that share; of a share of nothing none may be asked for. The shares of all
/// threads add up to one. The arrivals of one thread, under any law but a trace's.
[[nodiscard]] std::unique_ptr<Arrivals> arrivals_of(const Rate& rate, u64 seed, u32 thread, const ArrivalShare& share);
/// Those of thread `thread` of `threads`, of which each has the same share.
[[nodiscard]] inline std::unique_ptr<Arrivals> arrivals_of(const Rate& rate, u64 seed, u32 thread, u32 threads) {
  return arrivals_of(rate, seed, thread, ArrivalShare{.part = 1, .whole = threads});
}

/// The next `count` of a recording, `factor` times as fast, from `begin_ns` of it on, which is not after the first of
/// them.
[[nodiscard]] std::unique_ptr<Arrivals> recorded_arrivals(std::unique_ptr<RecordedTimes> times, u64 count, u64 begin_ns,
                                                          double factor);

}  // namespace latchlab
