#include "services/kv/memcached_commands.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::Conversation;
using testing::kStartSeconds;
using testing::Played;
using namespace std::string_literals;

constexpr i64 kSecond = 1000;
constexpr i64 kThirtyDays = i64{60} * 60 * 24 * 30;

/// A request and the answer to it, both without the last line end.
struct Exchange {
  std::string request, answer;
};

/// Has the client say each request, and checks each answer.
void check(Conversation& client, const std::vector<Exchange>& exchanges) {
  for (const auto& [request, answer] : exchanges) {
    INFO(request);
    CHECK(client.say(request + "\r\n") == (answer.empty() ? "" : answer + "\r\n"));
  }
}
void check(const std::vector<Exchange>& exchanges) {
  Played served;
  Conversation client(served);
  check(client, exchanges);
}

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

TEST_CASE("mg tells what its flags ask for") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"mg a", "EN"},
                    {"mg a v", "EN"},
                    {"mg a q", ""},
                    {"mg a v q k O1", ""},
                    {"set a 5 60 3\r\nabc", "STORED"},
                    {"mg a", "HD"},
                    {"mg a v", "VA 3\r\nabc"},
                    {"mg a q", "HD"},
                    {"mg a s v t f k c Oxyz", "VA 3 s3 t60 f5 ka c1 Oxyz\r\nabc"},
                    {"set b 0 0 0\r\n", "STORED"},
                    {"mg b h l t", "HD h0 l0 t-1"},
                    {"mg b h l u", "HD h1 l0"},
                });
  served.pass(7 * kSecond);
  check(client, {
                    {"mg b l u", "HD l7"},
                    {"mg b l", "HD l7"},
                    {"mg b l", "HD l0"},
                    {"mg a t", "HD t53"},
                    {"set c 0 0 1\r\nx", "STORED"},
                    {"mg c u h", "HD h0"},
                    {"mg c h", "HD h0"},
                    {"mg c h", "HD h1"},
                    {"mg", "ERROR"},
                    {"mg a v v", "CLIENT_ERROR duplicate flag"},
                    {"mg a !", "CLIENT_ERROR invalid flag"},
                    {"mg a Tx", "CLIENT_ERROR bad token in command line format"},
                    {"mg a O" + std::string(40, 'o'), "CLIENT_ERROR opaque token too long"},
                });
}

TEST_CASE("mg with T touches the item, and t tells the time that holds where it stands") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"mg a T30", "EN"},
                    {"set a 0 60 1\r\nx", "STORED"},
                    {"mg a t T30 v", "VA 1 t60\r\nx"},
                    {"mg a T90 t", "HD t90"},
                    {"mg a T0 t", "HD t-1"},
                    {"mg a t", "HD t-1"},
                });
}

TEST_CASE("mg with N makes an empty item, and the first client wins it") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"mg a N30 v t f", "VA 0 t30 f0 W\r\n"},
                    {"mg a N30 v t", "VA 0 t30 Z\r\n"},
                    {"mg a t", "HD t30 Z"},
                    {"ms a 2 T0\r\nhi", "HD"},
                    {"mg a N30 v t", "VA 2 t-1\r\nhi"},
                });
  served.pass(5 * kSecond);
  check(client, {{"mg a N30 h l", "HD h1 l5"}, {"mg a N30 h l", "HD h1 l0"}});
}

TEST_CASE("mg with N notes the access to an item that is there") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"set a 0 0 1\r\nx", "STORED"},
                    {"mg a N30 h u", "HD h0"},
                    {"mg a N30 h", "HD h0"},
                    {"mg a N30 h", "HD h1"},
                });
}

TEST_CASE("mg with R lets one client win an item whose time ends soon") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"set a 0 60 1\r\nx", "STORED"},
                    {"mg a R30 t", "HD t60"},
                    {"mg a R60 t", "HD t60"},
                    {"mg a R61 t v", "VA 1 t60 W\r\nx"},
                    {"mg a R61", "HD Z"},
                    {"mg a", "HD Z"},
                    {"set a 0 60 1\r\nx", "STORED"},
                    {"mg a", "HD"},
                    {"set b 0 0 1\r\nx", "STORED"},
                    {"mg b R1000", "HD"},  // it has no time
                    {"mg a R61 T100 t", "HD t100 W"},
                    {"mg a R61 t", "HD t100 Z"},
                });
}

TEST_CASE("md with I leaves the old value as stale, and one client wins it") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"md a I", "NF"},
                    {"set a 0 0 1\r\nx", "STORED"},
                    {"md a I T30", "HD"},
                    {"mg a v t c", "VA 1 t30 c2 X W\r\nx"},
                    {"mg a v t", "VA 1 t30 Z X\r\nx"},
                    {"ms a 1 C1\r\ny", "EX"},
                    {"ms a 1 C2 T0\r\ny", "HD"},
                    {"mg a v t", "VA 1 t-1\r\ny"},
                    {"md a I", "HD"},
                    {"mg a u", "HD X W"},
                    {"ms a 1 I C3\r\nz", "HD"},   // an older number stores a value that is stale at once
                    {"mg a v", "VA 1 Z X\r\nz"},  // which a client has won before
                    {"ms a 1 C99 I\r\nz", "EX"},
                });
}

