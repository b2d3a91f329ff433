#include "src/base/printable.h"

#include <cstddef>

#include <fmt/format.h>

#include "src/base/types.h"

namespace latchlab {

namespace {

/// Returns the length in bytes of the printable character at the start of `text`, or 0 if there is none. U+0080 to
/// U+009F are not printable: a terminal takes them as commands.
std::size_t character_at(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<u32>(static_cast<u8>(text[at])); };
  const u32 lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t bytes = lead >= 0xc2 && lead <= 0xdf   ? 2
                            : lead >= 0xe0 && lead <= 0xef ? 3
                            : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                           : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  u32 character = lead & (0x7f >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(at) & 0x3f);
  }
  const u32 least = bytes == 2 ? 0xa0 : bytes == 3 ? 0x800 : 0x10000;  // UTF-8 forbids longer spellings than needed
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  return character >= least && character <= 0x10ffff && !surrogate ? bytes : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = character_at(text);
    out += bytes != 0 ? std::string(text.substr(0, bytes)) : fmt::format("\\x{:02x}", static_cast<u8>(text[0]));
    text.remove_prefix(bytes != 0 ? bytes : 1);
  }
  return out;
}

}  // namespace latchlab
