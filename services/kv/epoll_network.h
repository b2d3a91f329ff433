#pragma once

// The network over sockets, with epoll: the kernel says which sockets are ready, and a call for each moves the bytes.
//
// A socket is watched for input while it is wanted, and for room while a send goes on. So a client that does not read
// costs the loop nothing. The place of a connection is the number of its file.

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/network.h"
#include "services/kv/socket.h"
#include "services/kv/stop.h"

namespace latchlab::kv {

class EpollNetwork final : public Network {
 public:
  /// `listeners` are of this loop alone, or shared by all (Listener). A report reads up to `read_bytes` of a
  /// connection. Throws InputError if the kernel refuses an epoll.
  EpollNetwork(const std::vector<Listener>& listeners, const Stop& stop, std::size_t read_bytes);

  void wait(u32 most_ms) override;
  void report(Observer& observer) override;
  Sent send(Place place, std::string& bytes) override;
  void want_input(Place place, bool wanted) override;
  void close(Place place) override;
  void stop_accepting() override;

 private:
  static constexpr std::size_t kMostEvents = 512;  // that a wait takes from the kernel

  struct Connection {
    File file;
    u32 interest = 0;   ///< the events that the kernel watches
    std::string bytes;  ///< that are being sent
    std::size_t sent = 0;
  };

  void accept_from(const Listener& listener, Observer& observer);
  void read_from(Place place, u32 events, Observer& observer);
  /// Goes on with a send. Returns false if the connection is broken.
  bool send_rest(Place place, Observer& observer);
  /// Sends what the socket takes at once.
  static Sent send_to(const File& socket, std::string_view bytes);
  void watch(Connection& connection, u32 interest);

  const std::vector<Listener> listeners_;
  const Stop& stop_;
  File epoll_;
  bool accepts_ = true;
  std::array<epoll_event, kMostEvents> events_;  // the first count_ are not reported yet
  std::size_t count_ = 0;
  std::vector<Connection> connections_;  // by the number of the file
  std::vector<char> buffer_;
};

}  // namespace latchlab::kv
