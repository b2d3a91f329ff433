#include "harness/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/cli.h"
#include "harness/commands/list.h"
#include "harness/config/values.h"
#include "harness/config/registry.h"
#include "harness/result/build_info.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

constexpr u64 kLongest = 7 * 24 * 3600 * u64{1'000'000'000};

Spec parse_spec(std::string_view option, const std::string& text) {
  try {
    return Spec::parse(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", option, error.what()));
  }
}

/// Returns the enumerator whose word is `text`.
template <Worded E>
E parse_word(std::string_view option, const std::string& text) {
  if (const auto value = value_of_word<E>(text)) return *value;
  const std::vector<std::string> words(kWords<E>.begin(), kWords<E>.end());
  throw InputError(fmt::format("{}: there is no '{}'; there are {}{}", option, text, fmt::join(words, ", "),
                               suggestion(text, words)));
}

/// Reads "off", "stall", "on" or "auto", and for the last three an order: "on,order=completion".
StationOptions parse_station(const std::string& text) {
  const Spec spec = parse_spec("--station", text);
  StationOptions station{.mode = parse_word<StationMode>("--station", spec.name)};
  SpecReader reader(spec, "--station=" + spec.name);
  if (station.mode != StationMode::kOff) station.order = reader.word("order", station.order);
  reader.finish();
  return station;
}

/// Returns 0 for "off", else the result of `parse`, whose errors then name "off" too.
u64 number_or_off(const std::string& text, const auto& parse) {
  if (text == "off") return 0;
  try {
    return parse();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}, or off", error.what()));
  }
}

}  // namespace

