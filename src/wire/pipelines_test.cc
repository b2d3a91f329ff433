// All parsers, on pipelines: however a stream of bytes is cut, it is the same stream.
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/wire/connection_testing.h"

namespace latchlab {
namespace {

using testing::heard;
using testing::heard_in_two;
using testing::MemcachedClientSide;
using testing::MemcachedServerSide;
using testing::RespClientSide;
using testing::RespServerSide;
using namespace std::string_literals;

using Lines = std::vector<std::string>;

/// Requests of memcached, right and wrong, each with its value.
Lines memcached_requests() {
  return {"get a\r\n",
          "gets a bc def\n",
          "gat -1 a b\r\n",
          "  get   a  \r\n",
          "set k 1 2 3\r\nabc\r\n",
          "set k 0 0 0 noreply\r\n\r\n",
          "set k 0 0 3\r\nget\r\n",
          "add k 0 0 4\r\n\r\n\r\n\r\n",
          "set k 0 0 2\r\nxyz\r\n",
          "set k 0 0 200\r\n" + std::string(200, 'v') + "\r\n",
          "cas k 0 0 1 5\r\nx\r\n",
          "append k 0 0 1 noreply\r\ny\r\n",
          "delete k\r\n",
          "delete k 1\r\n",
          "incr k 5\r\n",
          "incr k x\r\n",
          "decr k 5 noreply\r\n",
          "touch k 5\r\n",
          "flush_all\r\n",
          "stats a b\r\n",
          "version\r\n",
          "verbosity 1\r\n",
          "quit\r\n",
          "\r\n",
          "\n",
          "foo bar\r\n",
          "set a\tb 0 0 5\r\nget a\r\n",
          "mg k v t O1\r\n",
          "mg k v v\r\n",
          "ms k 2 c q\r\nhi\r\n",
          "ms k 2 y\r\nhi\r\n",
          "ms k 300\r\n" + std::string(300, 'w') + "\r\n",
          "md k q\r\n",
          "ma k D5 v\r\n",
          "mn\r\n",
          "me k\r\n",
          "mg a2V5 b k\r\n",
          "ms k\r\n",
          "set k 0 0\r\n"};
}

Lines resp_requests() {
  return {"*1\r\n$4\r\nPING\r\n",
          "*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
          "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n\r\n\r\n\r\n",
          "PING\r\n",
          "set a \"b c\"\r\n",
          "  get 'a'  \n",
          "\r\n",
          "*0\r\n",
          "*-1\r\n",
          "*1\r\n$0\r\n\r\n",
          "*2\r\n$4\r\nECHO\r\n$100\r\n" + std::string(100, 'e') + "\r\n"};
}

Lines memcached_answers() {
  return {"VALUE k 1 2\r\nab\r\n",
          "VALUE k 0 0 7\r\n\r\n",
          "END\r\n",
          "STORED\r\n",
          "17\r\n",
          "STAT a b c\r\n",
          "VERSION 1\r\n",
          "ERROR\r\n",
          "CLIENT_ERROR bad\r\n",
          "HD O1 k\r\n",
          "VA 3 f5 O2\r\nabc\r\n",
          "EN\n",
          "MN\r\n",
          "ME k exp=-1\r\n"};
}

Lines resp_answers() {
  return {"+OK\r\n",
          "-ERR no\r\n",
          ":5\r\n",
          "$3\r\nabc\r\n",
          "$-1\r\n",
          "_\r\n",
          "*2\r\n:1\r\n*1\r\n+a\r\n",
          "*0\r\n",
          "%1\r\n+a\r\n,1.5\r\n",
          "~1\r\n#t\r\n",
          "|1\r\n+a\r\n+b\r\n$1\r\nx\r\n",
          "=5\r\ntxt:a\r\n",
          "(99\r\n"};
}

std::string joined(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

MemcachedServerSide small_server() {
  return {MemcachedParser({.most_value_bytes = 250, .most_get_line_bytes = 1 << 20}), {}};
}

/// Checks that every cut of the lines, one after the other, gives the same as the whole.
template <class Side>
void check_every_cut(const Lines& lines, const Side& side, const Lines& last = {}) {
  std::string all = joined(lines);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    REQUIRE(heard_in_two(all, cut, side) == heard(all, side));
  }
  for (const std::string& line : last) {  // these end the connection
    const std::string text = lines.front() + line;
    const auto whole = heard(text, side);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) REQUIRE(heard_in_two(text, cut, side) == whole);
  }
}

TEST_CASE("every cut of a stream gives the same commands and answers") {
  check_every_cut(memcached_requests(), small_server(),
                  {"\x80\0\1"s, "GET / HTTP/1.1\r\n", std::string(2049, 'x') + "\r\nversion\r\n"});
  check_every_cut(resp_requests(), RespServerSide{},
                  {"*x\r\n", "*1\r\nx\r\n", "*1\r\n$x\r\n", "a \"b\r\n", "*1\r\n\r\n", "GET / HTTP/1.1\r\n"});
  check_every_cut(memcached_answers(), MemcachedClientSide{}, {"hello\r\n", "VALUE k 0 1\r\nabc", "VA x\r\n"});
  check_every_cut(resp_answers(), RespClientSide{}, {"x\r\n", "$1\r\nabc", ":x\r\n", "*1\r\n:x\r\n"});
}

TEST_CASE("streams that come byte by byte") {
  const auto check = [](const Lines& lines, const auto& side) {
    const std::string all = joined(lines);
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < all.size(); ++i) bytes.push_back(std::string_view(all).substr(i, 1));
    const auto whole = heard(all, side);
    CHECK(whole.size() >= lines.size());
    CHECK(heard(bytes, side) == whole);
  };
  check(memcached_requests(), small_server());
  check(resp_requests(), RespServerSide{});
  check(memcached_answers(), MemcachedClientSide{});
  check(resp_answers(), RespClientSide{});
}

