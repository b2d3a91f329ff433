#include "services/kv/memcached_commands.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/memcached_exchanges_testing.h"
#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::check;
using testing::Conversation;
using testing::kSecond;
using testing::kStartSeconds;
using testing::Played;
using namespace std::string_literals;

constexpr i64 kThirtyDays = i64{60} * 60 * 24 * 30;

TEST_CASE("get and gets answer the items that are there, in the order of the keys") {
  check({
      {"get a", "END"},
      {"set a 7 0 3\r\nabc", "STORED"},
      {"set b 4294967295 0 0\r\n", "STORED"},
      {"get a", "VALUE a 7 3\r\nabc\r\nEND"},
      {"get b x a a", "VALUE b 4294967295 0\r\n\r\nVALUE a 7 3\r\nabc\r\nVALUE a 7 3\r\nabc\r\nEND"},
      {"gets b a", "VALUE b 4294967295 0 2\r\n\r\nVALUE a 7 3 1\r\nabc\r\nEND"},
      {"get", "ERROR"},
      {"gets", "ERROR"},
      {"get " + std::string(251, 'k'), "CLIENT_ERROR bad command line format"},
      {"set " + std::string(250, 'k') + " 0 0 1\r\nx", "STORED"},
      {"get " + std::string(250, 'k'), "VALUE " + std::string(250, 'k') + " 0 1\r\nx\r\nEND"},
  });
}

TEST_CASE("set, add and replace store on their conditions") {
  check({
      {"replace a 0 0 1\r\n1", "NOT_STORED"},
      {"add a 0 0 1\r\n2", "STORED"},
      {"add a 0 0 1\r\n3", "NOT_STORED"},
      {"get a", "VALUE a 0 1\r\n2\r\nEND"},
      {"replace a 5 0 1\r\n4", "STORED"},
      {"get a", "VALUE a 5 1\r\n4\r\nEND"},
      {"set a 0 0 4\r\n\r\n\r\n", "STORED"},
      {"get a", "VALUE a 0 4\r\n\r\n\r\n\r\nEND"},
      {"set a 0 0", "ERROR"},
      {"set a x 0 1", "CLIENT_ERROR bad command line format"},
      {"set a 0 0 -1", "CLIENT_ERROR bad command line format"},
      {"set a 0 0 1\r\n12", "CLIENT_ERROR bad data chunk\r\nERROR"},  // the line end of 12 is a line of its own
  });
}

TEST_CASE("append and prepend keep the flags and the time of the item") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"append a 0 0 1\r\nx", "NOT_STORED"},
                    {"prepend a 0 0 1\r\nx", "NOT_STORED"},
                    {"set a 9 100 2\r\nmm", "STORED"},
                    {"append a 1 0 2\r\nzz", "STORED"},
                    {"prepend a 2 0 2\r\naa", "STORED"},
                    {"get a", "VALUE a 9 6\r\naammzz\r\nEND"},
                    {"append a 1 0 0\r\n", "STORED"},
                    {"mg a v t", "VA 6 t100\r\naammzz"},
                });
  served.pass(100 * kSecond);
  check(client, {{"append a 0 0 1\r\nx", "NOT_STORED"}, {"get a", "END"}});
}

TEST_CASE("append beyond the largest value stores nothing") {
  ServerOptions options;
  options.limits.most_value_bytes = 10;
  Played served(options);
  Conversation client(served);
  check(client, {
                    {"set a 0 0 6\r\nabcdef", "STORED"},
                    {"append a 0 0 5\r\n12345", "NOT_STORED"},
                    {"get a", "VALUE a 0 6\r\nabcdef\r\nEND"},
                    {"append a 0 0 4\r\n1234", "STORED"},
                    {"get a", "VALUE a 0 10\r\nabcdef1234\r\nEND"},
                });
}

