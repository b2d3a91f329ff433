#pragma once

// The files on which a server listens.

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
/// connections over them. Removes a path that an ended server has left. Throws InputError if the kernel refuses.
[[nodiscard]] File listen_at(const Address& address, bool shares_port);

/// Returns the port of a TCP listener, which the kernel chose if the address has port 0.
[[nodiscard]] int port_of(const File& listener);

}  // namespace latchlab::kv
