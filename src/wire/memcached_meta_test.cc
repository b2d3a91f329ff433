// The meta commands, parsed.
#include <string>

#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"

namespace latchlab {
namespace {

using testing::heard;
using testing::MemcachedServerSide;
using namespace std::string_literals;

struct ParsedMeta {
  explicit ParsedMeta(std::string bytes) : text(std::move(bytes)) { parsed = MemcachedParser().parse(text, command); }
  std::string text;
  MemcachedCommand command;
  Parsed parsed;
};

TEST_CASE("a meta get keeps its flags in order") {
  ParsedMeta one("mg key s v t O123 c q k T30\r\n");
  REQUIRE(one.parsed.status == ParseStatus::kCommand);
  CHECK(one.command.verb == MemcachedVerb::kMetaGet);
  CHECK(one.command.key() == "key");
  std::string letters;
  for (const MetaFlag& flag : one.command.meta_flags()) letters += flag.letter;
  CHECK(letters == "svtOcqkT");
  CHECK(one.command.meta_flags()[3].token == "123");
  CHECK(one.command.exptime == 30);
  CHECK(one.command.noreply);
  CHECK(one.command.has('v'));
  CHECK_FALSE(one.command.has('f'));
  CHECK(ParsedMeta("mg key\r\n").command.meta_count == 0);
}

TEST_CASE("a meta set has a value and numbers") {
  ParsedMeta one("ms k 2 T-1 F4294967295 C18446744073709551615 N3 MA I O9\r\nhi\r\n");
  REQUIRE(one.parsed.status == ParseStatus::kCommand);
  CHECK(one.command.value == "hi");
  CHECK(one.command.exptime == -1);
  CHECK(one.command.flags == 4294967295u);
  CHECK(one.command.cas == 18446744073709551615u);
  CHECK(one.command.vivify_exptime == 3);
  CHECK(one.command.mode == 'A');
  CHECK(ParsedMeta("ms k 0\r\n\r\n").command.value.empty());
  CHECK(ParsedMeta("ms k +2\r\nhi\r\n").command.value == "hi");
}

TEST_CASE("the other meta commands") {
  ParsedMeta arithmetic("ma k N0 J13 D5 M- v\r\n");
  REQUIRE(arithmetic.parsed.status == ParseStatus::kCommand);
  CHECK(arithmetic.command.initial == 13);
  CHECK(arithmetic.command.delta == 5);
  CHECK(arithmetic.command.mode == '-');
  CHECK(ParsedMeta("ma k\r\n").command.delta == 1);
  CHECK(ParsedMeta("md k I T30\r\n").command.exptime == 30);
  CHECK(ParsedMeta("mn\r\n").command.verb == MemcachedVerb::kMetaNoOp);
  CHECK(ParsedMeta("mn foo\r\n").parsed.status == ParseStatus::kCommand);
  CHECK(ParsedMeta("me k x y\r\n").command.verb == MemcachedVerb::kMetaDebug);
  CHECK(ParsedMeta("mg k R10\r\n").command.recache_exptime == 10);
}

TEST_CASE("the commands of vectors have words for the function and the type, and some have operands") {
  ParsedMeta update("mv k 4 add u32 v MO C7\r\nabcd\r\n");
  REQUIRE(update.parsed.status == ParseStatus::kCommand);
  CHECK(update.command.verb == MemcachedVerb::kVectorUpdate);
  CHECK(update.command.key() == "k");
  CHECK(update.command.function == "add");
  CHECK(update.command.element == "u32");
  CHECK(update.command.value == "abcd");
  CHECK(update.command.mode == 'O');
  CHECK(update.command.cas == 7);
  ParsedMeta reduced("mr k sum f64 O1\r\n");
  REQUIRE(reduced.parsed.status == ParseStatus::kCommand);
  CHECK(reduced.command.verb == MemcachedVerb::kVectorReduce);
  CHECK(reduced.command.function == "sum");
  CHECK(reduced.command.element == "f64");
  ParsedMeta filter("mf k 8 lt i64 MB q\r\n12345678\r\n");
  REQUIRE(filter.parsed.status == ParseStatus::kCommand);
  CHECK(filter.command.verb == MemcachedVerb::kVectorFilter);
  CHECK(filter.command.value == "12345678");
  CHECK(filter.command.mode == 'B');
  CHECK(filter.command.noreply);
}

TEST_CASE("a wrong command of vectors is an error, and its operands are dropped") {
  const auto error_of = [](const std::string& text) { return std::string(ParsedMeta(text).parsed.answer); };
  CHECK(error_of("mv k 4\r\n") == "CLIENT_ERROR bad command line format\r\n");
  CHECK(error_of("mv k x add u32\r\n") == "CLIENT_ERROR bad command line format\r\n");
  CHECK(error_of("mr k sum\r\n") == "CLIENT_ERROR bad command line format\r\n");
  CHECK(error_of("mr k sum u32 v\r\n") == "CLIENT_ERROR invalid flag\r\n");
  CHECK(error_of("mr k sum u32 q q\r\n") == "CLIENT_ERROR duplicate flag\r\n");
  for (const std::string line :
       {"mv k 4 add", "mf k 4", "mv k 4 add u32 T1", "mv k 4 add u32 MB", "mf k 4 lt u32 MO", "mf k 4 lt u32 c"}) {
    ParsedMeta wrong(line + "\r\nabcd\r\n");
    INFO(line);
    CHECK(wrong.parsed.status == ParseStatus::kError);
    CHECK(wrong.parsed.skip == 6);
  }
}

TEST_CASE("a key in base64 is decoded on demand") {
  KeyRoom room;
  ParsedMeta one("mg a2V5 v b\r\n");
  REQUIRE(one.parsed.status == ParseStatus::kCommand);
  CHECK(one.command.key() == "a2V5");
  CHECK(memcached_key(one.command, room) == "key");
  ParsedMeta plain("mg a2V5 v\r\n"), debug("me AAEC b\r\n");
  CHECK(memcached_key(plain.command, room) == "a2V5");
  CHECK(memcached_key(debug.command, room) == "\0\1\2"s);
  ParsedMeta longest("mg " + std::string(248, 'Q') + " b\r\n");
  CHECK(memcached_key(longest.command, room).size() == 186);
}

// Each line, and the events that follow: what memcached 1.6.18 answers, and whether it read `version` after it.
TEST_CASE("wrong meta commands get memcached's answers") {
  const auto answer = [](const std::string& bytes) {
    std::string all;
    for (const std::string& event : heard(bytes, MemcachedServerSide{})) {
      if (!event.starts_with("error ")) return all + ".";
      all += event.substr(6, event.rfind(" skip=") - 6);
    }
    return all;
  };
  const auto client_error = [](const std::string& text) { return "CLIENT_ERROR " + text + "\r\n"; };
  const std::string bad_format = client_error("bad command line format"), error = "ERROR\r\n";
  const std::string bad_token = client_error("bad token in command line format");
  const std::string too_long = client_error("opaque token too long"), invalid = client_error("invalid flag");
  const std::string duplicate = client_error("duplicate flag");
  const std::string either = client_error("invalid or duplicate flag"), bad_key = client_error("error decoding key");
  const std::string opaque32 = " O" + std::string(32, 'a'), opaque31 = " O" + std::string(31, 'a');

  const std::pair<std::string, std::string> kLines[] = {
      {"mg", error},
      {"md", error},
      {"ma", error},
      {"ms", error},
      {"me", bad_format},
      {"m", error},
      {"mg k v v", duplicate},
      {"mg k y", invalid},
      {"mg k !", invalid},
      {"mg k \xff", duplicate},
      {"mg k E1", invalid},
      {"mg k S1", invalid},
      {"mg k Tx", bad_token},
      {"mg k T", bad_token},
      {"mg k c Cx", bad_token},
      {"mg k b", bad_key},
      {"mg a2V5= b", bad_key},
      {"me k b", bad_format},
      {"mg k" + opaque32, too_long},
      {"mg k Tx y", invalid},
      {"mg k M", client_error("incorrect length for M token")},
      {"mg k Jx", client_error("invalid numeric initial value")},
      {"mg k Dx Tx", bad_token},
      {"mg k Tx D-1", client_error("invalid numeric delta value")},
      {"mg k s v t c f k h l O1 q u T0 R0 N0 C1 M1 D1 J1", client_error("options flags are too long")},
      {"md k Cx", either},
      {"md k v v", either},
      {"md k" + opaque32, too_long},
      {"ma k Dx", either},
      {"ma k D-1", either},
      {"ma k Jx", either},
      {"ma k Md v", client_error("invalid mode for ma M token")},
      {"ma k MX", client_error("invalid mode for ma M token")},
      {"md k s v t c f k h l O1 q u T0 R0 N0 C1 M1 D1 J1", client_error("options flags too long")}};
  for (const auto& [line, expected] : kLines) {
    CAPTURE(line);
    CHECK(answer(line + "\r\nversion\r\n") == expected + ".");
  }
  CHECK(answer("mg k" + opaque31 + "\r\n") == ".");
  CHECK(answer("mg k s v t c f k h l O1 q u T0 R0 N0 C1 M1 D1\r\n") == ".");  // 17 flags

  // With the size of the value known, the value is dropped. Otherwise it is read as a command.
  for (const char* line : {"ms k", "ms k S2", "ms k x", "ms k -1", "ms k 2147483646"}) {
    CAPTURE(line);
    CHECK(answer(line + "\r\nhi\r\nversion\r\n"s) == bad_format + error + ".");
  }
  const std::pair<std::string, std::string> kSets[] = {{"Fx", bad_format},
                                                       {"F-1", bad_format},
                                                       {"F4294967296", bad_format},
                                                       {"Tx", bad_token},
                                                       {"Cx", bad_token},
                                                       {"MZ", client_error("invalid mode for ms M token")},
                                                       {"Me", client_error("invalid mode for ms M token")},
                                                       {"M", client_error("incorrect length for M token")},
                                                       {"Madd", client_error("incorrect length for M token")},
                                                       {"Tx Fx", bad_token},
                                                       {"Fx Tx", bad_token},
                                                       {"y", invalid},
                                                       {"T0 T0", duplicate},
                                                       {"S1 I", invalid},
                                                       {"b", bad_key},
                                                       {opaque32, too_long}};
  for (const auto& [flags, expected] : kSets) {
    CAPTURE(flags);
    CHECK(answer("ms k 2 " + flags + "\r\nhi\r\nversion\r\n") == expected + ".");
  }
  const std::string flags16 = " s v t c f k h l O1 q u T0 R0 N0 C1 D1";
  CHECK(answer("ms k 2" + flags16 + "\r\nhi\r\n") == ".");
  CHECK(answer("ms k 2" + flags16 + " J1\r\nhi\r\nversion\r\n") ==
        client_error("options flags too long") + error + ".");
  CHECK(answer("ms k 2 q\r\nhix\r\nversion\r\n") == client_error("bad data chunk") + error + ".");
}

TEST_CASE("a meta set that is too large answers, even if it is quiet") {
  ParsedMeta one("ms k 1048577 q\r\n");
  CHECK(one.parsed.answer == "SERVER_ERROR object too large for cache\r\n");
  CHECK(one.parsed.skip == 1048579);
  CHECK(one.parsed.too_large);
  CHECK(one.command.key() == "k");
}

}  // namespace
}  // namespace latchlab
