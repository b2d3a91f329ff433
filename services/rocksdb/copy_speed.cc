#include "services/rocksdb/copy_speed.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/chunk_source.h"

namespace latchlab::tier {

namespace {

constexpr u64 kMostBytes = u64{64} << 20, kLeastBytes = u64{1} << 20;
constexpr u64 kSmall = 4 << 10, kLarge = 64 << 10;
constexpr u32 kBatches = 8, kCopies = 64;

class Copies {
 public:
  Copies(std::byte* far, u64 bytes, BlockStore::Charge* charge)
      : far_(far), bytes_(bytes), charge_(charge), near_(kLarge) {}

  /// Returns the time of a copy in ns: that of the fastest batch, since other programs may interrupt some.
  double ns(Access access, u64 block) {
    double best = std::numeric_limits<double>::max();
    for (u32 batch = 0; batch < kBatches; ++batch) {
      const u64 began = Native::now();
      for (u32 i = 0; i < kCopies; ++i) copy(access, far_ + random_.below(bytes_ / block) * block, block);
      best = std::min(best, static_cast<double>(Native::now() - began) / kCopies);
    }
    return best;
  }

 private:
  void copy(Access access, std::byte* far, u64 block) {
    const u64 began = BlockStore::Charge::begin();
    if (access == Access::kRead) {
      std::memcpy(near_.data(), far, block);
    } else {
      std::memcpy(far, near_.data(), block);
    }
    // The compiler must not leave out a copy whose bytes are not looked at.
    asm volatile("" : : "r"(far), "r"(near_.data()) : "memory");
    if (charge_ != nullptr) charge_->transfer(access, block, began);
  }

  std::byte* const far_;
  const u64 bytes_;
  BlockStore::Charge* const charge_;
  std::vector<std::byte> near_;
  Rng random_{1};
};

}  // namespace

std::optional<CopySpeed> measure_copies(const MemoryConfig& far, BlockStore::Charge* charge) {
  MemoryConfig config = far;
  config.alloc = MemoryConfig::Alloc::kArenaTouch;
  ChunkSource source(config, Native::pages());
  for (u64 bytes = kMostBytes; bytes >= kLeastBytes; bytes /= 2) {
    const ChunkSource::Chunk chunk = source.take(bytes, bytes);
    if (chunk.start == nullptr) continue;
    Copies copies(static_cast<std::byte*>(chunk.start), chunk.bytes, charge);
    return CopySpeed{.read_ns = copies.ns(Access::kRead, kSmall),
                     .write_ns = copies.ns(Access::kWrite, kSmall),
                     .read_gbps = kLarge / copies.ns(Access::kRead, kLarge),
                     .write_gbps = kLarge / copies.ns(Access::kWrite, kLarge)};
  }
  return std::nullopt;
}

}  // namespace latchlab::tier
