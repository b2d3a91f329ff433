#include "harness/cli/cli.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "harness/cli/cli_testing.h"
#include "harness/commands/list.h"
#include "src/memory/media/file_system.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

using testing::contains;
using testing::error_of;
using testing::kRegistry;
using testing::Options;
using testing::runs;

TEST_CASE("a plain command is one run with defaults", "[cli]") {
  const RunCommand command = runs({"--index=art", "--sync=rtm:20", "--threads=56"});
  REQUIRE(command.runs.size() == 1);
  const Config& config = command.runs[0].config;
  CHECK(config.index.str() == "art");
  CHECK(config.sync.str() == "rtm:20");
  CHECK(config.threads == 56);
  CHECK(config.alloc == Alloc::kArenaTouch);
  CHECK(config.records == 16'000'000);
  CHECK(config.time_ns > 0);
  CHECK(config.ops == 0);
  CHECK(config.warmup_ns > 0);
  CHECK(config.validate == Validate::kTally);
  CHECK(command.runs[0].skip.empty());
  CHECK_FALSE(command.json);
}

TEST_CASE("a value may follow its option after a blank", "[cli]") {
  CHECK(runs({"--threads", "3", "--json"}).runs[0].config.threads == 3);
  CHECK(runs({"--threads", "3", "--json"}).json);
}

TEST_CASE("axes make a product, in which the last axis changes fastest", "[cli]") {
  const RunCommand command = runs({"--sync={none,rtm:0,rtm:20}", "--threads=1..2", "--workload=lookup"});
  REQUIRE(command.runs.size() == 6);
  CHECK(command.runs[0].config.sync.str() == "none");
  CHECK(command.runs[1].config.sync.str() == "none");
  CHECK(command.runs[1].config.threads == 2);
  CHECK(command.runs[2].config.sync.str() == "rtm:0");
  CHECK(command.runs[5].config.sync.str() == "rtm:20");
  CHECK(runs({"--threads=1..2", "--sync={none,olc}"}).runs[1].config.sync.str() == "olc");
}

TEST_CASE("a recording replaces no file but a history", "[cli]") {
  const TemporaryFile notes("notes"), empty("");
  CHECK(contains(error_of({"--history=" + notes.path()}), "exists and is no history; remove it, or name another"));
  CHECK(runs({"--history=" + empty.path()}).runs[0].config.history);
  std::ifstream file(notes.path());
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "notes");
}

TEST_CASE("recorded calls are part of the point, and --validate=history records without a file", "[cli]") {
  const Plan kept = runs({"--history=/tmp/latchlab.history,keys=all", "--records=1k"}).runs[0];
  REQUIRE(kept.config.recording());
  CHECK(kept.config.recording()->str() == "/tmp/latchlab.history,keys=all");
  CHECK(kept.config.validate == Validate::kTally);
  CHECK(contains(point_of(kept), " --history=/tmp/latchlab.history,keys=all --seed=1 --validate=tally"));
  const Plan checked = runs({"--validate=history"}).runs[0];
  CHECK_FALSE(checked.config.history);
  REQUIRE(checked.config.recording());
  CHECK(checked.config.recording()->file.empty());
  CHECK(checked.config.recording()->share() == "1/64");
  CHECK_FALSE(runs({"--validate=tally"}).runs[0].config.recording());
}

TEST_CASE("the option --preempt is part of the point, and needs recorded calls", "[cli]") {
  const Plan run = runs({"--validate=history", "--preempt"}).runs[0];
  CHECK(run.config.preempt);
  CHECK(point_of(run).ends_with(" --validate=history --preempt"));
  CHECK(runs({"--history=/tmp/latchlab.history", "--preempt"}).runs[0].config.preempt);
  CHECK_FALSE(runs({"--validate=history"}).runs[0].config.preempt);
  const RunCommand list = runs({"--alloc={malloc,tbb}", "--validate=history", "--preempt"});
  CHECK(std::ranges::count(list.runs[0].words, "--preempt") == 1);
  const RunCommand some = runs({"--validate={tally,history}", "--preempt"});
  CHECK(contains(some.runs[0].skip, "--preempt: it interrupts recorded calls, and none are recorded"));
  CHECK(some.runs[1].skip.empty());
}