TEST_CASE("cas stores if the item has the number, and says what it has found else") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"cas a 0 0 1 1\r\nx", "NOT_FOUND"},
                    {"set a 0 0 1\r\n1", "STORED"},
                    {"gets a", "VALUE a 0 1 1\r\n1\r\nEND"},
                    {"cas a 3 0 1 1\r\n2", "STORED"},
                    {"cas a 0 0 1 1\r\n3", "EXISTS"},
                    {"gets a", "VALUE a 3 1 2\r\n2\r\nEND"},
                    {"touch a 0", "TOUCHED"},  // the number stays
                    {"cas a 0 0 1 2\r\n4", "STORED"},
                    {"cas a 0 0 1 x\r\n", "CLIENT_ERROR bad command line format\r\nERROR"},
                    {"cas a 0 0 1", "ERROR"},
                });
  const KvCounters counters = served.counters();
  CHECK(counters.cas_hits == 2);
  CHECK(counters.cas_badval == 1);
  CHECK(counters.cas_misses == 1);
}

TEST_CASE("delete removes an item") {
  check({
      {"delete a", "NOT_FOUND"},
      {"set a 0 0 1\r\n1", "STORED"},
      {"delete a", "DELETED"},
      {"get a", "END"},
      {"delete a 0", "NOT_FOUND"},
      {"delete a 5", "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"},
      {"delete", "ERROR"},
      {"set a 0 0 1\r\n1", "STORED"},
      {"delete a 0 noreply", ""},
      {"get a", "END"},
  });
}

TEST_CASE("incr and decr count in 64 bits, wrap upwards and stop at 0") {
  check({
      {"incr a 1", "NOT_FOUND"},
      {"decr a 1", "NOT_FOUND"},
      {"set a 6 0 2\r\n10", "STORED"},
      {"incr a 5", "15"},
      {"decr a 6", "9"},
      {"get a", "VALUE a 6 2\r\n9 \r\nEND"},  // a value does not become shorter
      {"incr a 1", "10"},
      {"decr a 100", "0"},
      {"get a", "VALUE a 6 2\r\n0 \r\nEND"},
      {"incr a 100", "100"},
      {"get a", "VALUE a 6 3\r\n100\r\nEND"},
      {"set a 0 0 20\r\n18446744073709551615", "STORED"},
      {"incr a 2", "1"},
      {"get a", "VALUE a 0 20\r\n1                   \r\nEND"},
      {"set a 0 0 21\r\n118446744073709551615", "STORED"},
      {"incr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value"},
      {"set a 0 0 2\r\nx1", "STORED"},
      {"decr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value"},
      {"set a 0 0 0\r\n", "STORED"},
      {"incr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value"},
      {"set a 0 0 2\r\n-1", "STORED"},
      {"incr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value"},
      {"incr a", "ERROR"},
      {"incr a x", "CLIENT_ERROR invalid numeric delta argument"},
      {"incr a -1", "CLIENT_ERROR invalid numeric delta argument"},
      {"incr a 18446744073709551616", "CLIENT_ERROR invalid numeric delta argument"},
  });
}

TEST_CASE("A command with noreply is done without an answer, right or wrong") {
  check({
      {"set a 0 0 1 noreply\r\n1", ""},
      {"get a", "VALUE a 0 1\r\n1\r\nEND"},
      {"add a 0 0 1 noreply\r\n2", ""},
      {"replace a 0 0 1 noreply\r\n3", ""},
      {"append a 0 0 1 noreply\r\n4", ""},
      {"prepend a 0 0 1 noreply\r\n5", ""},
      {"cas a 0 0 1 99 noreply\r\n6", ""},
      {"get a", "VALUE a 0 3\r\n534\r\nEND"},
      {"incr a 1 noreply", ""},
      {"decr a 2 noreply", ""},
      {"touch a 0 noreply", ""},
      {"incr a x noreply", ""},
      {"get a", "VALUE a 0 3\r\n533\r\nEND"},
      {"delete a noreply", ""},
      {"get a", "END"},
      {"verbosity 1 noreply", ""},
      {"set a 0 0 1\r\n1", "STORED"},
      {"flush_all noreply", ""},
      {"get a", "END"},
      {"set a 0 0 2000000 noreply\r\n" + std::string(2'000'000, 'x'), ""},
      {"get a", "END"},
  });
}

