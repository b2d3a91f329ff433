#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "src/wire/file.h"
#include "src/wire/stream.h"

namespace latchlab {

namespace {

class SocketStream final : public ByteStream {
 public:
  SocketStream(File file, std::string server) : file_(std::move(file)), server_(std::move(server)) {}

  void send(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(file_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EINTR) {
        throw ConnectionLost(server_ + ": " + std::strerror(errno));
      }
    }
  }

  [[nodiscard]] std::size_t receive(std::span<char> room) override {
    for (;;) {
      const ssize_t got = recv(file_.number(), room.data(), room.size(), 0);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) throw ConnectionLost(server_ + ": the server has closed the connection");
      if (errno != EINTR) throw ConnectionLost(server_ + ": " + std::strerror(errno));
    }
  }

 private:
  File file_;
  std::string server_;
};

}  // namespace

std::unique_ptr<ByteStream> connect_socket(const Address& address) {
  const auto refuse = [&](int error) {
    return ConnectionLost("cannot connect to " + address.text + ": " + std::strerror(error));
  };
  const std::optional<KernelAddress> name = kernel_address(address);
  if (!name) throw refuse(ENAMETOOLONG);
  File file(socket(name->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file || connect(file.number(), name->get(), name->size) != 0) throw refuse(errno);
  if (!address.is_unix()) {
    const int on = 1;
    setsockopt(file.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return std::make_unique<SocketStream>(std::move(file), address.text);
}

}  // namespace latchlab