TEST_CASE("md removes on its conditions") {
  check({
      {"md a", "NF"},
      {"md a q", "NF"},
      {"set a 0 0 1\r\nx", "STORED"},
      {"md a C2 k O7", "EX ka O7"},
      {"md a C1 k O7", "HD ka O7"},
      {"mg a", "EN"},
      {"set a 0 0 1\r\nx", "STORED"},
      {"md a q", ""},
      {"mg a", "EN"},
      {"md", "ERROR"},
      {"md a Cx", "CLIENT_ERROR invalid or duplicate flag"},
  });
}

TEST_CASE("ms stores by its mode") {
  check({
      {"ms a 1 MR\r\nx", "NS"},
      {"ms a 1 MA\r\nx", "NS"},
      {"ms a 1 MP\r\nx", "NS"},
      {"ms a 1 ME c F9 T60\r\nx", "HD c1"},
      {"ms a 1 ME c\r\nx", "NS c0"},
      {"mg a v f t", "VA 1 f9 t60\r\nx"},
      {"ms a 1 MR k Oq\r\ny", "HD ka Oq"},
      {"ms a 2 MA\r\n12", "HD"},
      {"ms a 2 MP\r\n34", "HD"},
      {"mg a v f", "VA 5 f0\r\n34y12"},
      {"ms a 0 MS\r\n", "HD"},
      {"mg a v", "VA 0\r\n"},
      {"ms a 1 q\r\nz", ""},
      {"ms a 1 q ME\r\nz", "NS"},
      {"mg a v", "VA 1\r\nz"},
      {"ms a 1 MX\r\nx", "CLIENT_ERROR invalid mode for ms M token"},
      {"ms a", "CLIENT_ERROR bad command line format"},
      {"ms a 2\r\nxyz", "CLIENT_ERROR bad data chunk\r\nERROR"},
      {"ms b 1 C5\r\nx", "NF"},
  });
}

TEST_CASE("ma counts, and makes an item if it is asked to") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"ma a", "NF"},
                    {"ma a q", "NF"},
                    {"ma a N60 J13 v t", "VA 2 t60\r\n13"},
                    {"ma a v", "VA 2\r\n14"},
                    {"ma a D6 v", "VA 2\r\n20"},
                    {"ma a MD D5 v", "VA 2\r\n15"},
                    {"ma a M- D50 v", "VA 1\r\n0"},
                    {"get a", "VALUE a 0 2\r\n0 \r\nEND"},
                    {"ma a M+ k c O3", "HD ka c6 O3"},
                    {"ma a C5", "EX"},
                    {"ma a C6 v", "VA 1\r\n2"},
                    {"ma a q", ""},
                    {"ma a q v", ""},
                    {"ma a N60 v T90 t", "VA 1 t90\r\n5"},
                    {"ma b q N0 J1", "HD"},  // of a new item it tells in any case
                    {"set x 0 0 1\r\nx", "STORED"},
                    {"ma x", "CLIENT_ERROR cannot increment or decrement non-numeric value"},
                    {"ma a MX", "CLIENT_ERROR invalid mode for ma M token"},
                    {"ma a Dx", "CLIENT_ERROR invalid or duplicate flag"},
                });
}

TEST_CASE("A key in base64 is the key that it encodes") {
  check({
      {"ms Zm9v 3 b\r\nbar", "HD"},
      {"get foo", "VALUE foo 0 3\r\nbar\r\nEND"},
      {"mg Zm9v b v k", "VA 3 kZm9v b\r\nbar"},
      {"mg foo v k", "VA 3 kfoo\r\nbar"},
      {"mg Zm9v v", "EN"},
      {"mg foo!", "EN"},
      {"mg foo! b", "CLIENT_ERROR error decoding key"},
      {"ms AAH/ 1 b\r\nx", "HD"},  // bytes that no text command can name
      {"mg AAH/ b v k", "VA 1 kAAH/ b\r\nx"},
      {"ma MTI= b N0 J5 v", "VA 1\r\n5"},
      {"get 12", "VALUE 12 0 1\r\n5\r\nEND"},
      {"md MTI= b", "HD"},
      {"get 12", "END"},
      {"mg MTI= b N30 k", "HD kMTI= b W"},
      {"get 12", "VALUE 12 0 0\r\n\r\nEND"},
  });
}

TEST_CASE("me tells of an item what its debugger wants to know") {
  Played served;
  Conversation client(served);
  check(client, {
                    {"me a", "EN"},
                    {"set a 0 0 3\r\nabc", "STORED"},
                    {"me a", "ME a exp=-1 la=0 cas=1 fetch=no cls=0 size=36"},
                    {"get a", "VALUE a 0 3\r\nabc\r\nEND"},
                    {"touch a 60", "TOUCHED"},
                });
  served.pass(9 * kSecond);
  check(client, {
                    {"me a", "ME a exp=-51 la=9 cas=1 fetch=yes cls=0 size=36"},
                    {"me YQ== b", "ME YQ== exp=-51 la=9 cas=1 fetch=yes cls=0 size=36"},
                    {"me", "CLIENT_ERROR bad command line format"},
                });
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
  CHECK(served.counters().auth_cmds == 3);
  CHECK(served.counters().auth_errors == 2);
  Conversation other(served);
  check(other, {{"get a", "CLIENT_ERROR unauthenticated"}});
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