TEST_CASE("An item lives as long as its time says") {
  struct Case {
    i64 exptime;
    i64 lives;  ///< seconds from now; -1: for ever
  };
  for (const auto& [exptime, lives] : std::vector<Case>{
           {0, -1},
           {1, 1},
           {100, 100},
           {kThirtyDays, kThirtyDays},
           {kThirtyDays + 1, 0},  // a time of 1970
           {kStartSeconds, 0},
           {kStartSeconds + 5, 5},
           {kStartSeconds + 2 * kThirtyDays, 2 * kThirtyDays},
           {-1, 0},
           {-100, 0},
           {std::numeric_limits<i64>::min(), 0},
           {std::numeric_limits<i64>::max(), -1},
       }) {
    CAPTURE(exptime);
    Played served;
    Conversation client(served);
    const std::string hit = "VALUE a 0 1\r\nx\r\nEND\r\n", miss = "END\r\n";
    CHECK(client.say("set a 0 " + std::to_string(exptime) + " 1\r\nx\r\n") == "STORED\r\n");
    if (lives > 0) {
      served.pass(lives * kSecond - 1);
      CHECK(client.say("get a\r\n") == hit);
      served.pass(1);
      CHECK(client.say("get a\r\n") == miss);
    } else {
      CHECK(client.say("get a\r\n") == (lives == 0 ? miss : hit));
      served.pass(100 * kThirtyDays * kSecond);
      CHECK(client.say("get a\r\n") == (lives == 0 ? miss : hit));
    }
  }
}

TEST_CASE("gat of more than an answer may have goes on in the next turn") {
  ServerOptions options;
  options.limits.most_output_bytes = 600;
  Played served(options);
  Conversation client(served);
  for (const std::string key : {"a", "b", "c"})
    REQUIRE(client.say("set " + key + " 0 0 400\r\n" + std::string(400, 'v') + "\r\n") == "STORED\r\n");
  Conversation slow(served);
  Dialogue* const all[] = {&slow.dialogue()};
  slow.dialogue().receive("gat 60 a b x c\r\nmn\r\n");
  served.answer(all);
  CHECK(slow.dialogue().waits);
  CHECK(slow.dialogue().answered_keys == 2);
  check(client, {{"mg a t", "HD t60"}, {"mg b t", "HD t60"}, {"mg c t", "HD t-1"}});
  const std::string hit = " 0 400\r\n" + std::string(400, 'v') + "\r\n";
  CHECK(slow.hear() == "VALUE a" + hit + "VALUE b" + hit + "VALUE c" + hit + "END\r\nMN\r\n");
  check(client, {{"mg c t", "HD t60"}});
}

TEST_CASE("touch, gat and gats set a new time") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"touch a 10", "NOT_FOUND"},
                    {"gat 10 a", "END"},
                    {"set a 3 10 1\r\nx", "STORED"},
                    {"touch a 100", "TOUCHED"},
                    {"touch a x", "CLIENT_ERROR invalid exptime argument"},
                    {"touch a", "ERROR"},
                });
  served.pass(99 * kSecond);
  check(client, {{"gat 50 a", "VALUE a 3 1\r\nx\r\nEND"}});
  served.pass(49 * kSecond);
  check(client, {
                    {"set b 0 0 1\r\ny", "STORED"},
                    {"gats 50 a z b", "VALUE a 3 1 1\r\nx\r\nVALUE b 0 1 2\r\ny\r\nEND"},
                    {"gat x a", "CLIENT_ERROR invalid exptime argument"},
                    {"gat", "ERROR"},
                });
  served.pass(49 * kSecond);
  check(client, {{"get a b", "VALUE a 3 1\r\nx\r\nVALUE b 0 1\r\ny\r\nEND"}});
  served.pass(kSecond);
  check(client, {{"get a b", "END"}, {"set a 0 0 1\r\nx", "STORED"}, {"touch a -1", "TOUCHED"}, {"get a", "END"}});
  const KvCounters counters = served.counters();
  CHECK(counters.cmd_touch == 8);
  CHECK(counters.touch_hits == 5);
  CHECK(counters.touch_misses == 3);
}

