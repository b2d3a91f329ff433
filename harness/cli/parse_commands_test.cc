// The commands other than a run, and where results go.
#include <unistd.h>

#include <filesystem>
#include <variant>

#include <fmt/format.h>

#include "harness/cli/cli_testing.h"
#include "harness/cli/options.h"
#include "harness/commands/list.h"
#include "harness/config/registry.h"
#include "harness/result/build_info.h"
#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using testing::contains;
using testing::error_of;
using testing::kRegistry;
using testing::parse;
using testing::runs;

TEST_CASE("the option --out makes a folder in an existing one", "[cli]") {
  const std::filesystem::path parent = "/tmp/latchlab_cli_test_" + std::to_string(getpid());
  const std::string inside = parent / "results" / "";
  CHECK(error_of({"--out=" + inside}) ==
        "--out: '" + inside + "' cannot be made: the folder it would be in does not exist");
  CHECK_FALSE(std::filesystem::exists(parent));
  std::filesystem::create_directory(parent);
  CHECK(runs({"--out=" + inside, "--dry-run"}).out == inside);
  CHECK_FALSE(std::filesystem::exists(inside));  // a dry run makes nothing
  CHECK(runs({"--out=" + inside}).out == inside);
  CHECK(runs({"--out=" + inside}).out == inside);  // the folder exists now
  CHECK(std::filesystem::is_directory(inside));
  std::filesystem::remove_all(parent);
}

TEST_CASE("ab hands common options to its variants", "[cli]") {
  const auto command =
      std::get<AbCommand>(parse({"ab", "--a=--sync=none --seed=9", "--b", "--sync='olc' --ops=5", "--records=1M",
                                 "--seed=3", "--time=1s", "--replicates=4", "--json"}));
  REQUIRE(command.variants.size() == 2);
  CHECK(command.replicates == 4);
  CHECK(command.seed == 3);
  CHECK(command.json);
  CHECK(command.common == "--records=1M --seed=3 --time=1s");
  CHECK(command.variants[1].line == "--sync='olc' --ops=5");
  CHECK(command.variants[0].args == std::vector<std::string>{"--records=1M", "--time=1s", "--sync=none", "--seed=9"});
  CHECK(command.variants[1].args == std::vector<std::string>{"--records=1M", "--seed=3", "--sync=olc", "--ops=5"});
}

TEST_CASE("ab runs ten replicates by default, N, or as many as it takes", "[cli]") {
  const auto replicates = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"ab", "--a=--sync=none", "--b=--sync=olc"});
    return std::get<AbCommand>(parse(more)).replicates;
  };
  CHECK(replicates({}) == 10);
  CHECK(replicates({"--replicates=12"}) == 12);
  CHECK_FALSE(replicates({"--replicates=auto"}));
}

TEST_CASE("compare takes files and folders, and limits takes options of placement", "[cli]") {
  const auto compared = std::get<CompareCommand>(parse({"compare", "x", "--json", "y", "--seed=4", "z"}));
  CHECK(compared.paths == std::vector<std::string>{"x", "y", "z"});
  CHECK(compared.json);
  CHECK(compared.seed == 4);
  CHECK(compared.effect == 0);
  CHECK_FALSE(compared.mixes);
  CHECK(std::get<CompareCommand>(parse({"compare", "x", "--mix", "y"})).mixes);
  CHECK(std::get<CompareCommand>(parse({"compare", "x", "--effect=2.5%", "y"})).effect == .025);
  for (const char* wrong : {"3", "0%", "100%", "-1%", "%", "three%"}) {
    CHECK(error_of({"compare", "x", "y", fmt::format("--effect={}", wrong)}) ==
          fmt::format("--effect: '{}' is no percentage between 0 and 100; write --effect=3%", wrong));
  }
  for (const char* same : {"x", "./x", "x/", "y/../x"}) {
    CHECK(error_of({"compare", "x", "y", same}) ==
          fmt::format("compare: '{}' is given twice; a result does not differ from itself", same));
  }
  const auto plain = std::get<LimitsCommand>(parse({"limits"}));
  CHECK(plain.plan.config.threads == 1);
  CHECK(plain.footprint > 0);
  const auto limits = std::get<LimitsCommand>(
      parse({"limits", "--footprint=64Mi", "--threads=2", "--hugepages=thp", "--pin=scatter", "--json"}));
  CHECK(limits.footprint == 64 << 20);
  CHECK(limits.plan.config.threads == 2);
  CHECK(limits.plan.config.huge_pages == HugePages::kThp);
  CHECK(limits.plan.config.pin.kind == Pin::Kind::kScatter);
  CHECK(limits.json);
  CHECK(std::get<LimitsCommand>(parse({"limits", "--mem=interleave"})).plan.config.mem.kind ==
        PagePlacement::Kind::kInterleave);
  CHECK(contains(error_of({"limits", "--mem=bind:999"}), "--mem=bind:999: there is no node 999"));
}

