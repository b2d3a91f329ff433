#pragma once

// The protocols that a server tells apart by the first byte of a connection.

#include <array>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class Protocol : u8 {
  kMemcached,  ///< memcached's text protocol, with its meta commands
  kResp,       ///< redis' protocol: arrays of bulk strings, and inline commands
  kBinary,     ///< memcached's binary protocol, which is refused
};
template <>
inline constexpr std::array kWords<Protocol>{"memcached"sv, "resp"sv, "binary"sv};

/// The first byte of a request of memcached's binary protocol.
inline constexpr char kBinaryMagic = '\x80';

/// The answer to the binary protocol, before the connection closes.
inline constexpr std::string_view kBinaryRefused =
    "SERVER_ERROR the binary protocol is not supported, use the text protocol\r\n";

/// Returns the protocol that begins with this byte. memcached's commands are lower-case words. So a capital letter
/// begins an inline command of redis; one in lower case is taken for memcached's. Every other byte is memcached's,
/// whose parser refuses it.
[[nodiscard]] constexpr Protocol protocol_of(char first) {
  if (first == kBinaryMagic) return Protocol::kBinary;
  return first == '*' || (first >= 'A' && first <= 'Z') ? Protocol::kResp : Protocol::kMemcached;
}

}  // namespace latchlab
