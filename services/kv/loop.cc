#include "services/kv/loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "services/kv/clock.h"
#include "src/base/error.h"

namespace latchlab::kv {

namespace {

constexpr int kMostEvents = 512;                   // that a turn takes from the kernel
constexpr int kMostAccepted = 64;                  // connections that a turn accepts from one listener
constexpr std::size_t kSweptItems = 64;            // that the store looks at for dead ones at a time
constexpr u32 kLeastSweeps = 8, kMostSweeps = 64;  // such looks a second
constexpr std::size_t kManyDead = 4;               // that a look finds: then more are worth it
constexpr std::string_view kTooMany = "ERROR Too many open connections\r\n";

File opened(int number, const char* what) {
  if (number < 0) throw InputError(std::string("serve: the kernel refuses ") + what + ": " + std::strerror(errno));
  return File(number);
}

void add(const File& epoll, int file, u32 events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = file;
  if (epoll_ctl(epoll.number(), EPOLL_CTL_ADD, file, &event) != 0)
    throw InputError(std::string("serve: the kernel watches no more files: ") + std::strerror(errno));
}

}  // namespace

Stop::Stop() : wake_(opened(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an eventfd")) {}

void Stop::ask() const {
  asked_.store(true, kRelaxed);
  const u64 one = 1;
  [[maybe_unused]] const auto written = write(wake_.number(), &one, sizeof one);
}

Loop::Loop(Server& server, const std::vector<Listener>& listeners, const Stop& stop)
    : server_(server),
      session_(server.store().join()),
      counts_(server.add_counts()),
      turn_(server, *session_, counts_),
      now_(present()),
      listeners_(listeners),
      stop_(stop),
      epoll_(opened(epoll_create1(EPOLL_CLOEXEC), "an epoll")),
      buffer_(server.options().limits.read_bytes) {
  add(epoll_, stop_.file(), EPOLLIN);
  for (const Listener& listener : listeners_)
    add(epoll_, listener.file, EPOLLIN | (listener.shared ? u32{EPOLLEXCLUSIVE} : 0));
}

Loop::~Loop() = default;

void Loop::run() {
  for (;;) {
    wait();
    answer_ready();
    if (now_.second != swept_) every_second();
    if (!draining_ && stop_.asked()) {
      draining_ = true;
      drain_until_ = now_.second + server_.options().limits.drain_seconds;
      for (const Listener& listener : listeners_) epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, listener.file, nullptr);
      for (const auto& connection : connections_) {
        if (connection == nullptr) continue;
        connection->dialogue.end_input();
        make_ready(*connection);
      }
      answer_ready();
    }
    if (draining_ && (open_ == 0 || now_.second > drain_until_)) return;
  }
}

void Loop::wait() {
  std::array<epoll_event, kMostEvents> events;
  const bool busy = !ready_.empty();
  if (!busy) session_->idle();
  const int count = epoll_wait(epoll_.number(), events.data(), kMostEvents, busy ? 0 : 1000);
  now_ = present();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
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
      if (!draining_) accept_from(listener);
    }
    if (listens) continue;
    Connection* const connection = connections_[static_cast<std::size_t>(file)].get();
    if (connection == nullptr) continue;
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(*connection);
    // The other side takes no answers any more. The kernel would say so again and again.
    if ((event.events & EPOLLERR) != 0 || ((event.events & EPOLLHUP) != 0 && !connection->dialogue.wants_input()))
      connection->dialogue.abandon();
    make_ready(*connection);
  }
}

