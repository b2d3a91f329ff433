#include "services/kv/metrics.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <string>
#include <string_view>

#include "services/kv/clock.h"
#include "services/kv/statistics.h"

namespace latchlab::kv {

namespace {

constexpr int kMostSeconds = 2;  // that a client may take for its request, which others wait for

}  // namespace

Metrics::Metrics(const Server& server, const Address& address)
    : server_(server), listener_(listen_at("--metrics", address, false)) {
  if (address.is_unix()) path_.emplace(address.path);
  thread_ = std::thread([this] { run(); });
}

Metrics::~Metrics() {
  stops_.store(true, kRelaxed);
  shutdown(listener_.number(), SHUT_RDWR);  // wakes the poll
  thread_.join();
}

void Metrics::run() {
  // Relaxed: nothing but the end depends on it. Should the shutdown come between the look and the poll, the poll ends
  // at once, too.
  while (!stops_.load(kRelaxed)) {
    pollfd wait{.fd = listener_.number(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 1000) <= 0) continue;
    const File client(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    try {
      if (client) answer(client);
    } catch (const std::bad_alloc&) {
      // Without memory for the text this client gets none. Another one may.
      continue;
    }
  }
}

void Metrics::answer(const File& client) const {
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(client.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(client.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::array<char, 8192> room;
  const auto patient_until = std::chrono::steady_clock::now() + std::chrono::seconds(kMostSeconds);
  std::string_view head;  // of the request
  while (head.find("\r\n\r\n") == head.npos) {
    if (head.size() == room.size() || std::chrono::steady_clock::now() > patient_until) return;
    const ssize_t got = recv(client.number(), room.data() + head.size(), room.size() - head.size(), 0);
    if (got <= 0) return;
    head = {room.data(), head.size() + static_cast<std::size_t>(got)};
  }
  const std::string_view method = head.substr(0, head.find(' '));
  const std::string_view target = head.substr(std::min(method.size() + 1, head.size()));
  const std::string_view path = target.substr(0, target.find_first_of(" ?\r"));
  const bool known = (method == "GET" || method == "HEAD") && (path == "/metrics" || path == "/");
  const std::string body = known ? prometheus_text(server_, present()) : "there is /metrics\n";
  std::string answer = known ? "HTTP/1.0 200 OK\r\n" : "HTTP/1.0 404 Not Found\r\n";
  answer += "Content-Type: text/plain; version=0.0.4\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  if (method != "HEAD") answer += body;
  for (std::string_view rest = answer; !rest.empty() && std::chrono::steady_clock::now() <= patient_until;) {
    const ssize_t sent = send(client.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace latchlab::kv
