#include "src/wire/memcached_client.h"

#include <deque>
#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"

namespace latchlab {
namespace {

using testing::described;
using testing::heard;
using testing::MemcachedServerSide;
using namespace std::string_literals;

MemcachedCommand parsed(std::string_view text) {
  MemcachedCommand command;
  const Parsed parsed = MemcachedParser().parse(text, command);
  REQUIRE(parsed.status == ParseStatus::kCommand);
  REQUIRE(parsed.used == text.size());
  return command;
}

TEST_CASE("requests of a client are commands of a server") {
  std::string out;
  const std::vector<std::string_view> keys{"a", "bc"};
  append_get(out, keys);
  CHECK(out == "get a bc\r\n");
  append_get(out, keys, true);
  append_set(out, MemcachedVerb::kAdd, "k", "v\r\n", {.flags = 7, .exptime = -1, .noreply = true});
  append_cas(out, "k", "", 9);
  append_delete(out, "k");
  append_delete(out, "k", true);
  append_add(out, MemcachedVerb::kDecr, "n", 18446744073709551615u);
  append_touch(out, "k", 60, true);
  CHECK(
      out ==
      "get a bc\r\ngets a bc\r\nadd k 7 -1 3 noreply\r\nv\r\n\r\ncas k 0 0 0 9\r\n\r\ndelete k\r\ndelete k noreply\r\n"
      "decr n 18446744073709551615\r\ntouch k 60 noreply\r\n");
  CHECK(heard(out, MemcachedServerSide{}).size() == 8);

  out.clear();
  append_meta_get(out, "k", "v t", 17);
  append_meta_set(out, "k", "value", "", 18);
  append_meta_delete(out, "k", "q", 19);
  append_meta_arithmetic(out, "k", "MD D3", 20);
  append_meta_no_op(out);
  CHECK(out == "mg k v t O17\r\nms k 5 O18\r\nvalue\r\nmd k q O19\r\nma k MD D3 O20\r\nmn\r\n");
  CHECK(heard(out, MemcachedServerSide{}).size() == 5);
}

TEST_CASE("every command is rendered as a text that parses to the same") {
  const std::string kLines[] = {"get a b c\r\n",
                                "gets a\r\n",
                                "gat 5 a b\r\n",
                                "gats -5 a\r\n",
                                "gat 1\r\n",
                                "set k 1 2 3\r\nabc\r\n",
                                "add k +1 2 0 noreply\n\r\n",
                                "replace k 1 2 3 x\r\na\nb\r\n",
                                "append k 0 0 1\r\nx\r\n",
                                "prepend k 0 0 1\r\nx\r\n",
                                "cas k 1 2 3 4 noreply\r\nabc\r\n",
                                "delete k 0 noreply\r\n",
                                "delete k\r\n",
                                "incr k 5\r\n",
                                "decr k 7 noreply\r\n",
                                "touch k -1\r\n",
                                "flush_all\r\n",
                                "flush_all 5 noreply\r\n",
                                "flush_all noreply\r\n",
                                "stats  a  b\r\n",
                                "stats\r\n",
                                "version x\r\n",
                                "verbosity 4294967295 noreply\r\n",
                                "quit\r\n",
                                "mg k\r\n",
                                "mg a2V5 b v k O1 T5 N6 R7 q\r\n",
                                "ms k 3 T1 F2 C3 I MA N4 q k c O9\r\nabc\r\n",
                                "md k I T3 C5 q\r\n",
                                "ma k N1 J2 D3 MD v t c O\r\n",
                                "mn\r\n",
                                "me k\r\n",
                                "me a2V5 b x\r\n"};
  for (const std::string& line : kLines) {
    CAPTURE(line);
    const std::string before = described(parsed(line));
    std::string again;
    append_request(again, parsed(line));
    CHECK(described(parsed(again)) == before);
  }
}

/// Parses a text, which stays for the views of the answer.
MemcachedAnswer answer_in(std::string bytes) {
  static std::deque<std::string> kept;
  const std::string& text = kept.emplace_back(std::move(bytes));
  MemcachedAnswer answer;
  const Parsed parsed = parse_memcached_answer(text, 1 << 20, answer);
  REQUIRE(parsed.status == ParseStatus::kCommand);
  REQUIRE(parsed.used == text.size());
  return answer;
}

TEST_CASE("answers of a server are read back by a client") {
  std::string out;
  append_value_line(out, "key", 4294967295u, 4, 18446744073709551615u);
  append_value(out, "a\r\nb");
  MemcachedAnswer answer = answer_in(out);
  CHECK(answer.kind == MemcachedAnswerKind::kValue);
  CHECK(answer.key == "key");
  CHECK(answer.flags == 4294967295u);
  CHECK(answer.cas == 18446744073709551615u);
  CHECK(answer.value == "a\r\nb");
  CHECK_FALSE(answer_in("VALUE k 0 0\r\n\r\n").cas);

  for (std::size_t i = 0; i < kWords<MemcachedStatus>.size(); ++i) {
    out.clear();
    append_status(out, static_cast<MemcachedStatus>(i));
    answer = answer_in(out);
    CHECK(answer.kind == MemcachedAnswerKind::kStatus);
    CHECK(answer.status == static_cast<MemcachedStatus>(i));
  }
  answer = answer_in("18446744073709551615\r\n");
  CHECK(answer.kind == MemcachedAnswerKind::kNumber);
  CHECK(answer.number == 18446744073709551615u);
  answer = answer_in("STAT version 1.6 x\r\n");
  CHECK(answer.kind == MemcachedAnswerKind::kStat);
  CHECK(answer.key == "version");
  CHECK(answer.text == "1.6 x");
  answer = answer_in("VERSION 1.6.18\r\n");
  CHECK(answer.kind == MemcachedAnswerKind::kVersion);
  CHECK(answer.text == "1.6.18");
  for (const char* text : {"ERROR", "CLIENT_ERROR bad data chunk", "SERVER_ERROR out of memory storing object"}) {
    answer = answer_in(text + "\r\n"s);
    CHECK(answer.kind == MemcachedAnswerKind::kError);
    CHECK(answer.text == text);
  }
}

TEST_CASE("answers to meta commands are read back with their flags") {
  const std::string request = "mg key v k O77 c t f s h l\r\n";
  const MemcachedCommand command = parsed(request);
  std::string out;
  append_meta_line(out, command, MetaStatus::kValue,
                   {.cas = 5, .bytes = 3, .flags = 6, .ttl = 7, .idle = 8, .hit = true, .won = true});
  append_value(out, "abc");
  const MemcachedAnswer answer = answer_in(out);
  CHECK(answer.kind == MemcachedAnswerKind::kMeta);
  CHECK(answer.meta_status == MetaStatus::kValue);
  CHECK(answer.value == "abc");
  CHECK(answer.opaque() == 77u);
  CHECK(answer.flag('k') == "key");
  CHECK(answer.flag('c') == "5");
  CHECK(answer.flag('t') == "7");
  CHECK(answer.flag('f') == "6");
  CHECK(answer.flag('s') == "3");
  CHECK(answer.flag('h') == "1");
  CHECK(answer.flag('l') == "8");
  CHECK(answer.flag('W') == "");
  CHECK_FALSE(answer.flag('Z'));
  CHECK_FALSE(answer_in("HD Ox\r\n").opaque());

  for (std::size_t i = 0; i < kWords<MetaStatus>.size(); ++i) {
    const auto status = static_cast<MetaStatus>(i);
    if (status == MetaStatus::kValue) continue;
    const MemcachedAnswer other = answer_in(std::string(word(status)) + " O5 k\r\n");
    CHECK(other.kind == MemcachedAnswerKind::kMeta);
    CHECK(other.meta_status == status);
    if (status != MetaStatus::kDebug) CHECK(other.opaque() == 5u);
  }
  CHECK(answer_in("ME key exp=-1 la=0\r\n").key == "key");
}

TEST_CASE("a client refuses what is no answer of memcached") {
  for (const char* text : {"",
                           "hello",
                           "VALUE",
                           "VALUE k",
                           "VALUE k 0",
                           "VALUE k 0 -1",
                           "VALUE k x 1",
                           "VALUE k 0 1 x",
                           "VALUE k 0 1 2 3",
                           "VALUE k 4294967296 1",
                           "VALUE k\x01 0 1",
                           "VALUE k 0 11",
                           "VA",
                           "VA x",
                           "VA 11",
                           "STAT",
                           "STORED x",
                           "-1",
                           "1 2",
                           "18446744073709551616",
                           "END ",
                           "HDx",
                           "ERRORS"}) {
    CAPTURE(text);
    MemcachedAnswer answer;
    const Parsed parsed = parse_memcached_answer(text + "\r\n"s, 10, answer);
    CHECK(parsed.status == ParseStatus::kError);
    CHECK(parsed.close);
    CHECK_FALSE(parsed.answer.empty());
  }
  for (const char* text : {"VALUE k 0 2\r\nabcd", "VA 2\r\nabc\n\n"}) {
    MemcachedAnswer answer;
    CHECK(parse_memcached_answer(text, 10, answer).status == ParseStatus::kError);
  }
  MemcachedAnswer answer;
  CHECK(parse_memcached_answer(std::string(4096, 'x'), 10, answer).status == ParseStatus::kNeedsMore);
  CHECK(parse_memcached_answer(std::string(4097, 'x'), 10, answer).status == ParseStatus::kError);
}

TEST_CASE("a value that has not come yet is asked for exactly") {
  MemcachedAnswer answer;
  CHECK(parse_memcached_answer("VALUE k 0 100\r\nab", 100, answer).needed == 15 + 102);
  CHECK(parse_memcached_answer("VA 100\r\n", 100, answer).needed == 8 + 102);
  CHECK(parse_memcached_answer("VALUE", 100, answer).needed == 6);
}

}  // namespace
}  // namespace latchlab
