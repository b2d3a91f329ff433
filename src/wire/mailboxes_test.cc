// Tests of mailboxes: rings that go round, positions that lie, boxes that change hands, and clients that die. The whole
// way from client to server is tested beside the server (services/kv).
#include "src/wire/mailboxes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/wire/stream.h"

namespace latchlab::mailboxes {
namespace {

std::string path_of_test() { return "/dev/shm/latchlab_mailboxes_test_" + std::to_string(getpid()); }

/// A file of mailboxes of one loop.
class Made {
 public:
  Made() : path_(path_of_test()), mapping_(Mapping::made_at(path_, 1)) {}
  ~Made() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  Address address() const { return Address::parse("test", "shm:" + path_); }
  Layout& layout() { return mapping_.layout(); }
  State state() { return Box::state_of(layout().box(0).state.load(kAcquire)); }

 private:
  std::string path_;
  Mapping mapping_;
};

/// Returns text in which every position is told apart from its neighbours.
std::string text_of(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 131 >> 3);
  return text;
}

TEST_CASE("mailboxes: a ring keeps all bytes in order as it goes round") {
  const auto ring = std::make_unique<Ring>();
  Writer writer(*ring);
  Reader reader(*ring);
  Rng rng(test_seed());
  const std::string text = text_of(5 * kRingBytes);
  std::string got;
  for (std::size_t said = 0; got.size() < text.size();) {
    const std::size_t most = 1 + rng.below(kRingBytes);
    const auto written = writer.write(std::string_view(text).substr(said, most));
    REQUIRE(written);
    said += *written;
    const auto there = reader.look();
    REQUIRE(there);
    const std::size_t taken = there->empty() ? 0 : 1 + rng.below(there->size());
    got += there->substr(0, taken);
    reader.drop(taken);
    REQUIRE(said - got.size() <= kRingBytes);
  }
  CHECK(got == text);
}

TEST_CASE("mailboxes: a full ring takes nothing, and says so") {
  const auto ring = std::make_unique<Ring>();
  Writer writer(*ring);
  Reader reader(*ring);
  CHECK(writer.write(text_of(kRingBytes + 7)) == kRingBytes);
  CHECK_FALSE(writer.has_room());
  CHECK(writer.write("x") == 0u);
  reader.drop(3);
  CHECK(writer.has_room());
  CHECK(writer.write("wxyz") == 3u);
}

TEST_CASE("mailboxes: a position that cannot be is found") {
  const auto ring = std::make_unique<Ring>();
  Writer writer(*ring);
  Reader reader(*ring);
  REQUIRE(writer.write("abc"));
  ring->read.store(4, kRelaxed);  // more than was written
  CHECK_FALSE(writer.write("d"));
  ring->written.store(kRingBytes + 1, kRelaxed);  // more than the ring holds
  CHECK_FALSE(reader.look());
}

TEST_CASE("mailboxes: a file is taken over only from a server that has ended") {
  const std::string path = path_of_test();
  for (const bool killed : {false, true}) {
    INFO((killed ? "a process that ended" : "a mapping that ended, of a process that lives"));
    if (killed) {
      const pid_t child = fork();
      if (child == 0) {
        const Mapping left = Mapping::made_at(path, 1);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    } else {
      const Mapping left = Mapping::made_at(path, 1);
      CHECK(Mapping::of(path).server_lives());
      CHECK_THROWS_AS(Mapping::made_at(path, 1), InputError);
      CHECK(Mapping::of(path).server_lives());
    }
    CHECK(access(path.c_str(), F_OK) == 0);
    CHECK_THROWS_AS(Mapping::of(path), ConnectionLost);
    {
      const Mapping next = Mapping::made_at(path, 1);
      CHECK(Mapping::of(path).server_lives());
    }
    unlink(path.c_str());
  }
}

TEST_CASE("mailboxes: a client sees that its server ends") {
  const std::string path = path_of_test();
  std::optional<Mapping> server(Mapping::made_at(path, 1));
  const Mapping client = Mapping::of(path);
  CHECK(client.server_lives());
  server.reset();
  CHECK_FALSE(client.server_lives());
  unlink(path.c_str());
}

TEST_CASE("mailboxes: what is no file of mailboxes is left alone") {
  const std::string path = path_of_test() + "_other";
  const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(write(file, "precious", 8) == 8);
  close(file);
  CHECK_THROWS_AS(Mapping::made_at(path, 1), InputError);
  CHECK_THROWS_AS(Mapping::of(path), ConnectionLost);
  CHECK(access(path.c_str(), F_OK) == 0);
  unlink(path.c_str());
  CHECK_THROWS_AS(Mapping::of(path), ConnectionLost);
}

TEST_CASE("mailboxes: a box is asked for, left and freed") {
  Made made;
  {
    const auto client = connect_mailbox(made.address());
    CHECK(made.state() == State::kAsking);
    client->send("hello");
    CHECK(Reader(made.layout().box(0).to_server).look() == "hello");
  }
  CHECK(made.state() == State::kLeft);
  made.layout().box(0).free();
  CHECK(made.state() == State::kFree);
  CHECK(made.layout().box(0).to_server.written.load(kRelaxed) == 0);
}

TEST_CASE("mailboxes: a client hears what was said before the end, and frees the box") {
  Made made;
  {
    const auto client = connect_mailbox(made.address());
    Box& box = made.layout().box(0);
    REQUIRE(Writer(box.to_client).write("bye"));
    box.state.store(Box::pack(State::kEnded, static_cast<u32>(getpid())), kRelease);
    std::array<char, 8> room{};
    CHECK(client->receive(room) == 3u);
    CHECK_THROWS_AS(client->receive(room), ConnectionLost);
  }
  CHECK(made.state() == State::kFree);
}

TEST_CASE("mailboxes: when all boxes are taken, the next client is told so") {
  Made made;
  std::vector<std::unique_ptr<ByteStream>> clients;
  for (u32 i = 0; i < kBoxes; ++i) clients.push_back(connect_mailbox(made.address()));
  CHECK_THROWS_AS(connect_mailbox(made.address()), ConnectionLost);
}

TEST_CASE("mailboxes: who sleeps is woken, whenever the bell rings") {
  Made made;
  Bell& bell = made.layout().bells[0];
  constexpr u32 kRounds = 2000;
  std::atomic<u32> said{0}, heard{0};
  std::thread sleeper([&] {
    for (u32 round = 1; round <= kRounds; ++round) {
      while (said.load(kAcquire) < round) bell.sleep(60'000, [&] { return said.load(kAcquire) >= round; });
      heard.store(round, kRelease);
    }
  });
  for (u32 round = 1; round <= kRounds; ++round) {
    said.store(round, kRelease);
    bell.ring();
    while (heard.load(kAcquire) < round) std::this_thread::yield();
  }
  sleeper.join();
  CHECK(heard.load(kRelaxed) == kRounds);
}

TEST_CASE("mailboxes: a ring carries more than it holds from thread to thread") {
  Made made;
  const auto client = connect_mailbox(made.address());
  const std::string text = text_of(20 * kRingBytes);
  std::thread server([&] {
    Box& box = made.layout().box(0);
    Reader reader(box.to_server);
    Writer writer(box.to_client);
    // Says everything back. The ring to the client is never full, since the client waits for each part.
    for (std::size_t moved = 0; moved < text.size();) {
      const auto there = reader.look();
      if (!there || there->empty()) {
        std::this_thread::yield();
        continue;
      }
      const auto written = writer.write(*there);
      if (!written) return;
      moved += *written;
      reader.drop(*written);
      box.client.ring();
    }
  });
  std::string got;
  for (std::size_t said = 0; said < text.size();) {
    const std::size_t count = std::min(kRingBytes / 2 + 3, text.size() - said);
    client->send(std::string_view(text).substr(said, count));
    said += count;
    std::array<char, 1000> room;
    while (got.size() < said) got.append(room.data(), client->receive(room));
  }
  server.join();
  CHECK(got == text);
}

}  // namespace
}  // namespace latchlab::mailboxes
