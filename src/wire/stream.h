#pragma once

// A connection to a server, as a client sees it: bytes both ways, in order. One thread uses it, and waits in it.

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

#include "src/wire/address.h"

namespace latchlab {

/// A connection that could not be made, or has ended. The text is one line that names the server.
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Sends all bytes. Waits while the server takes none. So a client must not send more than its server takes before it
  /// hears the answers. Throws ConnectionLost.
  virtual void send(std::string_view bytes) = 0;
  /// Waits for bytes, and returns how many it has written to `room`: at least one, at most its size, which is not 0.
  /// Throws ConnectionLost.
  [[nodiscard]] virtual std::size_t receive(std::span<char> room) = 0;
};

/// Returns a connection over TCP or a Unix socket, without Nagle's delay. Throws ConnectionLost.
[[nodiscard]] std::unique_ptr<ByteStream> connect_socket(const Address& address);

/// Returns a connection by a mailbox in shared memory (mailboxes.h), for an address with shm:. Throws ConnectionLost.
[[nodiscard]] std::unique_ptr<ByteStream> connect_mailbox(const Address& address);

/// Returns a connection by UCX (ucx_channel.h), for an address with ucx:. Throws ConnectionLost, as a build without UCX
/// always does.
[[nodiscard]] std::unique_ptr<ByteStream> connect_ucx(const Address& address);

}  // namespace latchlab
