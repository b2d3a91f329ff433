#include "harness/compare/compare.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/json_schema.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

using Catch::Contains;

Json document_with(const std::string& sync, int threads, double per_second) {
  return {{"status", "ok"},
          {"config",
           {{"point", sync},
            {"index", "art"},
            {"sync", sync},
            {"threads", threads},
            {"time_s", nullptr},
            {"time_s_reason", "why"}}},
          {"machine", {{"model", "Latch 9000"}}},
          {"build", {{"commit", "abc"}}},
          {"throughput", {{"per_second", per_second}}},
          {"sync", {{"aborts", nullptr}, {"aborts_reason", "no"}}}};
}

/// Returns ten results for each number of threads.
ResultSet set_of(const std::string& name, const std::string& sync, double rate, const std::vector<int>& threads = {1}) {
  ResultSet set{.name = name, .documents = {}};
  for (int i = 0; i < 10; ++i) {
    for (const int t : threads) set.documents.push_back(document_with(sync, t, rate * t * (1 + .001 * ((i * 7) % 10))));
  }
  return set;
}

/// Marks the documents as blocks of one command: block i of all sets ran in minute i, from `hour` on.
ResultSet in_blocks(ResultSet set, int second, int hour = 0) {
  for (std::size_t i = 0; i < set.documents.size(); ++i) {
    set.documents[i]["block"] = i;
    set.documents[i]["started"] = fmt::format("2026-01-01T{:02}:{:02}:{:02}.000000Z", hour, i, second);
  }
  return set;
}

Comparison only(const std::vector<Comparison>& comparisons) {
  REQUIRE(comparisons.size() == 1);
  const std::string document = json_of(comparisons.front()).dump();
  CHECK(testing::schema_violations("harness/compare/comparison.schema.json", document) == std::vector<std::string>{});
  return comparisons.front();
}

TEST_CASE("modelled results are compared with each other, and not with measured ones") {
  const auto modelled = [](ResultSet set) {
    for (Json& document : set.documents) {
      document["status"] = "modelled";
      document["machine"]["modelled"] = {{"name", "haswell-ep"}, {"digest", "0123456789abcdef"}};
    }
    return set;
  };
  const ResultSet a = set_of("A", "none", 1e6), b = set_of("B", "olc", 5e5);
  CHECK(only(compare({modelled(a), modelled(b)}, 1, 0)).variants[1].verdict == "slower");
  const std::string why = testing::refusal([&] { (void)compare({a, modelled(b)}, 1, 0); });
  CHECK_THAT(why, Contains("compare: 'B' has modelled results and 'A' measured ones"));
  const Comparison mixed = only(compare({a, modelled(b)}, 1, 0, true));
  CHECK(mixed.variants[1].verdict == "slower");
  CHECK_THAT(fmt::format("{}", fmt::join(mixed.notes, "; ")), Contains("machine/modelled/digest"));
}

TEST_CASE("a modelled medium is compared with modelled ones, and not with a real one") {
  const auto with = [](ResultSet set, const char* medium) {
    for (Json& document : set.documents) document["memory"]["far"] = {{"medium", medium}};
    return set;
  };
  const ResultSet a = set_of("A", "none", 1e6), b = set_of("B", "olc", 5e5);
  CHECK(only(compare({with(a, "modelled"), with(b, "modelled")}, 1, 0)).variants[1].verdict == "slower");
  CHECK(only(compare({a, with(b, "modelled")}, 1, 0)).variants[1].verdict == "slower");
  const std::string why = testing::refusal([&] { (void)compare({with(a, "node"), with(b, "modelled")}, 1, 0); });
  CHECK_THAT(why, Contains("compare: the far memory of 'B' is a modelled medium and that of 'A' a real one"));
  CHECK(only(compare({with(a, "node"), with(b, "modelled")}, 1, 0, true)).variants[1].verdict == "slower");
  ResultSet both = with(b, "node");
  both.documents.front()["memory"]["far"]["medium"] = "modelled";
  CHECK(testing::refusal([&] { (void)compare({a, both}, 1, 0); }) ==
        "compare: 'B' has results of a modelled medium and of a real one as far memory; --mix compares them all the "
        "same");
}

