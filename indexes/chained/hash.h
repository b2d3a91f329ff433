#pragma once
// The hash that chooses a key's bucket. Every bit of it depends on every bit of the key.
#include "src/base/hash.h"
#include "src/base/key.h"

namespace latchlab::chained {

constexpr u64 hash_of(U64Key key) { return mix64(key.raw()); }
inline u64 hash_of(const BytesKey& key) {
  return hash_bytes({reinterpret_cast<const char*>(key.spelled()), key.spelled_size()});
}

}  // namespace latchlab::chained
