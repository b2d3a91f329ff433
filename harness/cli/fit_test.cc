// Command lines about places: --fit on a machine that is too small, --mem=interleave:pin, --clear-accessed.
#include <string>
#include <variant>
#include <vector>

#include "harness/cli/cli.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

Registry one_pair() {
  Registry registry;
  Pair pair;
  pair.index = "art";
  pair.policy = "none";
  pair.many_writers = false;
  pair.resolve = pair.resolve_index = [](const Spec&) { return std::vector<std::pair<std::string, std::string>>(); };
  registry.add(pair);
  return registry;
}

/// Parses a line for a machine with two sockets of two clusters of two cores.
Command parse_on_eight(const std::vector<std::string>& args) {
  static const Registry kOnePair = one_pair();
  static const Topology kTopology = Topology::synthetic("pack:2 numa:2 l3:1 core:2 pu:1");
  return parse_command_line(args, {.registry = kOnePair, .memory_available = u64{8} << 30, .topology = kTopology});
}

RunCommand runs_on_eight(const std::vector<std::string>& args) { return std::get<RunCommand>(parse_on_eight(args)); }

std::string refusal_on_eight(const std::vector<std::string>& args) {
  return testing::refusal([&] { (void)parse_on_eight(args); });
}

std::string skip_of(std::vector<std::string> args) {
  args.emplace_back("--fit");
  return runs_on_eight(args).runs.at(0).skip;
}

TEST_CASE("the option --fit skips runs for which the machine is too small", "[cli]") {
  CHECK(skip_of({"--threads=8"}).empty());
  CHECK(skip_of({"--threads=9"}) == "9 threads would share 8 processors");
  CHECK(skip_of({"--threads=2", "--pin=list:3"}) == "2 threads would share one processor");
  CHECK(skip_of({"--threads=2", "--pin=cluster:0"}).empty());
  CHECK(skip_of({"--threads=3", "--pin=cluster:0"}) == "3 threads would share 2 processors");
  CHECK(skip_of({"--threads=2", "--threads-per=cluster", "--pin=socket:0"}).empty());
  CHECK(skip_of({"--threads=3", "--threads-per=cluster", "--pin=socket:0"}) == "6 threads would share 4 processors");
  for (const char* absent : {"--pin=socket:2", "--pin=cluster:4", "--pin=list:8", "--mem=bind:4"}) {
    INFO(absent);
    CHECK(refusal_on_eight({absent}) == skip_of({absent}));
  }
  CHECK(refusal_on_eight({"--records=1T"}) == skip_of({"--records=1T"}));
  CHECK_THAT(skip_of({"--records=1T"}), Catch::Contains("take at least 16000 GB"));
}

TEST_CASE("threads may share processors without --fit, and --fit keeps the runs that fit", "[cli]") {
  CHECK(runs_on_eight({"--threads=9"}).runs[0].skip.empty());
  const RunCommand command = runs_on_eight({"--fit", "--pin=socket:0", "--threads={1,4,7}"});
  REQUIRE(command.runs.size() == 3);
  CHECK(command.runs[1].skip.empty());
  CHECK(command.runs[2].skip == "7 threads would share 4 processors");
}

TEST_CASE("the option --fit refuses wrong options also if the machine is too small", "[cli]") {
  CHECK(refusal_on_eight({"--fit", "--workload=insert", "--dist=zipf:1", "--threads=9"}) != "");
  CHECK(refusal_on_eight({"--fit", "--pin=socket:9", "--sync=nosuch"}) != "");
  CHECK_THAT(refusal_on_eight({"ab", "--fit", "--a=--seed=1", "--b=--seed=2"}),
             Catch::Contains("--fit has no meaning in harness ab"));
  CHECK_THAT(refusal_on_eight({"ab", "--a=--fit", "--b=--seed=2"}), Catch::Contains("--fit belongs to no variant"));
}

TEST_CASE("interleave:pin means the nodes of the processors that --pin names", "[cli]") {
  const auto nodes = [](const std::string& pin) {
    return runs_on_eight({"--mem=interleave:pin", pin}).runs[0].config.mem.nodes;
  };
  CHECK(nodes("--pin=cluster:2") == std::vector<u32>{2});
  CHECK(nodes("--pin=socket:1") == std::vector<u32>{2, 3});
  CHECK(nodes("--pin=socket:1,0") == std::vector<u32>{0, 1, 2, 3});
  CHECK(nodes("--pin=list:1,7") == std::vector<u32>{0, 3});
  CHECK(nodes("--pin=scatter") == std::vector<u32>{0, 1, 2, 3});
  const Plan plan = runs_on_eight({"--mem=interleave:pin", "--pin=socket:1"}).runs[0];
  CHECK(plan.config.mem.kind == PagePlacement::Kind::kInterleave);
  CHECK_THAT(point_of(plan), Catch::Contains("--mem=interleave:pin"));
  CHECK_THAT(refusal_on_eight({"--mem=interleave:0"}), Catch::Contains("interleave:pin"));
}

TEST_CASE("the option --clear-accessed takes an interval or off, and is part of the point", "[cli]") {
  CHECK(runs_on_eight({"--clear-accessed=off"}).runs[0].config.clear_accessed_ns == 0);
  CHECK(point_of(runs_on_eight({"--clear-accessed=off"}).runs[0]) == point_of(runs_on_eight({"--seed=1"}).runs[0]));
  const Plan plan = runs_on_eight({"--clear-accessed={off,100ms}"}).runs[1];
  CHECK(plan.config.clear_accessed_ns == 100'000'000);
  CHECK_THAT(point_of(plan), Catch::Contains(" --clear-accessed=100ms "));
  CHECK(refusal_on_eight({"--clear-accessed=0"}) != "");
}

}  // namespace
}  // namespace latchlab
