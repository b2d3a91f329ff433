// Tests of the loop over real sockets: what sockets add to dialogues and turns. Each test runs over every engine.
#include "services/kv/loop.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "services/kv/networks.h"
#include "services/kv/served_testing.h"
#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::Served;

/// Returns the engines that this build and this kernel have.
std::vector<Events> engines() {
  std::vector<Events> found{Events::kEpoll};
  try {
    check_events(Events::kUring);
    found.push_back(Events::kUring);
  } catch (const InputError& refusal) {
    WARN(refusal.what());
  }
  return found;
}

/// A client that blocks.
class Client {
 public:
  explicit Client(const Served& served) : file_(connect_to(served.path())) {
    // So that a test in which an answer is lost fails, and does not hang.
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(file_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(file_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      REQUIRE(sent > 0);
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Sends as much of the text as the kernel takes now. Returns the bytes.
  std::size_t send_now(std::string_view text) const {
    const ssize_t sent = ::send(file_.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  /// Returns what comes until `end`, or until the server closes.
  std::string receive(std::string_view end) const {
    std::string text;
    while (!text.ends_with(end)) {
      char buffer[4096];
      const ssize_t got = recv(file_.number(), buffer, sizeof buffer, 0);
      if (got < 0 && errno == EINTR) continue;  // by the kernel's work for an io_uring of this thread
      if (got <= 0) return text + "(closed)";
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string ask(std::string_view text, std::string_view end) const {
    send(text);
    return receive(end);
  }
  /// Says that nothing more comes.
  void end() const { shutdown(file_.number(), SHUT_WR); }

 private:
  static File connect_to(std::string_view path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(file.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
    return file;
  }

  const File file_;
};

}  // namespace

TEST_CASE("A loop answers clients of both protocols on one listener") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  const Served served(events);
  const Client memcached(served), redis(served);
  CHECK(memcached.ask("set a 7 0 2\r\nhi\r\n", "\r\n") == "STORED\r\n");
  CHECK(redis.ask("*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "hi\r\n") == "$2\r\nhi\r\n");
  CHECK(redis.ask("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$2\r\nho\r\n", "\r\n") == "+OK\r\n");
  CHECK(memcached.ask("get a b c\r\n", "END\r\n") == "VALUE a 7 2\r\nhi\r\nVALUE b 0 2\r\nho\r\nEND\r\n");
}

TEST_CASE("A client that sends one byte at a time gets its answer") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  const Served served(events);
  const Client client(served);
  for (const char byte : std::string_view("set a 0 0 2\r\nhi\r\nget a\r\n")) client.send({&byte, 1});
  CHECK(client.receive("END\r\n") == "STORED\r\nVALUE a 0 2\r\nhi\r\nEND\r\n");
}

TEST_CASE("A client that has ended its side still gets all answers, and then the end") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  const Served served(events);
  const Client client(served);
  client.send("set a 0 0 2\r\nhi\r\nget a\r\nget");
  client.end();
  CHECK(client.receive("nothing") == "STORED\r\nVALUE a 0 2\r\nhi\r\nEND\r\n(closed)");
}

TEST_CASE("A client that does not read is not read either, and stalls no other client") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Limits limits;
  limits.most_output_bytes = 64 << 10;
  const Served served(events, limits);
  const Client greedy(served), other(served);
  const std::string value(1000, 'x');
  CHECK(greedy.ask("set a 0 0 1000\r\n" + value + "\r\n", "\r\n") == "STORED\r\n");
  std::string keys = "get";
  for (u32 i = 0; i < 1000; ++i) keys += " a";
  keys += "\r\n";
  // These ask for 20 MB. The kernel's buffers take some of it.
  constexpr u32 kRequests = 20;
  for (u32 i = 0; i < kRequests; ++i) greedy.send(keys);
  u64 written = 0;
  for (u32 i = 0; i < 100; ++i) {
    CHECK(other.ask("get a\r\n", "END\r\n").size() > value.size());
    written = served.counters().bytes_written;
  }
  CHECK(written < kRequests * 1000 * 1000);
  // Once it reads, all answers come, each whole.
  greedy.send("mn\r\n");
  const std::string answers = greedy.receive("MN\r\n");
  CHECK(answers.size() == kRequests * (1000 * (value.size() + 2 + 16) + 5) + 4);
}

TEST_CASE("A client that sends for ever and does not read is stopped") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Limits limits;
  limits.most_output_bytes = 64 << 10;
  const Served served(events, limits);
  const Client greedy(served), other(served);
  const std::string value(1000, 'x');
  CHECK(greedy.ask("set a 0 0 1000\r\n" + value + "\r\n", "\r\n") == "STORED\r\n");
  std::string requests;
  for (u32 i = 0; i < 1000; ++i) requests += "get a\r\n";
  // The buffers of the kernel and of the server take some of it. They are full if they stay so for many turns.
  constexpr std::size_t kMost = 64 << 20;
  std::size_t sent = 0;
  for (u32 refused = 0; refused < 100 && sent < kMost;) {
    const std::size_t now = greedy.send_now(std::string_view(requests).substr(sent % requests.size()));
    sent += now;
    refused = now == 0 ? refused + 1 : 0;
    if (now == 0) CHECK(other.ask("mn\r\n", "\r\n") == "MN\r\n");
  }
  CHECK(sent < kMost);
}

TEST_CASE("A client that does not read for too long is closed, and its place serves others") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Limits limits;
  limits.most_output_bytes = 64 << 10;
  limits.stall_seconds = 0;
  const Served served(events, limits);
  const Client stalled(served);
  const std::string value(100'000, 'x');
  CHECK(stalled.ask("set a 0 0 100000\r\n" + value + "\r\n", "\r\n") == "STORED\r\n");
  for (u32 i = 0; i < 50; ++i) stalled.send("get a\r\n");
  while (served.counters().closed_connections == 0) std::this_thread::yield();
  CHECK(served.counters().idle_kicks == 1);
  const Client first(served), second(served);
  for (u32 i = 0; i < 3; ++i) {
    CHECK(first.ask("set b 0 0 1\r\n1\r\n", "\r\n") == "STORED\r\n");
    CHECK(second.ask("get b\r\n", "END\r\n") == "VALUE b 0 1\r\n1\r\nEND\r\n");
  }
  const std::string answers = stalled.receive("nothing");
  CHECK(answers.ends_with("x(closed)"));
  CHECK(answers.size() < 50 * value.size());
}

TEST_CASE("A loop that is stopped does not wait for a client that does not read") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Limits limits;
  limits.drain_seconds = 0;
  Served served(events, limits);
  const Client client(served);
  const std::string value(1 << 20, 'x');
  CHECK(client.ask("set a 0 0 1048576\r\n" + value + "\r\n", "\r\n") == "STORED\r\n");
  client.send("get a\r\n");
  while (served.counters().get_hits == 0) std::this_thread::yield();
  served.stop();
  CHECK(client.receive("nothing").size() < value.size());
}

TEST_CASE("Connections beyond the limit are told, and closed") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Limits limits;
  limits.most_connections = 2;
  const Served served(events, limits);
  const Client first(served);
  CHECK(first.ask("version\r\n", "\r\n").starts_with("VERSION"));
  std::optional<Client> second(std::in_place, served);
  CHECK(second->ask("version\r\n", "\r\n").starts_with("VERSION"));
  CHECK(Client(served).receive("\r\n") == "ERROR Too many open connections\r\n");
  second.reset();
  CHECK(first.ask("mn\r\n", "\r\n") == "MN\r\n");
  while (served.counters().closed_connections < 2) std::this_thread::yield();
  CHECK(Client(served).ask("version\r\n", "\r\n").starts_with("VERSION"));
}

TEST_CASE("A loop that is stopped answers what has come, and closes") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  Served served(events);
  const Client client(served);
  client.send("set a 0 0 2\r\nhi\r\nget a\r\n");
  CHECK(client.receive("END\r\n") == "STORED\r\nVALUE a 0 2\r\nhi\r\nEND\r\n");
  served.stop();
  CHECK(client.receive("nothing") == "(closed)");
}

TEST_CASE("Clients that vanish in the middle of a request leave nothing behind") {
  const Events events = GENERATE(from_range(engines()));
  CAPTURE(events);
  const Served served(events);
  for (u32 i = 0; i < 50; ++i) {
    const Client client(served);
    client.send(i % 2 == 0 ? "set a 0 0 1000\r\nabc" : "*3\r\n$3\r\nSET\r\n$1\r\n");
  }
  const Client last(served);
  while (served.counters().closed_connections < 50) CHECK(last.ask("mn\r\n", "\r\n") == "MN\r\n");
  CHECK(last.ask("get a\r\n", "END\r\n") == "END\r\n");
}

}  // namespace latchlab::kv
