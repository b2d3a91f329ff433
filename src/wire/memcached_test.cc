#include "src/wire/memcached.h"

#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"

namespace latchlab {
namespace {

using testing::heard;
using testing::MemcachedServerSide;
using namespace std::string_literals;

/// A parsed text, with what the views of the command refer to.
struct ParsedText {
  explicit ParsedText(std::string bytes, const MemcachedLimits& limits = {}) : text(std::move(bytes)) {
    MemcachedParser parser(limits);
    parsed = parser.parse(text, command);
  }
  std::string text;
  MemcachedCommand command;
  Parsed parsed;
};

/// Returns the answers to the errors in the bytes; "-" for an error without one, "." for a command.
std::string errors(const std::string& bytes) {
  std::string all;
  for (const std::string& event : heard(bytes, MemcachedServerSide{})) {
    if (!event.starts_with("error ")) {
      all += '.';
      continue;
    }
    const std::string answer = event.substr(6, event.rfind(" skip=") - 6);
    all += answer.empty() ? "-" : answer;
  }
  return all;
}

TEST_CASE("a get names its keys, in order") {
  ParsedText one("  get  a bc   def \r\nrest");
  CHECK(one.parsed.status == ParseStatus::kCommand);
  CHECK(one.parsed.used == one.text.size() - 4);
  CHECK(one.command.verb == MemcachedVerb::kGet);
  CHECK(one.command.keys == std::vector<std::string_view>{"a", "bc", "def"});
  CHECK(one.command.keys[0].data() == one.text.data() + 7);  // no copy

  CHECK(ParsedText("gets a\n").command.verb == MemcachedVerb::kGets);
  ParsedText gat("gat -5 a b\r\n");
  CHECK(gat.command.verb == MemcachedVerb::kGat);
  CHECK(gat.command.exptime == -5);
  CHECK(gat.command.keys.size() == 2);
  ParsedText gats("gats 9223372036854775807 a\r\n");
  CHECK(gats.command.verb == MemcachedVerb::kGats);
  CHECK(gats.command.exptime == 9223372036854775807);
  CHECK(ParsedText("gat 10\r\n").command.keys.empty());
}

TEST_CASE("set and its kind carry a value") {
  const std::pair<const char*, MemcachedVerb> kVerbs[] = {{"set", MemcachedVerb::kSet},
                                                          {"add", MemcachedVerb::kAdd},
                                                          {"replace", MemcachedVerb::kReplace},
                                                          {"append", MemcachedVerb::kAppend},
                                                          {"prepend", MemcachedVerb::kPrepend}};
  for (const auto& [name, verb] : kVerbs) {
    ParsedText one(name + " k 4294967295 -1 3\r\na\nb\r\nget"s);
    CHECK(one.parsed.status == ParseStatus::kCommand);
    CHECK(one.parsed.used == one.text.size() - 3);
    CHECK(one.command.verb == verb);
    CHECK(one.command.key() == "k");
    CHECK(one.command.flags == 4294967295u);
    CHECK(one.command.exptime == -1);
    CHECK(one.command.value == "a\nb");
    CHECK_FALSE(one.command.noreply);
    CHECK(ParsedText(name + " k 0 0 0 noreply\r\n\r\n"s).command.noreply);
    CHECK_FALSE(ParsedText(name + " k 0 0 0 else\r\n\r\n"s).command.noreply);
  }
  ParsedText cas("cas k 1 2 3 18446744073709551615 noreply\r\nabc\r\n");
  CHECK(cas.command.cas == 18446744073709551615u);
  CHECK(cas.command.noreply);
}

TEST_CASE("the commands without a value") {
  CHECK(ParsedText("delete k\r\n").command.verb == MemcachedVerb::kDelete);
  CHECK(ParsedText("delete k 0 noreply\r\n").command.noreply);
  CHECK(ParsedText("incr k 18446744073709551615\r\n").command.delta == 18446744073709551615u);
  CHECK(ParsedText("decr k 5 noreply\r\n").command.verb == MemcachedVerb::kDecr);
  CHECK(ParsedText("touch k -7\r\n").command.exptime == -7);
  CHECK(ParsedText("flush_all\r\n").command.exptime == 0);
  CHECK(ParsedText("flush_all noreply\r\n").command.noreply);
  CHECK(ParsedText("flush_all 30 noreply\r\n").command.exptime == 30);
  CHECK(ParsedText("stats  items 1 \r\n").command.arguments == "items 1 ");
  CHECK(ParsedText("stats\r\n").command.arguments.empty());
  CHECK(ParsedText("version\r\n").command.verb == MemcachedVerb::kVersion);
  CHECK(ParsedText("verbosity 4 noreply\r\n").command.delta == 4);
  CHECK(ParsedText("quit\r\n").command.verb == MemcachedVerb::kQuit);
}

// These texts are what memcached 1.6.18 answers to these bytes.
TEST_CASE("errors have memcached's texts, and skip what it skips") {
  const std::string bad_format = "CLIENT_ERROR bad command line format\r\n", error = "ERROR\r\n";
  for (const char* line : {"",
                           " ",
                           "x",
                           "get",
                           "get ",
                           "gat",
                           "Get a",
                           "foo",
                           "foo noreply",
                           "set",
                           "sets a 0 0 1",
                           "set a 0 0",
                           "set a 0 0 1 noreply b",
                           "cas a 0 0 1",
                           "incr a",
                           "incr a 1 noreply b",
                           "delete",
                           "delete a 0 noreply b",
                           "touch a",
                           "flush_all 0 a b",
                           "verbosity",
                           "verbosity 1 2 3",
                           "mx k"}) {
    CHECK(errors(line + "\r\nversion\r\n"s) == error + ".");
  }
  for (const char* line : {"set a -1 0 1", "set a 1x 0 1", "set a 0 x 1", "set a 0 0 -1", "set a 0 0 2147483646",
                           "cas a 0 0 1 x", "cas a 0 0 1 -1", "cas a 0 0 1 18446744073709551616"}) {
    CHECK(errors(line + "\r\nx\r\n"s) == bad_format + error);  // the value is read as a command
  }
  CHECK(errors("set a 0 0 x noreply\r\nx\r\n") == "-" + error);
  CHECK(errors("verbosity x\r\n") == bad_format);
  CHECK(errors("verbosity noreply\r\n") == "-");
  CHECK(errors("gat x a\r\n") == "CLIENT_ERROR invalid exptime argument\r\n");
  CHECK(errors("gat a\r\n") == "CLIENT_ERROR invalid exptime argument\r\n");
  CHECK(errors("touch a x\r\n") == "CLIENT_ERROR invalid exptime argument\r\n");
  CHECK(errors("flush_all x\r\n") == "CLIENT_ERROR invalid exptime argument\r\n");
  for (const char* delta : {"x", "-1", "18446744073709551616"}) {
    CHECK(errors("incr a "s + delta + "\r\n") == "CLIENT_ERROR invalid numeric delta argument\r\n");
  }
  CHECK(errors("incr a x noreply\r\n") == "-");
  for (const char* rest : {"1", "1 noreply x"}) {
    const std::string usage = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
    CHECK(errors("delete a "s + rest + "\r\n") == (rest == "1"s ? usage : error));
  }
  CHECK(errors("delete a foo noreply\r\n") == "-");
}

TEST_CASE("a value that does not end where it should is bad data") {
  const std::string bad = "CLIENT_ERROR bad data chunk\r\n", error = "ERROR\r\n";
  CHECK(errors("set a 0 0 2\r\nxyz\r\nget a\r\n") == bad + error + ".");
  CHECK(errors("set a 0 0 2\r\nx\r\nget a\r\n") == bad + error);  // the g of get belongs to the value
  CHECK(errors("set a 0 0 2\r\nxyzw\r\n") == bad + error);
  CHECK(errors("set a 0 0 0\r\n\n\nversion\r\n") == bad + ".");
  CHECK(errors("set a 0 0 2 noreply\r\nxyz\r\nversion\r\n") == "-" + error + ".");
  CHECK(errors("set a 0 0 1\nx\r\nversion\n") == "..");
}

TEST_CASE("a value that is too large is skipped, and the command says which item it was") {
  const MemcachedLimits limits{.most_value_bytes = 10, .most_get_line_bytes = 4096};
  CHECK(ParsedText("set k 0 0 10\r\n0123456789\r\n", limits).parsed.status == ParseStatus::kCommand);
  ParsedText one("set k 0 0 11\r\n", limits);
  CHECK(one.parsed.status == ParseStatus::kError);
  CHECK(one.parsed.answer == "SERVER_ERROR object too large for cache\r\n");
  CHECK(one.parsed.used == one.text.size());
  CHECK(one.parsed.skip == 13);
  CHECK(one.parsed.too_large);
  CHECK_FALSE(one.parsed.close);
  CHECK(one.command.key() == "k");
  CHECK(ParsedText("set k 0 0 11 noreply\r\n", limits).parsed.answer.empty());
  CHECK(ParsedText("set k 0 0 2147483644\r\n", limits).parsed.skip == 2147483646u);
  CHECK(ParsedText("set k 0 0 2147483645\r\n", limits).parsed.skip == 0);
  const auto events =
      heard("set k 0 0 12\r\nget a\r\nget b\r\nget c\r\n", MemcachedServerSide{MemcachedParser(limits), {}});
  REQUIRE(events.size() == 3);  // the error, its command, and the get behind the value
  CHECK(events[2].starts_with("get <c>"));
}

TEST_CASE("a key has 1 to 250 bytes and no control characters") {
  const std::string longest(250, 'k'), too_long(251, 'k');
  CHECK(is_memcached_key(longest));
  CHECK_FALSE(is_memcached_key(too_long));
  CHECK_FALSE(is_memcached_key(""));
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    CHECK(is_memcached_key("ab"s + c + "cd") == (byte > 32 && byte != 127));
  }
  const std::string bad = "CLIENT_ERROR bad command line format\r\n", error = "ERROR\r\n";
  for (const std::string& key : {too_long, "a\tb"s, "a\x01"s, "a\0b"s, "\x7f"s, "a\rb"s}) {
    for (const char* line : {"get {}", "get a {} b", "gets {}", "gat 1 {}", "incr {} 1", "touch {} 1", "delete {}",
                             "mg {} v", "md {}", "ma {}", "me {}"}) {
      std::string text = line;
      text.replace(text.find("{}"), 2, key);
      CHECK(errors(text + "\r\nversion\r\n") == bad + ".");
    }
    // memcached reads the value of a key that is too long as commands. A key with control characters is our own error.
    const std::string after = key == too_long ? error + "." : ".";
    CHECK(errors("set " + key + " 0 0 1\r\nx\r\nversion\r\n") == bad + after);
    CHECK(errors("ms " + key + " 1\r\nx\r\nversion\r\n") == bad + after);
    CHECK(errors("set " + key + " 0 0 1 noreply\r\nx\r\nversion\r\n") == "-" + after);
  }
  CHECK(errors("get " + longest + "\r\n") == ".");
}

TEST_CASE("a line is bounded, but for a get") {
  const std::string too_long = "CLIENT_ERROR line too long\r\n";
  const std::string longest = "stats " + std::string(2042, 'x');
  REQUIRE(longest.size() == 2048);
  CHECK(errors(longest + "\r\n") == ".");
  CHECK(errors(longest + "\n") == ".");
  CHECK(errors(longest + "x\r\n") == too_long);
  CHECK(errors(longest + "x\n") == too_long);
  CHECK(errors(longest + "\r").empty());  // may be the end of a line
  CHECK(errors(longest + "\rx") == too_long);
  CHECK(errors(longest + "xx") == too_long);
  CHECK(errors(std::string(101, ' ') + "get " + std::string(3000, 'x')) == too_long);
  const auto events = heard(longest + "x\r\nversion\r\n", MemcachedServerSide{});
  REQUIRE(events.size() == 1);
  CHECK(events[0].find("close=true") != std::string::npos);

  const MemcachedLimits limits{.most_value_bytes = 1024, .most_get_line_bytes = 5000};
  for (const char* verb : {"get", "gets", "gat 1", "gats 1"}) {
    std::string line = verb;
    while (line.size() + 2 <= 5000) line += " k";
    line.resize(5000, 'k');
    CHECK(ParsedText(line + "\r\n", limits).parsed.status == ParseStatus::kCommand);
    CHECK(ParsedText(line + "k\r\n", limits).parsed.answer == too_long);
    CHECK(ParsedText(line + "kk", limits).parsed.answer == too_long);
    CHECK(ParsedText(line, limits).parsed.status == ParseStatus::kNeedsMore);
  }
}

TEST_CASE("a get of 1,000 keys is one command") {
  std::string line = "get";
  for (int i = 0; i < 1000; ++i) line += " " + std::string(240, 'k') + std::to_string(i);
  ParsedText one(line + "\r\n");
  REQUIRE(one.parsed.status == ParseStatus::kCommand);
  REQUIRE(one.command.keys.size() == 1000);
  CHECK(one.command.keys[999] == std::string(240, 'k') + "999");
  const auto room = one.command.keys.capacity();
  MemcachedParser parser;
  CHECK(parser.parse("get a\r\n", one.command).status == ParseStatus::kCommand);
  CHECK(one.command.keys.capacity() == room);
}

TEST_CASE("a parser says how many bytes a value needs") {
  const std::string text = "set k 0 0 100\r\n" + std::string(100, 'v') + "\r\n";
  const std::size_t line = text.find('\n') + 1;
  MemcachedParser parser;
  MemcachedCommand command;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Parsed parsed = parser.parse(std::string_view(text).substr(0, size), command);
    REQUIRE(parsed.status == ParseStatus::kNeedsMore);
    REQUIRE(parsed.needed == (size < line ? size + 1 : text.size()));
  }
  CHECK(parser.parse(text, command).status == ParseStatus::kCommand);
}

TEST_CASE("the binary protocol is refused, and requests of HTTP get no answer") {
  ParsedText binary("\x80\0\0\0"s);
  CHECK(binary.parsed.close);
  CHECK(binary.parsed.answer == "SERVER_ERROR the binary protocol is not supported, use the text protocol\r\n");
  for (const char* line : {"GET / HTTP/1.0", "PUT /asdf/asd HTTP/1.1", "DELETE HTTP/1.1"}) {
    ParsedText http(line + "\r\n"s);
    CHECK(http.parsed.close);
    CHECK(http.parsed.answer.empty());
  }
}

TEST_CASE("no field of a command is left from the one before") {
  MemcachedServerSide side;
  (void)side.parse("ms k 1 T5 F6 C7 D8 J9 N1 R2 MA q O1 k c\r\nx\r\n");
  REQUIRE(side.command.meta_count == 12);
  (void)side.parse("version\r\n");
  const std::string after = side.described();
  MemcachedServerSide fresh;
  (void)fresh.parse("version\r\n");
  CHECK(after == fresh.described());
  CHECK_FALSE(side.command.has('T'));
}

}  // namespace
}  // namespace latchlab
