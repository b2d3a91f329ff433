#pragma once
// The keys that peers store: integers as they are, byte strings in a std::string. Lookups take a view, so they make no
// string.
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab {

/// The stored type of a key. `View` is u64 or std::string_view.
template <class View>
using Stored = std::conditional_t<std::is_same_v<View, std::string_view>, std::string, u64>;

/// The default hash of strings, taking views too. It is not noexcept. Otherwise libstdc++ would take it for a fast hash
/// and no longer keep the hash in the node, which it does for the default.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
};

/// Returns the bytes that a stored key holds on the heap.
inline u64 heap_bytes(u64) { return 0; }
inline u64 heap_bytes(const std::string& key) {
  constexpr std::size_t kInline = 15;  // libstdc++ keeps shorter strings in the object
  return key.capacity() > kInline ? key.capacity() + 1 : 0;
}

/// Returns the bytes that the keys of all pairs in a range hold on the heap.
template <class Pairs>
u64 heap_bytes_of_keys(const Pairs& pairs) {
  u64 bytes = 0;
  if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(pairs.begin()->first)>, u64>) {
    for (const auto& pair : pairs) bytes += heap_bytes(pair.first);
  }
  return bytes;
}

/// Returns a view of a key. Byte strings are stored as they are spelled, which keeps their order.
inline u64 view_of(U64Key key) { return key.raw(); }
inline std::string_view view_of(const BytesKey& key) {
  return {reinterpret_cast<const char*>(key.spelled()), key.spelled_size()};
}

/// Returns the key of a stored view, valid as long as the stored object.
inline U64Key key_of(u64 stored) { return U64Key(stored); }
inline BytesKey key_of(const std::string& stored) {
  return BytesKey(reinterpret_cast<const u8*>(stored.data()), static_cast<u32>(stored.size()));
}

}  // namespace latchlab
