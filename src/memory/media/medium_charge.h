#pragma once
// The time of a modelled medium, which a copy waits for.
//
//     copy       |--- this machine's memory ---|
//     medium     | waits for its turn |-- bytes / bandwidth --|-- latency --|
//     caller     |-------------------------- waits ------------------------>|
//
// The medium transfers one granule after the other: the bucket is the moment from which it is free, and all threads
// share it. A writer takes the bucket's time at the medium's rate of writes, and a reader at that of reads. So writers
// slow down readers. Latencies of different threads overlap, as far as each has a processor: a wait keeps its own.
//
// What it cannot model: the latency of a load of one cache line, caches of the medium, and the difference between
// sequential and random access.
#include <algorithm>
#include <array>

#include "src/base/types.h"
#include "src/machine/machine.h"
#include "src/memory/media/medium_options.h"

namespace latchlab {

template <class M>
class MediumCharge {
 public:
  /// Makes the charge of a medium. Each wait ends `slack_ns` early (measured_slack).
  explicit MediumCharge(const MediumSpeed& speed, u64 slack_ns = 0)
      : granule_(speed.granule),
        latency_(static_cast<u64>(speed.latency_ns * kTicks)),
        slack_(slack_ns * kTicks),
        read_ticks_(kTicks / speed.read_gbps),
        write_ticks_(kTicks / speed.write_gbps) {}

  /// Returns by how many ns a wait of this machine lasts too long until its caller reads the clock again: the median,
  /// since other programs may interrupt some waits for long.
  [[nodiscard]] static u64 measured_slack() {
    constexpr u64 kShortest = 200;
    std::array<u64, 501> late;
    for (u64 i = 0; i < late.size(); ++i) {
      const u64 end = M::now() + kShortest + i % 64;
      await(end);
      late[i] = M::now() - end;
    }
    std::ranges::nth_element(late, late.begin() + late.size() / 2);
    return std::min(late[late.size() / 2], kShortest);
  }

  /// Returns the moment, for a transfer that begins now.
  [[nodiscard]] static u64 begin() { return M::now(); }
  /// Waits until a transfer of `bytes` to or from the medium is over that began at `began`. A caller that
  /// copies reads the clock before the copy, so that the copy's own time counts.
  void transfer(Access access, u64 bytes, u64 began) {
    const u64 granules = (bytes + granule_ - 1) / granule_ * granule_;
    const u64 takes =
        static_cast<u64>(static_cast<double>(granules) * (access == Access::kRead ? read_ticks_ : write_ticks_));
    // Relaxed: the word is a moment and guards no memory.
    u64 end = 0;
    for (u64 free_at = free_at_.load(kRelaxed);;) {
      const u64 before = free_at;
      end = std::max(free_at, began * kTicks) + takes;
      if (free_at_.compare_exchange(free_at, end, kRelaxed)) break;
      if (free_at == before) return;  // the machine lets no access take place any more
    }
    await((end + latency_ - std::min(slack_, takes + latency_)) / kTicks);
  }

 private:
  static constexpr u64 kTicks = 256;  // a nanosecond
  // ns; a shorter wait does not leave the processor. A yield gives another program its slice, some 4 ms: waits of 28 us
  // that yielded took 4 ms at the median on a busy machine.
  static constexpr u64 kYieldsFrom = 10'000'000;

  static void await(u64 end) {
    for (u64 now = M::now(); now < end; now = M::now()) {
      if (end - now > kYieldsFrom) {
        M::yield();
      } else {
        M::pause();
      }
    }
  }

  const u64 granule_, latency_, slack_;                                      // bytes, ticks, ticks
  const double read_ticks_, write_ticks_;                                    // ticks a byte
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> free_at_{0};  // in ticks
};

}  // namespace latchlab
