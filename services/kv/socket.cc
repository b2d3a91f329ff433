#include "services/kv/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/error.h"
#include "src/base/types.h"
#include "src/wire/numbers.h"

namespace latchlab::kv {

namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

[[noreturn]] void refuse(const Address& address, const char* what, int error) {
  throw InputError("--listen: " + address.text + ": cannot " + what + ": " + std::strerror(error));
}

File bound_path(const Address& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof name.sun_path) refuse(address, "bind", ENAMETOOLONG);
  std::memcpy(name.sun_path, address.path.data(), address.path.size());
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file) refuse(address, "open a socket", errno);
  const auto* const as_address = reinterpret_cast<const sockaddr*>(&name);
  struct stat status{};
  if (lstat(address.path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    const File other(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(other.number(), as_address, sizeof name) == 0) refuse(address, "bind", EADDRINUSE);
    unlink(address.path.c_str());
  }
  if (bind(file.number(), as_address, sizeof name) != 0) refuse(address, "bind", errno);
  return file;
}

File bound_port(const Address& address, bool shares_port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0)
    throw InputError("--listen: " + address.text + ": '" + address.host + "' is no address of IPv4 or IPv6");
  File file(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  int error = file ? 0 : errno;
  if (error == 0) {
    setsockopt(file.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (shares_port && setsockopt(file.number(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) error = errno;
    if (error == 0 && bind(file.number(), found->ai_addr, found->ai_addrlen) != 0) error = errno;
  }
  freeaddrinfo(found);
  if (error != 0) refuse(address, "bind", error);
  return file;
}

}  // namespace

File::~File() {
  if (number_ >= 0) close(number_);
}

Address Address::parse(std::string_view option, std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return InputError(std::string(option) + ": '" + std::string(text) + "': " + std::string(why) +
                      "; write HOST:PORT, [HOST]:PORT or unix:PATH");
  };
  Address address;
  address.text = text;
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    if (address.path.empty()) throw wrong("there is no path");
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) throw wrong("there is no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto number = number_in<u16>(port);
  if (!number) throw wrong("the port is not a number from 0 to 65535");
  if (host.empty()) throw wrong("there is no host");
  in6_addr unused{};
  address.host = host;
  if (inet_pton(AF_INET, address.host.c_str(), &unused) != 1 && inet_pton(AF_INET6, address.host.c_str(), &unused) != 1)
    throw wrong("the host is no address of IPv4 or IPv6");
  address.port = port;
  return address;
}

bool Address::is_local() const {
  if (is_unix() || host == "::1") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

File listen_at(const Address& address, bool shares_port) {
  File file = address.is_unix() ? bound_path(address) : bound_port(address, shares_port);
  if (listen(file.number(), kBacklog) != 0) refuse(address, "listen", errno);
  return file;
}

int port_of(const File& listener) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(listener.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

}  // namespace latchlab::kv
