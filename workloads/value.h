#pragma once

// What a record holds, so that every value that is read can be checked against its key without a table:
//
//     | 32 bits: tag of the key | 32 bits: stamp of the operation that wrote it |
//
// A find that returns another key's value, a torn value or freed memory shows a wrong tag (but for one in
// 2^32).

#include <string_view>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

[[nodiscard]] constexpr u32 tag_of(u64 key) { return static_cast<u32>(mix64(~key) >> 32); }
[[nodiscard]] inline u32 tag_of(std::string_view key) { return static_cast<u32>(hash_bytes(key) >> 32); }

/// The value that operation number `stamp` (its low 32 bits are kept) writes for `key`.
template <class Raw>
[[nodiscard]] constexpr u64 value_of(const Raw& key, u64 stamp) {
  return u64{tag_of(key)} << 32 | static_cast<u32>(stamp);
}

template <class Raw>
[[nodiscard]] constexpr bool tag_matches(const Raw& key, u64 value) {
  return tag_of(key) == value >> 32;
}

}  // namespace latchlab
