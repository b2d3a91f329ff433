// Records the calls of a run's threads, for the checker. Each thread writes into a buffer of its own, which is
// allocated and touched before the run. So recording allocates nothing, and shares one line that is only read until the
// end.
//
//     thread 0  | find 3 | update 7 | insert 9 |           |    a slot holds a call from its beginning on:
//     thread 1  | insert 3 | find 3 | erase 3  | update 9 ...   "never returned" until the answer is in it
//
// When one buffer is full, recording ends for all threads at one moment, the cut. It is the earliest time at which a
// call began that found no room. Two invariants hold, if the clock is ordered between threads:
//
//   1. A call that has no slot began at the cut or later. Either it found no room itself, and the cut is not later than
//      its beginning; or its thread saw the cut first (1 pairs with 2).
//   2. A call that returned before the cut met nothing of the calls that have no slot. They had not begun.
//
// collect() keeps the calls that began before the cut. Those that returned at the cut or later count as calls that
// never returned: their answers may come from calls that were not recorded, but each of them may have taken effect
// before the cut. So the result is the beginning of the whole history, up to one moment. The beginning of a
// linearizable history is linearizable, so the cut never makes a right index look wrong. Cutting each thread's buffer
// where it is full would: a value that one thread found might have a write that another thread had no room for.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/types.h"
#include "src/history/call.h"
#include "src/history/history_file.h"

namespace latchlab {

/// The keys whose calls are recorded: one key in `one_in`, chosen by a hash, so the same in every run. The hash is one
/// multiplication, since every request is asked while requests are made.
struct KeyShare {
  u64 one_in = 1;  ///< at least 1: all keys

  [[nodiscard]] constexpr bool has(u64 key) const {
    return multiply_fold(key ^ kMixFactor, kMixFactor) <= ~u64{0} / one_in;
  }
};

/// Returns the key by which a history knows a key: a number itself, or a hash of bytes.
[[nodiscard]] constexpr u64 history_key(u64 key) { return key; }
[[nodiscard]] inline u64 history_key(std::string_view key) { return hash_bytes(key); }

/// The calls of all threads up to the end of the recording, in no order.
struct RecordedCalls {
  std::vector<KeyedCall> calls;
  std::optional<u64> cut;  ///< the time at which a full buffer ended the recording, if one did
};

class HistoryRecorder {
 public:
  /// Prepares buffers for `calls` calls in all, in equal parts for `threads` (1 or more).
  HistoryRecorder(u32 threads, u64 calls) : room_((calls + threads - 1) / threads), logs_(threads) {}

  /// Allocates and touches a thread's buffer: 64 bytes a call. Each thread calls it for itself, before its first call
  /// is recorded. Throws std::bad_alloc.
  void make_room(u32 thread) { logs_[thread].slots.resize(room_); }

  /// Returns false once the recording has ended. A thread asks before the call begins.
  [[nodiscard]] bool goes_on() const {
    return cut_.load(kAcquire) == kNever;  // (1) pairs with (2)
  }

  /// Returns `count` slots for calls of this thread that began at `called`. Returns none and ends the recording if
  /// there is no room for all of them. The caller fills them in before the calls take effect.
  [[nodiscard]] std::span<KeyedCall> take(u32 thread, u64 count, u64 called) {
    Log& log = logs_[thread];
    if (log.slots.size() - log.used < count) {
      cut_at(called);
      return {};
    }
    return std::span(log.slots).subspan(std::exchange(log.used, log.used + count), count);
  }

  /// Returns how many calls the buffers have room for.
  [[nodiscard]] u64 room() const { return room_ * logs_.size(); }

  /// Returns the calls up to the cut, and frees the buffers. No thread may be recording. O(calls).
  [[nodiscard]] RecordedCalls collect();

 private:
  static constexpr u64 kNever = ~u64{0};

  struct alignas(kFalseSharingBytes) Log {
    std::vector<KeyedCall> slots;
    u64 used = 0;
  };

  void cut_at(u64 time) {
    u64 cut = cut_.load(kRelaxed);
    while (time < cut && !cut_.compare_exchange_weak(cut, time, kRelease, kRelaxed)) {  // (2) pairs with (1)
    }
  }

  const u64 room_;  // calls of a thread
  std::vector<Log> logs_;
  alignas(kFalseSharingBytes) std::atomic<u64> cut_{kNever};
};

}  // namespace latchlab
