// Tests of what the clock hand of a store with a limit takes for a use of an item: commands of clients, and no others.
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::Conversation;
using testing::Played;

ServerOptions limited() {
  ServerOptions options;
  options.store.limit = 16 << 20;
  return options;
}

/// A server at its limit. Items that nobody uses come and go in it.
class Full {
 public:
  Full() : served_(limited()), memcached_(served_), redis_(served_) {
    // The first byte of a connection says which protocol it speaks.
    REQUIRE(redis_.say("PING\r\n") == "+PONG\r\n");
  }

  /// Says a command of either protocol, and returns the answer.
  std::string say(const std::string& command) {
    const bool is_redis = command.front() >= 'A' && command.front() <= 'Z';
    return (is_redis ? redis_ : memcached_).say(command + "\r\n");
  }
  /// Returns whether an item stays while the hand goes round several times, if `command` is said of its key k now and
  /// then.
  bool keeps(const std::string& command) {
    REQUIRE(say("set k 0 0 1\r\n1") == "STORED\r\n");
    const u64 begun = served_.store().counters().evictions;
    // A round evicts at most the 4096 others that have room.
    while (served_.store().counters().evictions < begun + 3 * 4096) {
      for (int i = 0; i < 200; ++i) fill();
      if (says_absent(say(command))) return false;
      served_.pass(1000);
    }
    return true;
  }

 private:
  void fill() {
    const std::string text = std::to_string(next_++);
    (void)served_.session().put(served_.store().key(text), served_.now(), {}, value_);
  }

  static bool says_absent(std::string_view answer) {
    for (const std::string_view text : {"NOT_FOUND", "NOT_STORED", "NF", "VA 0"}) {
      if (answer.find(text) != answer.npos) return true;
    }
    return answer == "END\r\n" || answer == "EN\r\n" || answer == ":0\r\n";
  }

  Played served_;
  Conversation memcached_, redis_;
  const std::string value_ = std::string(4096, 'v');
  u64 next_ = 0;
};

TEST_CASE("An item that a client gets, touches or counts with stays while others are evicted") {
  Full full;
  for (const std::string command :
       {"get k", "gat 0 k", "gats 1000000 k", "touch k 1000000", "incr k 1", "decr k 1", "mg k v", "mg k T1000000",
        "mg k N0 v", "ma k", "mg k v\r\nmd k I", "EXPIRE k 1000000", "APPEND k \"\""}) {
    INFO(command);
    CHECK(full.keeps(command));
  }
}

TEST_CASE("An item that is only stored anew, or made stale, is evicted when the hand comes by") {
  Full full;
  for (const std::string command :
       {"append k 0 0 0\r\n", "prepend k 0 0 0\r\n", "replace k 0 0 1\r\n1", "md k I", "mg k T1000000 u"}) {
    INFO(command);
    CHECK_FALSE(full.keeps(command));
  }
}

}  // namespace
}  // namespace latchlab::kv