TEST_CASE("flush_all removes what was stored before its time") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"set a 0 0 1\r\n1", "STORED"},
                    {"flush_all", "OK"},
                    {"get a", "END"},
                    {"set a 0 0 1\r\n2", "STORED"},
                    {"get a", "VALUE a 0 1\r\n2\r\nEND"},
                    {"flush_all 10", "OK"},
                    {"set b 0 0 1\r\n3", "STORED"},
                });
  served.pass(10 * kSecond - 1);
  check(client, {{"get a b", "VALUE a 0 1\r\n2\r\nVALUE b 0 1\r\n3\r\nEND"}});
  served.pass(1);
  check(client, {
                    {"get a b", "END"},
                    {"set a 0 0 1\r\n4", "STORED"},
                    {"get a", "VALUE a 0 1\r\n4\r\nEND"},
                    {"flush_all 0", "OK"},
                    {"add a 0 0 1\r\n5", "STORED"},
                    {"flush_all x", "CLIENT_ERROR invalid exptime argument"},
                    {"flush_all -1", "OK"},
                    {"get a", "END"},
                });
}

TEST_CASE("version, verbosity, mn and what is no command have their answers") {
  check({
      {"version", "VERSION " + std::string(kVersion)},
      {"verbosity 1", "OK"},
      {"verbosity", "ERROR"},
      {"verbosity x", "CLIENT_ERROR bad command line format"},
      {"mn", "MN"},
      {"nonsense", "ERROR"},
      {"", "ERROR"},
      {"stats nonsense", "ERROR"},
      {"stats reset", "RESET"},
      {"stats items", "END"},
      {"stats slabs", "END"},
  });
}

TEST_CASE("quit ends the connection without an answer, and a line that is too long with one") {
  Played served;
  {
    Conversation client(served);
    CHECK(client.say("version\r\nquit\r\nversion\r\n") == "VERSION " + std::string(kVersion) + "\r\n");
    CHECK(client.closed());
  }
  Conversation client(served);
  CHECK(client.say("set " + std::string(3000, 'k')) == "CLIENT_ERROR line too long\r\n");
  CHECK(client.closed());
}

TEST_CASE("A value that is too large is refused, and set and ms remove the old item") {
  ServerOptions options;
  options.limits.most_value_bytes = 1024;
  Played served(options);
  Conversation client(served);
  const std::string large(1025, 'x');
  for (const std::string verb : {"set", "add", "replace", "append", "prepend"}) {
    INFO(verb);
    check(client, {
                      {"set a 0 0 1\r\n1", "STORED"},
                      {verb + " a 0 0 1025\r\n" + large, "SERVER_ERROR object too large for cache"},
                      {"get a", verb == "set" ? "END" : "VALUE a 0 1\r\n1\r\nEND"},
                  });
  }
  check(client, {
                    {"set a 0 0 1\r\n1", "STORED"},
                    {"cas a 0 0 1025 1\r\n" + large, "SERVER_ERROR object too large for cache"},
                    {"get a", "VALUE a 0 1\r\n1\r\nEND"},
                    {"ms a 1025\r\n" + large, "SERVER_ERROR object too large for cache"},
                    {"get a", "END"},
                    {"set a 0 0 1024\r\n" + large.substr(1), "STORED"},
                    {"ms YQ== 1025 b\r\n" + large, "SERVER_ERROR object too large for cache"},
                    {"get a", "END"},
                });
}