TEST_CASE("limits writes a machine file only where there is none, like a machine that exists", "[cli]") {
  const TemporaryFile there("old");
  const std::string path = there.path() + ".toml";
  const auto plain = std::get<LimitsCommand>(parse({"limits", "--write-machine=" + path}));
  CHECK(plain.write_machine == path);
  CHECK(plain.like.empty());
  CHECK(std::get<LimitsCommand>(parse({"limits", "--like=epyc", "--write-machine=" + path})).like == "epyc");
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(error_of({"limits", "--write-machine=" + there.path()}) ==
        "--write-machine: '" + there.path() + "' exists; name a new file");
  CHECK(error_of({"limits", "--write-machine=/nowhere/x.toml"}) ==
        "--write-machine: '/nowhere/x.toml' cannot be made: No such file or directory");
  CHECK(error_of({"limits", "--like=epyc"}) ==
        "--like: it is for --write-machine=FILE, which is missing; leave it out or name a file");
  CHECK(contains(error_of({"limits", "--write-machine=" + path, "--like=epic"}),
                 "machine 'epic' is unknown; did you mean 'epyc'?; there are "));
  CHECK(contains(error_of({"limits", "--write-machine="}), "--write-machine: the value is missing"));
}

TEST_CASE("the help of limits shows each option that limits takes, and no other", "[cli]") {
  const std::string help = help_text(kRegistry, "limits");
  for (const OptionEntry& row : option_rows()) {
    CAPTURE(row.name);
    const bool is_refused = contains(error_of({"limits", fmt::format("--{}", row.name)}), "has no meaning here");
    CHECK(contains(help, fmt::format("--{}{}", row.name, row.metavar.empty() ? "]" : "=")) != is_refused);
  }
}

TEST_CASE("only a replicate of a comparison has a block", "[cli]") {
  CHECK_FALSE(runs({"--index=art"}).runs[0].config.block);
  const Plan part = runs({"--block=0", "--order=1", "--replicate=2"}).runs[0];
  CHECK(part.config.block == 0);
  CHECK(part.config.order == 1);
  CHECK(part.config.replicate == 2);
}

TEST_CASE("a line is split as a shell would", "[cli]") {
  CHECK(split_like_shell("  a  b\tc\n") == std::vector<std::string>{"a", "b", "c"});
  CHECK(split_like_shell("--x='a b' --y=\"c d\" e\\ f ''") ==
        std::vector<std::string>{"--x=a b", "--y=c d", "e f", ""});
  CHECK(split_like_shell("'a\\b' \"a\\\"b\"") == std::vector<std::string>{"a\\b", "a\"b"});
  CHECK_THROWS_AS((void)split_like_shell("a 'b"), InputError);
  CHECK_THROWS_AS((void)split_like_shell("a\\"), InputError);
}

TEST_CASE("the version is that of the project and of this build", "[cli]") {
  CHECK(std::holds_alternative<VersionCommand>(parse({"--version"})));
  CHECK(error_of({"--version", "list"}) == "--version: 'list' is too much; write harness --version");
  const std::string text = version_text();
  CHECK(text.starts_with(fmt::format("latchlab {}\n", version())));
  for (const std::string& part : {build_info().commit, build_info().compiler, std::string(machine())}) {
    INFO(text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("help and list print every word", "[cli]") {
  CHECK(std::holds_alternative<HelpCommand>(parse({})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"--help"})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"help"})));
  for (const char* command : {"list", "doctor", "ab", "help"}) {
    CHECK(std::get<HelpCommand>(parse({"help", command})).topic == command);
  }
  CHECK(error_of({"help", "list", "indexes"}) == "help: 'indexes' is too much; write harness help [TOPIC]");
  CHECK(std::get<HelpCommand>(parse({"ab", "--help"})).topic == "ab");
  CHECK(std::get<HelpCommand>(parse({"help", "--help"})).topic.empty());
  CHECK(std::get<HelpCommand>(parse({"--threads=1", "-h"})).topic.empty());
  CHECK(std::holds_alternative<DoctorCommand>(parse({"doctor"})));
  for (const char* option : {"--index", "--threads", "--validate", "--strict", "harness ab"}) {
    CHECK(contains(help_text(), option));
  }
  const std::string all = list_text(kRegistry, "");
  for (const char* word : {"art", "tbb", "rtm", "wait=1", "wait first", "learns from lookups", "period=60",
                           "how long it rests", "no transactions here", "zipf", "arena+touch", "scatter"}) {
    INFO(word);
    CHECK(contains(all, word));
  }
  const std::string indexes = list_text(kRegistry, "indexes");
  CHECK_FALSE(contains(indexes, "zipf"));
  for (const auto& [name, version] : build_info().libraries) {
    if (name == "fmt")
      CHECK(contains(indexes, "not ordered, no erase, no modify, integer keys, fmt " + version + "; under own"));
  }
  CHECK_THROWS_AS((void)list_text(kRegistry, "indices"), InputError);
}

