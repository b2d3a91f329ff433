#pragma once

// Where the time of turns goes. One turn in kTimedTurns is timed, since reading the clock costs about as much as
// looking up a key. The parts of a timed turn follow each other without gaps:
//
//     begin | receive | parse | lookup | render | lookup | render | parse | send
//           reads     lap     lap      lap      ...

#include <chrono>

#include "services/kv/counters.h"
#include "src/base/types.h"

namespace latchlab::kv {

class Stopwatch {
 public:
  explicit Stopwatch(KvCounts& counts) : counts_(counts) {}

  /// Begins a turn.
  void begin() {
    timed_ = turns_++ % kTimedTurns == 0;
    if (!timed_) return;
    counts_.add<&KvCounters::timed_turns>();
    last_ = now();
  }
  /// Adds the time since the last lap to a part of the turn, if the turn is timed.
  template <u64 KvCounters::* kPart>
  void lap() {
    if (!timed_) [[likely]]
      return;
    const u64 time = now();
    counts_.add<kPart>(time - last_);
    last_ = time;
  }
  /// Notes that keys were looked up.
  void note_keys(u64 keys) {
    if (timed_) counts_.add<&KvCounters::timed_keys>(keys);
  }

 private:
  static u64 now() {
    return static_cast<u64>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }

  KvCounts& counts_;
  u32 turns_ = 0;
  bool timed_ = false;
  u64 last_ = 0;
};

}  // namespace latchlab::kv