const std::vector<OptionEntry>& option_rows() {
  static const std::vector<OptionEntry> rows{
      {"index", "NAME", "art, or that of a Wiscer file", "the index with its options, e.g. vip:60",
       [](Config& c, const std::string& v) { c.index = parse_spec("--index", v); }},
      {"isa", "NAME", "the widest available",
       "instruction set of simdht (scalar, sse4.2, avx2, avx512) and of cuckoo (sse4.2, avx512)",
       [](Config& c, const std::string& v) { c.isa = v; }, "scalar sse4.2 avx2 avx512"},
      {"sync", "POLICY", "none", "the synchronization policy, e.g. rtm:20,respec=0",
       [](Config& c, const std::string& v) { c.sync = parse_spec("--sync", v); }},
      {"threads", "N", "1", "number of threads; it may exceed the processors",
       [](Config& c, const std::string& v) {
         c.threads = static_cast<u32>(parse_count("--threads", v, 1, kMostThreads));
       }},
      {"machine", "MODEL", "",
       "predict the run on a modelled machine: haswell-ep, haswell-ep:qpi.gbps=2x (a what-if) or file:PATH",
       [](Config& c, const std::string& v) { c.machine = parse_spec("--machine", v); }},
      {"threads-per", "KIND", "run",
       "what --threads counts: threads of the run, or of each cluster or socket that --pin names: run, cluster or "
       "socket",
       [](Config& c, const std::string& v) { c.threads_per = parse_word<ThreadsPer>("--threads-per", v); },
       "run cluster socket"},
      {"pin", "PLACEMENT", "compact",
       "processors of the threads: compact, scatter, cluster:0-1, socket:0 or list:0-3,5",
       [](Config& c, const std::string& v) { c.pin = parse_pin(v); }},
      {"smt", "KIND", "avoid",
       "second hardware threads: avoid (use them when every core has a thread) or pack (before the next core)",
       [](Config& c, const std::string& v) { c.smt = parse_word<Smt>("--smt", v); }},
      {"alloc", "KIND", "arena+touch",
       "allocator of the index: malloc, tcmalloc, jemalloc, mimalloc, tbb, arena or arena+touch",
       [](Config& c, const std::string& v) { c.alloc = parse_word<Alloc>("--alloc", v); }},
      {"mem", "NODES", "first-touch",
       "NUMA nodes of the index's memory: first-touch, local, interleave, interleave:pin or bind:0-1",
       [](Config& c, const std::string& v) { c.mem = parse_mem(v); }},
      {"hugepages", "KIND", "none", "huge pages for the index's memory: none or thp (transparent huge pages)",
       [](Config& c, const std::string& v) { c.huge_pages = parse_word<HugePages>("--hugepages", v); }},
      {"reclaim", "KIND", "epoch", "when unlinked memory is freed: epoch, epoch-fence, qsbr or leak",
       [](Config& c, const std::string& v) { c.reclaim = parse_word<Reclaim>("--reclaim", v); }},
      {"wait", "KIND", "yield",
       "how threads go on with waits inside the index after a microsecond: spin, yield or park (sleep until woken)",
       [](Config& c, const std::string& v) { c.wait = parse_word<WaitBy>("--wait", v); }, "spin yield park"},
      {"slice-extension", "KIND", "off",
       "on: the kernel (Linux 7.0) lets a thread end an operation under a global lock before it takes the processor",
       [](Config& c, const std::string& v) { c.slice_extension = parse_word<SliceExtensions>("--slice-extension", v); },
       "on off"},
      {"workload", "MIX", "lookup",
       "operations: lookup, insert, mix:read=90,insert=5,erase=5, ycsb-a to ycsb-f, wiscer:, trace: or phases:FILE",
       [](Config& c, const std::string& v) { c.workload = parse_spec("--workload", v); }},
      {"keys", "KEYS", "u64",
       "kind of keys: u64, u32, u16, dense, file:PATH (one key a line), sosd:PATH, email, url, ...: harness list keys",
       [](Config& c, const std::string& v) {
         if (v.starts_with('/') || v.starts_with('.')) {
           throw InputError(fmt::format("--keys: '{}' is a path; write --keys=file:{}", v, v));
         }
         c.keys = parse_spec("--keys", v);
       }},
      {"dist", "DIST", "uniform",
       "popularity of keys: uniform, zipf:0.99, hotspot:0.2, latest, ...: harness list distributions",
       [](Config& c, const std::string& v) { c.distribution = parse_spec("--dist", v); }},
      {"churn", "CHURN", "none",
       "how popularity changes: drift:EVERY or flash:EVERY,share=0.5,records=100,length=N operations",
       [](Config& c, const std::string& v) { c.churn = parse_spec("--churn", v); }, "none drift: flash:"},
      {"negative", "RATE", "0", "share of reads that look up absent keys",
       [](Config& c, const std::string& v) { c.negative = parse_share("--negative", v); }},
      {"batch", "K", "1",
       "operations whose cache misses overlap: 16 (side by side), 16:rolling, or auto; 16:in-turn; at most 64",
       [](Config& c, const std::string& v) { c.batch = parse_batch(v); }},
      {"station", "KIND", "off",
       "operations of a batch on one key: off (each for itself), on (one operation of the index), stall, auto; "
       "on,order=completion",
       [](Config& c, const std::string& v) { c.station = parse_station(v); }, "off stall on auto"},
      {"value-size", "BYTES", "8",
       "size of a value: 8 (a word in the index), or any other from 0 to 16Mi (in a store, to which a word leads)",
       [](Config& c, const std::string& v) { c.value_size = parse_value_size(v); }},
      {"far", "MEDIUM", "",
       "far memory for values: node:N,size=4G, file:FOLDER,size=4G, or model:optane,size=4G (lat=, read=, write=)",
       [](Config& c, const std::string& v) { c.far = MediumOptions::parse(v, "--far"); }, "node: file: model:"},
      {"near", "BYTES", "", "... and how many bytes of values are near: 1G, 64Mi",
       [](Config& c, const std::string& v) { c.near = parse_count("--near", v, u64{1} << 20, u64{1} << 46); }},
      {"rule", "RULE", "near-first",
       "... and which: near-first, far-first, fixed:SHARE (promote=never or 1 to 7), weighted:SHARE; leaves: those of "
       "art are far",
       [](Config& c, const std::string& v) { c.rule = PlacementRule::parse(v, "--rule"); },
       "near-first far-first fixed: weighted: leaves"},
      {"records", "N", "what fits, at most 16M", "keys to load, or to insert with --workload=insert: 16M, 64Mi",
       [](Config& c, const std::string& v) { c.records = parse_count("--records", v, 1, u64{1} << 40); }},
      {"warmup", "TIME", "200ms", "length of the phase before the measured one; its inserts stay",
       [](Config& c, const std::string& v) { c.warmup_ns = parse_duration("--warmup", v, 0, kLongest); }},
      {"time", "TIME", "3s", "length of the measured phase",
       [](Config& c, const std::string& v) { c.time_ns = parse_duration("--time", v, 1'000'000, kLongest); }},
      {"ops", "N", "", "... or its number of operations",
       [](Config& c, const std::string& v) { c.ops = parse_count("--ops", v, 1, u64{1} << 60); }},
      {"clear-accessed", "TIME", "off",
       "interval of clearing the Accessed bits of all pages in the measured phase, as DAMON does; or off",
       [](Config& c, const std::string& v) {
         c.clear_accessed_ns =
             number_or_off(v, [&] { return parse_duration("--clear-accessed", v, 1'000'000, kLongest); });
       },
       "off"},
      {"sample", "TIME", "100ms", "interval of the throughput series",
       [](Config& c, const std::string& v) { c.sample_ns = parse_duration("--sample", v, 1'000'000, kLongest); }},
      {"rows", "N", "off; 1M for Wiscer files",
       "a row of the result for every N operations, else for each phase of phases:FILE; harness rows prints them",
       [](Config& c, const std::string& v) {
         c.rows = number_or_off(v, [&] { return parse_count("--rows", v, 1'000, u64{1} << 60); });
       },
       "off"},
      {"rate", "RATE", "",
       "open loop with operations a second: 1M, poisson:1M, sine:1M, or trace (a trace's own times); harness list "
       "arrivals",
       [](Config& c, const std::string& v) { c.rate = Rate::parse(v); }},
      {"slo", "BOUND", "",
       "... or the highest rate at which response times keep a bound: p99:50us; each try takes --time",
       [](Config& c, const std::string& v) { c.slo = Slo::parse(v); }},
      {"latency", "CALLS", "off; all in an open loop", "time single calls: off, sample:0.01 (one in a hundred) or all",
       [](Config& c, const std::string& v) { c.latency_every = parse_latency(v); }, "off sample: all"},
      {"pmu", "EVENTS", kDefaultPmu,
       "event families (core, cache, l2, tlb, tsx, energy) and libpfm4 names: tsx,cache; or off",
       [](Config& c, const std::string& v) { c.pmu = v, c.pmu_given = true; }},
      {"seed", "N", "1", "seed of keys and operations",
       [](Config& c, const std::string& v) { c.seed = parse_count("--seed", v, 0, ~u64{0}); }},
      {"history", "FILE", "none",
       "file for recorded calls, which harness check reads: FILE,keys=1/64 (a share of the keys) or FILE,keys=all; "
       "calls=N makes room for so many",
       [](Config& c, const std::string& v) { c.history = Recording::parse(v); }},
      {"validate", "KIND", "tally",
       "check of the index: tally (its contents, against the operations done), history (also that recorded calls are "
       "linearizable) or off",
       [](Config& c, const std::string& v) { c.validate = parse_word<Validate>("--validate", v); },
       "tally history off"},
      {"preempt", "", "", "interrupt threads inside recorded calls, so that calls overlap: a test and no measurement",
       nullptr},
      {"reps", "N", "1", "repetitions of every run", nullptr},
      {"topology", "MACHINE", "",
       "plan for another machine without running: lstopo's XML, or \"pack:2 numa:2 core:7 pu:2\"", nullptr},
      {"dry-run", "", "", "print the command line of each run, and about how long all would take; run nothing",
       nullptr},
      {"out", "FOLDER", "none",
       "folder for a JSON document of each run; the same list, stopped before its end, goes on there", nullptr},
      {"json", "", "", "print the documents, one a line, instead of the table", nullptr},
      {"profile", "FILE", "none", "flame graph (.svg) of the measured operations of one run, which Linux perf samples",
       nullptr},
      {"progress", "KIND", "auto", "progress on stderr: auto, plain or none", nullptr, "auto plain none"},
      {"strict", "", "", "refuse a run that would be degraded; exit with status 1 if one turns out degraded or noisy",
       nullptr},
      {"fit", "", "", "skip runs that need more processors, sockets, nodes or memory than this machine has", nullptr},
      // `harness ab` gives these to its replicates, so that their documents differ.
      {"block", "N", "0", "", nullptr},
      {"order", "N", "0", "", nullptr},
      {"replicate", "N", "0", "", nullptr},
  };
  return rows;
}

const OptionEntry& option_row(std::string_view name, std::vector<std::string> others) {
  std::vector<std::string> names = std::move(others);
  for (const OptionEntry& row : option_rows()) {
    if (row.name == name) return row;
    if (!row.meaning.empty()) names.emplace_back(row.name);
  }
  if (const std::string best = nearest(name, names); !best.empty()) {
    throw InputError(fmt::format("there is no option --{}; did you mean '--{}'? harness --help lists all", name, best));
  }
  throw InputError(fmt::format("there is no option --{}; there are --{}", name, fmt::join(names, ", --")));
}

const std::vector<CommandEntry>& command_rows() {
  static const std::vector<CommandEntry> rows{
      {"", "--index=art --sync=rtm:20 --threads=8", "one run", ""},
      {"", "--sync={none,rtm:0,olc} --threads=1..8*2", "a run for every combination", ""},
      {"ab", "--a=\"--sync=none\" --b=\"--sync=olc\"", "compares variants, run in turn in fresh processes",
       "--a=ARGS --b=ARGS [--c=ARGS ...] [--replicates=10] [--json], and options for all.\n"
       "--replicates=auto runs as many as it takes for the interval to be within 1 %, at most 100.\n"},
      {"compare", "A B...", "compares existing results: files, or folders of --out",
       "[--effect=3%] [--json] [--mix] [--seed=N]. --mix compares modelled results with measured ones.\n"},
      {"limits", "[--threads=N]", "measures the machine's limits without an index",
       "[--footprint=1Gi] [--threads=N] [--pin=PLACEMENT] [--smt=KIND] [--mem=NODES] [--hugepages=KIND] [--json]\n"
       "[--progress=KIND] [--write-machine=FILE [--like=NAME]]. FILE gets a modelled machine that is like this one.\n"
       "What cannot be measured is as in NAME, by default the nearest shipped machine.\n"},
      {"explain", "RESULT [BASE]", "explains a JSON document, and suggests what to try",
       "[--hot-lines] lists the lines that the threads of a modelled run waited for each other on.\n"},
      {"hdr", "RESULT [NAME]", "exports its latency histograms as an HdrHistogram log, or one as .hgrm", ""},
      {"rows", "RESULT", "prints the rows of --rows in Wiscer's columns", ""},
      {"check", "FILE", "checks whether a recorded history is linearizable",
       "Prints the verdict. If it is no, also few calls that conflict, with their intervals.\n"
       "The exit status is 0 for linearizable, 1 for not, 2 for a file that is no history or is damaged, and 3 if the\n"
       "check cannot tell.\n"},
      {"trace", "convert FORMAT FROM TO", "makes a trace that can be replayed; trace info FILE describes one",
       "FROM is plain, gzip or zstd, or - for standard input. harness help traces lists the FORMATs.\n"},
      {"experiment", "[NAME] [--quick|--full]", "redraws a figure; without a name it lists the figures",
       "[--dry-run] [--redraw] [--paper [--width=POINTS] [--height=POINTS] [--font-size=POINTS]] [--out=FOLDER]\n"
       "[--machine=MODEL] [--beside=FOLDER] [--on=ENGINE] [--binary=[KIND:]PATH] [--emit=sbatch]\n"
       "[-- OPTIONS of every run]. --redraw measures nothing; --paper draws each panel without a title; --on=slurm\n"
       "or --on=hosts:FILE runs elsewhere: docs/sweeps.md. --machine=haswell-ep predicts the figure on a modelled\n"
       "machine, with all of its threads, beside the measured results in --beside=FOLDER: docs/comparing.md.\n"},
      {"export", "RESULTS... [--format=csv]", "writes results as a table: csv, jsonl or parquet",
       "[--format=csv|jsonl|parquet] [--series[=throughput|rows]] [--out=FILE]. A row is a run, or with --series an\n"
       "interval of its throughput, or one of its rows. docs/columns.md describes the columns.\n"},
      {"list", "[TOPIC]", "lists indexes, policies, workloads, ..., as they are here", ""},
      {"doctor", "", "says what this machine can measure",
       "[--machine=MODEL] lists the values of a modelled machine that are not measured or published.\n"},
      {"help", "[TOPIC]", "explains a command, or a topic of `harness list`", ""},
      {"", "--version", "prints version, commit, compiler and machine of this build", ""},
  };
  return rows;
}

std::string_view notes_on_values() {
  return "Options from --index to --validate take lists {a,b} and ranges 1..8, 1..9+2, 1..56*2,\n"
         "also inside a value: rtm:{0,20}. An option given several times in a row is a list, since that is how a "
         "shell\n"
         "expands one. An option given again after other options replaces its earlier values.\n"
         "A process has one malloc, so each run of --alloc={malloc,jemalloc} is a process of its own.\n"
         "In a list, key=value belongs to the name before it: {rtm:20,wait=0,none} is two policies.\n"
         "@FILE reads options, one a line; it skips blank lines and lines that begin with #. An option of the command\n"
         "line replaces that of the file, wherever @FILE stands.\n"
         "Numbers: 16M is 16,000,000, 16Mi is 16,777,216. Times: 5s, 200ms, 50us, 2min.\n";
}

std::string_view notes_on_exit_status() {
  return "Exit status: 0 measured; 1 a run failed or is invalid, is noisy or degraded with --strict, or could not be\n"
         "written; 2 wrong input; 130 interrupted. check: 0 linearizable; 1 not linearizable; 2 wrong input; 3 cannot\n"
         "tell.\n";
}

std::string help_text() {
  std::string text = "harness measures concurrent in-memory indexes.\n\n";
  for (const CommandEntry& row : command_rows()) text += fmt::format("  {:<49} {}\n", row.line(), row.meaning);
  text += "\nOptions of a run\n";
  for (const OptionEntry& row : option_rows()) {
    if (row.meaning.empty()) continue;
    const std::string left =
        row.metavar.empty() ? fmt::format("--{}", row.name) : fmt::format("--{}={}", row.name, row.metavar);
    text += fmt::format("  {:<18} {}{}\n", left, row.meaning,
                        row.standard.empty() ? "" : fmt::format(" ({})", row.standard));
  }
  text += fmt::format("\n{}", notes_on_values());
  for (const CommandEntry& row : command_rows()) {
    if (!row.more.empty()) text += fmt::format("\nharness {}: {}", row.name, row.more);
  }
  text += fmt::format("\n{}", notes_on_exit_status());
  return text;
}

std::string help_text(const Registry& registry, const std::string& topic) {
  if (topic.empty()) return help_text();
  std::vector<std::string> topics;
  for (const CommandEntry& row : command_rows()) {
    if (row.name.empty()) continue;
    topics.emplace_back(row.name);
    if (row.name == topic)
      return fmt::format("{}\n  {}\n{}{}", row.line(), row.meaning, row.more.empty() ? "" : "\n", row.more);
  }
  for (const std::string& of_list : list_topics()) {
    if (topic == of_list) return list_text(registry, topic, Scope::kEverywhere);
    topics.push_back(of_list);
  }
  if (topic == "topics") return fmt::format("{}\n", fmt::join(topics, "\n"));
  throw InputError(
      fmt::format("help: there is no '{}'; there are {}{}", topic, fmt::join(topics, ", "), suggestion(topic, topics)));
}

std::string version_text() {
  const BuildInfo build = build_info();
  return fmt::format("latchlab {}\ncommit    {}{}\ncompiler  {}\nmachine   {}\n", version(), build.commit,
                     build.dirty ? ", with changes that are not committed" : "", build.compiler, machine());
}

}  // namespace latchlab
