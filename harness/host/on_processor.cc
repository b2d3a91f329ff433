#include "harness/host/on_processor.h"

#include <sys/resource.h>

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

namespace latchlab {
namespace {

constexpr double kSleepsPerSecond = 100;  // more sleeps come from a blocking lock

/// Returns the second number of "ran waited slices", in ns.
std::optional<u64> waited(const Root& root) {
  std::istringstream text(read_fact(root, "/proc/thread-self/schedstat").value_or(""));
  u64 ran = 0, waited = 0;
  if (!(text >> ran >> waited)) return std::nullopt;
  return waited;
}

}  // namespace

std::optional<ProcessorTime> processor_time(const Root& root) {
  // The file's own first number is up to a tick old.
  const std::optional<u64> ran_ns = thread_time_ns(), waited_ns = waited(root);
  rusage usage{};
  if (!ran_ns || !waited_ns || getrusage(RUSAGE_THREAD, &usage) != 0) return std::nullopt;
  return ProcessorTime{.ran_ns = *ran_ns, .waited_ns = *waited_ns, .sleeps = static_cast<u64>(usage.ru_nvcsw)};
}

OrReason<double> on_processor(const std::vector<std::optional<ProcessorTime>>& threads) {
  double least = 1;
  for (const std::optional<ProcessorTime>& time : threads) {
    if (!time)
      return OrReason<double>::missing(
          "the kernel does not tell how long a thread waited (/proc/thread-self/schedstat)");
    const double all_ns = static_cast<double>(time->ran_ns) + static_cast<double>(time->waited_ns);
    if (time->ran_ns == 0) return OrReason<double>::missing("a thread did not run");
    if (static_cast<double>(time->sleeps) > kSleepsPerSecond * all_ns / 1e9) {
      return OrReason<double>::missing(fmt::format(
          "a thread slept {} times, and the kernel counts a wake-up as a wait for a processor", time->sleeps));
    }
    least = std::min(least, static_cast<double>(time->ran_ns) / all_ns);
  }
  return threads.empty() ? OrReason<double>::missing("there are no threads") : OrReason<double>(least);
}

}  // namespace latchlab
