#pragma once

// Where a server listens, and so the networks of its loops.

#include <memory>
#include <string>
#include <vector>

#include "services/kv/network.h"
#include "services/kv/networks.h"
#include "services/kv/options.h"
#include "services/kv/socket.h"
#include "services/kv/stop.h"
#include "services/kv/ucx_network.h"
#include "src/base/types.h"
#include "src/wire/mailboxes.h"

namespace latchlab::kv {

/// The server has `threads` loops for all sockets, and as many for each file of mailboxes, which nothing else wakes. An
/// address of UCX has one loop, since a listener of UCX hands all its clients to one worker.
class Places {
 public:
  /// Listens. `command` outlives it. Throws InputError for an address where the server cannot listen.
  explicit Places(const ServeCommand& command);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  [[nodiscard]] u32 loops() const {
    return static_cast<u32>(listeners_.size() + mailboxes_.size() * threads_ + ucx_listeners_.size());
  }
  /// Returns where it listens, in the order of the command: with the port that the kernel chose for port 0.
  [[nodiscard]] const std::vector<Address>& addresses() const { return addresses_; }
  /// Returns the network of a loop, whose thread alone may make, use and destroy it. Throws InputError if the kernel
  /// refuses what it needs.
  [[nodiscard]] std::unique_ptr<Network> network_of(u32 loop, const Stop& stop) const;

 private:
  const u32 threads_;
  const Events events_;
  const Limits& limits_;
  std::vector<Address> addresses_;
  std::vector<File> files_;
  std::vector<std::vector<Listener>> listeners_;  // by the loop
  std::vector<mailboxes::Mapping> mailboxes_;
  std::vector<OwnPath> paths_;  // of Unix sockets and mailboxes; removed also if a later address is refused
  std::vector<std::unique_ptr<UcxListener>> ucx_listeners_;
};

}  // namespace latchlab::kv
