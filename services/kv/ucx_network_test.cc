// Tests of the network over UCX beside its client (src/wire/ucx_stream.cc): large values, ends of both sides, and what
// UCX refuses; and of the remote index over UCX. A build without UCX leaves this file out (cmake/tests.cmake).
// ThreadSanitizer cannot bear UCX's hooks of memory calls (UCX_MEM_EVENTS), which run in threads that it does not know
// yet: the program crashes.
#include "services/kv/ucx_network.h"

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/kv/remote_testing.h"
#include "services/kv/served_testing.h"
#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/wire/stream.h"

namespace latchlab::kv {
namespace {

using testing::Served;

/// Lets contexts of UCX that are made meanwhile use these transports. No other thread may run.
class Transports {
 public:
  explicit Transports(const char* names) { setenv("UCX_TLS", names, 1); }
  ~Transports() { unsetenv("UCX_TLS"); }
  Transports(const Transports&) = delete;
  Transports& operator=(const Transports&) = delete;
};

ServeCommand at_ucx(const Limits& limits = {}) { return Served::at_path(Events::kEpoll, limits, "ucx"); }

std::string hear(ByteStream& stream, std::size_t bytes) {
  std::string heard(bytes, '\0');
  for (std::size_t size = 0; size < bytes;) size += stream.receive(std::span(heard).subspan(size));
  return heard;
}

/// Returns what the server says until it ends the connection.
std::string hear_all(ByteStream& stream) {
  std::string heard, piece(1000, '\0');
  try {
    for (;;) heard += piece.substr(0, stream.receive(piece));
  } catch (const ConnectionLost&) {
    return heard;
  }
}

void wait_until_alone(const Served& served) {
  while (served.counters().total_connections != served.counters().closed_connections) std::this_thread::yield();
}

TEST_CASE("UCX: a server is an index, by each protocol", "[no-tsan]") { testing::check_each_dialect_over("ucx"); }

TEST_CASE("UCX carries values of 1 MiB both ways", "[no-tsan]") {
  for (const char* const names : {"tcp", "all"}) {
    INFO(names);
    const Transports transports(names);
    const ServeCommand command = at_ucx();
    const Served served(command);
    const auto stream = connect_ucx(command.addresses[0]);
    std::string value(std::size_t{1} << 20, '\0');
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>('a' + i % 23);
    stream->send("set big 0 0 1048576\r\n" + value + "\r\n");
    CHECK(hear(*stream, 8) == "STORED\r\n");
    // The answers are more than the window, and than the server keeps, so it waits for the client.
    std::string one = "VALUE big 0 1048576\r\n" + value + "\r\nEND\r\n", all;
    std::string asks;
    for (u32 i = 0; i < 4; ++i) {
      asks += "get big\r\n";
      all += one;
    }
    stream->send(asks);
    CHECK((hear(*stream, all.size()) == all));
  }
}

TEST_CASE("UCX: a client that vanishes is noticed, and the next is served", "[no-tsan]") {
  const Transports transports("tcp");
  const ServeCommand command = at_ucx();
  const Served served(command);
  const auto stays = connect_ucx(command.addresses[0]);
  for (u32 i = 0; i < 3; ++i) {
    auto vanishes = connect_ucx(command.addresses[0]);
    vanishes->send("version\r\nset a 0 0 100000\r\nhalf of");  // the answer is not read
    vanishes.reset();
    while (served.counters().closed_connections != i + 1) std::this_thread::yield();
  }
  CHECK(served.counters().total_connections == 4);
  stays->send("get a\r\n");
  CHECK(hear(*stays, 5) == "END\r\n");
}

TEST_CASE("UCX: a server that ends is told", "[no-tsan]") {
  const Transports transports("tcp");
  const ServeCommand command = at_ucx();
  auto served = std::make_unique<Served>(command);
  const auto stream = connect_ucx(command.addresses[0]);
  stream->send("get a\r\n");
  CHECK(hear(*stream, 5) == "END\r\n");
  served.reset();
  CHECK(hear_all(*stream) == "");
  CHECK_THROWS_AS(stream->send(std::string(std::size_t{1} << 20, 'a')), ConnectionLost);
  CHECK_THROWS_AS(connect_ucx(command.addresses[0]), ConnectionLost);
}

TEST_CASE("UCX: the last answers arrive, and so does a refusal", "[no-tsan]") {
  const Transports transports("tcp");
  const ServeCommand command = at_ucx({.most_connections = 1});
  const Served served(command);
  for (u32 i = 0; i < 3; ++i) {
    const auto stream = connect_ucx(command.addresses[0]);
    CHECK(hear_all(*connect_ucx(command.addresses[0])) == "ERROR Too many open connections\r\n");
    stream->send("get a\r\nget b\r\nquit\r\nget c\r\n");
    CHECK(hear_all(*stream) == "END\r\nEND\r\n");
    wait_until_alone(served);
  }
}

TEST_CASE("UCX: an address that is taken, and transports that do not connect, are refused", "[no-tsan]") {
  const ServeCommand command = at_ucx();
  const Served served(command);
  CHECK_THROWS_AS(listen_ucx(command.addresses[0]), InputError);
  const Transports transports("nosuch");
  CHECK_THROWS_AS(connect_ucx(command.addresses[0]), ConnectionLost);
}

}  // namespace
}  // namespace latchlab::kv
