#pragma once

// Files of the kernel, and the addresses where a server listens.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchlab::kv {

/// A file descriptor, closed at its end.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File();

  [[nodiscard]] int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Where a server listens: HOST:PORT, [HOST]:PORT or unix:PATH. HOST is an address of IPv4 or IPv6, not a name.
struct Address {
  std::string text;
  std::string host, port;  ///< of TCP
  std::string path;        ///< of a Unix socket

  /// Throws InputError, which names `option`, for a text that is no address.
  [[nodiscard]] static Address parse(std::string_view option, std::string_view text);
  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  /// Returns true if only this machine reaches it: 127.0.0.0/8, ::1, a path.
  [[nodiscard]] bool is_local() const;
};

/// A file that listens, as a loop sees it. A loop has a TCP listener of its own, and shares that of a path.
struct Listener {
  int file = -1;
  bool is_unix = false;
  bool shared = false;
};

/// Returns a file that listens. With `shares_port` several files may listen at one TCP address, and the kernel spreads
/// connections over them. Removes a path that an ended server has left. Throws InputError if the kernel refuses.
[[nodiscard]] File listen_at(const Address& address, bool shares_port);

/// Returns the port of a TCP listener, which the kernel chose if the address has port 0.
[[nodiscard]] int port_of(const File& listener);

}  // namespace latchlab::kv
