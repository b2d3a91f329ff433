#pragma once

// The files on which a server listens.

#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/wire/address.h"
#include "src/wire/file.h"

namespace latchlab::kv {

/// A file that listens, as a loop sees it. A loop has a TCP listener of its own, and shares that of a path.
struct Listener {
  int file = -1;
  bool is_unix = false;
  bool shared = false;
};

/// Returns a file that listens. With `shares_port` several files may listen at one TCP address, and the kernel spreads
/// connections over them. Removes a path that an ended server has left. Throws InputError, which names `option`, if the
/// kernel refuses.
[[nodiscard]] File listen_at(std::string_view option, const Address& address, bool shares_port);
/// Throws InputError if another file listens at this TCP address, even one that would share its port.
void check_free(std::string_view option, const Address& address);

/// A path that this process has made, for a file or a socket. Removes it at its end, unless it leads to another one by
/// then: of a server that has begun since.
class OwnPath {
 public:
  /// Takes a path at which something is now.
  explicit OwnPath(std::string path);
  OwnPath(OwnPath&& other) noexcept;
  OwnPath& operator=(OwnPath&&) = delete;
  ~OwnPath();

 private:
  std::string path_;  // empty: moved away
  u64 device_ = 0, inode_ = 0;
};

/// Accepts a connection, which does not block, and whose bytes TCP sends at once. Returns no file if there is none.
[[nodiscard]] File accept_at(const Listener& listener);

/// Makes TCP send the bytes of an accepted connection at once.
void send_at_once(const File& connection, const Listener& listener);

/// Returns the file that the kernel has opened. Throws InputError, which names `what`, if it has refused.
[[nodiscard]] File opened(int number, std::string_view what);

/// Returns the port of a TCP listener, which the kernel chose if the address has port 0.
[[nodiscard]] int port_of(const File& listener);

}  // namespace latchlab::kv
