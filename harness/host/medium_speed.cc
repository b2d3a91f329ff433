#include "harness/host/medium_speed.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/interrupt.h"
#include "harness/host/line_buffer.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/chunk_source.h"
#include "src/memory/media/medium_charge.h"

namespace latchlab {
namespace {

constexpr u64 kMostBytes = u64{64} << 20, kLeastBytes = u64{1} << 20;
constexpr u64 kBlock = 64 << 10;  // bytes of a copy
constexpr u32 kSteps = 4096;      // lines between two readings of the clock
constexpr u32 kTransfers = 64;    // transfers, or copies, between two

MediumTimes missing(const std::string& why) {
  const auto none = OrReason<double>::missing(why);
  return {none, none, none};
}

/// Links the lines to one cycle in random order (Sattolo).
void link(Line* lines, u64 count) {
  for (u64 i = 0; i < count; ++i) lines[i].next = i;
  Rng random(1);
  for (u64 i = count - 1; i != 0; --i) std::swap(lines[i].next, lines[random.below(i)].next);
}

class Measured {
 public:
  Measured(const LimitsPlan& plan, const FarMemory& memory, std::byte* start, u64 bytes)
      : time_ns_(plan.time_ns), start_(start), blocks_(bytes / kBlock), lines_(bytes / sizeof(Line)), near_(kBlock) {
    if (memory.model) {
      charge_.emplace(*memory.model, memory.slack_ns);
      granule_ = memory.model->granule;
      granule_ns_ = static_cast<double>(granule_) / memory.model->read_gbps;
    }
  }

  MediumTimes times() {
    MediumTimes times;
    times.read_gbps = static_cast<double>(kBlock) / copy_ns(Access::kRead);
    times.write_gbps = static_cast<double>(kBlock) / copy_ns(Access::kWrite);
    times.latency_ns = charge_ ? transfer_ns() - granule_ns_ : chase_ns();
    return times;
  }

 private:
  double copy_ns(Access access) {
    return best_batch_ns(wall_clock(), time_ns_,
                         [&] {
                           for (u32 i = 0; i < kTransfers; ++i) {
                             std::byte* const block = start_ + kBlock * (copied_++ % blocks_);
                             const u64 began = MediumCharge<Native>::begin();
                             if (access == Access::kRead) {
                               std::memcpy(near_.data(), block, kBlock);
                             } else {
                               std::memcpy(block, near_.data(), kBlock);
                             }
                             keep(static_cast<u64>(near_[copied_ % kBlock]));
                             if (charge_) charge_->transfer(access, kBlock, began);
                           }
                         }) /
           kTransfers;
  }
  // A transfer without a copy takes the model's time for its bytes, however slowly this machine copies.
  double transfer_ns() {
    return best_batch_ns(wall_clock(), time_ns_,
                         [&] {
                           for (u32 i = 0; i < kTransfers; ++i)
                             charge_->transfer(Access::kRead, granule_, charge_->begin());
                         }) /
           kTransfers;
  }
  double chase_ns() {
    Line* const lines = reinterpret_cast<Line*>(start_);
    link(lines, lines_);
    u64 at = 0;
    return best_batch_ns(wall_clock(), time_ns_,
                         [&] {
                           u64 here = at;
                           for (u32 i = 0; i < kSteps; ++i) here = lines[here].next;
                           keep(at = here);
                         }) /
           kSteps;
  }

  const u64 time_ns_;
  std::byte* const start_;
  const u64 blocks_, lines_;
  std::vector<std::byte> near_;
  std::optional<MediumCharge<Native>> charge_;
  u64 granule_ = 1, copied_ = 0;
  double granule_ns_ = 0;
};

}  // namespace

MediumTimes measure_medium(const LimitsPlan& plan, const FarMemory& memory) {
  if (stop_requested()) return missing("the run was interrupted");
  MemoryConfig config = memory.memory;
  if (config.alloc == MemoryConfig::Alloc::kMalloc) config.alloc = MemoryConfig::Alloc::kArenaTouch;
  ChunkSource source(config, Native::pages());
  ChunkSource::Chunk chunk;
  MediumTimes times;
  LimitsPlan one = plan;
  one.cpus.resize(1);
  on_seats(one, [&](u32, Barrier&) {
    for (u64 bytes = kMostBytes; bytes >= kLeastBytes && chunk.start == nullptr; bytes /= 2)
      chunk = source.take(bytes, bytes);
    times = chunk.start == nullptr ? missing("the values have left no memory to measure")
                                   : Measured(one, memory, static_cast<std::byte*>(chunk.start), chunk.bytes).times();
  });
  return times;
}

}  // namespace latchlab
