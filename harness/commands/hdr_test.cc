#include "harness/commands/hdr.h"

#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "harness/loop/histogram.h"
#include "harness/result/result.h"
#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// A file that its destructor removes.
struct File {
  explicit File(const std::string& text) : path("/tmp/latchlab_hdr_test_" + std::to_string(::getpid())) {
    std::ofstream(path) << text;
  }
  ~File() { std::remove(path.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string path;
};

/// Returns a result with a histogram of reads in an open loop.
Json result_with(const Buckets& own, const Buckets& responses) {
  const auto summary = [](const Buckets& buckets) {
    return Json{{"histogram", buckets}, {"max_ns", buckets.back().first - 1}};
  };
  const Json nothing;
  return {{"sync", nothing},
          {"throughput", {{"seconds", 1.5}}},
          {"latency",
           {{"all", summary(own)},
            {"response", summary(responses)},
            {"per_operation", {{"read", {{"time", summary(own)}, {"response", summary(responses)}}}}},
            {"fell_back", nothing}}}};
}

// The Python package hdrhistogram 0.10.8 has read both encodings, and found these counts at these values.
TEST_CASE("histograms are encoded as HdrHistogram encodes them", "[hdr]") {
  CHECK(hdr_encoded({{5, 1}}) ==
        "HISTFAAAADV4AQEqANX/HISTEwAAAAIAAAAAAAAAAgAAAAAAAAABAAAAAAAAAAU/8AAAAAAAAAkCP4MCiw==");
  CHECK(hdr_encoded({{0, 1}, {1, 2}, {63, 3}, {65, 1}, {1023, 5}, {1055, 1}, {65'535, 300}, {u64{1} << 31, 40'000}}) ==
        "HISTFAAAAEd4AQE8AMP/HISTEwAAABQAAAAAAAAAAgAAAAAAAAABAAAAAIAAAAA/8AAAAAAAAAIEeQYAAvkGCgUC9QvYBP8dgPEEr4sJEQ==");
}

TEST_CASE("a percentile distribution has five steps for each half of the distance to 100 %", "[hdr]") {
  CHECK(hdr_percentiles({{10, 50}, {20, 30}, {1000, 20}}) ==
        "       Value     Percentile TotalCount 1/(1-Percentile)\n"
        "\n"
        "       10.00 0.000000000000         50           1.00\n"
        "       10.00 0.100000000000         50           1.11\n"
        "       10.00 0.200000000000         50           1.25\n"
        "       10.00 0.300000000000         50           1.43\n"
        "       10.00 0.400000000000         50           1.67\n"
        "       10.00 0.500000000000         50           2.00\n"
        "       20.00 0.550000000000         80           2.22\n"
        "       20.00 0.600000000000         80           2.50\n"
        "       20.00 0.650000000000         80           2.86\n"
        "       20.00 0.700000000000         80           3.33\n"
        "       20.00 0.750000000000         80           4.00\n"
        "       20.00 0.775000000000         80           4.44\n"
        "       20.00 0.800000000000         80           5.00\n"
        "     1000.00 0.825000000000        100           5.71\n"
        "     1000.00 1.000000000000        100\n"
        "#[Mean    =       211.00, StdDeviation   =       394.52]\n"
        "#[Max     =      1000.00, Total count    =          100]\n"
        "#[Buckets =            3, SubBuckets     =          256]\n");
}

TEST_CASE("a log has a line for each histogram, with its name, its length and its largest time", "[hdr]") {
  const File file(result_with({{5, 1}}, {{2'000'001, 1}}).dump());
  const std::string log = hdr(file.path, "");
  CHECK_THAT(log, Catch::StartsWith("#[Histogram log format version 1.3]\n"));
  const std::string own = hdr_encoded({{4, 1}}), response = hdr_encoded({{2'000'000, 1}});
  CHECK_THAT(log, Catch::EndsWith("\"Interval_Compressed_Histogram\"\n"
                                  "Tag=all,0.000,1.500,0.000," +
                                  own + "\n" + "Tag=all.response,0.000,1.500,2.000," + response + "\n" +
                                  "Tag=read,0.000,1.500,0.000," + own + "\n" + "Tag=read.response,0.000,1.500,2.000," +
                                  response + "\n"));
}

TEST_CASE("results follow one another in a log, and are merged in a distribution", "[hdr]") {
  const Json one = result_with({{10, 50}, {1001, 10}}, {{7, 1}}), other = result_with({{20, 30}, {1001, 10}}, {{7, 1}});
  const File file(one.dump() + "\n" + other.dump());
  CHECK_THAT(hdr(file.path, ""), Catch::Contains("\nTag=read,1.500,1.500,"));
  CHECK(hdr(file.path, "read") == hdr_percentiles({{10, 50}, {20, 30}, {1000, 20}}));
}

TEST_CASE("hdr says why it cannot export a result", "[hdr]") {
  const File file(result_with({{5, 1}}, {{7, 1}}).dump());
  CHECK_THROWS_WITH(hdr(file.path, "raed"),
                    "hdr: there is no 'raed'; there are all, all.response, read, read.response; did you mean 'read'?");
  CHECK_THROWS_WITH(hdr("/nowhere", ""), "hdr: '/nowhere' cannot be read: No such file or directory");
  Json untimed = result_with({{5, 1}}, {{7, 1}});
  untimed["latency"] = nullptr;
  untimed["latency_reason"] = "nobody asked";
  const File other(untimed.dump());
  CHECK_THROWS_WITH(hdr(other.path, ""), "hdr: '" + other.path + "' has no latencies: nobody asked");
  // Before schema 7 there were no response times, and a kind had no "time".
  Json older = result_with({{5, 1}}, {{7, 1}});
  older["schema_version"] = 6;
  older["latency"].erase("response");
  const File sixth(older.dump());
  const std::string needed = fmt::format("' are not those of a result of schema {}", RunResult::kSchemaVersion);
  CHECK_THROWS_WITH(hdr(sixth.path, ""), "hdr: the latencies of '" + sixth.path + needed + ", but of 6");
  older.erase("schema_version");
  older["latency"] = {{"all", 5}};
  const File strange(older.dump());
  CHECK_THROWS_WITH(hdr(strange.path, ""), "hdr: the latencies of '" + strange.path + needed);
  const File none("{}");
  CHECK_THROWS_WITH(hdr(none.path, ""),
                    "hdr: '" + none.path + "', line 1: not a result; harness --json prints one per line");
}

// The position of a value follows from HdrHistogram's documented layout: the 256 smallest values have a position each,
// and above them every power of two has 128.
TEST_CASE("every bucket of ours ends where one of HdrHistogram's ends", "[hdr]") {
  Histogram histogram;
  for (u32 bit = 0; bit < 40; ++bit) {
    for (u64 step = 0; step < 32; ++step) histogram.add((u64{1} << bit) + (step << bit) / 32);
  }
  for (const auto& [last, count] : histogram.buckets()) {
    u64 width = 1;
    while ((last / width) >= 256) width *= 2;
    CAPTURE(last);
    CHECK((last + 1) % width == 0);
  }
}

}  // namespace
}  // namespace latchlab
