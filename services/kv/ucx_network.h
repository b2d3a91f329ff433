#pragma once

// The network over UCX (src/wire/ucx_channel.h): over shared memory, TCP or an InfiniBand fabric, as UCX_TLS says.
//
//     listener   one address and one worker of UCX, made before the loop runs; a loop of its own serves it
//     wait       looks at the worker for a while, and then sleeps until UCX or the stop wakes it
//     close      what was answered still arrives: the last message says so, and the client leaves
//
// A client that was told so and stays is cut off when many such wait, or when the server ends.
//
// ucx_network_missing.cc stands for ucx_network.cc in a build without UCX.

#include <memory>

#include "services/kv/network.h"
#include "services/kv/stop.h"
#include "src/wire/address.h"

namespace latchlab::kv {

/// An address of UCX at which the server listens. It outlives its network.
class UcxListener {
 public:
  UcxListener() = default;
  virtual ~UcxListener() = default;
  UcxListener(const UcxListener&) = delete;
  UcxListener& operator=(const UcxListener&) = delete;

  /// Returns the network of its loop, once. The calling thread alone may use and destroy it.
  [[nodiscard]] virtual std::unique_ptr<Network> network(const Stop& stop) = 0;
};

/// Listens at an address with ucx:. Throws InputError if UCX refuses, or this build has none.
[[nodiscard]] std::unique_ptr<UcxListener> listen_ucx(const Address& address);

}  // namespace latchlab::kv
