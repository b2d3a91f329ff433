#include "services/kv/resp_commands.h"

#include <string>
#include <string_view>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::Conversation;
using testing::Played;

struct Line {
  std::string request, answer;
};

/// Says each request as an inline command, and compares the answer.
void check(const std::vector<Line>& lines) {
  Played served;
  Conversation client(served);
  REQUIRE(client.say("PING\r\n") == "+PONG\r\n");
  for (const auto& [request, answer] : lines) {
    INFO(request);
    CHECK(client.say(request + "\r\n") == answer + "\r\n");
  }
}

const std::string kNone = "$-1", kOk = "+OK", kSyntax = "-ERR syntax error";
const std::string kNoInteger = "-ERR value is not an integer or out of range";

}  // namespace

TEST_CASE("SET obeys its conditions") {
  check({{"SET a 1 XX", kNone},
         {"GET a", kNone},
         {"SET a 1 NX", kOk},
         {"SET a 2 NX", kNone},
         {"SET a 2 XX GET", "$1\r\n1"},
         {"SET a 3 NX GET", "$1\r\n2"},
         {"GET a", "$1\r\n2"},
         {"SET b 1 XX GET", kNone},
         {"SET a 1 NX XX", kSyntax},
         {"SET a 1 EX", kSyntax},
         {"SET a 1 EX 5 PX 5", kSyntax},
         {"SET a 1 EX 5 KEEPTTL", kSyntax},
         {"SET a 1 EX 0", "-ERR invalid expire time in 'set' command"},
         {"SET a 1 EX x", kNoInteger},
         {"SET a", "-ERR wrong number of arguments for 'set' command"}});
}

TEST_CASE("SET gives, keeps and takes away the time of a key") {
  check({{"SET a 1 EX 100", kOk},
         {"TTL a", ":100"},
         {"SET a 2 KEEPTTL", kOk},
         {"TTL a", ":100"},
         {"APPEND a 3", ":2"},
         {"TTL a", ":100"},
         {"SET a 3", kOk},
         {"TTL a", ":-1"},
         {"TTL none", ":-2"}});
}

TEST_CASE("GETEX gets a value, and gives and takes the time of its key") {
  check({{"SET a 1", kOk},
         {"GETEX a EX 100", "$1\r\n1"},
         {"TTL a", ":100"},
         {"GETEX a", "$1\r\n1"},
         {"TTL a", ":100"},
         {"GETEX a PXAT 4000000000400", "$1\r\n1"},
         {"EXPIRETIME a", ":4000000000"},
         {"PEXPIRETIME a", ":4000000000400"},
         {"GETEX a EX 0", "-ERR invalid expire time in 'getex' command"},
         {"GETEX a PERSIST", "$1\r\n1"},
         {"PEXPIRETIME a", ":-1"},
         {"GETEX a EX", kSyntax},
         {"GETEX a PERSIST EX 5", kSyntax},
         {"GETEX a EX 5 PERSIST", kSyntax},
         {"GETEX a EX 5 PX 5", kSyntax},
         {"GETEX none EX 0", kNone},
         {"GETEX a EXAT 1", "$1\r\n1"},
         {"EXISTS a", ":0"},
         {"EXPIRETIME a", ":-2"},
         {"SET a 1", kOk},
         {"PEXPIREAT a 9223372036854775807", ":1"},
         {"EXPIRETIME a", ":9223372036854776"}});
}

TEST_CASE("GETRANGE cuts a value, from either end") {
  check({{"SET a Hello", kOk},
         {"GETRANGE a 1 3", "$3\r\nell"},
         {"GETRANGE a 0 -1", "$5\r\nHello"},
         {"GETRANGE a -3 -2", "$2\r\nll"},
         {"GETRANGE a -2 -3", "$0\r\n"},
         {"GETRANGE a -9 -8", "$1\r\nH"},
         {"GETRANGE a 5 9", "$0\r\n"},
         {"GETRANGE a 0 9223372036854775807", "$5\r\nHello"},
         {"GETRANGE a -9223372036854775808 -1", "$5\r\nHello"},
         {"GETRANGE none 0 1", "$0\r\n"},
         {"GETRANGE a x 1", kNoInteger}});
}

