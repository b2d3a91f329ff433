// Tests of the remote index (indexes/remote) beside our own server: each protocol over each transport, alone and over
// partitions.
#include "indexes/remote/remote.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "indexes/erased_testing.h"
#include "services/kv/remote_testing.h"
#include "services/kv/served_testing.h"
#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/wire/stream.h"

namespace latchlab::kv {
namespace {

using latchlab::testing::number_key;
using latchlab::testing::StringSession;
using testing::check_each_dialect_over;
using testing::compare_with_map;
using testing::kDialects;
using testing::remote;
using testing::Served;
using testing::spec_of;

TEST_CASE("A server is an index, by each protocol over each transport") {
  check_each_dialect_over("unix");
  check_each_dialect_over("shm");
}

TEST_CASE("Several servers are one index, and each has a part of the keys") {
  ServeCommand second = Served::at_path();
  second.addresses[0] = Address::parse("--listen", second.addresses[0].text + "2");
  for (const std::string_view dialect : kDialects) {
    INFO(dialect);
    const ServeCommand first = Served::at_path();
    const Served one(first), two(second);
    const auto index = remote(spec_of(first.addresses[0].text + "+" + second.addresses[0].text, dialect));
    compare_with_map(*index, dialect != "resp");
    CHECK(one.server().store().counters().total_items > 100);
    CHECK(two.server().store().counters().total_items > 100);
  }
}

TEST_CASE("An increment is one command, and a batch of them one pipeline to each server") {
  ServeCommand second = Served::at_path();
  second.addresses[0] = Address::parse("--listen", second.addresses[0].text + "2");
  for (const std::string_view dialect : kDialects) {
    INFO(dialect);
    const ServeCommand first = Served::at_path();
    const Served one(first), two(second);
    const Spec spec = spec_of(first.addresses[0].text + "+" + second.addresses[0].text, dialect, ",value_size=32");
    Remote<U64Key> index(Spec::parse("own"), {}, spec);
    auto me = index.join();
    if (dialect == "resp") {
      CHECK_THROWS_AS(index.increment(me, 1), remote::RemoteError);
      continue;
    }
    constexpr u64 kKeys = 200;
    for (u64 key = 0; key < kKeys; key += 2) CHECK(index.insert(me, key, key << 32));
    std::vector<u64> keys(2 * kKeys);
    for (u64 i = 0; i < keys.size(); ++i) keys[i] = i % kKeys;  // each twice
    std::vector<Found> after(keys.size());
    index.increment_batch(me, keys, after, BatchOrder::kInTurn);
    for (u64 i = 0; i < keys.size(); ++i)
      CHECK(after[i] == (i % 2 == 0 ? Found((i % kKeys << 32) + 1 + i / kKeys) : std::nullopt));
    CHECK(index.increment(me, 4) == Found((u64{4} << 32) + 3));
    CHECK(index.increment(me, 5) == Found());
  }
}

TEST_CASE("A walk ends with a whole batch, too") {
  for (const std::string_view dialect : kDialects) {
    const ServeCommand command = Served::at_path();
    const Served served(command);
    const auto index = remote(spec_of(command.addresses[0].text, dialect));
    StringSession session(*index);
    for (u64 key = 0; key < kMostInAttempt; ++key) CHECK(session.insert(number_key(key), key));
    u64 seen = 0;
    session.for_each([&](std::string_view, u64) { ++seen; });
    CHECK(seen == kMostInAttempt);
  }
}

TEST_CASE("Keys and values have the sizes that were asked for") {
  const ServeCommand command = Served::at_path();
  const Served served(command);
  const auto index = remote(spec_of(command.addresses[0].text, "memcached", ",key_size=20,value_size=32"));
  StringSession session(*index);
  CHECK(session.insert(number_key(0xabc), 42));
  CHECK(session.find(number_key(0xabc)) == 42);
  const auto stream = connect_socket(command.addresses[0]);
  stream->send("get 00000000000000000abc\r\n");
  std::string heard(200, '\0');
  heard.resize(stream->receive(heard));
  CHECK(heard == "VALUE 00000000000000000abc 0 32\r\n42" + std::string(30, ' ') + "\r\nEND\r\n");
}

TEST_CASE("A server with items is refused, unless they shall go") {
  const ServeCommand command = Served::at_path();
  const Served served(command);
  const std::string& address = command.addresses[0].text;
  {
    const auto index = remote(spec_of(address, "memcached"));
    StringSession session(*index);
    CHECK(session.insert(number_key(1), 1));
  }
  for (const std::string_view dialect : kDialects) {
    CHECK_THROWS_AS(remote(spec_of(address, dialect)), InputError);
    const auto index = remote(spec_of(address, dialect, ",flush=1"));
    StringSession session(*index);
    CHECK_FALSE(session.find(number_key(1)));
    CHECK(session.insert(number_key(1), 1));
  }
}

TEST_CASE("A server that ends is told, and so is an item of another client") {
  const ServeCommand command = Served::at_path();
  Served served(command);
  const auto index = remote(spec_of(command.addresses[0].text, "memcached"));
  StringSession session(*index);
  const auto stream = connect_socket(command.addresses[0]);
  stream->send("set other 0 0 3\r\nabc\r\nset 0000000000000001 0 0 3\r\nabc\r\n");
  std::string heard(200, '\0');
  std::size_t size = 0;
  while (size < 16) size += stream->receive(std::span(heard).subspan(size));
  CHECK_THROWS_AS(session.find(number_key(1)), remote::RemoteError);
  StringSession next(*index), last(*index);
  CHECK_THROWS_AS(next.for_each([](std::string_view, u64) {}), remote::RemoteError);
  served.stop();
  CHECK_THROWS_AS(last.find(number_key(2)), ConnectionLost);
}

TEST_CASE("More clients than mailboxes are refused, and a box that is left serves the next client") {
  const ServeCommand command = Served::at_path(Events::kEpoll, {}, "shm");
  const Served served(command);
  for (u32 round = 0; round < 3; ++round) {
    const auto index = remote(spec_of(command.addresses[0].text, "memcached", ",flush=1"));
    std::vector<std::unique_ptr<StringSession>> sessions;
    try {
      while (sessions.size() <= mailboxes::kBoxes) {
        sessions.push_back(std::make_unique<StringSession>(*index));
        CHECK(sessions.back()->upsert(number_key(sessions.size()), 1));
      }
    } catch (const ConnectionLost&) {}
    CHECK(sessions.size() == mailboxes::kBoxes);
    sessions.clear();
    // The server frees them in a turn of its own.
    while (served.counters().total_connections != served.counters().closed_connections) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace latchlab::kv
