#pragma once
// Numbers as a server of byte strings keeps them.
//
//     key    00000000deadbeef        hexadecimal digits, zeros in front
//     value  3735928559              decimal digits, which the servers' `incr` understands; blanks behind
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "src/base/types.h"

namespace latchlab::remote {

struct Wording {
  static constexpr std::size_t kLeastKeyBytes = 16;

  std::size_t key_bytes = kLeastKeyBytes;
  std::size_t value_bytes = 0;  ///< at least; 0: as many as the number has digits

  /// Appends the key, which takes key_bytes.
  void append_key(std::string& out, u64 key) const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::size_t begin = out.size();
    out.resize(begin + key_bytes, '0');
    for (std::size_t at = out.size(); key != 0; key >>= 4) out[--at] = kDigits[key & 15];
  }
  /// Returns the key that the text says; nothing if it is none.
  [[nodiscard]] std::optional<u64> key_in(std::string_view text) const {
    if (text.size() != key_bytes) return std::nullopt;
    return number(text, 16);
  }

  /// Writes the value to `room`, and returns it.
  [[nodiscard]] std::string_view value(std::string& room, u64 value) const {
    char digits[20];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    room.assign(digits, static_cast<std::size_t>(end - digits));
    if (room.size() < value_bytes) room.resize(value_bytes, ' ');
    return room;
  }
  /// Returns the value that the text says; nothing if it is none.
  [[nodiscard]] static std::optional<u64> value_in(std::string_view text) {
    return number(text.substr(0, text.find_last_not_of(' ') + 1), 10);
  }

 private:
  static std::optional<u64> number(std::string_view text, int base) {
    u64 read = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), read, base);
    if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
    return read;
  }
};

}  // namespace latchlab::remote