/// Draws pipelines of the lines, some with a changed byte, and cuts them at random places.
template <class Side>
void check_random_pipelines(const Lines& lines, const Side& side, u64 seed) {
  Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    std::string all;
    for (u64 i = 1 + rng.below(12); i > 0; --i) all += lines[rng.below(lines.size())];
    if (rng.below(2) == 0) all[rng.below(all.size())] = static_cast<char>(rng.below(256));
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t size = 1 + rng.below(40);
      pieces.push_back(std::string_view(all).substr(at, size));
      at += size;
    }
    CAPTURE(seed, round, all);
    REQUIRE(heard(pieces, side) == heard(all, side));
    REQUIRE(testing::renders_again(all, side));
  }
}

TEST_CASE("random pipelines in random pieces") {
  const u64 seed = test_seed();
  check_random_pipelines(memcached_requests(), small_server(), seed);
  check_random_pipelines(resp_requests(), RespServerSide{}, seed + 1);
  check_random_pipelines(memcached_answers(), MemcachedClientSide{}, seed + 2);
  check_random_pipelines(resp_answers(), RespClientSide{}, seed + 3);
}

TEST_CASE("whatever parses is rendered as a text that parses to the same") {
  const auto check = [](const Lines& lines, const auto& side) {
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(testing::renders_again(line, side));
    }
  };
  check(memcached_requests(), small_server());
  check(resp_requests(), RespServerSide{});
  check(memcached_answers(), MemcachedClientSide{});
  check(resp_answers(), RespClientSide{});
}

/// Parses commands as long as there are some, and returns their number.
template <class Side>
std::size_t parse_all(std::string_view input, Side side) {
  std::size_t commands = 0;
  while (!input.empty()) {
    const Parsed parsed = side.parse(input);
    if (parsed.status != ParseStatus::kCommand) break;
    input.remove_prefix(parsed.used);
    ++commands;
  }
  return input.empty() ? commands : 0;
}

TEST_CASE("a pipeline of 100,000 commands") {
  constexpr std::size_t kCommands = 100'000;
  std::string text, resp, answers, resp_answers;
  RespWriter writer(resp_answers, RespVersion::kResp3);
  const std::string_view get[] = {"GET", "key"};
  for (std::size_t i = 0; i < kCommands; ++i) {
    text += i % 2 == 0 ? "get key\r\n" : "set key 0 0 5 noreply\r\nvalue\r\n";
    append_resp_request(resp, get);
    append_number_line(answers, i);
    writer.integer(static_cast<i64>(i));
  }
  CHECK(parse_all(text, MemcachedServerSide{}) == kCommands);
  CHECK(parse_all(resp, RespServerSide{}) == kCommands);
  CHECK(parse_all(answers, MemcachedClientSide{}) == kCommands);
  CHECK(parse_all(resp_answers, RespClientSide{}) == kCommands);
}

TEST_CASE("a command of 100,000 words that comes in pieces costs no more than its bytes") {
  std::string text = "*100000\r\n", line = "get";
  for (int i = 0; i < 100'000; ++i) {
    append_resp_word(text, "k" + std::to_string(i));
    line += " k" + std::to_string(i);
  }
  line += "\r\n";
  // 16 bytes a piece: a parser that began from the front each time would read 10^10 bytes.
  RespParser resp;
  RespCommand words;
  MemcachedParser memcached({.most_value_bytes = 1, .most_get_line_bytes = 1 << 24});
  MemcachedCommand command;
  constexpr std::size_t kPiece = 16;
  for (std::size_t size = kPiece; size < text.size(); size += kPiece) {
    REQUIRE(resp.parse(std::string_view(text).substr(0, size), words).status == ParseStatus::kNeedsMore);
  }
  REQUIRE(resp.parse(text, words).status == ParseStatus::kCommand);
  CHECK(words.size() == 100'000);
  CHECK(words[99'999] == "k99999");
  for (std::size_t size = kPiece; size < line.size(); size += kPiece) {
    REQUIRE(memcached.parse(std::string_view(line).substr(0, size), command).status == ParseStatus::kNeedsMore);
  }
  REQUIRE(memcached.parse(line, command).status == ParseStatus::kCommand);
  CHECK(command.keys.size() == 100'000);
}

}  // namespace
}  // namespace latchlab
