#pragma once

// The metrics of a server over HTTP, in Prometheus' text format. A thread of its own answers one request at a time, so
// it costs the loops nothing.

#include <atomic>
#include <optional>
#include <thread>

#include "services/kv/server.h"
#include "services/kv/socket.h"

namespace latchlab::kv {

class Metrics {
 public:
  /// Listens at the address. Throws InputError if the kernel refuses. The server must outlive this.
  Metrics(const Server& server, const Address& address);
  ~Metrics();

 private:
  void run();
  void answer(const File& client) const;

  const Server& server_;
  const File listener_;
  std::optional<OwnPath> path_;  // of a Unix socket
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace latchlab::kv
