#include "workloads/trace_formats.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;

struct Converted {
  Converted(std::string_view format, const std::string& text) {
    const TemporaryFile from(text);
    TraceWriter writer;
    const bool has_times = read_trace(format, from.path(), writer);
    writer.write(to.path(), has_times);
    trace = std::make_unique<Trace>(to.path());
  }
  [[nodiscard]] std::string op(u64 i) const {
    const TraceOp& op = trace->ops()[i];
    return std::to_string(op.time_ns / 1'000'000'000) + " " + std::string(word(static_cast<OpKind>(op.kind))) + " " +
           std::string(trace->key(op.key)) + " " + std::to_string(op.value_bytes);
  }

  TemporaryFile to{""};
  std::unique_ptr<Trace> trace;
};

TEST_CASE("Twitter's lines are read as operations, even with commas in keys", "[trace]") {
  const Converted twitter(
      "twitter",
      "100,abc,3,250,1,get,0\r\n100,abc,3,0,1,gets,0\n103,a,b,c,5,17,2,set,300\n\n103,x,1,1,1,cas,0\n"
      "103,x,1,1,1,add,0\n103,x,1,1,1,replace,0\n104,x,1,0,1,delete,0\n104,x,1,0,1,incr,0\n");
  CHECK(twitter.trace->has_times());
  const std::vector<std::string> expected{"0 read abc 250", "0 read abc 0", "3 upsert a,b,c 17", "3 upsert x 1",
                                          "3 insert x 1",   "3 update x 1", "4 erase x 0",       "4 modify x 0"};
  REQUIRE(twitter.trace->ops().size() == expected.size());
  for (u64 i = 0; i < expected.size(); ++i) CHECK(twitter.op(i) == expected[i]);
  CHECK(twitter.trace->loaded() == 1);
}

TEST_CASE("Meta's lines are read as op_count operations, by the columns of the first line", "[trace]") {
  const Converted plain(
      "meta-kv", "key,op,size,op_count,key_size\nk1,GET,10,3,2\nk2,SET,20,1,2\nk2,DELETE,0,1,2\nk3,GET_LEASE,0,1,2\n");
  CHECK_FALSE(plain.trace->has_times());
  REQUIRE(plain.trace->ops().size() == 6);
  CHECK(plain.op(2) == "0 read k1 10");
  CHECK(plain.op(3) == "0 upsert k2 20");
  CHECK(plain.op(4) == "0 erase k2 0");
  CHECK(plain.trace->loaded() == 2);
  const Converted timed("meta-kv",
                        "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n7,k,1,SET,1,5,0,0\n9,k,1,GET,2,5,0,0\n");
  CHECK(timed.trace->has_times());
  CHECK(timed.op(2) == "2 read k 5");
  CHECK(Converted("meta-kv", "op,key\nGET,k\n").trace->ops().size() == 1);
}

TEST_CASE("lines that do not fit the format are refused with their number", "[trace]") {
  const auto error = [](std::string_view format, const std::string& text) {
    return testing::refusal([&] { (void)Converted(format, text); });
  };
  CHECK_THAT(error("twiter", "x"), Contains("did you mean 'twitter'"));
  CHECK_THAT(error("twitter", ""), Contains("has no operation on its 0 lines"));
  CHECK_THAT(error("twitter", "1,k,1,1,1,get,0\nno\n"), Contains("line 2: needs seven fields"));
  for (const char* line : {",", ",,,,,,", "1,2,3,4,5,6", "get", ",,,,,"})
    CHECK_THAT(error("twitter", line), Contains("line 1: "));
  CHECK_THAT(error("twitter", "1,k,1,1,1,fetch,0"),
             Contains("line 1: there is no operation 'fetch'; there are get, gets, set"));
  CHECK_THAT(error("twitter", "x,k,1,1,1,get,0"), Contains("line 1: the time 'x' is not a whole number"));
  CHECK_THAT(error("twitter", "99999999999,k,1,1,1,get,0"), Contains("the time '99999999999'"));
  CHECK_THAT(error("twitter", "1,k,1,-1,1,get,0"), Contains("the value size '-1'"));
  CHECK_THAT(error("twitter", "1,,1,1,1,get,0"), Contains("the key is empty"));
  CHECK_THAT(error("twitter", "2,k,1,1,1,get,0\n1,k,1,1,1,get,0"), Contains("line 2: its time is earlier than"));
  CHECK_THAT(error("meta-kv", "a,b\n"), Contains("line 1: names no columns key and op"));
  CHECK_THAT(error("meta-kv", "key,op\n"), Contains("has no operation on its 1 lines"));
  CHECK_THAT(error("meta-kv", "key,op\nk\n"), Contains("line 2: has 1 fields; the first line names 2"));
  CHECK_THAT(error("meta-kv", "key,op\nk,get\n"), Contains("there is no operation 'get'; there are GET, GET_LEASE"));
  CHECK_THAT(error("meta-kv", "key,op,op_count\nk,GET,9999999\n"), Contains("op_count '9999999'"));
  CHECK_THAT(error("twitter", std::string(2 << 20, 'x')), Contains("line 1: has more than 1048576 bytes"));
  CHECK(error("twitter", std::string(1 << 20, 'x')).ends_with("time to live"));  // a line of the maximal length
  CHECK_THAT(error("twitter", "1,k,1,1,1," + std::string(100, 'f') + ",0"),
             Contains("operation '" + std::string(60, 'f') + "...'"));
  CHECK_THAT(error("twitter", std::string(100, '7') + ",k,1,1,1,get,0"),
             Contains("the time '" + std::string(60, '7') + "...'"));

  // Lines of another format, or one line too many.
  CHECK_THAT(error("twitter", "key,op,size,op_count,key_size\nk,GET,1,1,1\n"),
             Contains("line 1: needs seven fields") &&
                 Contains("; it names columns, as meta-kv does: convert it as meta-kv, or remove"));
  CHECK_THAT(error("meta-kv", "1,k,1,1,1,get,0\n"),
             Contains("; twitter reads it: harness trace convert twitter FROM TO"));
  CHECK_THAT(error("twitter", "time,id,id_size,value_size,client,operation,ttl\n1,k,1,1,1,get,0\n"),
             Contains("line 1: the ") && Contains("; if it names the columns, remove it (sed 1d)"));
  // There is a hint only for the first line.
  CHECK_THAT(error("twitter", "1,k,1,1,1,get,0\nkey,op\n"), !Contains("reads it"));

  TraceWriter writer;
  CHECK_THROWS_WITH(read_trace("twitter", "/no/such", writer), Contains("No such file"));
  CHECK_THROWS_WITH(read_trace("twitter", "/tmp", writer), Contains("trace '/tmp': Is a directory"));
}

TEST_CASE("a trace too large for memory is refused before memory is out", "[trace]") {
  const TemporaryFile sparse("");
  std::filesystem::resize_file(sparse.path(), u64{1} << 40);
  for (const TraceFormat& format : trace_formats()) {
    TraceWriter writer;
    CHECK_THROWS_WITH(read_trace(format.name, sparse.path(), writer), Contains("line 1: has more than 1048576 bytes"));
  }
  std::string lines = "key,op,op_count\n";
  for (int i = 0; i < 1000; ++i) lines += "k,GET,1000000\n";  // 48 GB of operations
  const TemporaryFile many(lines);
  TraceWriter writer(10'000'000);
  CHECK_THROWS_WITH(read_trace("meta-kv", many.path(), writer),
                    Contains("line 2: the ") && Contains("more than is available"));
  TraceWriter of_keys(1'000'000);
  CHECK_THROWS_WITH(
      [&] {
        for (u64 i = 0;; ++i) of_keys.add(0, std::to_string(i) + std::string(60'000, 'k'), OpKind::kRead, 0);
      }(),
      Contains("on 9 keys"));
}

TEST_CASE("every format has a word", "[trace]") {
  CHECK(trace_formats().size() == 2);
  for (const TraceFormat& format : trace_formats()) {
    TraceWriter writer;
    CHECK_THROWS_WITH(read_trace(format.name, "/no/such", writer), Contains("No such file"));
  }
}

}  // namespace
}  // namespace latchlab