TEST_CASE("EXPIRE obeys its conditions, and a time that is over erases") {
  check({{"EXPIRE a 10", ":0"},
         {"SET a 1", kOk},
         {"EXPIRE a 10 XX", ":0"},
         {"EXPIRE a 10 GT", ":0"},
         {"EXPIRE a 10 LT", ":1"},
         {"EXPIRE a 20 NX", ":0"},
         {"EXPIRE a 20 LT", ":0"},
         {"EXPIRE a 20 GT", ":1"},
         {"TTL a", ":20"},
         {"EXPIRE a 20 NX XX", "-ERR NX and XX, GT or LT options at the same time are not compatible"},
         {"EXPIRE a 20 FOO", "-ERR Unsupported option FOO"},
         {"PERSIST a", ":1"},
         {"PERSIST a", ":0"},
         {"EXPIRE a -1", ":1"},
         {"EXISTS a a", ":0"}});
}

TEST_CASE("Counts are integers of 64 bits") {
  check({{"INCR n", ":1"},
         {"INCRBY n 9223372036854775806", ":9223372036854775807"},
         {"INCR n", "-ERR increment or decrement would overflow"},
         {"DECRBY n -9223372036854775808", "-ERR decrement would overflow"},
         {"DECR n", ":9223372036854775806"},
         {"SET n 01", kOk},
         {"INCR n", kNoInteger},
         {"GET n", "$2\r\n01"},
         {"INCRBY n 1.5", kNoInteger}});
}

TEST_CASE("MGET answers for each key, and DEL and EXISTS count") {
  check({{"MSET a 1 b 2", kOk},
         {"MGET a x b", "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2"},
         {"EXISTS a b x a", ":3"},
         {"MSET a", "-ERR wrong number of arguments for 'mset' command"},
         {"MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"},
         {"DBSIZE", ":2"},
         {"DEL a b x", ":2"},
         {"DBSIZE", ":0"},
         {"TYPE a", "+none"},
         {"NOSUCH a", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' "}});
}

TEST_CASE("A key that is too long is refused by its own error") {
  const std::string key(kMostItemKeyBytes + 1, 'k');
  check({{"GET " + key, "-ERR a key has at most 32767 bytes"},
         {"SET " + key + " 1", "-ERR a key has at most 32767 bytes"}});
}

TEST_CASE("A command of several keys does nothing if a later one is too long") {
  Played served;
  Conversation client(served);
  REQUIRE(client.say("SET a 1\r\n") == "+OK\r\n");
  const std::string key(kMostItemKeyBytes + 1, 'k');
  for (const std::string command : {"DEL a ", "UNLINK a ", "EXISTS a ", "MGET a ", "MSET a 2 "}) {
    INFO(command);
    CHECK(client.say(command + key + (command.starts_with("MSET") ? " 3" : "") + "\r\n") ==
          "-ERR a key has at most 32767 bytes\r\n");
  }
  CHECK(served.counters().get_hits == 0);
  CHECK(served.counters().cmd_set == 1);
  CHECK(client.say("GET a\r\n") == "$1\r\n1\r\n");
}

TEST_CASE("SCAN meets every key, and refuses a cursor that it has not given") {
  Played served;
  Conversation client(served);
  constexpr int kKeys = 500;
  for (int i = 0; i < kKeys; ++i) REQUIRE(client.say("SET key" + std::to_string(i) + " 1\r\n") == "+OK\r\n");
  std::string cursor = "0", all;
  do {
    const std::string answer = client.say("SCAN " + cursor + " COUNT 20 MATCH key*\r\n");
    const std::size_t begin = answer.find("\r\n", 4) + 2;
    cursor = answer.substr(begin, answer.find("\r\n", begin) - begin);
    all += answer;
  } while (cursor != "0");
  for (int i = 0; i < kKeys; ++i) REQUIRE(all.find("key" + std::to_string(i) + "\r\n") != all.npos);
  CHECK(client.say("SCAN 7\r\n").starts_with("-ERR invalid cursor"));
  CHECK(client.say("SCAN x\r\n") == "-ERR invalid cursor\r\n");
}

TEST_CASE("HELLO chooses the protocol's version") {
  Played served;
  Conversation client(served);
  CHECK(client.say("HELLO 4\r\n") == "-NOPROTO unsupported protocol version\r\n");
  CHECK(client.say("HELLO 3\r\n").starts_with("%7\r\n"));
  CHECK(client.say("GET none\r\n") == "_\r\n");
  CHECK(client.say("HELLO 2\r\n").starts_with("*14\r\n"));
  CHECK(client.say("GET none\r\n") == "$-1\r\n");
}

}  // namespace latchlab::kv