TEST_CASE("every option of a run is an axis", "[cli]") {
  for (const char* arg : {"--index={art,tbb}",
                          "--sync={none,spin}",
                          "--threads={1,2}",
                          "--pin={compact,list:0-1,3}",
                          "--alloc={malloc,arena}",
                          "--hugepages={none,thp}",
                          "--workload={lookup,insert}",
                          "--keys={u64,dense}",
                          "--dist={uniform,zipf:0.99}",
                          "--negative={0,0.5}",
                          "--records={1k,1M}",
                          "--warmup={0,1s}",
                          "--time={1s,2s}",
                          "--ops={1M,2M}",
                          "--sample={10ms,20ms}",
                          "--seed={1,2}",
                          "--validate={history,off}",
                          "--mem={local,bind:0,1}",
                          "--smt={avoid,pack}",
                          "--threads-per={run,cluster}",
                          "--pin={cluster:0,1,socket:0-1}"}) {
    INFO(arg);
    CHECK(runs({arg}).runs.size() == 2);
  }
}

TEST_CASE("memory is placed only on this machine, and only if it has several nodes", "[cli]") {
  const Plan elsewhere = runs({"--mem=interleave"}).runs[0];
  CHECK(elsewhere.not_placed == "the topology describes another machine");
  CHECK(elsewhere.pages.kind == PagePlacement::Kind::kFirstTouch);
  CHECK(contains(point_of(elsewhere), "--mem=interleave"));
  CHECK(runs({"--seed=1"}).runs[0].not_placed == "it is the system's own rule");

  const Topology one = Topology::synthetic("core:2 pu:1");
  const Surroundings surroundings{.registry = kRegistry, .memory_available = u64{8} << 30, .topology = one};
  const auto run = std::get<RunCommand>(parse_command_line({"--mem=bind:0"}, surroundings)).runs[0];
  CHECK(run.not_placed == "there is one NUMA node");
  CHECK_THROWS_WITH(parse_command_line({"--mem=bind:1"}, surroundings),
                    Catch::Contains("this process may use node 0 only"));
}

TEST_CASE("a placement that the kernel refuses degrades the run, and --strict refuses the run", "[cli]") {
  Topology lies = Topology::synthetic("pack:2 [numa] core:1 pu:1");
  lies.this_system = true;
  lies.nodes[1].os = kMostNodes - 1;  // this machine has no such node
  const Surroundings surroundings{.registry = kRegistry, .memory_available = u64{8} << 30, .topology = lies};
  const auto run = std::get<RunCommand>(parse_command_line({"--mem=bind:1023"}, surroundings)).runs[0];
  CHECK(contains(run.mem_degraded, "--mem: the kernel does not let this process place memory"));
  CHECK(run.not_placed == run.mem_degraded);
  CHECK_THROWS_WITH(parse_command_line({"--mem=bind:1023", "--strict"}, surroundings),
                    Catch::Contains("would be degraded: --mem"));
  lies.nodes[1].allowed = false;
  CHECK_THROWS_WITH(parse_command_line({"--mem=bind:1023"}, surroundings),
                    Catch::Contains("node 1023 is not allowed; this process"));
  lies.nodes = {{.os = 0, .bytes = 1, .allowed = true}, {.os = 1, .bytes = 0, .allowed = true}};
  CHECK_THROWS_WITH(parse_command_line({"--mem=bind:0-1"}, surroundings), Catch::Contains("node 1 has no memory"));
}

TEST_CASE("by default fewer keys are loaded if the policy keeps copies of the index", "[cli]") {
  CHECK(runs({"--index=art", "--sync=olc"}).runs[0].config.records == 16'000'000);  // of 8 GiB
  CHECK(runs({"--index=tbb", "--sync=own"}).runs[0].config.records == 4'000'000);
}

