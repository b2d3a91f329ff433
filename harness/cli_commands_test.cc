// The commands besides a run, and where its results go.
#include <unistd.h>

#include <filesystem>
#include <variant>

#include <fmt/format.h>

#include "harness/build_info.h"
#include "harness/cli_testing.h"
#include "harness/list.h"
#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::contains;
using testing::error_of;
using testing::kRegistry;
using testing::parse;
using testing::runs;

TEST_CASE("a folder for results is made in one that exists", "[cli]") {
  const std::filesystem::path parent = "/tmp/latchlab_cli_test_" + std::to_string(getpid());
  const std::string inside = parent / "results" / "";
  CHECK(error_of({"--out=" + inside}) ==
        "--out: '" + inside + "' cannot be made: the folder it would be in does not exist");
  CHECK_FALSE(std::filesystem::exists(parent));
  std::filesystem::create_directory(parent);
  CHECK(runs({"--out=" + inside}).out == inside);
  CHECK(runs({"--out=" + inside}).out == inside);   // it is there now
  CHECK(std::filesystem::is_directory(inside));
  std::filesystem::remove_all(parent);
}

TEST_CASE("ab hands common options to its variants", "[cli]") {
  const auto command =
      std::get<AbCommand>(parse({"ab", "--a=--sync=none --seed=9", "--b", "--sync='olc' --ops=5",
                                 "--records=1M", "--seed=3", "--time=1s", "--replicates=4", "--json"}));
  REQUIRE(command.variants.size() == 2);
  CHECK(command.replicates == 4);
  CHECK(command.seed == 3);
  CHECK(command.json);
  CHECK(command.common == "--records=1M --seed=3 --time=1s");
  CHECK(command.variants[1].line == "--sync='olc' --ops=5");
  CHECK(command.variants[0].args ==
        std::vector<std::string>{"--records=1M", "--time=1s", "--sync=none", "--seed=9"});
  CHECK(command.variants[1].args ==
        std::vector<std::string>{"--records=1M", "--seed=3", "--sync=olc", "--ops=5"});
}

TEST_CASE("ab runs ten replicates, so many, or as many as it takes", "[cli]") {
  const auto replicates = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"ab", "--a=--sync=none", "--b=--sync=olc"});
    return std::get<AbCommand>(parse(more)).replicates;
  };
  CHECK(replicates({}) == 10);
  CHECK(replicates({"--replicates=12"}) == 12);
  CHECK_FALSE(replicates({"--replicates=auto"}));
}

TEST_CASE("compare takes files and folders, limits what a place is made of", "[cli]") {
  const auto compared = std::get<CompareCommand>(parse({"compare", "x", "--json", "y", "--seed=4", "z"}));
  CHECK(compared.paths == std::vector<std::string>{"x", "y", "z"});
  CHECK(compared.json);
  CHECK(compared.seed == 4);
  for (const char* same : {"x", "./x", "x/", "y/../x"}) {
    CHECK(error_of({"compare", "x", "y", same}) ==
          fmt::format("compare: '{}' is there twice; results do not differ from themselves", same));
  }
  const auto plain = std::get<LimitsCommand>(parse({"limits"}));
  CHECK(plain.config.threads == 1);
  CHECK(plain.footprint > 0);
  const auto limits = std::get<LimitsCommand>(
      parse({"limits", "--footprint=64Mi", "--threads=2", "--hugepages=thp", "--pin=scatter", "--json"}));
  CHECK(limits.footprint == 64 << 20);
  CHECK(limits.config.threads == 2);
  CHECK(limits.config.huge_pages == HugePages::kThp);
  CHECK(limits.config.pin.kind == Pin::Kind::kScatter);
  CHECK(limits.json);
  CHECK(std::get<LimitsCommand>(parse({"limits", "--mem=interleave"})).config.mem.kind == PagePlacement::Kind::kInterleave);
  CHECK(contains(error_of({"limits", "--mem=bind:999"}), "--mem=bind:999: there is no node 999"));
}

