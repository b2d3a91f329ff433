// Stands for ucx_stream.cc in a build without UCX (CMakeLists.txt).

#include "src/wire/stream.h"

namespace latchlab {

std::unique_ptr<ByteStream> connect_ucx(const Address& address) {
  throw ConnectionLost("cannot connect to " + address.text +
                       ": this program was built without UCX; install libucx-dev and build it with -DLATCHLAB_UCX=ON");
}

}  // namespace latchlab
