#include "src/wire/resp_client.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"
#include "src/wire/resp.h"

namespace latchlab {
namespace {

using namespace std::string_literals;

std::vector<RespValue> values_in(std::string_view text) {
  std::vector<RespValue> values;
  const Parsed parsed = parse_resp_answer(text, {}, values);
  REQUIRE(parsed.status == ParseStatus::kCommand);
  REQUIRE(parsed.used == text.size());
  return values;
}

TEST_CASE("a request is an array that a server reads") {
  const std::vector<std::string_view> request{"SET", "k", "a\r\n", ""};
  std::string out;
  append_resp_request(out, request);
  CHECK(out == "*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
  RespCommand command;
  REQUIRE(RespParser().parse(out, command).status == ParseStatus::kCommand);
  REQUIRE(command.size() == request.size());
  for (std::size_t i = 0; i < request.size(); ++i) CHECK(command[i] == request[i]);
}

TEST_CASE("a client reads what a server writes, in both versions") {
  for (const RespVersion version : {RespVersion::kResp2, RespVersion::kResp3}) {
    const bool is_3 = version == RespVersion::kResp3;
    std::string out;
    RespWriter writer(out, version);
    writer.array(8);
    writer.simple("OK");
    writer.error("ERR no");
    writer.integer(-5);
    writer.bulk("a\r\nb");
    writer.null();
    writer.real(2.5);
    writer.verbatim("txt", "text");
    writer.map(1);
    writer.bulk("key");
    writer.bulk("value");
    const auto values = values_in(out);
    REQUIRE(values.size() == 11);
    CHECK(values[0].kind == RespKind::kArray);
    CHECK(values[0].elements == 8);
    CHECK(values[1].text == "OK");
    CHECK(values[2].kind == RespKind::kError);
    CHECK(values[2].text == "ERR no");
    CHECK(values[3].integer == -5);
    CHECK(values[4].text == "a\r\nb");
    CHECK(values[5].kind == RespKind::kNull);
    CHECK(values[6].text == "2.5");
    if (is_3) CHECK(values[6].real == 2.5);
    CHECK(values[7].text == (is_3 ? "txt:text" : "text"));
    CHECK(values[8].kind == (is_3 ? RespKind::kMap : RespKind::kArray));
    CHECK(values[8].elements == (is_3 ? 1u : 2u));
  }
}

TEST_CASE("the values that only other servers send") {
  CHECK(values_in("#t\r\n")[0].kind == RespKind::kBoolean);
  CHECK(values_in("#t\r\n")[0].integer == 1);
  CHECK(values_in("~0\r\n")[0].kind == RespKind::kSet);
  CHECK(values_in("*-1\r\n")[0].kind == RespKind::kNull);
  CHECK(values_in("(123456789012345678901234567890\r\n")[0].text == "123456789012345678901234567890");
  CHECK(values_in("!3\r\nERR\r\n")[0].kind == RespKind::kBulkError);
  CHECK(values_in(",inf\r\n")[0].real == std::numeric_limits<double>::infinity());
  CHECK(values_in(",-inf\r\n")[0].real == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(values_in(",nan\r\n")[0].real));
  CHECK(values_in(",1e3\r\n")[0].real == 1000);
  CHECK(values_in(">2\r\n+a\r\n+b\r\n").size() == 3);
  CHECK(values_in("#f\r\n")[0].integer == 0);
  // An attribute stands in front of its value and takes no place in the array.
  const auto values = values_in("*2\r\n|1\r\n+ttl\r\n:5\r\n+a\r\n+b\r\n");
  REQUIRE(values.size() == 6);
  CHECK(values[1].kind == RespKind::kAttribute);
  CHECK(values[5].text == "b");
  CHECK(values_in("|0\r\n+a\r\n").size() == 2);
}

TEST_CASE("a client refuses what is no answer of redis") {
  for (const char* text : {"x\r\n",         "\r\n",
                           ":x\r\n",        ":\r\n",
                           ":1.5\r\n",      ":9223372036854775808\r\n",
                           "$x\r\n",        "$-2\r\n",
                           "$\r\n",         "$2\r\nabc\r\n",
                           "*x\r\n",        "*-2\r\n",
                           "#x\r\n",        "#\r\n",
                           "_x\r\n",        ",x\r\n",
                           ",++1\r\n",      ",\r\n",
                           "=3\r\ntxt\r\n", "=5\r\nabcde\r\n",
                           "+a\rb\r\n",     "%-1\r\n",
                           "$?\r\n",        "*1\r\n?\r\n",
                           "*1048577\r\n"}) {
    CAPTURE(text);
    std::vector<RespValue> values;
    const Parsed parsed = parse_resp_answer(text, {}, values);
    CHECK(parsed.status == ParseStatus::kError);
    CHECK_FALSE(parsed.answer.empty());
  }
}

TEST_CASE("the limits of an answer hold at their edges") {
  const auto status = [](const std::string& text, const RespAnswerLimits& limits) {
    std::vector<RespValue> values;
    return parse_resp_answer(text, limits, values).status;
  };
  CHECK(status("$3\r\nabc\r\n", {.most_bulk_bytes = 3}) == ParseStatus::kCommand);
  CHECK(status("$4\r\n", {.most_bulk_bytes = 3}) == ParseStatus::kError);
  CHECK(status("*2\r\n+a\r\n+b\r\n", {.most_values = 3}) == ParseStatus::kCommand);
  CHECK(status("*2\r\n+a\r\n+b\r\n", {.most_values = 2}) == ParseStatus::kError);
  CHECK(status("+abcd\r\n", {.most_line_bytes = 5}) == ParseStatus::kCommand);
  CHECK(status("+abcde\r\n", {.most_line_bytes = 5}) == ParseStatus::kError);
  std::string deep;
  for (std::size_t i = 0; i < kMostRespDepth; ++i) deep += "*1\r\n";
  CHECK(status(deep + "+a\r\n", {}) == ParseStatus::kCommand);
  CHECK(status("*1\r\n" + deep + "+a\r\n", {}) == ParseStatus::kError);
}

TEST_CASE("a string that has not come yet is asked for exactly") {
  std::vector<RespValue> values;
  CHECK(parse_resp_answer("*2\r\n$100\r\nab", {}, values).needed == 10 + 102);
  CHECK(parse_resp_answer("*2\r\n", {}, values).needed == 5);
}

}  // namespace
}  // namespace latchlab