TEST_CASE("by default as many values are loaded as half of two memories holds", "[cli]") {
  const auto records = [](const std::string& near, const std::string& far, const std::string& rule) {
    return runs({"--value-size=992", "--near=" + near, "--far=" + far, "--rule=" + rule}).runs[0].config.records;
  };
  CHECK(runs({"--value-size=992"}).runs[0].config.records == 1'000'000);  // of 8 GiB
  CHECK(records("1G", "model:cxl,size=3G", "weighted:1") == 2'000'000);
  CHECK(records("100M", "model:cxl,size=300M", "weighted:1") == 200'000);
  CHECK(records("2M", "model:cxl,size=3M", "weighted:1") == 2500);
  // Far memory must hold what the rule puts there.
  CHECK(records("100M", "model:cxl,size=90M", "weighted:0.1") == 50'000);
  CHECK(records("200M", "model:cxl,size=100M", "weighted:0") == 50'000);
  // A node of its own may hold more than the memory that is available to the index.
  CHECK(records("1G", "node:1,size=63G", "weighted:1") == 14'000'000);
}

TEST_CASE("by default as many far leaves are made as half of far memory holds, or the machine", "[cli]") {
  const auto records = [](const std::string& size) {
    return runs({"--index=art", "--rule=leaves", "--far=node:1,size=" + size}).runs[0].config.records;
  };
  CHECK(records("32Mi") == 520'000);
  CHECK(records("1Mi") == 10'000);
  CHECK(records("60G") == runs({"--index=art"}).runs[0].config.records);
}

TEST_CASE("the memory of a tmpfs is this machine's, and its folder may have less", "[cli]") {
  const std::optional<FileSystem> files = file_system_of("/dev/shm");
  if (!files || !files->is_memory) return;
  const auto why = [](const std::string& size) {
    return error_of({"--value-size=992", "--near=2G", "--rule=weighted:0.5", "--far=file:/dev/shm,size=" + size});
  };
  CHECK(contains(why("7G"), "lies in this machine's memory, as --near does: 9.0 GB; 8.6 GB of memory are available"));
  const u64 room = std::filesystem::space("/dev/shm").available;
  if (room < u64{6} << 30) CHECK(contains(why("6G"), "--far=file:/dev/shm,size=6G: 6.0 GB; "));
}

TEST_CASE("the option --topology plans runs for the processors, nodes and memory of another machine", "[cli]") {
  const RunCommand command = runs({"--topology=pack:4 numa:2 core:3 pu:1", "--pin=socket:3", "--threads-per=cluster",
                                   "--mem=interleave", "--threads=3"});
  CHECK(command.machine == "pack:4 numa:2 core:3 pu:1");
  CHECK(command.runs[0].config.threads == 6);
  CHECK(command.runs[0].config.mem.nodes == std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 7});
  const std::string small = "--topology=numa:1(memory=1GB) core:1 pu:1";
  CHECK(runs({small, "--records=60M"}).runs.size() == 1);
  CHECK(contains(error_of({small, "--records=80M"}), "1.0 GB of memory are available"));
  CHECK(runs({"--seed=1"}).machine.empty());
}

TEST_CASE("threads for each cluster or socket are multiplied by how many --pin names", "[cli]") {
  const RunCommand command =
      runs({"--pin={cluster:0,socket:0,compact}", "--threads={1,2}", "--threads-per=cluster", "--smt=pack"});
  std::vector<u32> threads;
  for (const Plan& run : command.runs) threads.push_back(run.config.threads);
  CHECK(threads == std::vector<u32>{1, 2, 2, 4, 4, 8});
  const std::string point = point_of(command.runs.back());
  CHECK(contains(point, "--threads=2 --pin=compact --threads-per=cluster --smt=pack"));
  CHECK(point_of(runs(split_like_shell(point)).runs[0]) == point);
  CHECK(contains(point_of(runs({"--threads=2"}).runs[0]), "--threads=2 --pin=compact --alloc="));
}

TEST_CASE("repetitions are replicates of their point", "[cli]") {
  const RunCommand command = runs({"--sync={none,olc}", "--reps=3"});
  REQUIRE(command.runs.size() == 6);
  CHECK(command.runs[2].config.replicate == 2);
  CHECK(command.runs[2].config.sync.str() == "none");
  CHECK(point_of(command.runs[0]) == point_of(command.runs[2]));
  CHECK(point_of(command.runs[0]) != point_of(command.runs[3]));
}

TEST_CASE("a point's command line makes the same point", "[cli]") {
  const Plan plan =
      runs({"--sync=rtm:20,wait=0", "--ops=12345", "--keys=dense", "--warmup=1500us", "--pin=list:0-1,3"}).runs[0];
  const Plan again = runs(split_like_shell(point_of(plan))).runs[0];
  CHECK(point_of(again) == point_of(plan));
  CHECK(again.config.warmup_ns == 1'500'000);
}

TEST_CASE("an index whose empty size exceeds memory is refused", "[cli]") {
  CHECK(runs({"--index=vip:128"}).runs.size() == 1);
  CHECK(error_of({"--index=vip:129"}) == "--index: vip:129 takes at least 9 GB; 8.6 GB of memory are available");
}

TEST_CASE("the option --latency times all calls, a sample, or none", "[cli]") {
  const auto every = [](const char* option) { return runs({option}).runs[0].config.latency_every; };
  CHECK(every("--threads=1") == 0);
  CHECK(every("--latency=off") == 0);
  CHECK(every("--latency=all") == 1);
  CHECK(every("--latency=sample:0.01") == 100);
  for (const char* latency : {"off", "all", "sample:0.01", "sample:1e-06"}) {
    const std::string option = "--latency=" + std::string(latency);
    CHECK(contains(point_of(runs({option}).runs[0]), option + " "));
  }
  CHECK(error_of({"--latency=some"}) == "--latency: 'some' is not off, all or sample:0.01");
  CHECK(every("--latency=sample:.33") == 3);
  CHECK(every("--latency=sample:1") == 1);
  CHECK(every("--latency=sample:1e-6") == 1'000'000);
  CHECK(error_of({"--latency=sample:.7"}) ==
        "--latency: sample:.7 is not one call in a whole number of calls; write all or sample:0.5");
  CHECK(contains(error_of({"--latency=sample:.4"}), "write sample:0.5 or sample:0.33"));
  CHECK(contains(error_of({"--latency=sample:0"}), "less than one call in a million"));
  CHECK(contains(error_of({"--latency=sample:1.5"}), "a number from 0 to 1"));
  CHECK(contains(error_of({"--latency=sample:"}), "a number from 0 to 1"));
}

TEST_CASE("a comma joins families of events in one point, and braces make points", "[cli][pmu]") {
  CHECK(runs({"--pmu=tsx,cache"}).runs.size() == 1);
  const RunCommand command = runs({"--pmu={core,tsx,off}"});
  REQUIRE(command.runs.size() == 3);
  CHECK(command.runs[0].config.pmu == "core");
  CHECK(command.runs[1].config.pmu == "tsx");
  // Points without --pmu keep the names that they had before that option existed.
  CHECK(point_of(command.runs[0]) == point_of(runs({"--threads=1"}).runs[0]));
  CHECK_FALSE(contains(point_of(command.runs[0]), "--pmu"));
  for (const char* pmu : {"tsx,cache", "off", "CYCLES:u"}) {
    const Plan plan = runs({"--pmu=" + std::string(pmu)}).runs[0];
    CHECK(contains(point_of(plan), "--pmu=" + std::string(pmu) + " "));
    CHECK(point_of(runs(split_like_shell(point_of(plan))).runs[0]) == point_of(plan));
  }
  CHECK(error_of({"--pmu=tsx,cach"}).ends_with("did you mean 'cache'?"));  // the message does not suggest a list
  CHECK(contains(error_of({"--pmu={core,cach}"}), "did you mean 'cache'?"));
}

TEST_CASE("with --rate all calls are timed unless --latency says otherwise", "[cli]") {
  const RunCommand command = runs({"--rate={1k..4k*2,poisson:1M,sine:2M,amplitude=0.1}"});
  REQUIRE(command.runs.size() == 5);
  CHECK(command.runs[2].config.rate->str() == "fixed:4000");
  CHECK(command.runs[4].config.rate->str() == "sine:2000000,amplitude=0.1,period=10s");
  CHECK(command.runs[4].config.latency_every == 1);
  CHECK(contains(point_of(command.runs[3]), " --rate=poisson:1000000 "));
  CHECK_FALSE(contains(point_of(runs({"--threads=1"}).runs[0]), "--rate"));
  CHECK(runs({"--rate=1k", "--latency=sample:0.1"}).runs[0].config.latency_every == 10);
  CHECK(runs({"--rate=1k", "--latency=off"}).runs[0].config.latency_every == 0);
  CHECK(contains(error_of({"--rate={1M,fixed:1000k}"}), "--rate: fixed:1000k is the same as 1M"));
  CHECK(contains(error_of({"--rate=fast"}), "--rate: there is no 'fast'; write 1M, poisson:1M, sine:1M"));
  CHECK(error_of({"--rate=1M", "--batch=16"}) ==
        "--batch: with --rate operations come one by one, not by --batch=16; leave one of them out");
  CHECK(runs({"--slo={p99:50us,p99.9:1ms}"}).runs[1].config.latency_every == 1);
  CHECK(contains(point_of(runs({"--slo=p99:50us"}).runs[0]), " --slo=p99:50us "));
  CHECK(error_of({"--slo=p99:50us", "--rate=1M"}) ==
        "--slo: it searches for the rate that --rate gives; leave one of them out");
  CHECK(error_of({"--slo=p99:50us", "--latency=off"}) == "--slo: --latency=off times nothing; leave it out");
  CHECK(contains(error_of({"--slo=p99:50us", "--workload=insert"}), "fills the index once"));
  CHECK(error_of({"--slo=p99.9:50us", "--ops=9999", "--latency=sample:0.1"}) ==
        "--slo: p99.9:50us needs 1000 timed calls, and --ops=9999 with --latency=sample:0.1 has 999");
  CHECK(runs({"--slo=p99.9:50us", "--ops=10000", "--latency=sample:0.1"}).runs.size() == 1);
  CHECK(contains(error_of({"--slo=p99:50us", "--batch=4"}), "with --slo operations come one by one"));
  CHECK(runs({"--rate=1M", "--batch={1,16}"}).runs[1].skip.starts_with("--batch: with --rate"));
}

TEST_CASE("the instruction set of kernels is an axis, for an index that has kernels", "[cli]") {
  const RunCommand command = runs({"--isa={avx,sse}", "--index={vip,vip:32}", "--keys=u32"});
  REQUIRE(command.runs.size() == 4);
  CHECK(command.runs[0].config.index.str() == "vip:isa=avx");
  CHECK(command.runs[3].config.index.str() == "vip:32,isa=sse");
  CHECK(command.runs[3].index_options == Options{{"period", "32"}, {"isa", "sse"}});
  CHECK(error_of({"--index=vip", "--isa=mmx"}) ==
        "--isa: index vip: isa=mmx is none of any, sse, avx; did you mean 'avx'?");
  CHECK(error_of({"--index=vip:0", "--isa=sse"}).starts_with("--index: index vip: '0' must be"));
  const RunCommand borne = runs({"--index=vip:99", "--isa={sse,avx}"});
  REQUIRE(borne.runs.size() == 2);
  CHECK(borne.runs[0].skip == "--isa: index vip: 99 is not of isa=sse");
  CHECK(borne.runs[0].config.index.str() == "vip:99,isa=sse");
  CHECK(borne.runs[1].skip.empty());
  CHECK(error_of({"--index=vip:99", "--isa=sse"}) == "--isa: index vip: 99 is not of isa=sse");
  CHECK(contains(error_of({"--index=vip:isa=sse", "--isa=avx"}), "--index=vip:isa=sse has an isa already"));
  CHECK(contains(error_of({"--index=art", "--isa=avx"}), "--isa: it does not reach art"));
  CHECK(contains(error_of({"--index=vip", "--isa={avx,avx}"}), "is given twice"));
  CHECK(runs({"--index=vip", "--isa=avx"}).runs[0].index_degraded == "no avx here");
  CHECK(runs({"--index=vip", "--isa=sse", "--strict"}).runs[0].index_degraded.empty());
  CHECK(error_of({"--index=vip", "--isa=avx", "--strict"}) == "--strict: the result would be degraded: no avx here");
  const RunCommand some = runs({"--index={art,vip}", "--isa=avx"});
  CHECK(contains(some.runs[0].skip, "does not reach art"));
  CHECK(some.runs[1].skip.empty());
}

TEST_CASE("a point of a list whose index has options that contradict one another is skipped", "[cli]") {
  const RunCommand command = runs({"--index=vip:{99,60},isa={sse,avx}", "--keys=u32"});
  REQUIRE(command.runs.size() == 4);
  CHECK(command.runs[0].skip == "--index: index vip: 99 is not of isa=sse");
  CHECK(command.runs[0].config.index.str() == "vip:99,isa=sse");
  CHECK(command.runs[0].index_options.empty());
  for (const std::size_t i : {1, 2, 3}) CHECK(command.runs[i].skip.empty());
  // An option that the index refuses by itself is not blamed on --isa.
  const RunCommand both = runs({"--index={vip:99,isa=sse,vip:60}", "--isa=avx", "--keys=u32"});
  CHECK(both.runs[0].skip == "--index: index vip: 99 is not of isa=sse");
  CHECK(error_of({"--index=vip:99,isa=sse"}) == "--index: index vip: 99 is not of isa=sse");
  CHECK(error_of({"--index=vip:99,isa=sse", "--threads=1..2"}) ==
        "--index: index vip: 99 is not of isa=sse");  // no run is left
  CHECK(contains(error_of({"--index=vip:{99,60},isa={sse,mmx}"}), "isa=mmx is none of"));
  CHECK(contains(error_of({"--index=vip:{99,099},isa=sse"}), "is the same as vip:99,isa=sse"));
}

TEST_CASE("each run of a list with several mallocs has the words that ask for it alone", "[cli]") {
  const RunCommand list =
      runs({"--sync={rtm:20,wait=0,none}", "--alloc={jemalloc,malloc,arena}", "--pin={list:0,2-3,compact}",
            "--threads={1,2}", "--workload={insert,lookup}", "--reps=2", "--block=3", "--order=1", "--fit"});
  CHECK(list.mallocs == std::vector{Alloc::kJemalloc, Alloc::kMalloc});
  REQUIRE(list.runs.size() == 96);
  for (const Plan& run : list.runs) {
    if (!run.skip.empty()) continue;  // a skipped run has no words
    const RunCommand alone = runs(run.words);
    REQUIRE(alone.runs.size() == 1);
    CHECK(point_of(alone.runs[0]) == point_of(run));
    CHECK(alone.runs[0].config.replicate == run.config.replicate);
    CHECK(alone.runs[0].config.block == 3u);
    CHECK(alone.runs[0].config.order == 1u);
    CHECK(alone.runs[0].config.fit);
  }
  // The words fix the number of records, which otherwise depends on the free memory at the time.
  CHECK(std::ranges::count(list.runs[0].words, fmt::format("--records={}", list.runs[0].config.records)) == 1);
  CHECK(std::ranges::count(runs({"--alloc={malloc,tbb}", "--strict"}).runs[0].words, "--strict") == 1);
  const RunCommand one = runs({"--alloc={jemalloc,arena}"});
  CHECK(one.mallocs == std::vector{Alloc::kJemalloc});
  CHECK(one.runs[0].words.empty());
  CHECK(runs({"--alloc={arena,arena+touch}"}).mallocs.empty());
}

TEST_CASE("each run of a dry run has the words that ask for it alone", "[cli]") {
  const RunCommand list = runs({"--dry-run", "--sync={none,rtm:20}", "--threads=1..2", "--reps=2", "--time=1s"});
  CHECK(list.dry_run);
  REQUIRE(list.runs.size() == 8);
  const std::string records = fmt::format("--records={}", list.runs[0].config.records);
  CHECK(list.runs[0].words == std::vector<std::string>{"--sync=none", "--threads=1", "--time=1s", records});
  CHECK(list.runs[7].words ==
        std::vector<std::string>{"--sync=rtm:20", "--threads=2", "--time=1s", records, "--replicate=1"});
  CHECK(runs({"--dry-run", "--sync=olc", "--records=9"}).runs[0].words ==
        std::vector<std::string>{"--sync=olc", "--records=9"});
  CHECK_FALSE(runs({"--sync=olc"}).dry_run);
}

TEST_CASE("an option that selects another index makes it that index", "[cli]") {
  const RunCommand command = runs({"--index={vip:isa=sse,vip:grain=3}", "--sync={spin,own}"});
  REQUIRE(command.runs.size() == 4);
  CHECK(command.runs[0].config.index.str() == "vip:isa=sse");
  CHECK(contains(command.runs[2].skip, "tbb does not run under spin"));
  CHECK(command.runs[3].config.index.str() == "tbb:grain=3");
  CHECK(command.runs[3].own_memory == "it allocates itself");
  CHECK(contains(point_of(command.runs[3]), "--index=tbb:grain=3 "));
  CHECK(error_of({"--index=vip:isa=sse,grain=3", "--sync=own"}) ==
        "--index: 'vip:isa=sse,grain=3' is tbb, by its option grain, and that has no option isa");
  CHECK(error_of({"--index={vip:grain=3,tbb:grain=3}", "--sync=own"}) ==
        "--index: tbb:grain=3 is the same as vip:grain=3; --reps=2 runs every point twice");
  CHECK(contains(error_of({"--index=vip:grain=3,size=4", "--sync=own"}),
                 "is tbb, by its option grain, and that has no option size"));
  CHECK(contains(error_of({"--index=vip:grian=3", "--sync=spin"}), "index vip has no option 'grian'"));
  CHECK(contains(error_of({"--index=art:grain=3"}), "index art has no options"));
  CHECK(contains(list_text(kRegistry, "indexes"), "grain=...           means tbb, with its options\n"));
}

TEST_CASE("a meaningless combination is skipped in a sweep and refused alone", "[cli]") {
  const RunCommand sweep = runs({"--sync={none,olc}", "--threads=1..2", "--workload=insert"});
  REQUIRE(sweep.runs.size() == 4);
  CHECK(sweep.runs[0].skip.empty());
  CHECK(contains(sweep.runs[1].skip, "one writing thread"));
  CHECK(sweep.runs[2].skip.empty());
  CHECK(contains(error_of({"--sync=none", "--threads=2", "--workload=insert"}), "one writing thread"));
  CHECK(contains(error_of({"--index=vip", "--sync=none", "--threads=2"}), "vip learns from lookups"));
  CHECK(error_of({"--index=vip", "--sync=none"}).empty());
  CHECK(error_of({"--index=vip", "--sync=spin", "--threads=2"}).empty());
  CHECK(contains(error_of({"--index=tbb"}), "it runs under own"));
  CHECK(contains(error_of({"--index=tbb", "--sync=own", "--workload=mix:read=50,scan=50"}), "not ordered"));
  CHECK(contains(error_of({"--index=tbb", "--sync=own", "--workload=mix:read=50,insert=25,erase=25"}),
                 "tbb does not erase: what is there stays"));
  CHECK(error_of({"--index=tbb", "--sync=own", "--workload=mix:read=50,modify=50"}) ==
        "--workload: tbb does not modify: no such call; rmw is a lookup and an update");
  CHECK(contains(error_of({"--workload=insert", "--negative=0.5"}), "reads nothing"));
  const RunCommand absent = runs({"--workload={lookup,insert}", "--negative=0.5"});
  REQUIRE(absent.runs.size() == 2);
  CHECK(absent.runs[0].workload->mix().absent_read_ppm() == Mix::kMillion / 2);
  CHECK(absent.runs[1].skip == "--negative: --workload=insert reads nothing");
  const RunCommand mixed = runs({"--workload={lookup,insert}", "--dist=zipf:1"});
  REQUIRE(mixed.runs.size() == 2);
  CHECK(mixed.runs[0].skip.empty());
  CHECK(mixed.runs[1].skip == "--dist: it does not reach --workload=insert: it takes the records in turn");
}

TEST_CASE("memory options that do not reach an index are refused, and not part of its point", "[cli]") {
  const Plan tbb = runs({"--index=tbb", "--sync=own", "--hugepages=none"}).runs[0];
  CHECK(tbb.own_memory == "it allocates itself");
  CHECK_FALSE(contains(point_of(tbb), "--alloc"));
  CHECK(contains(point_of(tbb), "--hugepages=none"));
  CHECK(contains(point_of(runs({"--index=art"}).runs[0]), "--alloc=arena+touch"));
  CHECK(error_of({"--index=tbb", "--sync=own", "--alloc=arena+touch"}) ==
        "--alloc: it does not reach tbb: it allocates itself");
  CHECK(contains(error_of({"--index=tbb", "--sync=own", "--hugepages=thp"}), "thp does not reach tbb"));
  CHECK(contains(error_of({"--alloc=malloc", "--hugepages=thp"}), "does not reach --alloc=malloc"));
  CHECK(error_of({"--sync=none", "--reclaim=leak"}) == "--reclaim: it does not reach --sync=none: nothing waits");
  CHECK_FALSE(contains(point_of(runs({"--sync=none"}).runs[0]), "--reclaim"));
  CHECK(contains(point_of(runs({"--sync=olc"}).runs[0]), "--reclaim=epoch "));
  CHECK(runs({"--sync=olc", "--reclaim={epoch-fence,qsbr,leak}"}).runs[1].config.reclaim == Reclaim::kQsbr);
  CHECK(error_of({"--sync=olc", "--slice-extension=on"}) ==
        "--slice-extension: it does not reach --sync=olc: it holds no lock");
  if (const auto why = SliceExtension::why_none()) {
    CHECK(error_of({"--sync=spin", "--slice-extension=on"}) == "--slice-extension: " + *why);
  } else {
    CHECK(contains(point_of(runs({"--sync=spin", "--slice-extension=on"}).runs[0]), " --slice-extension=on "));
  }
  CHECK(error_of({"--sync=spin", "--wait=park"}) == "--wait: it does not reach --sync=spin: it sleeps");
  CHECK_FALSE(contains(point_of(runs({"--sync=olc"}).runs[0]), "--wait"));  // as before that option existed
  CHECK(contains(point_of(runs({"--sync=olc", "--wait=park"}).runs[0]), "--wait=park "));
  CHECK(runs({"--sync=olc", "--wait={spin,yield,park}"}).runs[0].config.wait == WaitBy::kSpin);
  CHECK(contains(error_of({"--sync=olc", "--wait=parc"}), "did you mean 'park'?"));
  const RunCommand sweep = runs({"--alloc={malloc,arena}", "--hugepages={none,thp}"});
  REQUIRE(sweep.runs.size() == 4);
  CHECK(sweep.runs[0].skip.empty());
  CHECK_FALSE(sweep.runs[1].skip.empty());
  CHECK(sweep.runs[3].skip.empty());
}

TEST_CASE("a harness with one index runs it where --index says nothing", "[cli]") {
  Registry own;
  own.add(*std::ranges::find(kRegistry.pairs(), "chained", &Pair::index));
  static const Topology topology = Topology::synthetic("core:1 pu:1");
  const Surroundings little{.registry = own, .memory_available = u64{8} << 30, .topology = topology};
  const auto plans = std::get<RunCommand>(parse_command_line({"--threads=1"}, little)).runs;
  CHECK(plans.at(0).config.index.str() == "chained");
  CHECK(testing::refusal([&] { (void)parse_command_line({"--index=art"}, little); }) ==
        "--index: there is no 'art'; this build has chained");
}

}  // namespace
}  // namespace latchlab