TEST_CASE("only a part of a comparison has a block", "[cli]") {
  CHECK_FALSE(runs({"--index=art"}).runs[0].config.block);
  const Config part = runs({"--block=0", "--order=1", "--replicate=2"}).runs[0].config;
  CHECK(part.block == 0);
  CHECK(part.order == 1);
  CHECK(part.replicate == 2);
}

TEST_CASE("a line is split as a shell would", "[cli]") {
  CHECK(split_like_shell("  a  b\tc\n") == std::vector<std::string>{"a", "b", "c"});
  CHECK(split_like_shell("--x='a b' --y=\"c d\" e\\ f ''") ==
        std::vector<std::string>{"--x=a b", "--y=c d", "e f", ""});
  CHECK(split_like_shell("'a\\b' \"a\\\"b\"") == std::vector<std::string>{"a\\b", "a\"b"});
  CHECK_THROWS_AS((void)split_like_shell("a 'b"), InputError);
  CHECK_THROWS_AS((void)split_like_shell("a\\"), InputError);
}

TEST_CASE("help and list know every word", "[cli]") {
  CHECK(std::holds_alternative<HelpCommand>(parse({})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"--help"})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"help"})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"ab", "--help"})));
  CHECK(std::holds_alternative<HelpCommand>(parse({"--threads=1", "-h"})));
  CHECK(std::holds_alternative<DoctorCommand>(parse({"doctor"})));
  for (const char* option : {"--index", "--threads", "--validate", "--strict", "harness ab"}) {
    CHECK(contains(help_text(), option));
  }
  const std::string all = list_text(kRegistry, "");
  for (const char* word : {"art", "tbb", "rtm", "wait=1", "wait first", "learns from lookups", "period=60", "how long it rests",
                           "no transactions here", "zipf", "arena+touch", "scatter"}) {
    INFO(word);
    CHECK(contains(all, word));
  }
  const std::string indexes = list_text(kRegistry, "indexes");
  CHECK_FALSE(contains(indexes, "zipf"));
  for (const auto& [name, version] : build_info().libraries) {
    if (name == "fmt") CHECK(contains(indexes, "not ordered, no erase, integer keys, fmt " + version + "; under own"));
  }
  CHECK_THROWS_AS((void)list_text(kRegistry, "indices"), InputError);
}

TEST_CASE("an option that is given again apart from itself is refused", "[cli]") {
  CHECK(runs({"--threads=1", "--threads=2", "--sync=olc"}).runs.size() == 2);   // as a shell makes it of a list
  CHECK(error_of({"--threads=1", "--sync=olc", "--threads=2"}) ==
        "--threads is given twice, 1 and 2; a list is '--threads={1,2}'");
  CHECK(contains(error_of({"limits", "--threads=1", "--json", "--threads=2"}), "--threads is given twice"));
  CHECK(contains(error_of({"ab", "--records=1k", "--a=--sync=none", "--records=2k", "--b=--sync=olc"}), "--records is given twice"));
  CHECK(error_of({"--json", "--threads=1", "--json"}) == "--json is given 2 times");
}

TEST_CASE("what may be off says so", "[cli]") {
  CHECK(error_of({"--rows=0"}) == "--rows: 0 is too small; it can be from 1000 to 1048576Ti, or off");
  CHECK(contains(error_of({"--clear-accessed=0"}), "--clear-accessed: 0 is too small; it can be from 1ms to "));
  CHECK(error_of({"--clear-accessed=0"}).ends_with(", or off"));
  CHECK(runs({"--rows=off", "--clear-accessed=off"}).runs[0].config.rows == 0);
}

TEST_CASE("the footprint of limits has a range that reads", "[cli]") {
  CHECK(error_of({"limits", "--footprint=0"}) == "--footprint: 0 is too small; it can be from 1Mi to 8Gi");
}

}  // namespace
}  // namespace latchlab
