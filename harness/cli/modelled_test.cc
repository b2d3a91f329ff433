// Tests of the command lines of modelled runs: which build takes them, their defaults, and what does not go with them.
#include "harness/cli/modelled.h"

#include <string>
#include <vector>

#include "harness/cli/cli_testing.h"
#include "harness/host/modelled_machine.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::contains;
using Lines = std::vector<std::string>;

Command parse_modelled(const Lines& args) {
  static const Topology kTopology = Topology::synthetic("pack:1 core:2 pu:1");
  return parse_command_line(
      args, {.registry = testing::kRegistry, .memory_available = u64{8} << 30, .topology = kTopology, .models = true});
}

Plan modelled_plan_of(Lines args) {
  args.emplace_back("--machine=haswell-ep");
  return std::get<RunCommand>(parse_modelled(args)).runs.front();
}

std::string refused_by_model(const Lines& args) {
  return testing::refusal([&] { (void)parse_modelled(args); });
}

TEST_CASE("a build that measures names the one that models, and that one measures nothing", "[cli]") {
  CHECK(
      testing::error_of({"--index=art", "--machine=haswell-ep"}) ==
      "--machine: this harness measures and models nothing; './bench --machine=haswell-ep' builds and runs the one in "
      "build/modelled");
  CHECK(refused_by_model({"--index=art"}).starts_with("--machine: this harness measures nothing; name a modelled"));
}

TEST_CASE("ab gives the blocks of modelled variants seeds of their own, from --seed on", "[cli]") {
  const auto command = std::get<AbCommand>(parse_modelled(
      {"ab", "--machine=haswell-ep", "--a=--sync=none", "--b=--sync=olc --seed=9", "--seed=3", "--records=1k"}));
  CHECK(command.variants[0].seed == 3u);
  CHECK(command.variants[1].seed == 9u);
  CHECK(command.variants[0].args == Lines{"--machine=haswell-ep", "--records=1k", "--sync=none"});
}

TEST_CASE("a modelled run has its own defaults: a short window, a counted warm-up, records for the scale", "[cli]") {
  const Plan plan = modelled_plan_of({"--index=art", "--sync=olc", "--threads=56"});
  CHECK(plan.config.time_ns == 10'000'000);
  CHECK(plan.config.sample_ns == 1'000'000);
  CHECK(plan.config.warmup_ns == 0);
  CHECK(plan.config.records == 4'000'000);
  CHECK(plan.config.pmu == "off");
  CHECK(plan.config.machine.str() == "haswell-ep:scale=16");
  REQUIRE(plan.model);
  CHECK(plan.warmup_operations == plan.model->warmup_operations());
  CHECK(plan.seats.cpus.back() == 55);
  CHECK_FALSE(plan.seats.oversubscribed);
  CHECK(contains(point_of(plan), "--machine=haswell-ep:scale=16 "));
  const Plan as_it_is = modelled_plan_of({"--records=1M", "--warmup=1ms", "--time=5ms", "--workload=lookup"});
  CHECK(as_it_is.config.machine.str() == "haswell-ep:scale=1");
  CHECK(as_it_is.config.warmup_ns == 1'000'000);
  CHECK(as_it_is.warmup_operations == 0);
  CHECK(as_it_is.config.time_ns == 5'000'000);
  CHECK(modelled_plan_of({"--workload=insert"}).warmup_operations == 0);
}

TEST_CASE("a modelled run places memory on the machine's clusters", "[cli]") {
  const Plan plan = modelled_plan_of({"--mem=bind:3", "--pin=socket:1"});
  CHECK(plan.not_placed.empty());
  CHECK(plan.pages.nodes == std::vector<u32>{3});
  CHECK(plan.seats.cpus.front() == 14);
  CHECK(contains(refused_by_model({"--machine=haswell-ep", "--mem=bind:4"}), "there is no node 4"));
}

TEST_CASE("a modelled run needs no library of malloc, and no process of its own", "[cli]") {
  const auto runs = std::get<RunCommand>(
      parse_modelled({"--index=art", "--machine=haswell-ep", "--alloc={malloc,tcmalloc,jemalloc,mimalloc,tbb,arena}"}));
  CHECK(runs.runs.size() == 6);
  CHECK(runs.mallocs.empty());
}

TEST_CASE("what does not go with a modelled machine is refused in one line", "[cli]") {
  for (const auto& [args, part] : std::vector<std::pair<Lines, std::string>>{
           {{"--threads=57"}, "--threads: haswell-ep has 56 hardware threads for 57"},
           {{"--value-size=100"}, "--value-size: the store of sized values is not modelled"},
           {{"--rule=leaves", "--far=node:0,size=1G"}, "--far: the caches of a modelled machine know no media"},
           {{"--clear-accessed=1s"}, "--clear-accessed: "},
           {{"--pmu=core"}, "--pmu: "},
           {{"--profile=x.svg"}, "--profile: "},
           {{"--topology=core:2 pu:1"}, "--topology: a modelled machine has the topology of its file"},
       }) {
    Lines all{"--index=art", "--sync=olc", "--machine=haswell-ep"};
    all.insert(all.end(), args.begin(), args.end());
    const std::string why = refused_by_model(all);
    INFO(why);
    CHECK(contains(why, part));
    CHECK(why.find('\n') == std::string::npos);
  }
  CHECK(contains(refused_by_model({"--machine=haswel-ep"}), "machine 'haswel-ep' is unknown"));
  CHECK(contains(refused_by_model({"--machine=haswell-ep:qpi.speed=2x"}), "qpi.speed"));
}

TEST_CASE("a machine without transactions runs no policy that elides", "[cli]") {
  Plan plan = modelled_plan_of({"--sync=rtm"});
  Pair pair = testing::kRegistry.find("art", "rtm", KeyKind::kU64);
  pair.elides = true;
  CHECK(why_not_modelled(plan, pair).empty());
  plan.model = modelled_machine(Spec::parse("epyc"));
  CHECK(why_not_modelled(plan, pair) == "--sync: rtm needs transactions, which epyc has not");
  pair.elides = false;
  CHECK(why_not_modelled(plan, pair).empty());
  plan.model = nullptr;
  CHECK(why_not_modelled(plan, pair).empty());
}

TEST_CASE("a policy with a server needs a hardware thread more than it has threads on a modelled machine", "[cli]") {
  Registry registry;
  for (Pair pair : testing::kRegistry.pairs()) {
    pair.servers = 1;
    registry.add(std::move(pair));
  }
  static const Topology kTopology = Topology::synthetic("pack:1 core:2 pu:1");
  const auto plan_for = [&](Lines args) {
    args.insert(args.end(), {"--index=art", "--sync=olc", "--machine=haswell-ep"});
    const Command command = parse_command_line(
        args, {.registry = registry, .memory_available = u64{8} << 30, .topology = kTopology, .models = true});
    return std::get<RunCommand>(command).runs.front();
  };
  const Plan plan = plan_for({"--threads=55"});
  CHECK(plan.servers == 1);
  CHECK(plan.seats.free == std::vector<u32>{55});
  const std::string why =
      "--threads: olc has a server beside the threads, which needs a hardware thread of its own: haswell-ep has 56 in "
      "all";
  CHECK(testing::refusal([&] { (void)plan_for({"--threads=56"}); }) == why);
  CHECK(plan_for({"--threads=56", "--fit"}).skip == why);
}

}  // namespace
}  // namespace latchlab
