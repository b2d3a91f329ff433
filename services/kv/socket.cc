#include "services/kv/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "src/base/error.h"

namespace latchlab::kv {

namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

[[noreturn]] void refuse(std::string_view option, const Address& address, const char* what, int error) {
  throw InputError(std::string(option) + ": " + address.text + ": cannot " + what + ": " + std::strerror(error));
}

File bound_path(std::string_view option, const Address& address, const KernelAddress& name) {
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file) refuse(option, address, "open a socket", errno);
  struct stat status{};
  if (lstat(address.path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    const File other(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(other.number(), name.get(), name.size) == 0) refuse(option, address, "bind", EADDRINUSE);
    unlink(address.path.c_str());
  }
  if (bind(file.number(), name.get(), name.size) != 0) refuse(option, address, "bind", errno);
  return file;
}

File bound_port(std::string_view option, const Address& address, const KernelAddress& name, bool shares_port) {
  File file(socket(name.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file) refuse(option, address, "open a socket", errno);
  const int on = 1;
  setsockopt(file.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (shares_port && setsockopt(file.number(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
    refuse(option, address, "share the port", errno);
  if (bind(file.number(), name.get(), name.size) != 0) refuse(option, address, "bind", errno);
  return file;
}

}  // namespace

File listen_at(std::string_view option, const Address& address, bool shares_port) {
  const std::optional<KernelAddress> name = kernel_address(address);
  if (!name) refuse(option, address, "bind", ENAMETOOLONG);
  File file = address.is_unix() ? bound_path(option, address, *name) : bound_port(option, address, *name, shares_port);
  if (listen(file.number(), kBacklog) != 0) refuse(option, address, "listen", errno);
  return file;
}

void check_free(std::string_view option, const Address& address) {
  const std::optional<KernelAddress> name = kernel_address(address);
  if (name) (void)bound_port(option, address, *name, false);
}

OwnPath::OwnPath(std::string path) : path_(std::move(path)) {
  struct stat status{};
  if (lstat(path_.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

OwnPath::OwnPath(OwnPath&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

OwnPath::~OwnPath() {
  struct stat status{};
  if (path_.empty() || lstat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) unlink(path_.c_str());
}

File accept_at(const Listener& listener) {
  File file(accept4(listener.file, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (file) send_at_once(file, listener);
  return file;
}

void send_at_once(const File& connection, const Listener& listener) {
  if (listener.is_unix) return;
  const int on = 1;
  setsockopt(connection.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

File opened(int number, std::string_view what) {
  if (number >= 0) return File(number);
  throw InputError("the kernel refuses " + std::string(what) + ": " + std::strerror(errno));
}

int port_of(const File& listener) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

}  // namespace latchlab::kv