TEST_CASE("runs with one memory stand beside runs with two, and each says so") {
  const auto with_two = [](ResultSet set) {
    for (Json& document : set.documents) {
      document["memory"]["far"] = {{"medium", "node"}};
      document["config"].update({{"near", 1024}, {"far", "node:1,size=4G"}});
    }
    return set;
  };
  const ResultSet one = set_of("A", "none", 1e6), two = with_two(set_of("B", "none", 5e5));
  const Comparison c = only(compare({one, two}, 1));
  CHECK(c.variants[0].command == "A  without near, far");
  CHECK(c.variants[1].command == "B  near=1024 far=node:1,size=4G");
  CHECK(c.notes == std::vector<std::string>{"the results differ in memory/far/medium: none (a), node (b)"});
  // Points of both kinds within a set.
  const auto both = [&](const ResultSet& left, const ResultSet& right) {
    ResultSet set = left;
    set.documents.insert(set.documents.end(), right.documents.begin(), right.documents.end());
    return set;
  };
  const auto all = compare({both(one, two), two}, 1);
  REQUIRE(all.size() == 1);
  CHECK(all[0].notes.back() == "not compared: without near, far, since there is no result of it in B");
}

TEST_CASE("a stated effect decides what is a difference, and the table says so") {
  const std::vector<ResultSet> sets{in_blocks(set_of("A", "none", 1e6), 0), in_blocks(set_of("B", "olc", 9e5), 1)};
  CHECK(only(compare(sets, 1, .03)).variants[1].verdict == "slower");
  const Comparison within = only(compare(sets, 1, .2));
  CHECK(within.variants[1].verdict == "no difference seen");
  CHECK(within.paired());
  CHECK_THAT(table_of(within),
             Catch::StartsWith("results of the same blocks, compared block by block (seed 1), against "
                               "an effect of 20 %\n"));
  CHECK(json_of(within)["effect"] == .2);
  CHECK(json_of(only(compare(sets, 1)))["effect"] == 0);
}

TEST_CASE("an option that differs between two sets distinguishes the variants") {
  const Comparison c = only(compare({set_of("A", "none", 1e6), set_of("B", "olc", 9e5)}, 1));
  CHECK_FALSE(c.paired());
  CHECK(c.common.empty());
  CHECK(c.variants[0].command == "A  sync=none");
  CHECK(c.variants[1].command == "B  sync=olc");
  CHECK(c.variants[1].verdict == "slower");
  CHECK(c.variants[1].contrast->ratio == Approx(.9));
  CHECK(c.notes.empty());
  CHECK_THAT(table_of(c),
             Catch::StartsWith("results without common blocks (seed 1)\n\na  A  sync=none\nb  B  sync=olc\n"));
}

TEST_CASE("an option that varies within a set makes points, and each point is compared by itself") {
  const auto all = compare({set_of("A", "none", 1e6, {1, 2, 4}), set_of("B", "olc", 1e6, {1, 2, 8})}, 1);
  REQUIRE(all.size() == 2);
  CHECK(all[0].common == "threads=1");
  CHECK(all[1].common == "threads=2");
  for (const Comparison& c : all) CHECK(c.variants[1].replicates.size() == 10);
  const std::vector<std::string> left_out{"not compared: threads=4, since there is no result of it in B",
                                          "not compared: threads=8, since there is no result of it in A"};
  for (const Comparison& c : all) CHECK(c.notes == left_out);
}

TEST_CASE("the comparisons of one command are corrected together") {
  const auto half = [](double rate) { return set_of("x", "olc", rate, {1, 2}); };
  const auto one = compare({set_of("A", "none", 1e6), set_of("B", "olc", 9e5)}, 1);
  const auto two = compare({half(1e6), half(9e5)}, 1);
  CHECK(two[0].variants[1].contrast->probability == Approx(2 * one[0].variants[1].contrast->probability));
}

TEST_CASE("results of blocks that ran interleaved are compared block by block") {
  const ResultSet a = in_blocks(set_of("A", "none", 1e6), 10);
  ResultSet b = in_blocks(set_of("B", "olc", 9e5), 40);
  std::reverse(b.documents.begin(), b.documents.end());  // as a folder may list them
  const Comparison c = only(compare({a, b}, 1));
  CHECK(c.paired());
  CHECK(c.variants[1].contrast->interval.low == Approx(.9));  // every block has the same ratio
  CHECK_THAT(table_of(c), Catch::StartsWith("results of the same blocks, compared block by block"));
  // Neither blocks of another command with the same numbers pair, nor a set that lacks a block.
  CHECK_FALSE(only(compare({a, in_blocks(set_of("B", "olc", 9e5), 40, 1)}, 1)).paired());
  ResultSet fewer = b;
  fewer.documents.pop_back();
  CHECK_FALSE(only(compare({a, fewer}, 1)).paired());
  ResultSet twice = b;
  twice.documents.push_back(twice.documents.back());
  CHECK_FALSE(only(compare({a, twice}, 1)).paired());
  // One set has a block twice, and the other has the next block twice.
  ResultSet first = a;
  first.documents[1]["block"] = 0;
  first.documents[1]["started"] = "2026-01-01T00:00:20.000000Z";
  ResultSet second = in_blocks(set_of("B", "olc", 9e5), 40);
  second.documents[0]["block"] = 1;
  second.documents[0]["started"] = "2026-01-01T00:01:30.000000Z";
  CHECK_FALSE(only(compare({first, second}, 1)).paired());
}

