#include "src/wire/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>
#include <utility>

#include "src/base/error.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/wire/numbers.h"

namespace latchlab {

Address Address::parse(std::string_view option, std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return InputError(std::string(option) + ": '" + std::string(text) + "': " + std::string(why) +
                      "; write HOST:PORT, [HOST]:PORT, unix:PATH, shm:PATH or ucx:HOST:PORT");
  };
  Address address;
  address.text = text;
  for (const auto& [scheme, kind] : {std::pair("unix:"sv, Kind::kUnix), std::pair("shm:"sv, Kind::kMailboxes)}) {
    if (!text.starts_with(scheme)) continue;
    address.kind = kind;
    address.path = text.substr(scheme.size());
    if (address.path.empty()) throw wrong("there is no path");
    return address;
  }
  std::string_view place = text;
  if (constexpr std::string_view kScheme = "ucx:"; place.starts_with(kScheme)) {
    address.kind = Kind::kUcx;
    place.remove_prefix(kScheme.size());
  }
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos) throw wrong("there is no port");
  std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto number = number_in<u16>(port);
  if (!number) throw wrong("the port is not a number from 0 to 65535");
  if (host.empty()) throw wrong("there is no host");
  in6_addr unused{};
  address.host = host;
  if (inet_pton(AF_INET, address.host.c_str(), &unused) != 1 && inet_pton(AF_INET6, address.host.c_str(), &unused) != 1)
    throw InputError(std::string(option) + ": '" + std::string(text) +
                     "': the host is no address of IPv4 or IPv6; write one such as 127.0.0.1 or [::1]");
  address.port = port;
  return address;
}

Address Address::at_port(int number) const {
  Address other = *this;
  other.port = std::to_string(number);
  other.text = text.substr(0, text.rfind(':') + 1) + other.port;
  return other;
}

bool Address::is_local() const {
  if (is_unix() || is_mailboxes()) return true;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

std::optional<KernelAddress> kernel_address(const Address& address) {
  KernelAddress made;
  if (address.is_unix()) {
    auto& name = reinterpret_cast<sockaddr_un&>(made.name);
    if (address.path.size() >= sizeof name.sun_path) return std::nullopt;
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.path.data(), address.path.size());
    made.size = sizeof name;
    return made;
  }
  const u16 port = htons(number_in<u16>(address.port).value_or(0));
  auto& four = reinterpret_cast<sockaddr_in&>(made.name);
  if (inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = port;
    made.size = sizeof four;
    return made;
  }
  made.name = {};
  auto& six = reinterpret_cast<sockaddr_in6&>(made.name);
  inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr);
  six.sin6_family = AF_INET6;
  six.sin6_port = port;
  made.size = sizeof six;
  return made;
}

}  // namespace latchlab
