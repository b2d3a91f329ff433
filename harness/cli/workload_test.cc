// Options of keys, operations and popularity.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "harness/cli/cli_testing.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/trace.h"

namespace latchlab {
namespace {

using testing::contains;
using testing::error_of;
using testing::kRegistry;
using testing::runs;

TEST_CASE("more records than memory holds at their smallest size are refused", "[cli]") {
  CHECK(runs({"--records=536870912"}).runs.size() == 1);
  CHECK(contains(error_of({"--records=536870913"}), "take at least 9 GB; 8.6 GB of memory are available"));
  CHECK(runs({"--keys=dense", "--records=1073741824"}).runs.size() == 1);  // the path spells the key
  CHECK(contains(error_of({"--keys=dense", "--records=1073741825"}), "available"));
}

TEST_CASE("a value has the size of --value-size, of which 8 is a word in the index", "[cli]") {
  const auto plan_of = [](const std::vector<std::string>& args) { return runs(args).runs.at(0); };
  const Plan plain = plan_of({"--records=1000"});
  CHECK(plain.config.value_size == 8);
  CHECK_FALSE(plain.config.sized());
  CHECK(point_of(plan_of({"--records=1000", "--value-size=8"})) == point_of(plain));
  CHECK_FALSE(contains(point_of(plain), "value-size"));
  const Plan large = plan_of({"--records=100", "--value-size=16Mi"});
  CHECK(large.config.value_size == 16 << 20);
  CHECK(large.config.sized());
  CHECK(large.widths.value == 64);
  CHECK(contains(point_of(large), " --value-size=16777216 "));
  CHECK(runs({"--value-size=16..64*2", "--records=1000"}).runs.size() == 3);
  for (const char* bad : {"16777217", "1T", "-1", "abc", "", "20.5"}) {
    CHECK(contains(error_of({"--value-size=" + std::string(bad)}), "--value-size"));
  }
}

TEST_CASE("a value that is shorter than a word is checked by its own bits", "[cli]") {
  for (const u32 bytes : {0u, 1u, 7u, 9u}) {
    const Plan plan = runs({fmt::format("--value-size={}", bytes), "--records=1000"}).runs.at(0);
    CHECK(plan.config.sized());
    CHECK(plan.widths.value == 8 * std::min(bytes, 8u));
  }
}

TEST_CASE("sized values are refused for an index with values of 32 bits", "[cli]") {
  CHECK(error_of({"--index=vip:16", "--keys=u16", "--value-size=16"}) ==
        "--value-size: vip:16 keeps values of 32 bits, too few to lead to values of another size");
  CHECK(error_of({"--index=vip:16", "--keys=u16", "--value-size=8"}).empty());
}

TEST_CASE("values larger than memory are refused, or skipped with --fit, and by default there are fewer records",
          "[cli]") {
  const std::string error = error_of({"--value-size=64Ki", "--records=1M"});
  CHECK(error ==
        "--value-size: 1000000 values of 65536 bytes and their keys take at least 66 GB; 8.6 GB of memory are "
        "available");
  CHECK(runs({"--value-size=64Ki", "--records=1M", "--fit"}).runs.at(0).skip == error);
  CHECK(runs({"--value-size=8000", "--records=1M"}).runs.size() == 1);
  const u64 usual = runs({"--value-size=8"}).runs.at(0).config.records;
  CHECK(runs({"--value-size=4Ki"}).runs.at(0).config.records < usual / 16);
}

TEST_CASE("an index of narrow keys takes only keys that are narrow enough", "[cli]") {
  CHECK(runs({"--index=vip:32", "--keys=u32"}).runs[0].widths.key == 32);
  CHECK(runs({"--index=vip:64"}).runs[0].widths.key == 64);
  CHECK(runs({"--keys=u32"}).runs[0].widths.key == 64);
  CHECK(error_of({"--index=vip:32"}) == "--keys: vip:32 holds keys of 32 bits; write --keys=u32");
  CHECK(contains(error_of({"--index=vip:32", "--keys=dense"}), "write --keys=u32"));
  CHECK(runs({"--index=vip:32", "--keys=u16"}).runs[0].widths.key == 32);
  CHECK(error_of({"--index=vip:16", "--keys=u32"}) == "--keys: vip:16 holds keys of 16 bits; write --keys=u16");
  CHECK(runs({"--index=vip:16", "--keys=u16"}).runs[0].config.records == 1 << 15);
}

TEST_CASE("more records than a table has room for are refused, except in an insert run, which ends when it is full",
          "[cli]") {
  CHECK(error_of({"--index=vip:32", "--keys=u32", "--records=1000001"}) ==
        "--records: vip:32 has 1000000 slots, too few for 1000001 records");
  CHECK(runs({"--index=vip:32", "--keys=u32", "--records=1000000"}).runs[0].most_keys == 1'000'000);
  CHECK(runs({"--index=vip:32", "--keys=u32", "--records=1000001", "--workload=insert"}).runs[0].skip.empty());
  CHECK(runs({"--index=vip:32", "--keys=u32"}).runs[0].config.records == 900'000);
  CHECK(runs({"--index=vip"}).runs[0].most_keys == ~u64{0});
}

TEST_CASE("the option --batch works if the index and the workload have batches", "[cli]") {
  const auto batch_of = [](const char* option) { return runs({option, "--index=vip"}).runs[0].config.batch; };
  CHECK(batch_of("--threads=1") == Batching{.keys = 1, .order = BatchOrder::kSideBySide});
  CHECK(batch_of("--batch=16") == Batching{.keys = 16, .order = BatchOrder::kSideBySide});
  CHECK(batch_of("--batch=64:in-turn") == Batching{.keys = 64, .order = BatchOrder::kInTurn});
  CHECK(batch_of("--batch=32:rolling") == Batching{.keys = 32, .order = BatchOrder::kRolling});
  CHECK(batch_of("--batch=auto") == Batching{.keys = 16, .order = BatchOrder::kAuto});
  for (const char* batch : {"1", "16", "32:rolling", "64:in-turn", "auto"}) {
    CHECK(contains(point_of(runs({"--batch=" + std::string(batch), "--index=vip"}).runs[0]),
                   "--batch=" + std::string(batch) + " "));
  }
  CHECK(error_of({"--batch=24"}) == "--batch: 24 is not 1, 2, 4, 8, 16, 32 or 64");
  CHECK(contains(error_of({"--batch=128"}), "64"));
  CHECK(contains(error_of({"--batch=1:in-turn"}), "write --batch=1"));
  CHECK(contains(error_of({"--batch=16:in_turn"}), "16:rolling, 16:in-turn or auto"));
  CHECK(contains(error_of({"--batch=8:in-turn", "--workload=mix:read=50,update=50"}),
                 "must have one kind of operations"));
  CHECK(contains(error_of({"--batch=8:in-turn", "--workload=mix:upsert=100"}), "must have one kind of operations"));
  for (const char* changes : {"insert", "mix:insert=100", "mix:update=100", "mix:modify=100", "mix:erase=100"}) {
    const std::string workload = std::string("--workload=") + changes;
    for (const char* batch : {"--batch=8:in-turn", "--batch=8", "--batch=8:rolling", "--batch=auto"})
      CHECK(runs({batch, workload, "--index=vip"}).runs.size() == 1);
    CHECK(
        contains(error_of({"--batch=8", workload}), "changes of art do not go side by side; write --batch=8:in-turn"));
    CHECK(runs({"--batch=8:in-turn", workload}).runs.size() == 1);
  }
  for (const char* mixed : {"mix:read=50,update=50", "mix:read=50,modify=50", "mix:upsert=100", "mix:rmw=100"}) {
    const std::string workload = std::string("--workload=") + mixed;
    for (const char* batch : {"--batch=8", "--batch=8:rolling", "--batch=auto"})
      CHECK(runs({batch, workload, "--index=vip"}).runs.size() == 1);
    CHECK(contains(error_of({"--batch=8", workload}), "must have one kind of operations"));
  }
  CHECK(contains(error_of({"--batch=8:rolling", "--workload=mix:scan=100"}), "does not reach the scans"));
  CHECK(contains(error_of({"--batch=8:rolling"}), "art cannot prefetch for operations to come; write --batch=8"));
  CHECK(contains(error_of({"--batch=auto"}), "write --batch=16"));
  CHECK(contains(error_of({"--batch=auto", "--workload=insert"}), "write --batch=1"));
  CHECK(contains(error_of({"--batch=auto", "--index=vip", "--latency=all"}), "now of one operation, now of several"));
  for (const char* batch : {"rolling", ":rolling", "Auto", "16 "})
    CHECK(contains(error_of({"--batch=" + std::string(batch)}), "is not a batch; write 16"));
  CHECK(contains(error_of({"--batch=8", "--index=tbb", "--sync=own"}), "one key at a time"));
  CHECK(contains(error_of({"--batch=8", "--sync=spin"}), "write --batch=8:in-turn"));
  CHECK(runs({"--batch=8:in-turn", "--sync=spin"}).runs.size() == 1);
  CHECK(runs({"--batch=8", "--negative=0.5"}).runs.size() == 1);
}

TEST_CASE("insert ends with its records and has no warmup", "[cli]") {
  const Plan plan = runs({"--workload=insert", "--records=1M"}).runs[0];
  const Config& config = plan.config;
  CHECK(config.time_ns == 0);
  CHECK(config.ops == 0);
  CHECK(config.warmup_ns == 0);
  CHECK(plan.inert.empty());
  const Plan warm = runs({"--workload=insert", "--records=1M", "--warmup=1s"}).runs[0];
  CHECK(warm.config.warmup_ns == 0);
  CHECK(warm.inert == std::vector<std::string>{"--warmup=1s is inert: --workload=insert begins with an empty index"});
  CHECK(point_of(warm) == point_of(plan));
  CHECK(runs({"--workload=insert", "--warmup=0"}).runs[0].inert.empty());
  const RunCommand both = runs({"--workload={lookup,insert}", "--warmup=1s"});
  CHECK(both.runs[0].inert.empty());
  CHECK(both.runs[0].config.warmup_ns == 1'000'000'000);
  CHECK(both.runs[1].skip.empty());
}

TEST_CASE("the option --dist is refused if no key is drawn, and is then not part of the point", "[cli]") {
  for (const char* workload : {"insert", "mix:insert=100", "mix:insert=50,erase=50"}) {
    const std::string option = std::string("--workload=") + workload;
    INFO(option);
    CHECK(contains(error_of({option, "--dist=zipf:1"}), "--dist: it does not reach"));
    CHECK(contains(error_of({option, "--dist=uniform"}), "--dist: it does not reach"));
    const Plan plan = runs({option}).runs[0];
    CHECK_FALSE(contains(point_of(plan), "--dist"));
    CHECK(point_of(runs(split_like_shell(point_of(plan))).runs[0]) == point_of(plan));
  }
  for (const char* kind : {"read", "update", "upsert", "scan"}) {
    const std::string option = std::string("--workload=mix:insert=90,") + kind + "=10";
    INFO(option);
    CHECK(contains(point_of(runs({option, "--dist=zipf:1"}).runs[0]), "--dist=zipf:1"));
  }
}

TEST_CASE("a workload file defines the keys, the records, their popularity and the end", "[cli]") {
  const Plan plan = runs({"--workload=wiscer:steady-state"}).runs[0];
  const Config& config = plan.config;
  CHECK(config.keys.str() == "affine");
  CHECK(config.records == 1'000'000);
  CHECK(config.ops == 500'000'000);
  CHECK(config.time_ns == 0);
  CHECK(config.warmup_ns == 0);
  CHECK_FALSE(plan.no_distribution.empty());
  CHECK(runs({"--workload=wiscer:steady-state", "--time=2s"}).runs[0].config.ops == 0);
  // The point's command line leaves out what the file defines.
  const std::string point = point_of(plan);
  CHECK(contains(point, "--workload=wiscer:steady-state"));
  for (const char* option : {"--keys", "--records", "--dist", "--negative"}) CHECK_FALSE(contains(point, option));
  const std::string file = "--workload=wiscer:steady-state";
  CHECK(contains(error_of({file, "--keys=u64"}),
                 "--keys: it does not reach " + file + ": the file says which keys there are"));
  CHECK(contains(error_of({file, "--records=7"}), "--records: it does not reach " + file));
  CHECK(contains(error_of({file, "--dist=uniform"}), "--dist: it does not reach " + file));
  CHECK(contains(error_of({file, "--negative=1"}), "--negative: it does not reach " + file));
  CHECK(contains(error_of({file, "--churn=drift:1"}), "--churn: it does not reach " + file));
  CHECK(
      contains(error_of({"--workload=wiscer:/no/such,file"}), "--workload: Wiscer file '/no/such,file': No such file"));
  CHECK(contains(error_of({"--workload=wiscer"}), "needs a file"));
  CHECK(contains(error_of({file, "--sync=none", "--threads=2"}), "allows one writing thread"));
  CHECK(runs({"--workload={wiscer:high-churn,wiscer:read-mostly,lookup}"}).runs.size() == 3);
}

TEST_CASE("a Wiscer file names the index that runs, unless --index does", "[cli]") {
  const auto index_of = [](const std::vector<std::string>& args) { return runs(args).runs[0].config.index.str(); };
  CHECK(index_of({"--workload=wiscer:steady-state"}) == "chained");
  CHECK(index_of({"--workload=wiscer:test"}) == "vip");
  CHECK(index_of({"--workload=wiscer:test", "--index=art"}) == "art");
  CHECK(index_of({"--workload=lookup"}) == "art");
  const RunCommand both = runs({"--workload={lookup,wiscer:test,wiscer:high-churn}"});
  REQUIRE(both.runs.size() == 3);
  CHECK(both.runs[0].config.index.str() == "art");
  CHECK(both.runs[1].config.index.str() == "vip");
  CHECK(both.runs[2].config.index.str() == "chained");
  const std::string point = point_of(both.runs[1]);
  CHECK(contains(point, "--index=vip "));
  CHECK(point_of(runs(split_like_shell(point)).runs[0]) == point);
  CHECK(runs({"--workload=wiscer:test"}).runs[0].requests_to.empty());

  Registry art;
  art.add(*std::ranges::find(kRegistry.pairs(), "art", &Pair::index));
  static const Topology topology = Topology::synthetic("core:1 pu:1");
  const Surroundings little{.registry = art, .memory_available = u64{8} << 30, .topology = topology};
  CHECK(testing::refusal([&] { (void)parse_command_line({"--workload=wiscer:test"}, little); }) ==
        "--workload: wiscer:test is for storageEngine=VIPHashing, which is --index=vip; this build has art: write "
        "--index=NAME");
}

TEST_CASE("a Wiscer file without a storage engine writes its requests, and options of a run are refused", "[cli]") {
  const TemporaryFile file("initialSize=10\noperationCount=99\nstorageEngine=none\noutputFile=here.trace\n");
  const std::string none = "--workload=wiscer:" + file.path();
  const Plan plan = runs({none, "--ops=7", "--seed=3"}).runs[0];
  const Config& config = plan.config;
  CHECK(plan.requests_to == "here.trace");
  CHECK(config.ops == 7);
  CHECK(config.records == 10);
  const TemporaryFile plain("operationCount=99\nstorageEngine=none\n");
  CHECK(runs({"--workload=wiscer:" + plain.path()}).runs[0].requests_to == "output.txt");
  CHECK(runs({none, "--index=art"}).runs[0].requests_to.empty());
  CHECK(runs({none, "--index={art,vip}"}).runs.size() == 2);

  const std::string end =
      " " + none +
      ": its storageEngine=none writes the requests to here.trace and runs nothing; write --index=NAME to run it";
  CHECK(error_of({none, "--threads=2"}) == "--threads: it does not reach" + end);
  CHECK(error_of({none, "--sync=olc"}) == "--sync: it does not reach" + end);
  CHECK(error_of({none, "--time=1s"}) == "--time: it does not reach" + end);
  CHECK(error_of({none, "--json"}) == "--json: it does not reach" + end);
  CHECK(error_of({none, "--out=/tmp"}) == "--out: it does not reach" + end);
  CHECK(error_of({none, "--topology=pack:1 core:2 pu:1"}) == "--topology: it does not reach" + end);
  CHECK(error_of({none, "--dry-run"}) == "--dry-run: it does not reach" + end);
  CHECK(error_of({none, "--seed={1,2}"}) == "--workload: several runs do not go with" + end);
  CHECK(error_of({"--workload={lookup,wiscer:" + file.path() + "}"}) ==
        "--workload: several runs do not go with" + end);
  CHECK(contains(error_of({"ab", "--a=" + none, "--b=--index=art"}),
                 "--a: " + none + " has storageEngine=none, which runs nothing"));
}

TEST_CASE("a file of phases defines popularity and the end, and a point that does not fit it is skipped", "[cli]") {
  const TemporaryFile file("grow 1000 mix:insert=50,erase=50\nshrink 600 mix:erase=100\n");
  const std::string phases = "--workload=phases:" + file.path();
  const Plan plan = runs({phases, "--sync=olc"}).runs[0];
  const Config& config = plan.config;
  CHECK(config.ops == 1792);  // whole blocks
  CHECK(config.time_ns == 0);
  CHECK(config.warmup_ns == 0);
  CHECK(plan.no_churn == "the file says how popularity changes");
  CHECK(runs({phases, "--time=2s"}).runs[0].config.ops == 0);
  const Plan warm = runs({phases, "--warmup=1s"}).runs[0];
  CHECK(warm.config.warmup_ns == 0);
  CHECK(warm.inert ==
        std::vector{"--warmup=1s is inert: " + phases + " measures each phase; make a warm-up its first"});
  CHECK(contains(error_of({phases, "--negative=0.5"}), "--negative: it does not reach " + phases));
  CHECK(contains(error_of({phases, "--dist=zipf:1"}), "--dist: it does not reach " + phases));
  CHECK(contains(error_of({phases, "--churn=drift:1k"}), "--churn: it does not reach " + phases));
  CHECK(contains(error_of({phases, "--slo=p99:1ms"}), "--slo: " + phases.substr(0, 10)));
  CHECK(contains(error_of({phases, "--slo=p99:1ms", "--time=1s"}), "changes from phase to phase"));

  const std::string why =
      "--workload: with 768 records phase shrink erases 768 records, and there are no more than 768";
  CHECK(error_of({phases, "--records=768"}) == why);
  const RunCommand both = runs({phases, "--records={768,769}"});
  REQUIRE(both.runs.size() == 2);
  CHECK(both.runs[0].skip == why);
  CHECK(both.runs[1].skip.empty());
  const TemporaryFile grow("grow 1k mix:insert=100\n");
  CHECK(error_of({"--workload=phases:" + grow.path(), "--keys=u16", "--records=32000"}) ==
        "--workload: with 32000 records phase grow leaves 33024 records, and there are keys for 32768");
}

TEST_CASE("a workload of YCSB has its usual distribution unless --dist is given", "[cli]") {
  const auto dist = [](const std::vector<std::string>& args) { return runs(args).runs[0].config.distribution.str(); };
  CHECK(dist({"--workload=ycsb-b"}) == "zipf:0.99");
  CHECK(dist({"--workload=ycsb-d"}) == "latest:0.99");
  CHECK(dist({"--workload=ycsb-d", "--dist=uniform"}) == "uniform");
  CHECK(dist({"--workload=lookup"}) == "uniform");
  CHECK(contains(error_of({"--workload=ycsb-e", "--index=tbb", "--sync=own"}), "it has no scans"));
  CHECK(contains(error_of({"--workload=ycsb-f", "--threads=2"}), "allows one writing thread"));
}

TEST_CASE("churn is part of a point if there is any, and needs a popularity that can change", "[cli]") {
  CHECK_FALSE(contains(point_of(runs({"--sync=none"}).runs[0]), "--churn"));
  CHECK(contains(point_of(runs({"--churn=flash:1M"}).runs[0]), "--churn=flash:1M"));
  CHECK(runs({"--churn={none,drift:1k,drift:2k}", "--dist=zipf:1"}).runs.size() == 3);
  CHECK(contains(error_of({"--churn=drift:1k"}), "under --dist=uniform no rank is more popular than another"));
  CHECK(contains(error_of({"--churn=drift:1k", "--dist=zipf:0"}), "no rank is more popular"));
  CHECK(contains(error_of({"--churn=flash:1k", "--workload=insert"}), "--churn: it does not reach --workload=insert"));
}

TEST_CASE("the distinct keys of a file limit the number of records", "[cli]") {
  const std::string path = "/tmp/latchlab_cli_test_" + std::to_string(getpid());
  std::ofstream(path) << "apple\nbat\ncab\nbat\n";
  CHECK(runs({"--keys=file:" + path}).runs[0].config.records == 3);
  CHECK(runs({"--keys=file:" + path, "--records=2"}).runs[0].config.records == 2);
  CHECK(contains(error_of({"--keys=file:" + path, "--records=4"}), "distinct keys for 3 records"));
  // A mix that inserts needs keys that are not loaded.
  CHECK(runs({"--keys=file:" + path, "--workload=mix:read=50,insert=50"}).runs[0].config.records == 1);
  const std::string all = "--records=3", file = "--keys=file:" + path;
  CHECK(error_of({file, all, "--workload=mix:read=50,insert=50"}) ==
        "--records: " + file + " has 3 keys, too few for 3 records and one to insert; write fewer");
  CHECK(runs({file, all, "--workload={mix:insert=100,lookup}"}).runs[1].skip.empty());
  CHECK(runs({file, all, "--workload=mix:insert=50,erase=50"}).runs[0].skip.empty());
  CHECK(runs({"--keys=file:" + path, "--workload=insert"}).runs[0].config.records == 3);
  std::ofstream(path) << "apple\n";
  CHECK(error_of({file, "--workload=mix:read=50,insert=50"}) ==
        "--keys: no key of file:" + path + " is left to insert: all of them (1) are loaded");
  (void)std::remove(path.c_str());
}

/// Writes a trace to a file and returns the option that replays it.
std::string trace_of(const TemporaryFile& file, const std::vector<std::pair<std::string, OpKind>>& ops) {
  TraceWriter writer;
  for (const auto& [key, kind] : ops) writer.add(0, key, kind, 8);
  writer.write(file.path(), false);
  return "--workload=trace:" + file.path();
}

TEST_CASE("a trace runs with any number of its keys loaded before", "[cli][trace]") {
  const TemporaryFile file("");
  const std::string read_first = trace_of(file, {{"a", OpKind::kRead}, {"b", OpKind::kRead}, {"a", OpKind::kInsert}});
  const Plan all = runs({read_first}).runs[0];
  CHECK(all.config.records == 2);
  CHECK(all.config.ops == 3);
  CHECK(all.config.warmup_ns == 0);
  CHECK(all.config.keys.str() == "trace:" + file.path());
  const TemporaryFile other("");
  const std::string added_first = trace_of(other, {{"a", OpKind::kInsert}, {"a", OpKind::kRead}});
  CHECK(runs({added_first}).runs[0].config.records == 0);
  CHECK(contains(error_of({added_first, "--slo=p99:1ms"}), "is replayed once, and every try of a rate"));
  CHECK(error_of({"--index=vip", "--sync=spin", read_first}) ==
        read_first + ": vip under spin has no byte-string keys");
  CHECK(contains(error_of({"--keys=trace"}), "--keys: keys trace: needs a path"));
  CHECK(contains(error_of({"--keys=trade:x"}), "did you mean 'trace'"));
}

TEST_CASE("the option --rate=trace needs a trace that has times", "[cli][trace]") {
  const auto written = [](const TemporaryFile& file, bool has_times, u64 last) {
    TraceWriter writer;
    for (const u64 time : {u64{0}, last}) writer.add(time, "key", OpKind::kRead, 8);
    writer.write(file.path(), has_times);
    return "--workload=trace:" + file.path();
  };
  const TemporaryFile file(""), timeless(""), instant("");
  const std::string trace = written(file, true, 7);
  const RunCommand command = runs({trace, "--rate={trace,trace:2.5,1M}"});
  CHECK(command.runs[0].config.rate->str() == "trace");
  CHECK(command.runs[1].config.rate->factor == 2.5);
  CHECK(command.runs[1].config.latency_every == 1);
  CHECK(contains(point_of(command.runs[1]), " --rate=trace:2.5 "));
  CHECK(contains(error_of({trace, "--rate={trace,trace:1.0}"}), "--rate: trace:1.0 is the same as trace"));
  CHECK(error_of({trace, "--rate=trace", "--slo=p99:1ms"}) ==
        "--slo: a search needs a rate to vary, and --rate=trace has the trace's own times; leave one of them out");
  CHECK(error_of({"--rate=trace", "--workload=ycsb-a"}) ==
        "--rate: trace needs the times of a --workload=trace:FILE; with --workload=ycsb-a write another "
        "rate, as "
        "--rate=1M");
  CHECK(error_of({"--rate=trace", written(timeless, false, 7)}) ==
        "--rate: --workload=trace:" + timeless.path() + " has no times; write another rate, as --rate=1M");
  CHECK(contains(error_of({"--rate=trace", written(instant, true, 0)}),
                 " have one time stamp, which does not say how fast they came; "));
  CHECK(runs({"--workload={lookup,ycsb-b}", "--rate={1M,trace}"}).runs[1].skip.starts_with("--rate: trace needs"));
}

TEST_CASE("values with the same meaning are one point, whatever the other options are", "[cli]") {
  for (const char* twice :
       {"--keys={stride:4Ki,stride:4096}", "--keys={u64,u64}", "--dist={zipf:1,zipf:1.0}",
        "--churn={flash:1k,flash:1000}", "--records={1k,1000}", "--workload={mix:read=100,mix:read=100.0}"}) {
    INFO(twice);
    CHECK(contains(error_of({twice}), "is the same as") != contains(error_of({twice}), "is given twice"));
  }
  // A workload file that defines the keys does not make all values of --keys equal, in any order of options.
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--workload=wiscer:steady-state", "--keys={u64,dense}"},
        {"--keys={u64,dense}", "--workload=wiscer:steady-state"}}) {
    CHECK(contains(error_of(args), "--keys: it does not reach"));
  }
  CHECK(runs({"--workload={wiscer:steady-state,lookup}", "--records={1k,2k}"}).runs.size() == 4);
}

TEST_CASE("a distribution that does not fit the number of records or the churn is refused before anything runs",
          "[cli]") {
  CHECK(contains(error_of({"--dist=hotspot:0.001", "--records=100"}),
                 "--dist: distribution hotspot: the share 0.001 of 100 records is less than one"));
  CHECK(runs({"--dist=hotspot:0.001", "--records={100,100k}"}).runs.size() == 2);  // the first is skipped
  CHECK(contains(error_of({"--churn=drift:1k", "--dist=zipf:0.0"}), "no rank is more popular"));
  CHECK(contains(error_of({"--churn=drift:1k", "--dist=latest:0"}), "no rank is more popular"));
  CHECK(contains(error_of({"--churn=flash:1k", "--workload=ycsb-d"}),
                 "--churn: a flash crowd addresses the same records"));
  CHECK(runs({"--churn=flash:1k", "--dist=latest"}).runs.size() == 1);
  CHECK(error_of({"--churn=flash:1k", "--records=99"}) ==
        "--churn: churn flash: a crowd of records=100 among 99; write records=99 or fewer");
  CHECK(runs({"--churn=flash:1k,records=99", "--records=99"}).runs.size() == 1);
}

TEST_CASE("keys that need more memory than there is are refused with the name of their option", "[cli]") {
  CHECK(contains(error_of({"--keys=url:2Gi"}), "--keys: keys url: 2147483648 keys take at least 214.7 GB"));
  const TemporaryFile file("initialSize=900000000000\noperationCount=1\n");
  CHECK(contains(error_of({"--workload=wiscer:" + file.path()}), "--workload: 900000000000 keys take at least"));
}

}  // namespace
}  // namespace latchlab
