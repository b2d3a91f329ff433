#include "src/wire/resp.h"

#include <limits>
#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"

namespace latchlab {
namespace {

using testing::heard;
using testing::RespServerSide;
using namespace std::string_literals;

using Words = std::vector<std::string>;

/// Returns the words of the command that the text is, or one word with the error's answer.
Words words(const std::string& text, const RespLimits& limits = {}) {
  RespParser parser(limits);
  RespCommand command;
  const Parsed parsed = parser.parse(text, command);
  if (parsed.status == ParseStatus::kNeedsMore) return {"needs more"};
  if (parsed.status == ParseStatus::kError) {
    CHECK(parsed.close);
    return {std::string(parsed.answer)};
  }
  CHECK(parsed.used == text.size());
  Words all;
  for (std::size_t i = 0; i < command.size(); ++i) all.emplace_back(command[i]);
  return all;
}

std::string protocol_error(const std::string& text) { return "-ERR Protocol error: " + text + "\r\n"; }

TEST_CASE("an array of bulk strings is a command") {
  CHECK(words("*1\r\n$4\r\nPING\r\n") == Words{"PING"});
  CHECK(words("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n\r\n\0x\r\n"s) == Words{"SET", "a", "\r\n\0x"s});
  CHECK(words("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n") == Words{"ECHO", ""});
  CHECK(words("*1\r\n$4\r\nPINGxx") == Words{"PING"});  // redis does not look at the line end either
  for (const char* text : {"*0\r\n", "*-1\r\n", "*-10\r\n"}) CHECK(words(text).empty());

  const std::string text = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n";
  RespParser parser;
  RespCommand command;
  REQUIRE(parser.parse(text, command).status == ParseStatus::kCommand);
  CHECK(command[1].data() == text.data() + text.find('a'));  // no copy
}

TEST_CASE("a line is an inline command") {
  CHECK(words("PING\r\n") == Words{"PING"});
  CHECK(words("ping\n") == Words{"ping"});
  CHECK(words("  set\ta   b \r\n") == Words{"set", "a", "b"});
  CHECK(words("PING\r\r\n") == Words{"PING"});
  CHECK(words("\r\n").empty());
  CHECK(words("   \n").empty());
  CHECK(words("echo \"a b\"\r\n") == Words{"echo", "a b"});
  CHECK(words("echo 'a b'\r\n") == Words{"echo", "a b"});
  CHECK(words("echo 'a\\'b\\n'\r\n") == Words{"echo", "a'b\\n"});
  CHECK(words("echo \"\\x41\\n\\r\\t\\b\\a\\q\\\\\\\"\"\r\n") == Words{"echo", "A\n\r\t\b\aq\\\""});
  CHECK(words("echo \"\\x4\" \"\\xzz\"\r\n") == Words{"echo", "x4", "xzz"});
  CHECK(words("echo a\"b c\" ''\r\n") == Words{"echo", "ab c", ""});
  for (const char* line :
       {"echo \"a b", "echo 'a", "echo \"a\"b", "ec\"h\"o x", "echo \"\\", "echo '\\'", "echo 'a'b"}) {
    CAPTURE(line);
    CHECK(words(line + "\r\n"s) == Words{protocol_error("unbalanced quotes in request")});
  }
}

// These texts are what redis 7.0.15 answers to these bytes.
TEST_CASE("protocol errors have redis' texts, and close") {
  for (const char* count : {"x", "", "1x", "+1", "01", "-0", "1048577", "2147483648", "99999999999999999999", " 1"}) {
    CAPTURE(count);
    CHECK(words("*"s + count + "\r\n") == Words{protocol_error("invalid multibulk length")});
  }
  CHECK(words("*1048576\r\n") == Words{"needs more"});
  for (const char* length : {"x", "", "-1", "04", "+4", "536870913", "99999999999999999999"}) {
    CAPTURE(length);
    CHECK(words("*1\r\n$"s + length + "\r\n") == Words{protocol_error("invalid bulk length")});
  }
  CHECK(words("*1\r\n$536870912\r\n") == Words{"needs more"});
  CHECK(words("*1\r\nx") == Words{protocol_error("expected '$', got 'x'")});
  CHECK(words("*1\r\n\x01\r\n") == Words{protocol_error("expected '$', got '\x01'")});
  CHECK(words("*1\r\n\r\n") == Words{protocol_error("expected '$', got ' '")});
  CHECK(words("*2\r\n$1\r\na\r\n:1\r\n") == Words{protocol_error("expected '$', got ':'")});
  CHECK(words("*1\n$4\nPING\r\n") == Words{protocol_error("invalid multibulk length")});

  const std::string big(65536, '1');
  CHECK(words(big) == Words{"needs more"});
  CHECK(words(big + "1") == Words{protocol_error("too big inline request")});
  CHECK(words(big + "\r\n") == Words{big});
  CHECK(words(big + "1\r\n") == Words{protocol_error("too big inline request")});
  CHECK(words("*" + big) == Words{protocol_error("too big mbulk count string")});
  CHECK(words("*1\r\n$" + big) == Words{protocol_error("too big bulk count string")});

  const auto events = heard("PING\r\n*x\r\nPING\r\n", RespServerSide{});
  REQUIRE(events.size() == 2);
  CHECK(events[0] == "1: <PING>");
}

TEST_CASE("the limits of the caller hold at their edges") {
  const RespLimits limits{.most_arguments = 2, .most_bulk_bytes = 3, .most_inline_bytes = 10, .most_command_bytes = 40};
  CHECK(words("*2\r\n$1\r\na\r\n$3\r\nabc\r\n", limits) == Words{"a", "abc"});
  CHECK(words("*3\r\n", limits) == Words{protocol_error("invalid multibulk length")});
  CHECK(words("*1\r\n$4\r\n", limits) == Words{protocol_error("invalid bulk length")});
  CHECK(words("0123456789\r\n", limits) == Words{"0123456789"});
  CHECK(words("0123456789a\r\n", limits) == Words{protocol_error("too big inline request")});
  const RespLimits whole{.most_arguments = 9, .most_bulk_bytes = 99, .most_inline_bytes = 10, .most_command_bytes = 18};
  CHECK(words("*1\r\n$9\r\n123456789\r\n", whole) == Words{protocol_error("too big request")});
  CHECK(words("*1\r\n$9\r\n", whole) == Words{protocol_error("too big request")});
  CHECK(words("*1\r\n$9\r\n", {.most_bulk_bytes = 9, .most_command_bytes = 19}) == Words{"needs more"});
  CHECK(words("*1\r\n$8\r\n12345678\r\n", {.most_command_bytes = 18}) == Words{"12345678"});
}

TEST_CASE("requests of HTTP get no answer") {
  for (const char* line : {"GET / HTTP/1.1\r\n", "POST /x HTTP/1.0\n"}) CHECK(words(line) == Words{""});
  CHECK(words("ECHO HTTP\r\n") == Words{"ECHO", "HTTP"});
}

TEST_CASE("a command that comes byte by byte costs no more than its bytes, and may move") {
  std::string text = "*500\r\n";
  for (int i = 0; i < 500; ++i)
    text += "$" + std::to_string(std::to_string(i).size()) + "\r\n" + std::to_string(i) + "\r\n";
  RespParser parser;
  RespCommand command;
  std::string buffers[2];
  for (std::size_t size = 1; size < text.size(); ++size) {
    std::string& buffer = buffers[size % 2];
    buffer = text.substr(0, size);
    const Parsed parsed = parser.parse(buffer, command);
    REQUIRE(parsed.status == ParseStatus::kNeedsMore);
    REQUIRE(parsed.needed > size);
    REQUIRE(parsed.needed <= text.size());
    RespCommand other;  // of another connection
    RespParser fresh;
    if (size % 100 == 0) REQUIRE(fresh.parse("GET a\r\n", command).status == ParseStatus::kCommand);
  }
  REQUIRE(parser.parse(text, command).status == ParseStatus::kCommand);
  REQUIRE(command.size() == 500);
  for (int i = 0; i < 500; ++i) CHECK(command[i] == std::to_string(i));
}

TEST_CASE("a bulk string is asked for exactly") {
  RespParser parser;
  RespCommand command;
  CHECK(parser.parse("*1\r\n$100\r\n", command).needed == 10 + 102);
  CHECK(parser.parse("*1\r\n$100\r\nabc", command).needed == 10 + 102);
}

/// Returns what `write` renders in one version.
template <class Write>
std::string written(RespVersion version, Write&& write) {
  std::string out;
  RespWriter writer(out, version);
  write(writer);
  return out;
}

TEST_CASE("answers in RESP2 and RESP3") {
  const auto both = [](auto&& write, const std::string& resp2, const std::string& resp3) {
    CHECK(written(RespVersion::kResp2, write) == resp2);
    CHECK(written(RespVersion::kResp3, write) == resp3);
  };
  const auto same = [&](auto&& write, const std::string& text) { both(write, text, text); };
  same([](RespWriter& w) { w.simple("OK"); }, "+OK\r\n");
  same([](RespWriter& w) { w.error("ERR unknown command 'a\r\n+OK'"); }, "-ERR unknown command 'a  +OK'\r\n");
  same([](RespWriter& w) { w.integer(std::numeric_limits<i64>::min()); }, ":-9223372036854775808\r\n");
  same([](RespWriter& w) { w.bulk("a\r\n\0b"s); }, "$5\r\na\r\n\0b\r\n"s);
  same([](RespWriter& w) { w.bulk(""); }, "$0\r\n\r\n");
  same([](RespWriter& w) { w.array(0); }, "*0\r\n");
  same([](RespWriter& w) { w.array(2); }, "*2\r\n");
  both([](RespWriter& w) { w.null(); }, "$-1\r\n", "_\r\n");
  both([](RespWriter& w) { w.map(7); }, "*14\r\n", "%7\r\n");
  both([](RespWriter& w) { w.real(3.141); }, "$5\r\n3.141\r\n", ",3.141\r\n");
  both([](RespWriter& w) { w.real(-std::numeric_limits<double>::infinity()); }, "$4\r\n-inf\r\n", ",-inf\r\n");
  both([](RespWriter& w) { w.real(-std::numeric_limits<double>::max()); }, "$24\r\n-1.7976931348623157e+308\r\n",
       ",-1.7976931348623157e+308\r\n");
  both([](RespWriter& w) { w.verbatim("txt", "a\nb"); }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n");
}

}  // namespace
}  // namespace latchlab