TEST_CASE("help has a text for each command and each topic of list", "[cli]") {
  CHECK(help_text(kRegistry, "") == help_text());
  CHECK(help_text(kRegistry, "compare") ==
        "harness compare A B...\n  compares existing results: files, or folders of --out\n\n[--effect=3%] [--json] "
        "[--mix] [--seed=N]. --mix compares modelled results with measured ones.\n");
  CHECK(help_text(kRegistry, "keys") == list_text(kRegistry, "keys"));
  const std::string topics = help_text(kRegistry, "topics");
  CHECK(topics.starts_with("ab\ncompare\n"));
  for (const std::string& topic : list_topics()) {
    INFO(topic);
    CHECK(contains(topics, "\n" + topic + "\n"));
    CHECK_FALSE(help_text(kRegistry, topic).empty());
  }
  CHECK_THROWS_WITH(help_text(kRegistry, "lsit"),
                    Catch::Matchers::StartsWith("help: there is no 'lsit'; there are ab, ") &&
                        Catch::Matchers::EndsWith("did you mean 'list'?"));
  // Another machine, and other versions of libraries, say the same.
  const std::string indexes = help_text(kRegistry, "indexes");
  CHECK(contains(indexes, "not ordered, no erase, no modify, integer keys, fmt; under own\n"));
  CHECK_FALSE(contains(indexes, "period=60"));
  CHECK(contains(list_text(kRegistry, "policies"), "degraded here"));
  CHECK_FALSE(contains(help_text(kRegistry, "policies"), "degraded here"));
  CHECK(contains(help_text(kRegistry, "pmu"), " cycles, instructions, branch-misses\n"));
}

/// Returns the number of threads of each run.
std::vector<u32> threads_of(const std::vector<std::string>& args) {
  std::vector<u32> threads;
  for (const Plan& run : runs(args).runs) threads.push_back(run.config.threads);
  return threads;
}

TEST_CASE("an option given again after others replaces its earlier values", "[cli]") {
  CHECK(threads_of({"--threads=1", "--threads=2", "--sync=olc"}) ==
        std::vector<u32>{1, 2});  // as a shell expands a list
  CHECK(threads_of({"--threads=1", "--threads=2", "--sync=olc", "--threads=4", "--threads=8"}) ==
        std::vector<u32>{4, 8});
  // The option's place is that of its last values, so it changes fastest.
  const RunCommand command = runs({"--threads=1..2", "--sync={none,olc}", "--threads={3,4}"});
  REQUIRE(command.runs.size() == 4);
  CHECK(command.runs[1].config.sync.str() == "none");
  CHECK(command.runs[1].config.threads == 4);
  CHECK(runs({"--reps=2", "--threads=1", "--reps=3"}).runs.size() == 3);
  CHECK(runs({"--json", "--threads=1", "--json"}).json);
  CHECK(error_of({"--json", "--json", "--threads=1"}) == "--json is given 2 times");
  CHECK(std::get<LimitsCommand>(parse({"limits", "--threads=1", "--json", "--threads=2"})).plan.config.threads == 2);
  const auto ab =
      std::get<AbCommand>(parse({"ab", "--records=1k", "--a=--sync=none", "--records=2k", "--b=--sync=olc"}));
  CHECK(ab.variants[0].args == std::vector<std::string>{"--records=2k", "--sync=none"});
}

