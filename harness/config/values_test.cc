#include "harness/config/values.h"

#include "src/base/error.h"
#include "src/base/quantity.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

using Points = std::vector<std::string>;

Points expand(std::string value) { return expand_axis("--x", {std::move(value)}); }

TEST_CASE("counts have decimal and binary units", "[cli]") {
  CHECK(parse_count("--x", "16M", 0, ~u64{0}) == 16'000'000);
  CHECK(parse_count("--x", "64k", 0, ~u64{0}) == 64'000);
  CHECK(parse_count("--x", "16Mi", 0, ~u64{0}) == 16u << 20);
  CHECK(parse_count("--x", "1.5M", 0, ~u64{0}) == 1'500'000);
  CHECK(parse_count("--x", "1.1G", 0, ~u64{0}) == 1'100'000'000);
  CHECK(parse_count("--x", "18446744073709551615", 0, ~u64{0}) == ~u64{0});
  for (const char* text :
       {"", "M", "-1", "1.5", "1.0000001", "1m", "16MB", "1e6", "99999999999999999999", "99999999T", "1 M", "NaN"}) {
    INFO(text);
    CHECK_THROWS_AS((void)parse_count("--x", text, 0, ~u64{0}), InputError);
  }
  CHECK_THROWS_AS((void)parse_count("--x", "0", 1, 10), InputError);
  CHECK_THROWS_AS((void)parse_count("--x", "11", 1, 10), InputError);
}

TEST_CASE("a message calls a count out of range too small or too large, whatever its number of digits", "[cli]") {
  CHECK(testing::refusal([] { (void)parse_count("--x", "0", 1, 10); }) ==
        "--x: 0 is too small; it can be from 1 to 10");
  CHECK(testing::refusal([] { (void)parse_count("--x", "11", 1, 10); }) ==
        "--x: 11 is too large; it can be from 1 to 10");
  CHECK(testing::refusal([] { (void)parse_count("--x", "18446744073709551616", 0, ~u64{0}); }) ==
        "--x: 18446744073709551616 is too large; it can be from 0 to 18446744073709551615");
  for (const std::string& text : {std::string("99999999T"), std::string("18446744.5T"),
                                  std::string("18014398509481984Ki"), std::string(400, '9')}) {
    INFO(text);
    CHECK_THROWS_WITH((void)parse_count("--x", text, 0, ~u64{0}), Catch::Contains("is too large"));
  }
  CHECK(testing::refusal([] { (void)parse_duration("--x", "99999999999999999999s", 1'000'000, 60'000'000'000); }) ==
        "--x: 99999999999999999999s is too large; it can be from 1ms to 1min");
  CHECK(testing::refusal([] { (void)parse_duration("--x", "8000000s", 1'000'000, 7 * 86400 * u64{1'000'000'000}); }) ==
        "--x: 8000000s is too large; it can be from 1ms to 10080min (7 days)");
  CHECK_THROWS_WITH((void)parse_duration("--x", "1us", 1'000'000, 60'000'000'000), Catch::Contains("is too small"));
  CHECK_THROWS_WITH((void)parse_count("--x", "1.5", 0, 10), Catch::Contains("not a whole number"));
  CHECK_THROWS_WITH((void)parse_pin("socket:65536"), Catch::Contains("a number from 0 to 65535"));
}

TEST_CASE("a duration has a unit and is read back as it is printed", "[cli]") {
  const u64 most = ~u64{0};
  CHECK(parse_duration("--x", "5s", 0, most) == 5'000'000'000);
  CHECK(parse_duration("--x", "200ms", 0, most) == 200'000'000);
  CHECK(parse_duration("--x", "1.5s", 0, most) == 1'500'000'000);
  CHECK(parse_duration("--x", "2min", 0, most) == 120'000'000'000);
  CHECK(parse_duration("--x", "0", 0, most) == 0);
  for (const char* text : {"", "5", "s", "5 s", "-5s", "5h", "1e3s", "inf"}) {
    INFO(text);
    CHECK_THROWS_AS((void)parse_duration("--x", text, 0, most), InputError);
  }
  for (const u64 ns : {u64{0}, u64{1}, u64{50'000}, u64{200'000'000}, u64{1'500'000'000}, u64{120'000'000'000}}) {
    CHECK(parse_duration("--x", duration_text(ns), 0, most) == ns);
  }
}

TEST_CASE("messages print the limits of counts with units, as people write them", "[cli]") {
  for (const auto& [count, text] : {std::pair<u64, const char*>{0, "0"},
                                    {1024, "1024"},
                                    {10'000, "10000"},
                                    {16'000'000, "16M"},
                                    {1'500'000, "1500k"},
                                    {u64{64} << 20, "64Mi"},
                                    {u64{1} << 40, "1Ti"},
                                    {123'457, "123457"},
                                    {~u64{0}, "18446744073709551615"}}) {
    CHECK(count_text(count) == text);
    CHECK(parse_count("--x", count_text(count), 0, ~u64{0}) == count);
  }
  CHECK(testing::refusal([] { (void)parse_count("--x", "0", 1 << 20, u64{22} << 30); }) ==
        "--x: 0 is too small; it can be from 1Mi to 22Gi");
}

TEST_CASE("lists and ranges expand to the points of an axis", "[cli]") {
  CHECK(expand("art") == Points{"art"});
  CHECK(expand("{1,2,4}") == Points{"1", "2", "4"});
  CHECK(expand("1..4") == Points{"1", "2", "3", "4"});
  CHECK(expand("1..9+2") == Points{"1", "3", "5", "7", "9"});
  CHECK(expand("1..8+2") == Points{"1", "3", "5", "7"});
  CHECK(expand("1..56*2") == Points{"1", "2", "4", "8", "16", "32"});
  CHECK(expand("3..3") == Points{"3"});
  CHECK(expand("{1..3,8,16..64*2}") == Points{"1", "2", "3", "8", "16", "32", "64"});
  CHECK(expand("1M..16M*4") == Points{"1M", "4M", "16M"});
  CHECK(expand("0..1+0.25") == Points{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(expand("0..0.3+0.1") == Points{"0", "0.1", "0.2", "0.3"});
  CHECK(expand("1s..3s") == Points{"1s", "2s", "3s"});
}

TEST_CASE("options belong to the spec before them", "[cli]") {
  CHECK(expand("rtm:20,wait=1") == Points{"rtm:20,wait=1"});
  CHECK(expand("{rtm:20,wait=1,none}") == Points{"rtm:20,wait=1", "none"});
  CHECK(expand("{none,rtm:20,wait=1,respec=0,olc}") == Points{"none", "rtm:20,wait=1,respec=0", "olc"});
  CHECK(expand("{mix:read=90,insert=10,mix:read=50,insert=50}") ==
        Points{"mix:read=90,insert=10", "mix:read=50,insert=50"});
  CHECK(expand("{compact,list:0-1,3,scatter}") == Points{"compact", "list:0-1,3", "scatter"});
  CHECK(expand("file:/a,b/{c}/1..3") == Points{"file:/a,b/{c}/1..3"});
}

TEST_CASE("lists and ranges may stand inside a spec", "[cli]") {
  CHECK(expand("rtm:{0,20},respec=0") == Points{"rtm:0,respec=0", "rtm:20,respec=0"});
  CHECK(expand("{none,rtm:0..10+5}") == Points{"none", "rtm:0", "rtm:5", "rtm:10"});
  CHECK(expand("rtm:20,respec={0,1}") == Points{"rtm:20,respec=0", "rtm:20,respec=1"});
  CHECK(expand("rtm:{0,1},wait=0..1").size() == 4);
  CHECK(expand("simdht:isa={scalar,avx2},key=32") == Points{"simdht:isa=scalar,key=32", "simdht:isa=avx2,key=32"});
  CHECK(expand("ycsb-{a,b}") == Points{"ycsb-a", "ycsb-b"});
}

TEST_CASE("lists inside a path are read as a shell reads them", "[cli]") {
  CHECK(expand("wiscer:{high-churn,read-mostly}") == Points{"wiscer:high-churn", "wiscer:read-mostly"});
  CHECK(expand("{lookup,wiscer:{a,b}}") == Points{"lookup", "wiscer:a", "wiscer:b"});
  CHECK(expand("file:/{c}/{a,b}/1..3") == Points{"file:/{c}/a/1..3", "file:/{c}/b/1..3"});
  CHECK(expand("file:/{a,{b,c}}") == Points{"file:/a", "file:/b", "file:/c"});
  CHECK(expand("file:/{a,b") == Points{"file:/{a,b"});  // an odd but legal file name
  CHECK(expand("file:/{a}") == Points{"file:/{a}"});
}

TEST_CASE("a spec that a shell has split is joined again", "[cli]") {
  // bash makes three options of --sync={rtm:20,wait=1,none}
  CHECK(expand_axis("--sync", {"rtm:20", "wait=1", "none"}) == Points{"rtm:20,wait=1", "none"});
  CHECK(expand_axis("--threads", {"1", "2..4*2"}) == Points{"1", "2", "4"});
}

TEST_CASE("malformed lists and ranges are refused", "[cli]") {
  for (const char* text : {"", "{}", "{1,,2}", "{1,2", "1,2}", "4..1", "1..8*1", "1..8*0", "0..8*2", "1..8+0", "1..",
                           "1..8+", "1..8*x", "1M..8k", "1..1000000", "{1..60000,1..60000}"}) {
    INFO(text);
    CHECK_THROWS_AS((void)expand(text), InputError);
  }
}

TEST_CASE("a pin names processors, clusters or sockets", "[cli]") {
  CHECK(parse_pin("compact").kind == Pin::Kind::kCompact);
  CHECK(parse_pin("scatter").kind == Pin::Kind::kScatter);
  CHECK(parse_pin("socket:1").numbers == std::vector<u32>{1});
  CHECK(parse_pin("cluster:2,0-1").kind == Pin::Kind::kCluster);
  CHECK(parse_pin("cluster:2,0-1").numbers == std::vector<u32>{2, 0, 1});
  CHECK(parse_pin("list:0-3,5").numbers == std::vector<u32>{0, 1, 2, 3, 5});
  CHECK(parse_pin("list:2,0").numbers == std::vector<u32>{2, 0});
  for (const char* text : {"", "compac", "socket", "socket:", "socket:x", "list:", "list:3-1", "list:0,", "list:0--1",
                           "list:99999999", "cluster:", "socket:0,0", "compact:1"}) {
    INFO(text);
    CHECK_THROWS_AS((void)parse_pin(text), InputError);
  }
}

TEST_CASE("a memory placement names NUMA nodes", "[cli]") {
  using Kind = PagePlacement::Kind;
  CHECK(parse_mem("first-touch").kind == Kind::kFirstTouch);
  CHECK(parse_mem("local").kind == Kind::kLocal);
  CHECK(parse_mem("interleave").kind == Kind::kInterleave);
  CHECK(parse_mem("bind:2,0-1").kind == Kind::kBind);
  CHECK(parse_mem("bind:2,0-1").nodes == std::vector<u32>{2, 0, 1});
  for (const char* text : {"", "bind", "bind:", "bind:x", "bind:1-0", "remote", "local:1"}) {
    INFO(text);
    CHECK_THROWS_AS((void)parse_mem(text), InputError);
  }
}

}  // namespace
}  // namespace latchlab
