// Stands for ucx_network.cc in a build without UCX (cmake/stores.cmake).

#include "services/kv/ucx_network.h"
#include "src/base/error.h"

namespace latchlab::kv {

std::unique_ptr<UcxListener> listen_ucx(const Address& address) {
  throw InputError("--listen: " + address.text +
                   ": this server was built without UCX; install libucx-dev and build it with -DLATCHLAB_UCX=ON");
}

}  // namespace latchlab::kv
