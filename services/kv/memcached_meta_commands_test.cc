// memcached's meta commands: mg, ms, md, ma, me.
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/memcached_commands.h"
#include "services/kv/memcached_exchanges_testing.h"
#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::check;
using testing::Conversation;
using testing::kSecond;
using testing::Played;
using namespace std::string_literals;

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

}  // namespace
}  // namespace latchlab::kv
