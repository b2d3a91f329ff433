#pragma once
// The keys of a map, and the form in which an index takes them:
//
//   integers       u64. The sign bit of a signed one is flipped, so that the order of numbers is kept
//   std::string, std::string_view, std::span<const std::byte>
//                  bytes of any value, ordered as by memcmp; at most 128 MiB - 1 of them
//
// A map copies the bytes of a key. Its callers pass views, and get views, which are valid during a callback.
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab {

/// An integer of up to 64 bits, which is not bool.
template <class T>
concept IntegerKey = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= sizeof(u64);

/// A string or a span of bytes.
template <class T>
concept StringKey =
    std::same_as<T, std::string> || std::same_as<T, std::string_view> || std::same_as<T, std::span<const std::byte>>;

template <class T>
concept MapKey = IntegerKey<T> || StringKey<T>;

/// The forms of a key: View is the caller's, Raw the index's.
template <MapKey T>
struct KeyForms;

template <IntegerKey T>
struct KeyForms<T> {
  using View = T;
  using Key = U64Key;
  using Raw = u64;
  using Held = u64;  ///< a Raw that views nothing

  static Raw raw(View key) { return static_cast<u64>(static_cast<Wide>(key)) ^ kFlip; }
  static View view(Raw raw) { return static_cast<T>(raw ^ kFlip); }

 private:
  using Wide = std::conditional_t<std::is_signed_v<T>, i64, u64>;
  static constexpr u64 kFlip = std::is_signed_v<T> ? u64{1} << 63 : 0;
};

template <StringKey T>
struct KeyForms<T> {
  using View = std::conditional_t<std::same_as<T, std::string>, std::string_view, T>;
  using Key = BytesKey;
  using Raw = std::string_view;
  using Held = std::string;

  static Raw raw(View key) { return Raw(reinterpret_cast<const char*>(key.data()), key.size()); }
  static View view(Raw raw) { return View(reinterpret_cast<typename View::const_pointer>(raw.data()), raw.size()); }
};

}  // namespace latchlab
