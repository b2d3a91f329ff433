#pragma once

// The engines that serve a loop's connections, by the words of --events.

#include <memory>
#include <vector>

#include "services/kv/network.h"
#include "services/kv/server.h"
#include "services/kv/socket.h"
#include "services/kv/stop.h"
#include "src/base/types.h"

namespace latchlab::kv {

enum class Events : u8 { kEpoll, kUring };

/// Throws InputError, which says what would be right, if this build or this kernel lacks the engine.
void check_events(Events events);

/// Returns the network of a loop. The thread that calls this alone may use and destroy it. `listeners` are of the loop
/// alone, or shared by all (Listener). Throws InputError if the kernel refuses what the engine needs.
[[nodiscard]] std::unique_ptr<Network> make_network(Events events, const std::vector<Listener>& listeners,
                                                    const Stop& stop, const Limits& limits);

}  // namespace latchlab::kv
