#include "services/kv/networks.h"

#include "services/kv/epoll_network.h"
#include "services/kv/uring_network.h"

namespace latchlab::kv {

void check_events(Events events) {
  if (events == Events::kUring) check_uring();
}

std::unique_ptr<Network> make_network(Events events, const std::vector<Listener>& listeners, const Stop& stop,
                                      const Limits& limits) {
  if (events == Events::kUring) return make_uring_network(listeners, stop);
  return std::make_unique<EpollNetwork>(listeners, stop, limits.read_bytes);
}

}  // namespace latchlab::kv
