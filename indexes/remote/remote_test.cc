// Tests of the parts of `remote` that need no server: how numbers are worded, which server has a key, the options. The
// tests of the whole index are in services/kv/remote_test.cc, beside a server.
#include "indexes/remote/remote.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "indexes/remote/ring.h"
#include "indexes/remote/wording.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/testing/catch.h"

namespace latchlab::remote {
namespace {

constexpr std::array kNumbers{u64{0}, u64{1}, u64{9}, u64{10}, u64{0xdeadbeef}, std::numeric_limits<u64>::max()};

TEST_CASE("remote: a key is worded in its digits and read back") {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{20}, std::size_t{250}}) {
    const Wording wording{.key_bytes = bytes};
    for (const u64 key : kNumbers) {
      std::string text = "before";
      wording.append_key(text, key);
      REQUIRE(text.size() == 6 + bytes);
      CHECK(wording.key_in(text.substr(6)) == key);
    }
  }
  std::string text;
  Wording{.key_bytes = 20}.append_key(text, 0xdeadbeef);
  CHECK(text == "000000000000deadbeef");
}

TEST_CASE("remote: a text that is no key of ours is none") {
  const Wording wording;
  CHECK_FALSE(wording.key_in("00000000deadbee"));
  CHECK_FALSE(wording.key_in("00000000deadbeef0"));
  CHECK_FALSE(wording.key_in("00000000deadbee "));
  CHECK_FALSE(wording.key_in("0x000000deadbeef"));
  CHECK_FALSE(Wording{.key_bytes = 20}.key_in("1000000000000deadbeef"));
  CHECK_FALSE(Wording{.key_bytes = 20}.key_in("10000000000000000000"));  // more than 64 bits
}

TEST_CASE("remote: a value is worded with blanks behind and read back") {
  std::string room;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{20}, std::size_t{32}, std::size_t{1000}}) {
    const Wording wording{.key_bytes = 16, .value_bytes = bytes};
    for (const u64 value : kNumbers) {
      const std::string text(wording.value(room, value));
      CHECK(text.size() >= bytes);
      CHECK(Wording::value_in(text) == value);
    }
  }
  CHECK(Wording{}.value(room, 42) == "42");
  CHECK(Wording{.key_bytes = 16, .value_bytes = 5}.value(room, 42) == "42   ");
  for (const char* const wrong : {"", " ", " 42", "4 2", "42x", "-1", "18446744073709551616"}) {
    INFO(wrong);
    CHECK_FALSE(Wording::value_in(wrong));
  }
}

TEST_CASE("remote: a server less moves only the keys that it had") {
  const std::vector<std::string> names{"10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211", "10.0.0.4:11211"};
  const Ring all(names);
  const Ring fewer({names[0], names[1], names[2]});
  std::array<u64, 4> shares{};
  constexpr u64 kKeys = 40'000;
  for (u64 i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    const u32 server = all.server_of(key);
    ++shares[server];
    if (server != 3) REQUIRE(fewer.server_of(key) == server);
  }
  for (const u64 share : shares) {
    CHECK(share > kKeys / 4 * 7 / 10);
    CHECK(share < kKeys / 4 * 13 / 10);
  }
}

TEST_CASE("remote: the order in which servers are named moves no key") {
  const Ring one({"a:1", "b:2", "c:3"});
  const Ring other({"c:3", "a:1", "b:2"});
  const std::array<u32, 3> renamed{1, 2, 0};  // a, b and c in `other`
  for (u64 i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    REQUIRE(other.server_of(key) == renamed[one.server_of(key)]);
  }
}

TEST_CASE("remote: options are read and shown") {
  const Options standard = Options::parse(Spec::parse("remote"));
  REQUIRE(standard.addresses.size() == 1);
  CHECK(standard.addresses[0].text == "127.0.0.1:11211");
  CHECK(standard.dialect == Dialect::kMemcached);
  CHECK_FALSE(standard.flush);
  CHECK(standard.keeps);
  const Options options = Options::parse(
      Spec::parse("remote:addr=127.0.0.1:1+unix:/tmp/a,protocol=resp,key_size=20,value_size=32,flush=1,keeps=0"));
  REQUIRE(options.addresses.size() == 2);
  CHECK(options.addresses[1].path == "/tmp/a");
  CHECK(options.dialect == Dialect::kResp);
  CHECK(options.wording.key_bytes == 20);
  CHECK(options.wording.value_bytes == 32);
  CHECK(options.flush);
  CHECK_FALSE(options.keeps);
  CHECK(Options::parse(Spec::parse("remote:addr=ucx:127.0.0.1:1")).transport == Transport::kUcx);
  CHECK(options.resolved()[0] == std::pair<std::string, std::string>("addr", "127.0.0.1:1+unix:/tmp/a"));
  for (const auto& [key, value] : options.resolved()) CHECK_FALSE(Options::about(key).empty());
}

TEST_CASE("remote: wrong options are refused") {
  for (const char* const wrong :
       {"addr=here", "addr=127.0.0.1:1+", "addr=127.0.0.1:1+127.0.0.1:1", "addr=host:11211", "protocol=binary",
        "transport=pigeons", "addr=shm:/a+unix:/b", "addr=127.0.0.1:1,transport=shm", "addr=127.0.0.1:1,transport=ucx",
        "addr=ucx:127.0.0.1:1,transport=socket", "key_size=15", "key_size=251", "port=1"}) {
    INFO(wrong);
    CHECK_THROWS_AS(Options::parse(Spec::parse(std::string("remote:") + wrong)), InputError);
  }
}

TEST_CASE("remote: memcached's rules of keys hold for its protocols alone") {
  Options options;
  CHECK_NOTHROW(check_key(options, "a"));
  for (const std::string& wrong : {std::string(), std::string("a b"), std::string("a\nb"), std::string(251, 'a')}) {
    CHECK_THROWS_AS(check_key(options, wrong), RemoteError);
  }
  options.dialect = Dialect::kResp;
  CHECK_NOTHROW(check_key(options, "a b"));
}

TEST_CASE("remote: a server that is not there is an error of the input") {
  const Spec spec = Spec::parse("remote:addr=unix:/nowhere/at/all");
  CHECK_THROWS_AS(Remote<U64Key>(Spec::parse("own"), {}, spec), InputError);
}

}  // namespace
}  // namespace latchlab::remote
