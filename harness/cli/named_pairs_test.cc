#include "harness/cli/named_pairs.h"

#include <string>
#include <vector>

#include "harness/cli/cli_testing.h"
#include "harness/commands/list.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {

using testing::contains;
using testing::kRegistry;

namespace {

/// Returns the registry of a build with a part of all pairs.
Registry a_part() {
  Registry registry = testing::some_words();
  registry.add_lacking({.index = "art", .policies = {"hybrid", "rowex"}, .meant_by = {}});
  registry.add_lacking({.index = "vip", .policies = {"olc"}, .meant_by = {}});
  registry.add_lacking({.index = "cuckoo", .policies = {"none", "olc", "rowex"}, .meant_by = {}});
  registry.add_lacking({.index = "simdht", .policies = {"none"}, .meant_by = {.index = "cuckoo", .option = "shape"}});
  return registry;
}

using Words = std::vector<std::string>;

Words missing(const Words& args) { return missing_pairs(args, a_part()); }

std::string refused_of_a_part(const Words& args) {
  const Registry registry = a_part();
  const Topology topology = Topology::synthetic("pack:1 l3:1 core:2 pu:1");
  return testing::refusal([&] {
    (void)parse_command_line(args, {.registry = registry, .memory_available = u64{8} << 30, .topology = topology});
  });
}

}  // namespace

TEST_CASE("missing pairs are those that a run names and the build lacks", "[cli]") {
  CHECK(missing({"--index=art", "--sync=rtm:20"}).empty());
  CHECK(missing({"--sync=rowex"}) == Words{"art:rowex"});
  CHECK(missing({"--index=cuckoo"}) == Words{"cuckoo:none"});
  CHECK(missing({"--threads=1..4", "--index={art,cuckoo:seed=1}", "--sync={olc,rtm:{0,20},hybrid}"}) ==
        Words{"art:hybrid", "cuckoo:olc"});
  CHECK(missing({"--index=cuckoo:shape=2x4,seed=1"}) == Words{"simdht:none"});
  CHECK(missing({"--index=cuckoo", "--index=vip", "--sync", "olc"}) == Words{"cuckoo:olc", "vip:olc"});
  CHECK(missing({"--index=cuckoo", "--sync=none", "--index=art"}).empty());  // replaced
  const TemporaryFile file("--index=cuckoo\n--sync=rowex\n");
  CHECK(missing({"@" + file.path()}) == Words{"cuckoo:rowex"});
  CHECK(missing({"--sync=olc", "@" + file.path()}) == Words{"cuckoo:olc"});
}

TEST_CASE("an index that a modelled machine does not see is refused in one line", "[cli]") {
  Registry registry = testing::some_words();
  registry.add_unseen("std_map");
  const std::string why = testing::refusal([&] { registry.check_words("std_map", "none"); });
  CHECK(why == "--index: a modelled machine does not see the memory of std_map, whose fields are no cells");
  CHECK(testing::refusal([&] { registry.check_words("art", "olc"); }).empty());
}

TEST_CASE("a file of Wiscer names the index where the command line does not", "[cli]") {
  CHECK(missing({"--workload=wiscer:test", "--sync=olc"}) == Words{"vip:olc"});
  CHECK(missing({"--workload={lookup,wiscer:test}", "--sync={olc,rowex}"}) == Words{"art:rowex", "vip:olc"});
  CHECK(missing({"--workload=wiscer:test", "--sync=olc", "--index=cuckoo"}) == Words{"cuckoo:olc"});
}

TEST_CASE("each variant names pairs by its own options and the common ones", "[cli]") {
  CHECK(missing({"ab", "--a=--sync=olc", "--b=--sync=none", "--index=cuckoo", "--replicates", "3"}) ==
        Words{"cuckoo:olc", "cuckoo:none"});
  CHECK(missing({"ab", "--sync=olc", "--a=--index=vip", "--b=--index=cuckoo --sync=rowex"}) ==
        Words{"vip:olc", "cuckoo:rowex"});
}

TEST_CASE("other commands and wrong lines name no pair", "[cli]") {
  for (const Words& args : {Words{},
                            {"doctor"},
                            {"compare", "a", "b"},
                            {"--no-such=1", "--sync=rowex"},
                            {"--index=nosuch"},
                            {"ab", "--a=--sync='rowex"},
                            {"--sync={rowex"},
                            {"@"}}) {
    CHECK(missing(args).empty());
  }
  CHECK(missing_pairs({"--index=cuckoo"}, kRegistry).empty());  // nothing is lacking where every pair is built
}

TEST_CASE("points are the product of all lists, each with the pair that it means", "[cli]") {
  const auto points = named_points({"--index={art,cuckoo:shape=2x4}", "--threads=1..3+2", "--strict"}, a_part());
  REQUIRE(points.size() == 4);
  CHECK(points[0].words == Words{"--index=art", "--threads=1", "--strict"});
  CHECK(points[1].words == Words{"--index=art", "--threads=3", "--strict"});
  CHECK(points[1].pair == "art:none");
  CHECK(points[3].words == Words{"--index=cuckoo:shape=2x4", "--threads=3", "--strict"});
  CHECK(points[3].pair == "simdht:none");
  CHECK(named_points({"--sync=olc", "--workload=wiscer:test"}, a_part())[0].pair == "vip:olc");
  const auto refused = [](const Words& args) { return testing::refusal([&] { (void)named_points(args, a_part()); }); };
  CHECK(contains(refused({"--no-such=1"}), "there is no option --no-such"));
  CHECK(contains(refused({"--threads=1..400", "--records=1..400"}), "make more than 100000 runs"));
  CHECK(contains(refused({"--threads={1,0}"}), "--threads: 0 is too small"));
  CHECK(contains(refused({"--index={art,nosuch}"}), "--index: there is no 'nosuch'"));
  CHECK(contains(refused({"--sync=nosuch"}), "--sync: there is no 'nosuch'"));
  CHECK(contains(refused({"--workload=nosuch"}), "nosuch"));
  CHECK(named_points({"--index=art", "--sync=rowex"}, a_part())[0].pair == "art:rowex");  // the build lacks it
}

TEST_CASE("lists and messages also name the pairs that a build lacks", "[cli]") {
  CHECK(refused_of_a_part({"--index=cukoo"}) ==
        "--index: there is no 'cukoo'; there are art, vip, chained, tbb, cuckoo, simdht; did you mean 'cuckoo'?");
  CHECK(
      contains(refused_of_a_part({"--sync=rowx"}), "there are none, spin, rtm, olc, own, hybrid, rowex; did you mean"));
  CHECK(refused_of_a_part({"--sync=rowex"}) ==
        "--sync: art under rowex is not in this build, which has a part of all pairs; ./bench builds what it is asked "
        "for");
  CHECK(contains(refused_of_a_part({"--index=cuckoo", "--isa=avx2"}), "cuckoo under none is not in this build"));
  CHECK(contains(refused_of_a_part({"--index=cuckoo:shape=2x4"}), "simdht under none is not in this build"));
  CHECK(contains(refused_of_a_part({"--index=vip", "--sync=rtm"}),
                 "vip does not run under rtm; it runs under none, spin, olc"));
  CHECK(
      contains(list_text(a_part(), "indexes"), "  cuckoo                not in this build: under none, olc, rowex\n"));
  CHECK(contains(list_text(a_part(), "policies"), "  not in this build: hybrid, rowex\n"));
  CHECK_FALSE(contains(list_text(kRegistry, ""), "not in this build"));
}

}  // namespace latchlab
