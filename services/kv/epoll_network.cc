#include "services/kv/epoll_network.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "src/base/error.h"

namespace latchlab::kv {

namespace {

constexpr int kMostAccepted = 64;  // connections that a report accepts from one listener

void add(const File& epoll, int file, u32 events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = file;
  if (epoll_ctl(epoll.number(), EPOLL_CTL_ADD, file, &event) != 0)
    throw InputError(std::string("the kernel watches no more files: ") + std::strerror(errno));
}

}  // namespace

EpollNetwork::EpollNetwork(const std::vector<Listener>& listeners, const Stop& stop, std::size_t read_bytes)
    : listeners_(listeners),
      stop_(stop),
      epoll_(opened(epoll_create1(EPOLL_CLOEXEC), "an epoll")),
      buffer_(read_bytes) {
  add(epoll_, stop_.file(), EPOLLIN);
  for (const Listener& listener : listeners_)
    add(epoll_, listener.file, EPOLLIN | (listener.shared ? u32{EPOLLEXCLUSIVE} : 0));
}

void EpollNetwork::wait(u32 most_ms) {
  const int count = epoll_wait(epoll_.number(), events_.data(), kMostEvents, static_cast<int>(most_ms));
  count_ = count < 0 ? 0 : static_cast<std::size_t>(count);  // a signal
}

void EpollNetwork::report(Observer& observer) {
  for (const epoll_event& event : std::span(events_.data(), std::exchange(count_, 0))) {
    const int file = event.data.fd;
    if (file == stop_.file()) {
      u64 ignored = 0;
      [[maybe_unused]] const auto got = read(file, &ignored, sizeof ignored);
      continue;
    }
    bool listens = false;
    for (const Listener& listener : listeners_) {
      if (listener.file != file) continue;
      listens = true;
      if (accepts_) accept_from(listener, observer);
    }
    if (listens) continue;
    const auto place = static_cast<Place>(file);
    if ((event.events & EPOLLOUT) != 0 && !send_rest(place, observer)) continue;
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(place, event.events, observer);
  }
}

void EpollNetwork::accept_from(const Listener& listener, Observer& observer) {
  for (int i = 0; i < kMostAccepted; ++i) {
    File file = accept_at(listener);
    if (!file) return;
    const auto place = static_cast<Place>(file.number());
    const std::string_view refusal = observer.accepted(place);
    if (!refusal.empty()) {
      [[maybe_unused]] const Sent said = send_to(file, refusal);
      continue;
    }
    if (connections_.size() <= place) connections_.resize(place + 1);
    connections_[place] = {.file = std::move(file), .interest = EPOLLIN, .bytes = {}};
    add(epoll_, static_cast<int>(place), EPOLLIN);
  }
}

void EpollNetwork::read_from(Place place, u32 events, Observer& observer) {
  const Connection& connection = connections_[place];
  const bool reads = (connection.interest & EPOLLIN) != 0;
  bool ended = false;
  if (reads) {
    const ssize_t got = recv(connection.file.number(), buffer_.data(), buffer_.size(), 0);
    if (got > 0) observer.received(place, {buffer_.data(), static_cast<std::size_t>(got)});
    if (got < 0 && errno != EAGAIN && errno != EINTR) return observer.failed(place);
    ended = got == 0;
    if (ended) observer.ended(place);
  }
  // The other side takes no answers any more. The kernel would say so again and again.
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && (!reads || ended))) observer.failed(place);
}

Network::Sent EpollNetwork::send_to(const File& socket, std::string_view bytes) {
  for (;;) {
    const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
    if (errno == EAGAIN) return {};
    if (errno != EINTR) return {.failed = true};
  }
}

Network::Sent EpollNetwork::send(Place place, std::string& bytes) {
  Connection& connection = connections_[place];
  const Sent sent = send_to(connection.file, bytes);
  if (sent.failed || sent.bytes == bytes.size()) return sent;
  connection.bytes = std::exchange(bytes, {});
  connection.sent = sent.bytes;
  watch(connection, connection.interest | EPOLLOUT);
  return sent;
}

bool EpollNetwork::send_rest(Place place, Observer& observer) {
  Connection& connection = connections_[place];
  const Sent sent = send_to(connection.file, std::string_view(connection.bytes).substr(connection.sent));
  if (sent.failed) {
    observer.failed(place);
    return false;
  }
  connection.sent += sent.bytes;
  if (connection.sent < connection.bytes.size()) {
    observer.sent(place, sent.bytes, connection.bytes);
  } else {
    watch(connection, connection.interest & ~u32{EPOLLOUT});
    std::string buffer = std::exchange(connection.bytes, {});
    observer.sent(place, sent.bytes, buffer);
  }
  return true;
}

void EpollNetwork::want_input(Place place, bool wanted) {
  Connection& connection = connections_[place];
  watch(connection, wanted ? connection.interest | EPOLLIN : connection.interest & ~u32{EPOLLIN});
}

void EpollNetwork::watch(Connection& connection, u32 interest) {
  if (interest == connection.interest) return;
  connection.interest = interest;
  epoll_event event{};
  event.events = interest;
  event.data.fd = connection.file.number();
  epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, connection.file.number(), &event);
}

void EpollNetwork::close(Place place) {
  // Moved out, since an assignment to a string may keep the memory that it has.
  [[maybe_unused]] const Connection closed = std::exchange(connections_[place], {});
}

void EpollNetwork::stop_accepting() {
  accepts_ = false;
  for (const Listener& listener : listeners_) epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, listener.file, nullptr);
}

}  // namespace latchlab::kv
