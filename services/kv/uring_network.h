#pragma once

// The network over sockets, with io_uring: the kernel moves the bytes by itself, and one call a turn both hands it the
// new operations and waits for completions.
//
//     accept, receive   one operation each that completes again and again (multishot); input comes in buffers that all
//                       connections share, so a silent connection keeps none
//     send              one operation a turn and connection, begun by the next wait
//     stop              a poll of the eventfd
//
//   1. An operation uses the memory of its connection until its last completion. A connection that is closed has its
//      operations cancelled, and keeps its place, its file and its bytes until then.
//   2. A connection whose input is not wanted has its receive cancelled. The kernel may miss an operation that it runs
//      at that moment, so a cancellation that failed is repeated.
//   3. The shared buffers bound the input of a turn. When none is left, the kernel ends the receives. They begin again
//      when the turn has given the buffers back.
//
// It needs Linux 6.0, and is faster from 6.1 on. uring_network_missing.cc stands for uring_network.cc in a build
// without liburing.

#include <memory>
#include <vector>

#include "services/kv/network.h"
#include "services/kv/socket.h"
#include "services/kv/stop.h"

namespace latchlab::kv {

/// Throws InputError, which says what would be right, if this build or this kernel has no io_uring.
void check_uring();

/// Returns a network of this thread, which alone may use and destroy it. `listeners` are of its loop alone, or shared
/// by all (Listener); they block from then on. Throws as check_uring does.
[[nodiscard]] std::unique_ptr<Network> make_uring_network(const std::vector<Listener>& listeners, const Stop& stop);

}  // namespace latchlab::kv