/// Gives the documents at each number of threads the seeds from `first` on.
ResultSet with_seeds(ResultSet set, u64 first) {
  std::map<int, u64> next;
  for (Json& document : set.documents) {
    auto& config = document["config"];
    config["seed"] = first + next[config["threads"].get<int>()]++;
  }
  return set;
}

TEST_CASE("runs that differ by the seed alone are replicates, compared seed by seed") {
  const ResultSet a = with_seeds(set_of("A", "none", 1e6), 1);
  ResultSet b = with_seeds(set_of("B", "olc", 9e5), 1);
  std::reverse(b.documents.begin(), b.documents.end());  // as a folder may list them
  const Comparison c = only(compare({a, b}, 1));
  CHECK(c.paired_by == "seed");
  CHECK(c.common.empty());
  CHECK(c.variants[1].contrast->replicates == 10);
  CHECK(c.variants[1].contrast->interval.low == Approx(.9));  // the ratio is the same for each seed
  CHECK(c.notes.empty());
  CHECK_THAT(table_of(c), Catch::StartsWith("results of the same seeds, compared seed by seed (seed 1)\n"));
  CHECK(json_of(c)["paired_by"] == "seed");
  // Other options still make points.
  const auto all =
      compare({with_seeds(set_of("A", "none", 1e6, {1, 2}), 1), with_seeds(set_of("B", "olc", 9e5, {1, 2}), 1)}, 1);
  REQUIRE(all.size() == 2);
  CHECK(all[0].common == "threads=1");
  for (const Comparison& each : all) CHECK(each.variants[1].contrast->replicates == 10);
  // Blocks go before seeds.
  CHECK(only(compare({in_blocks(a, 10), in_blocks(with_seeds(set_of("B", "olc", 9e5), 1), 40)}, 1)).paired_by ==
        "block");
  // One seed on each side is an option like any other.
  const auto one = [](ResultSet set, u64 seed) {
    for (Json& document : set.documents) document["config"]["seed"] = seed;
    return set;
  };
  const Comparison differ = only(compare({one(a, 1), one(b, 2)}, 1));
  CHECK_FALSE(differ.paired());
  CHECK(differ.variants[0].command == "A  sync=none seed=1");
  CHECK(only(compare({one(a, 1), one(b, 1)}, 1)).paired_by.empty());
}

TEST_CASE("runs are not paired by seeds that a variant lacks or has twice") {
  const ResultSet a = with_seeds(set_of("A", "none", 1e6), 1);
  ResultSet twice = with_seeds(set_of("B", "olc", 9e5), 1);
  for (const Json& document : with_seeds(set_of("B", "olc", 9e5), 1).documents) twice.documents.push_back(document);
  const Comparison more = only(compare({a, twice}, 1));
  CHECK_FALSE(more.paired());
  CHECK(more.variants[1].replicates.size() == 20);
  CHECK(more.notes.empty());
  ResultSet other = with_seeds(set_of("B", "olc", 9e5), 2);
  for (Json& document : other.documents) document["stream"] = {{"fingerprint", document["config"]["seed"]}};
  const Comparison apart = only(compare({a, other}, 1));
  CHECK_FALSE(apart.paired());
  CHECK(apart.variants[1].replicates.size() == 10);
  CHECK(apart.notes == std::vector<std::string>{"the results are of different seeds, so of different operations"});
}

