#include "workloads/stream.h"

#include "src/base/hash.h"

namespace latchlab {

u64 fingerprint(u64 first, std::span<const Op> ops) {
  u64 sum = 0;
  for (const Op& op : ops) {
    const u64 rest = u64{op.key_bytes} << 32 | u64{op.scan} << 16 | u64{static_cast<u8>(op.kind)} << 8 |
                     static_cast<u64>(op.absent);
    sum += mix64(mix64(mix64(first++) + op.key) + rest);
  }
  return sum;
}

}  // namespace latchlab
