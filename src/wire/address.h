#pragma once

// Where a server listens, and a client finds it.

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

/// The place of a server: HOST:PORT, [HOST]:PORT, unix:PATH, shm:PATH, ucx:HOST:PORT or ucx:[HOST]:PORT. HOST is an
/// address of IPv4 or IPv6, not a name.
struct Address {
  enum class Kind : u8 { kTcp, kUnix, kMailboxes, kUcx };

  std::string text;
  Kind kind = Kind::kTcp;
  std::string host, port;  ///< of TCP, or where UCX listens
  std::string path;        ///< of a Unix socket, or of a file of mailboxes (mailboxes.h)

  /// Throws InputError, which names `option`, for a text that is no address.
  [[nodiscard]] static Address parse(std::string_view option, std::string_view text);
  [[nodiscard]] bool is_unix() const { return kind == Kind::kUnix; }
  [[nodiscard]] bool is_mailboxes() const { return kind == Kind::kMailboxes; }
  [[nodiscard]] bool is_ucx() const { return kind == Kind::kUcx; }
  /// Returns the same address of TCP with another port.
  [[nodiscard]] Address at_port(int number) const;
  /// Returns true if only this machine reaches it: 127.0.0.0/8, ::1, a path.
  [[nodiscard]] bool is_local() const;
};

/// An address as the kernel takes it.
struct KernelAddress {
  sockaddr_storage name{};
  socklen_t size = 0;

  [[nodiscard]] int family() const { return name.ss_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

/// Returns the address of a socket, or of UCX, in the kernel's form; nothing if the path is too long for it.
[[nodiscard]] std::optional<KernelAddress> kernel_address(const Address& address);

}  // namespace latchlab
