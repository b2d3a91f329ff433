// Readings of a sensor by time, some of them before the epoch: sums over a range, and the first one that is too hot.
#include <latchlab/map.h>

#include <cstdint>
#include <cstdio>
#include <optional>

using Readings = latchlab::Map<std::int64_t, float>;  // seconds, degrees

std::optional<float> mean(const Readings& readings, std::int64_t from, std::int64_t to) {
  double sum = 0;
  int count = 0;
  readings.range(from, to, [&](std::int64_t, float degrees) { sum += degrees, ++count; });
  return count == 0 ? std::nullopt : std::optional(static_cast<float>(sum / count));
}

std::optional<std::int64_t> first_above(const Readings& readings, std::int64_t from, float limit) {
  std::optional<std::int64_t> first;
  readings.range(from, [&](std::int64_t time, float degrees) {
    if (degrees > limit) first = time;
    return !first;  // false ends the range
  });
  return first;
}

int main() {
  Readings readings;
  auto session = readings.join();  // this thread's own access, for a loop
  for (std::int64_t time = -3600; time < 3600; time += 10) session.insert(time, static_cast<float>(time) / 100);

  const auto around_zero = mean(readings, -100, 101);
  const auto hot = first_above(readings, -3600, 20);
  std::printf("mean %.2f, too hot from %lld on\n", static_cast<double>(around_zero.value_or(-1)),
              static_cast<long long>(hot.value_or(-1)));
  return around_zero == 0.0f && hot == 2010 && !mean(readings, 5000, 6000) ? 0 : 1;
}