TEST_CASE("different machines and builds are compared, with a note") {
  ResultSet b = set_of("B", "none", 1e6);
  for (Json& document : b.documents) document["build"]["commit"] = "def";
  b.documents[0]["machine"]["model"] = "Latch 9001";
  const Comparison c = only(compare({set_of("A", "none", 1e6), b}, 1));
  CHECK(c.notes ==
        std::vector<std::string>{"the results differ in machine/model: Latch 9000 (a), Latch 9000, Latch 9001 (b)",
                                 "the results differ in build/commit: abc (a), def (b)"});
  CHECK_THAT(table_of(c), Contains("\nthe results differ in build/commit: abc (a), def (b)\n"));
  // The note also appears if each set has results of both machines.
  CHECK(only(compare({b, b}, 1)).notes ==
        std::vector<std::string>{
            "the results differ in machine/model: Latch 9000, Latch 9001 (a), Latch 9000, Latch 9001 (b)"});
  CHECK(only(compare({set_of("A", "none", 1e6), set_of("B", "none", 1e6)}, 1)).notes ==
        std::vector<std::string>{"the results do not differ in options, machine or build"});
}

TEST_CASE("a note on all points stands in each document, and once below the tables") {
  const auto all = compare({set_of("A", "none", 1e6, {1, 2}), set_of("B", "none", 1e6, {1, 2})}, 1);
  REQUIRE(all.size() == 2);
  const std::string note = "the results do not differ in options, machine or build";
  for (const Comparison& c : all) CHECK(c.notes == std::vector{note});
  const std::string text = table_of(all);
  CHECK_THAT(text, Catch::EndsWith("\nat all points: " + note + "\n"));
  CHECK(text.find(note) == text.rfind(note));
  // With a single point the note stands among the other notes.
  CHECK_THAT(table_of(std::vector{all[0]}), Contains("\n\n" + note + "\n"));
}

TEST_CASE("sets of which one times more calls are compared, with a note") {
  ResultSet timed = set_of("A", "none", 1e6), untimed = set_of("B", "none", 2e6);
  for (Json& document : timed.documents) document["config"]["latency_every"] = 1;
  for (Json& document : untimed.documents) document["config"]["latency_every"] = 0;
  const Comparison c = only(compare({timed, untimed}, 1));
  REQUIRE(c.notes.size() == 1);
  CHECK_THAT(c.notes[0], Contains("timed calls overlap with no others"));
  CHECK(only(compare({timed, timed}, 1)).notes ==
        std::vector<std::string>{"the results do not differ in options, machine or build"});
}

TEST_CASE("an older result has the default values of options that came later") {
  const ResultSet older = set_of("A", "none", 1e6);
  const auto newer = [](int value_size) {
    ResultSet set = set_of("B", "none", 1e6);
    for (Json& document : set.documents) document["config"]["value_size"] = value_size;
    return set;
  };
  const Comparison same = only(compare({older, newer(8)}, 1));
  CHECK(same.notes == std::vector<std::string>{"the results do not differ in options, machine or build"});
  CHECK(same.variants[1].command == "B");
  const Comparison other = only(compare({older, newer(64)}, 1));
  CHECK(other.variants[0].command == "A  value_size=8");
  CHECK(other.variants[1].command == "B  value_size=64");
}

TEST_CASE("workload files of one name with different contents get a note") {
  const auto with = [](const char* name, const char* place, const char* said) {
    ResultSet set = set_of(name, "none", 1e6);
    for (Json& document : set.documents) document["config"][place] = Json::parse(said);
    return set;
  };
  for (const char* place : {"wiscer", "phases"}) {
    const Comparison c =
        only(compare({with("A", place, R"([{"name": "warm"}])"), with("B", place, R"([{"name": "cold"}])")}, 1));
    CHECK(c.notes ==
          std::vector<std::string>{fmt::format(
              R"(the results differ in config/{}: [{{"name":"warm"}}] (a), [{{"name":"cold"}}] (b))", place)});
  }
}

TEST_CASE("workload files get no note where the option --workload differs, between sets or between points") {
  const auto with = [](const char* name, const char* sync, const char* file, const char* said) {
    ResultSet set = set_of(name, sync, 1e6);
    for (Json& document : set.documents) document["config"].update({{"workload", file}, {"phases", Json::parse(said)}});
    return set;
  };
  const auto both = [](ResultSet one, const ResultSet& other) {
    one.documents.insert(one.documents.end(), other.documents.begin(), other.documents.end());
    return one;
  };
  constexpr const char* kWarm = R"([{"name": "warm"}])";
  constexpr const char* kCold = R"([{"name": "cold"}])";
  CHECK(only(compare({with("A", "none", "phases:x", kWarm), with("B", "none", "phases:y", kCold)}, 1)).notes.empty());
  const ResultSet a = both(with("A", "none", "phases:x", kWarm), with("A", "none", "phases:y", kCold));
  for (const Comparison& c :
       compare({a, both(with("B", "olc", "phases:x", kWarm), with("B", "olc", "phases:y", kCold))}, 1)) {
    CHECK(c.notes.empty());
  }
  const auto changed = compare({a, both(with("B", "olc", "phases:x", kWarm), with("B", "olc", "phases:y", kWarm))}, 1);
  REQUIRE(changed.size() == 2);
  CHECK(changed[0].notes.empty());
  CHECK(changed[1].notes.size() == 1);
}

