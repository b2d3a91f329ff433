#pragma once

// The time as a loop reads it, once a turn.

#include <ctime>

#include "services/kv/store.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// Returns the present moment. Its milliseconds are exact, since clients compare a key's time with their own clock; its
/// second is exact to a tick of the kernel (1 to 10 ms). Where the kernel maps its clocks, this needs no call of it.
[[nodiscard]] inline Moment present() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time;
  };
  const timespec wall = read(CLOCK_REALTIME), steady = read(CLOCK_MONOTONIC_COARSE);
  return {.ms = i64{wall.tv_sec} * 1000 + wall.tv_nsec / 1'000'000, .second = static_cast<u32>(steady.tv_sec) + 1};
}

}  // namespace latchlab::kv
