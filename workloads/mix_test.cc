#include "workloads/mix.h"

#include <limits>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

Mix mix_of(std::string_view text, double negative = 0) { return Mix(Spec::parse(text), negative); }

TEST_CASE("the names and options of workloads are parsed") {
  CHECK(mix_of("lookup").ppm(OpKind::kRead) == Mix::kMillion);
  CHECK_FALSE(mix_of("lookup").fills());
  CHECK(mix_of("insert").ppm(OpKind::kInsert) == Mix::kMillion);
  CHECK(mix_of("insert").fills());

  const Mix mix = mix_of("mix:read=90.5,insert=5,erase=.25,scan=4.25,scan_length=7");
  CHECK_FALSE(mix.fills());
  CHECK(mix.ppm(OpKind::kRead) == 905'000);
  CHECK(mix.ppm(OpKind::kInsert) == 50'000);
  CHECK(mix.ppm(OpKind::kErase) == 2'500);
  CHECK(mix.ppm(OpKind::kScan) == 42'500);
  CHECK(mix.has(OpKind::kScan));
  CHECK_FALSE(mix.has(OpKind::kUpdate));
  CHECK(mix.scan_length(0) == 7);
  CHECK(mix.scan_length(~u64{0}) == 7);
  CHECK(mix_of("mix:scan=100").scan_length(1) == 100);
  CHECK(mix_of("mix:multi_get=100").multi_get_keys() == 16);
  CHECK(mix_of("mix:multi_get=100,multi_get_keys=64").most_keys() == 64);
  CHECK(mix_of("mix:read=100").most_keys() == 1);
  CHECK(mix_of("mix:scan=100,scan_length=1k").scan_length(1) == 1000);
  const Mix varied = mix_of("mix:scan=100,scan_length=5-1k");
  CHECK(varied.scan_length(0) == 5);
  CHECK(varied.scan_length(~u64{0}) == 1000);
  CHECK(mix_of("mix:scan=100,scan_length=1-65535").scan_length(~u64{0}) == 65'535);
  CHECK(mix.shares() == std::vector<std::pair<std::string, double>>{
                            {"read", 0.905}, {"insert", 0.05}, {"erase", 0.0025}, {"scan", 0.0425}});
}

TEST_CASE("a mix has modifies, which read and change the keys that updates do") {
  const Mix mix = mix_of("mix:read=60,modify=40", 0.5);
  CHECK(mix.ppm(OpKind::kModify) == 400'000);
  CHECK(mix.ppm(OpKind::kRmw) == 0);
  CHECK(mix.absent_read_ppm() == 300'000);  // modifies of absent keys are not asked for
  CHECK(mix.changes());
  CHECK(mix.draws_keys());
  CHECK(mix.shares() == std::vector<std::pair<std::string, double>>{{"read", .6}, {"modify", .4}});
  constexpr OpTraits kTraits = about(OpKind::kModify);
  CHECK(kTraits.reads);
  CHECK(kTraits.updates);
  CHECK(kTraits.batches);
  CHECK_FALSE(kTraits.inserts);
  CHECK_FALSE(kTraits.erases);
}

TEST_CASE("YCSB's workloads have names, each with its usual distribution") {
  using Shares = std::vector<std::pair<std::string, double>>;
  CHECK(mix_of("ycsb-a").shares() == Shares{{"read", .5}, {"update", .5}});
  CHECK(mix_of("ycsb-b").shares() == Shares{{"read", .95}, {"update", .05}});
  CHECK(mix_of("ycsb-c").shares() == Shares{{"read", 1}});
  CHECK(mix_of("ycsb-d").shares() == Shares{{"read", .95}, {"insert", .05}});
  CHECK(mix_of("ycsb-e").shares() == Shares{{"insert", .05}, {"scan", .95}});
  CHECK(mix_of("ycsb-f").shares() == Shares{{"read", .5}, {"rmw", .5}});
  CHECK(mix_of("ycsb-e").scan_length(0) == 1);
  CHECK(mix_of("ycsb-e").scan_length(~u64{0}) == 100);
  CHECK(mix_of("ycsb-a").usual_distribution() == "zipf:0.99");
  CHECK(mix_of("ycsb-d").usual_distribution() == "latest:0.99");
  CHECK(mix_of("mix:read=50,update=50").usual_distribution().empty());
  CHECK(mix_of("ycsb-b", 0.1).absent_read_ppm() == 95'000);
}

TEST_CASE("shares of more than four decimals are rounded and still make a million") {
  const Mix mix = mix_of("mix:read=33.3333333333,update=33.3333333333,upsert=33.3333333334");
  CHECK(mix.ppm(OpKind::kRead) + mix.ppm(OpKind::kUpdate) + mix.ppm(OpKind::kUpsert) == Mix::kMillion);
  CHECK(mix.ppm(OpKind::kUpsert) == 333'333);
}

TEST_CASE("a mix of counts gives every kind with a count a share", "[trace]") {
  const Mix mix = Mix::of({900'000'000, 0, 1, 0, 100'000'000, 0, 0});
  CHECK(mix.ppm(OpKind::kErase) == 100'000);
  CHECK(mix.ppm(OpKind::kUpdate) == 1);
  CHECK(mix.ppm(OpKind::kRead) == 899'999);
  CHECK_FALSE(mix.has(OpKind::kInsert));
  CHECK_FALSE(mix.fills());
  CHECK(Mix::of({0, 7, 0, 0, 0, 0, 0}).only() == static_cast<std::size_t>(OpKind::kInsert));
}

TEST_CASE("a negative share is taken from the reads") {
  const Mix mix = mix_of("mix:read=80,update=20", 0.25);
  CHECK(mix.ppm(OpKind::kRead) == 800'000);
  CHECK(mix.absent_read_ppm() == 200'000);
  CHECK(mix_of("lookup", 1).absent_read_ppm() == Mix::kMillion);
  CHECK(mix_of("mix:update=100", 0.25).absent_read_ppm() == 0);  // there are no reads
}

TEST_CASE("wrong workloads are refused in one line that says what would be right") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(mix_of("mix:read=90,insert=5"), Contains("sum to 95"));
  CHECK_THROWS_WITH(mix_of("mix:reed=100"), Contains("did you mean 'read'"));
  CHECK_THROWS_WITH(mix_of("mix:modfy=100"), Contains("did you mean 'modify'"));
  CHECK_THROWS_WITH(mix_of("lokup"), Contains("did you mean 'lookup'"));
  CHECK_THROWS_WITH(mix_of("mix"), Contains("sum to 0"));
  for (const char* text : {"mix:read=-1,insert=101",
                           "mix:read=nan",
                           "mix:read=inf",
                           "mix:read=",
                           "mix:read=50,read=50",
                           "mix:90",
                           "mix:read=100.1",
                           "lookup:3",
                           "insert,a=1",
                           "mix:read=99.99999,insert=0.00001",
                           "mix:scan=100,scan_length=0",
                           "mix:scan=100,scan_length=65536",
                           "mix:multi_get=100,multi_get_keys=0",
                           "mix:multi_get=100,multi_get_keys=257",
                           "mix:multi_get=100,multi_get_keys=1-8",
                           "mix:read=100,multi_get_keys=8",
                           "mix:read=100,scan_length=7",
                           "mix:scan=100,scan_length=9-8",
                           "mix:scan=100,scan_length=0-8",
                           "mix:scan=100,scan_length=8-",
                           "mix:scan=100,scan_length=-8",
                           "mix:read=100,scan_length=100",
                           "ycsb-g",
                           "ycsb-a:1",
                           "ycsb-a,read=1",
                           "ycsb",
                           "wiscer:x",
                           "mix:read=99.999999,update=0.00001"}) {
    INFO(text);
    CHECK_THROWS_AS(mix_of(text), InputError);
  }
  for (const double negative : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(mix_of("lookup", negative), InputError);
  }
}

TEST_CASE("the counts of the blocks add up to the shares, and each block is full") {
  const Mix mix = mix_of("mix:read=49.7,insert=25.01,update=0.0001,upsert=0.2899,erase=25", 0.333);
  u64 expected[Mix::kScheduled] = {};
  for (u64 block = 0; block < 100'000; ++block) {
    u64 full = 0;
    for (std::size_t kind = 0; kind < Mix::kScheduled; ++kind) {
      const u64 before = mix.before(block, kind);
      const u64 after = mix.before(block + 1, kind);
      REQUIRE(before == expected[kind]);
      REQUIRE(after >= before);
      full += after - before;
      expected[kind] = after;
    }
    REQUIRE(full == Mix::kBlock);
  }
  // Checks 25.6 million operations.
  CHECK(expected[static_cast<std::size_t>(OpKind::kInsert)] == 6'402'560);
  CHECK(expected[static_cast<std::size_t>(OpKind::kErase)] == 6'400'000);
  CHECK(expected[static_cast<std::size_t>(OpKind::kUpdate)] == 25);
  CHECK(expected[static_cast<std::size_t>(OpKind::kUpsert)] == 74'214);
}

TEST_CASE("late blocks do not overflow") {
  const Mix mix = mix_of("mix:read=50,insert=50");
  const u64 block = u64{1} << 54;
  CHECK(mix.before(block, static_cast<std::size_t>(OpKind::kInsert)) == block * Mix::kBlock / 2);
}

TEST_CASE("only() names the one kind of a workload") {
  CHECK(mix_of("lookup").only() == static_cast<std::size_t>(OpKind::kRead));
  CHECK(mix_of("lookup", 1).only() == Mix::kAbsentRead);
  CHECK(mix_of("lookup", 0.5).only() == Mix::kScheduled);
  CHECK(mix_of("mix:update=100").only() == static_cast<std::size_t>(OpKind::kUpdate));
}

TEST_CASE("every kind has a word") {
  CHECK(word(OpKind::kRead) == "read");
  CHECK(word(OpKind::kInsert) == "insert");
  CHECK(word(OpKind::kUpdate) == "update");
  CHECK(word(OpKind::kUpsert) == "upsert");
  CHECK(word(OpKind::kErase) == "erase");
  CHECK(word(OpKind::kScan) == "scan");
  CHECK(word(OpKind::kRmw) == "rmw");
  CHECK(word(OpKind::kMultiGet) == "multi_get");
  CHECK(word(OpKind::kModify) == "modify");
}

}  // namespace
}  // namespace latchlab