TEST_CASE("@FILE reads options from a file, and those of the command line replace them", "[cli]") {
  const TemporaryFile file("# the defaults of a script\n\n--threads={1,2}\n  --sync=olc\t\r\n--json\n--time=1s\n");
  const std::string at = "@" + file.path();
  CHECK(threads_of({at}) == std::vector<u32>{1, 2});
  CHECK(runs({at}).json);
  CHECK(runs({at}).runs[1].config.sync.str() == "olc");
  for (const std::vector<std::string>& args : {std::vector<std::string>{at, "--threads=4"}, {"--threads=4", at}}) {
    CHECK(threads_of(args) == std::vector<u32>{4});
    CHECK(runs(args).runs[0].config.sync.str() == "olc");
  }
  CHECK(runs({"--ops=5", at}).runs[0].config.time_ns == 0);  // --ops replaces the file's --time
  // Options on both sides of a file make no list, whatever is in the file.
  CHECK(threads_of({"--threads=4", at, "--threads=8"}) == std::vector<u32>{8});
  // Neighbouring lines are a list, as neighbouring words are; a later file replaces an earlier one.
  const TemporaryFile other("--threads=4\n# and\n--threads=8\n--dist=zipf:1\n--threads=16\n--threads=32\n");
  CHECK(threads_of({at, "@" + other.path()}) == std::vector<u32>{16, 32});
  CHECK(threads_of({"@" + other.path(), at}) == std::vector<u32>{1, 2});
  // A # within a line is part of the value.
  const TemporaryFile keys("a\nb\n");
  const std::string link = keys.path() + "#1";
  std::filesystem::create_symlink(keys.path(), link);
  const TemporaryFile with_number("--keys=file:" + link + "\n");
  CHECK(runs({"@" + with_number.path()}).runs[0].config.keys.str() == "file:" + link);
  std::filesystem::remove(link);
}

TEST_CASE("ab and limits take files of options, and options in a variant's file replace common ones", "[cli]") {
  const TemporaryFile file("--threads=2\n");
  const std::string at = "@" + file.path();
  CHECK(std::get<LimitsCommand>(parse({"limits", at})).plan.config.threads == 2);
  const auto ab = std::get<AbCommand>(parse({"ab", "--threads=1", "--a=--sync=none", "--b=--sync=olc " + at}));
  CHECK(ab.variants[0].args == std::vector<std::string>{"--threads=1", "--sync=none"});
  CHECK(ab.variants[1].args == std::vector<std::string>{"--threads=2", "--sync=olc"});
  CHECK(std::get<AbCommand>(parse({"ab", at, "--a=--sync=none", "--b=--sync=olc"})).common == "--threads=2");
}

TEST_CASE("a wrong line of a file is reported in one line that says where, and what would be right", "[cli]") {
  CHECK(error_of({"@/no/such"}) == "options file '/no/such': No such file or directory");
  CHECK(error_of({"@"}) == "'@' names no file of options; write @FILE");
  CHECK(error_of({"--sync=olc", "@/tmp"}) == "options file '/tmp': is a directory, not a file");
  const auto said = [](const std::string& line) {
    const TemporaryFile file("# first\n--sync=olc\n" + line + "\n");
    const std::string error = error_of({"@" + file.path()});
    const std::string begin = fmt::format("options file '{}': line 3 '{}' is wrong: ", file.path(), line);
    CHECK(error.starts_with(begin));
    return error.substr(std::min(begin.size(), error.size()));
  };
  CHECK(said("--thraeds=2") == "there is no option --thraeds; did you mean '--threads'? harness --help lists all");
  CHECK(said("threads=2") == "'threads=2' is not an option: options are --name=value; see harness help");
  CHECK(contains(said("--threads=two"), "--threads: 'two' is not a whole number from 1 to 1024"));
  CHECK(said("--threads") == "--threads: the value is missing; write --threads=N");
  CHECK(said("--json=1") == "--json takes no value");
  CHECK(said("--threads={1,2") == "--threads: '{1,2' has a brace that is not closed");
  CHECK(said("@other") == "a file of options names no other; name both on the command line");
}

TEST_CASE("the range of a value that may be off names off", "[cli]") {
  CHECK(error_of({"--rows=0"}) == "--rows: 0 is too small; it can be from 1000 to 1048576Ti, or off");
  CHECK(contains(error_of({"--clear-accessed=0"}), "--clear-accessed: 0 is too small; it can be from 1ms to "));
  CHECK(error_of({"--clear-accessed=0"}).ends_with(", or off"));
  CHECK(runs({"--rows=off", "--clear-accessed=off"}).runs[0].config.rows == 0);
}

TEST_CASE("the range of --footprint is in readable units", "[cli]") {
  CHECK(error_of({"limits", "--footprint=0"}) == "--footprint: 0 is too small; it can be from 1Mi to 8Gi");
}

}  // namespace
}  // namespace latchlab
