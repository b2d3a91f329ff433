#include "services/kv/null_store.h"

#include <memory>
#include <string>

#include "services/kv/server_testing.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::Conversation;
using testing::kHashSeed;
using testing::Played;

std::unique_ptr<Store> null_store(const std::string& index) {
  StoreOptions options;
  options.index = Spec::parse(index);
  return null_store_kind().make(options, kHashSeed);
}

TEST_CASE("A store that keeps nothing answers every get with one value, and every change as if made") {
  Played served({}, null_store("null:value_size=3"));
  Conversation text(served);
  CHECK(text.say("get a b\r\n") == "VALUE a 0 3\r\n000\r\nVALUE b 0 3\r\n000\r\nEND\r\n");
  CHECK(text.say("set a 5 0 1\r\nx\r\n") == "STORED\r\n");
  CHECK(text.say("add a 5 0 1\r\nx\r\n") == "STORED\r\n");
  CHECK(text.say("replace a 5 0 1\r\nx\r\n") == "STORED\r\n");
  CHECK(text.say("incr a 7\r\n") == "7\r\n");
  CHECK(text.say("delete a\r\n") == "DELETED\r\n");
  CHECK(text.say("get a\r\n") == "VALUE a 0 3\r\n000\r\nEND\r\n");
  Conversation resp(served);
  CHECK(resp.say("MGET a b\r\n") == "*2\r\n$3\r\n000\r\n$3\r\n000\r\n");
  CHECK(resp.say("SCAN 0\r\n").starts_with("-ERR the index of this store cannot be walked"));
  CHECK(served.counters().get_hits == 5);
}

TEST_CASE("The values of a store that keeps nothing have 32 bytes unless an option says otherwise") {
  Played served({}, null_store("null"));
  Conversation client(served);
  CHECK(client.say("get a\r\n") == "VALUE a 0 32\r\n" + std::string(32, '0') + "\r\nEND\r\n");
  CHECK_THROWS_AS(null_store("null:value_size=17Mi"), InputError);
  CHECK_THROWS_AS(null_store("null:slots=1"), InputError);
}

}  // namespace
}  // namespace latchlab::kv
