#include "src/wire/base64.h"

#include <array>

#include "src/base/types.h"

namespace latchlab {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr u8 kNoDigit = 64;
constexpr std::size_t kGroup = 4, kBytesOfGroup = 3;

constexpr std::array<u8, 256> kValues = [] {
  std::array<u8, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) values[static_cast<u8>(kDigits[i])] = static_cast<u8>(i);
  return values;
}();

/// Passes each decoded byte to `put`. Returns false if the text is no encoding.
template <class Put>
bool decode(std::string_view text, Put&& put) {
  if (text.size() % kGroup != 0) return false;
  for (std::size_t at = 0; at < text.size(); at += kGroup) {
    const std::string_view group = text.substr(at, kGroup);
    const bool last = at + kGroup == text.size();
    const std::size_t digits = !last || group[3] != '=' ? 4 : group[2] != '=' ? 3 : 2;
    u32 bits = 0;
    for (std::size_t i = 0; i < kGroup; ++i) {
      const u8 value = i < digits ? kValues[static_cast<u8>(group[i])] : 0;
      if (value == kNoDigit) return false;
      bits = bits << 6 | value;
    }
    const std::size_t bytes = digits - 1;
    if ((bits & ((u32{1} << 8 * (kBytesOfGroup - bytes)) - 1)) != 0) return false;
    for (std::size_t i = 0; i < bytes; ++i) put(static_cast<char>(bits >> 8 * (kBytesOfGroup - 1 - i) & 0xff));
  }
  return true;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kBytesOfGroup) {
    const std::string_view part = bytes.substr(at, kBytesOfGroup);
    u32 bits = 0;
    for (std::size_t i = 0; i < kBytesOfGroup; ++i) bits = bits << 8 | (i < part.size() ? static_cast<u8>(part[i]) : 0);
    for (std::size_t i = 0; i < kGroup; ++i) out += i <= part.size() ? kDigits[bits >> 6 * (kGroup - 1 - i) & 63] : '=';
  }
}

std::optional<std::size_t> decode_base64(std::string_view text, char* out) {
  std::size_t size = 0;
  if (!decode(text, [&](char byte) { out[size++] = byte; })) return std::nullopt;
  return size;
}

bool is_base64(std::string_view text) {
  return decode(text, [](char) {});
}

}  // namespace latchlab