void Loop::accept_from(const Listener& listener) {
  for (int i = 0; i < kMostAccepted; ++i) {
    File file(accept4(listener.file, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!file) return;
    counts_.add<&KvCounters::total_connections>();
    if (!server_.admit_connection()) {
      counts_.add<&KvCounters::rejected_connections>();
      counts_.add<&KvCounters::closed_connections>();
      [[maybe_unused]] const auto sent = send(file.number(), kTooMany.data(), kTooMany.size(), MSG_NOSIGNAL);
      continue;
    }
    if (!listener.is_unix) {
      const int on = 1;
      setsockopt(file.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const auto at = static_cast<std::size_t>(file.number());
    if (connections_.size() <= at) connections_.resize(at + 1);
    const bool admitted = !server_.options().secrets.has_value();
    connections_[at] =
        std::make_unique<Connection>(std::move(file), server_.next_id(), server_.options().limits, admitted, now_);
    ++open_;
    connections_[at]->interest = EPOLLIN;
    add(epoll_, static_cast<int>(at), EPOLLIN);
  }
}

void Loop::read_from(Connection& connection) {
  if (!connection.dialogue.wants_input()) return;
  const ssize_t got = recv(connection.file.number(), buffer_.data(), buffer_.size(), 0);
  if (got > 0) {
    connection.active = now_.second;
    counts_.add<&KvCounters::bytes_read>(static_cast<u64>(got));
    connection.dialogue.receive({buffer_.data(), static_cast<std::size_t>(got)});
  } else if (got == 0) {
    connection.dialogue.end_input();
  } else if (errno != EAGAIN && errno != EINTR) {
    connection.dialogue.abandon();
  }
}

void Loop::make_ready(Connection& connection) {
  if (std::exchange(connection.ready, true)) return;
  ready_.push_back(&connection);
}

void Loop::answer_ready() {
  if (ready_.empty()) return;
  dialogues_.clear();
  for (Connection* const connection : ready_) dialogues_.push_back(&connection->dialogue);
  turn_.answer(dialogues_, now_);
  counts_.add<&KvCounters::turns>();
  const std::vector<Connection*> answered = std::exchange(ready_, {});
  for (Connection* const connection : answered) {
    connection->ready = false;
    send_to(*connection);
  }
}

void Loop::send_to(Connection& connection) {
  Dialogue& dialogue = connection.dialogue;
  while (!dialogue.unsent().empty()) {
    const std::string_view bytes = dialogue.unsent();
    const ssize_t sent = send(connection.file.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) dialogue.abandon();
      break;
    }
    connection.active = now_.second;
    counts_.add<&KvCounters::bytes_written>(static_cast<u64>(sent));
    dialogue.sent(static_cast<std::size_t>(sent));
    if (static_cast<std::size_t>(sent) < bytes.size()) break;
  }
  if (dialogue.over()) return close(connection);
  if (dialogue.waits && !dialogue.full()) make_ready(connection);
  watch(connection);
}

void Loop::watch(Connection& connection) {
  const u32 wanted = (connection.dialogue.wants_input() ? u32{EPOLLIN} : 0) |
                     (connection.dialogue.unsent().empty() ? 0 : u32{EPOLLOUT});
  if (wanted == connection.interest) return;
  connection.interest = wanted;
  epoll_event event{};
  event.events = wanted;
  event.data.fd = connection.file.number();
  epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, connection.file.number(), &event);
}

void Loop::close(Connection& connection) {
  counts_.add<&KvCounters::closed_connections>();
  server_.end_connection();
  --open_;
  connections_[static_cast<std::size_t>(connection.file.number())].reset();
}

void Loop::every_second() {
  swept_ = now_.second;
  for (u32 i = 0; i < kMostSweeps; ++i) {
    if (session_->sweep(kSweptItems, now_) < kManyDead && i >= kLeastSweeps) break;
  }
  const Limits& limits = server_.options().limits;
  for (const auto& connection : connections_) {
    if (connection == nullptr || connection->ready) continue;
    const u32 silent = now_.second - connection->active;
    const bool stalled = !connection->dialogue.unsent().empty() && silent > limits.stall_seconds;
    const bool idle = limits.idle_seconds != 0 && silent > limits.idle_seconds;
    if (!stalled && !idle) continue;
    counts_.add<&KvCounters::idle_kicks>();
    close(*connection);
  }
}

}  // namespace latchlab::kv
