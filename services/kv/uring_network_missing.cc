// Stands for uring_network.cc in a build without liburing (cmake/stores.cmake).

#include "services/kv/uring_network.h"
#include "src/base/error.h"

namespace latchlab::kv {

void check_uring() {
  throw InputError(
      "--events=io_uring: this server was built without liburing; install liburing-dev and build it again, or give "
      "--events=epoll");
}

std::unique_ptr<Network> make_uring_network(const std::vector<Listener>&, const Stop&) {
  check_uring();
  return nullptr;
}

}  // namespace latchlab::kv