TEST_CASE("A value for which there is no memory is refused, and others are stored as before") {
  ServerOptions options;
  options.limits.most_value_bytes = 15 << 20;
  options.store.limit = 16 << 20;
  Played served(options);
  Conversation client(served);
  const std::string large(12 << 20, 'x');
  const std::string set = "set a 0 0 " + std::to_string(large.size()) + "\r\n" + large;
  const std::string ms = "ms a " + std::to_string(large.size()) + "\r\n" + large;
  check(client, {{"set small 0 0 1\r\n1", "STORED"}});
  // Two such values have no room at once, and the item that is replaced needs its room until the new one is there.
  u64 refused = 0;
  for (u32 i = 0; i < 4; ++i) {
    const std::string answer = client.say(set + "\r\n");
    if (answer != "STORED\r\n") CHECK(answer == "SERVER_ERROR out of memory storing object\r\n");
    refused += answer != "STORED\r\n";
    CHECK(served.store().reserved() <= options.store.limit);
  }
  const std::string meta = client.say(ms + "\r\n");
  if (meta != "HD\r\n") CHECK(meta == "SERVER_ERROR out of memory storing object\r\n");
  CHECK(served.store().counters().out_of_memory == refused + (meta != "HD\r\n"));
  check(client, {{"set small 0 0 1\r\n2", "STORED"}, {"get small", "VALUE small 0 1\r\n2\r\nEND"}});
}

TEST_CASE("A client that must say a password is admitted by set, and by nothing else") {
  ServerOptions options;
  options.secrets.emplace(std::vector<std::pair<std::string, std::string>>{{"anna", "secret word"}});
  Played served(options);
  Conversation client(served);
  check(client, {
                    {"get a", "CLIENT_ERROR unauthenticated"},
                    {"stats", "CLIENT_ERROR unauthenticated"},
                    {"mg a v", "CLIENT_ERROR unauthenticated"},
                    {"mn", "CLIENT_ERROR unauthenticated"},
                    {"add a 0 0 16\r\nanna secret word", "CLIENT_ERROR unauthenticated"},
                    {"set a 0 0 4\r\nanna", "CLIENT_ERROR authentication failure"},
                    {"set a 0 0 8\r\nanna bad", "CLIENT_ERROR authentication failure"},
                    {"set a 0 0 16\r\nanna secret word", "STORED"},
                    {"get a", "END"},
                    {"set a 0 0 4\r\nanna", "STORED"},
                    {"get a", "VALUE a 0 4\r\nanna\r\nEND"},
                });
  const std::string large(20'000, 'x');
  check(client, {{"set a 0 0 20000\r\n" + large, "STORED"}});
  CHECK(served.counters().auth_cmds == 3);
  CHECK(served.counters().auth_errors == 2);
  Conversation other(served);
  check(other, {{"get a", "CLIENT_ERROR unauthenticated"},
                {"set a 0 0 20000\r\n" + large, "SERVER_ERROR object too large for cache"},
                {"get a", "CLIENT_ERROR unauthenticated"}});
  CHECK(other.say("quit\r\n").empty());
  CHECK(other.closed());
}

TEST_CASE("A client without a password cannot remove an item by a value that is too large") {
  ServerOptions options;
  options.limits.most_value_bytes = 1024;
  options.secrets.emplace(std::vector<std::pair<std::string, std::string>>{{"anna", "secret"}});
  Played served(options);
  Conversation anna(served), other(served);
  check(anna, {{"set a 0 0 11\r\nanna secret", "STORED"}, {"set a 0 0 1\r\n1", "STORED"}});
  check(other, {{"set a 0 0 1025\r\n" + std::string(1025, 'x'), "SERVER_ERROR object too large for cache"}});
  check(anna, {{"get a", "VALUE a 0 1\r\n1\r\nEND"}});
}

}  // namespace
}  // namespace latchlab::kv
