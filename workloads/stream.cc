#include "workloads/stream.h"

#include <cassert>

#include "src/base/hash.h"

namespace latchlab {

namespace {

u64 hash_of(u64 number, const Op& op) {
  const u64 rest =
      u64{op.key_bytes} << 32 | u64{op.keys} << 16 | u64{static_cast<u8>(op.kind)} << 8 | static_cast<u64>(op.absent);
  return mix64(mix64(mix64(number) + op.key) + rest);
}

}  // namespace

u64 fingerprint(u64 first, std::span<const Op> ops, std::span<const Op> gets) {
  u64 sum = 0;
  for (const Op& op : ops) {
    u64 hash = hash_of(first++, op);
    sum += hash;
    if (op.kind != OpKind::kMultiGet) continue;
    assert(gets.size() >= op.keys);
    for (const Op& get : gets.first(op.keys)) sum += hash = hash_of(hash, get);
    gets = gets.subspan(op.keys);
  }
  return sum;
}

}  // namespace latchlab