TEST_CASE("blocks are paired although one of three sets has no result at a point") {
  const auto all =
      compare({in_blocks(set_of("A", "none", 1e6, {1, 2}), 10), in_blocks(set_of("B", "olc", 9e5, {1, 2}), 40),
               in_blocks(set_of("C", "rtm", 8e5, {2}), 50)},
              1);
  REQUIRE(all.size() == 2);
  for (const Comparison& c : all) CHECK(c.variants[1].contrast->replicates == 10);
  ResultSet a = in_blocks(set_of("A", "none", 1e6, {1}), 10), b = in_blocks(set_of("B", "olc", 9e5, {1}), 40);
  ResultSet c = in_blocks(set_of("C", "rtm", 8e5, {1}), 50);
  for (ResultSet* set : {&a, &b}) {
    for (Json more :
         in_blocks(set_of(set->name, set == &a ? "none" : "olc", 1e6, {2}), set == &a ? 20 : 30).documents) {
      set->documents.push_back(std::move(more));
    }
  }
  const auto two = compare({a, b, c}, 1);
  REQUIRE(two.size() == 2);
  CHECK(two[0].paired());
  CHECK(two[1].paired());  // the point at which c has no result
}

TEST_CASE("sets with equal options but different operations are compared, with a note") {
  const auto with_stream = [](ResultSet set, u64 fingerprint) {
    for (Json& document : set.documents) {
      document["stream"] = {{"fingerprint", fingerprint + document["config"]["threads"].get<u64>()}};
      document["config"]["records"] = fingerprint < 100 ? 1000 : 2000;
    }
    return set;
  };
  const auto notes = [](ResultSet a, ResultSet b) { return compare({std::move(a), std::move(b)}, 1).front().notes; };
  const std::vector<std::string> others{
      "the results are of different operations: the fingerprints of their streams differ"};
  const ResultSet a = with_stream(set_of("A", "none", 1e6, {1, 2}), 7),
                  b = with_stream(set_of("B", "olc", 1e6, {1, 2}), 8);
  for (const Comparison& c : compare({a, b}, 1)) CHECK(c.notes == others);
  // The operations differ at one point only.
  ResultSet mixed = with_stream(set_of("B", "olc", 1e6, {1}), 7);
  for (Json& document : with_stream(set_of("B", "olc", 1e6, {2}), 8).documents)
    mixed.documents.push_back(std::move(document));
  const auto two = compare({a, mixed}, 1);
  CHECK(two[0].notes.empty());
  CHECK(two[1].notes == others);
  CHECK(notes(a, with_stream(set_of("B", "olc", 1e6, {1, 2}), 7)).empty());
  CHECK(notes(a, set_of("B", "olc", 1e6, {1, 2})).empty());  // an older result has no fingerprint
  CHECK(notes(a, with_stream(set_of("B", "olc", 1e6, {1, 2}), 100))
            .empty());  // the option --records explains the difference
}

TEST_CASE("sets without a common point are refused, and so are documents that are not results") {
  CHECK_THROWS_WITH(compare({set_of("A", "none", 1e6, {1, 2}), set_of("B", "olc", 1e6, {3, 4})}, 1),
                    "compare: 'A' has no point in common with the others; a point is a combination of threads");
  ResultSet bare{.name = "C", .documents = {{{"throughput", nullptr}, {"sync", nullptr}}}};
  CHECK_THROWS_AS(compare({set_of("A", "none", 1e6), bare}, 1), InputError);
  CHECK_THROWS_AS(compare(CompareCommand{.paths = {"/nowhere", "/nowhere"}}), InputError);
}

TEST_CASE("a result that failed withholds the verdict and is shown") {
  ResultSet b = set_of("B", "olc", 9e5);
  b.documents[2]["status"] = "invalid";
  b.documents[2]["reason"] = "a key is lost";
  const Comparison c = only(compare({set_of("A", "none", 1e6), b}, 1));
  CHECK(c.variants[1].withheld == "1 of 10 replicates of b invalid");
  CHECK_THAT(table_of(c), Contains("b  invalid: a key is lost"));
  CHECK(exit_status(c) == 1);
}

}  // namespace
}  // namespace latchlab
