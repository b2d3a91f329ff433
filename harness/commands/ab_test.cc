#include "harness/commands/ab.h"

#include <algorithm>

#include "harness/text/progress_lines.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("a replicate is the document that its process printed", "[ab]") {
  const auto shell = [](const std::string& script) { return run_replicate("/bin/sh", {"-c", script}); };
  const Replicate ok = shell(R"(echo '{"status":"ok","interrupted":false,"throughput":{"per_second":5.0}}')");
  CHECK(ok.status == "ok");
  CHECK(ok.per_second == 5.0);
  const Replicate invalid =
      shell(R"(echo '{"status":"invalid","reason":"lost","throughput":{"per_second":5.0}}'; exit 1)");
  CHECK(invalid.status == "invalid");
  CHECK(invalid.reason == "lost");
  CHECK_FALSE(invalid.per_second.has_value());
  const Replicate interrupted =
      shell(R"(echo '{"status":"ok","interrupted":true,"throughput":{"per_second":5.0}}'; exit 130)");
  CHECK(interrupted.status == "interrupted");
  CHECK_FALSE(interrupted.per_second.has_value());

  CHECK(shell("echo 'harness: memory is out' >&2; exit 1").reason == "harness: memory is out");
  CHECK(shell("exit 3").reason == "no result document; exit status 3");
  CHECK(shell("kill -9 $$").reason == "no result document; killed by signal 9");
  CHECK(shell("echo '{\"status\":'").status == "failed");
  CHECK(shell("echo '[1]'").status == "failed");
  CHECK(shell("echo '{\"status\":\"ok\"}'").reason == "the document has no throughput");
  CHECK_THROWS_AS((void)run_replicate("/does/not/exist", {}), OutputError);
  // More output than a pipe holds, on both streams at once.
  CHECK(shell("head -c 300000 /dev/zero | tr '\\0' x >&2; printf '{\"status\":\"failed\",\"reason\":\"'; "
              "head -c 300000 /dev/zero | tr '\\0' y; echo '\"}'")
            .reason.size() == 300'000);
}

AbCommand two_variants() {
  AbCommand command;
  command.variants = {{.name = "a", .line = "", .args = {"--sync=none"}},
                      {.name = "b", .line = "", .args = {"--sync=olc"}}};
  command.replicates = std::nullopt;
  return command;
}

/// Makes replicates with the speed 1 for a and `rate` for b, each off by up to `scatter`.
RunReplicate made_up(double rate, double scatter) {
  return [=, rng = Rng(1)](const std::vector<std::string>& args) mutable {
    const bool b = std::find(args.begin(), args.end(), "--sync=olc") != args.end();
    const double off = 1 + scatter * (2 * unit(rng()) - 1);
    return replicate_of({{"status", "ok"}, {"throughput", {{"per_second", 1e6 * (b ? rate : 1) * off}}}}, "");
  };
}

Comparison compared(const AbCommand& command, const RunReplicate& run) {
  return run_ab(command, *make_progress(ProgressMode::kNone), run);
}

TEST_CASE("every block runs every variant once, in its own order, and tells each run its block and place") {
  std::vector<std::string> seen;
  AbCommand command = two_variants();
  command.replicates = 20;
  const Comparison c = compared(command, [&](const std::vector<std::string>& args) {
    seen.push_back(args.front() + args[3] + args[4] + args[5]);
    return made_up(1, 0)(args);
  });
  REQUIRE(seen.size() == 40);
  REQUIRE(c.orders.size() == 20);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::size_t block = i / 2;
    const std::string variant = c.orders[block][i % 2] == 0 ? "--sync=none" : "--sync=olc";
    CHECK(seen[i] == variant + "--block=" + std::to_string(block) + "--order=" + std::to_string(i % 2) +
                         "--replicate=" + std::to_string(block));
  }
  CHECK(std::count(c.orders.begin(), c.orders.end(), std::vector<u32>{0, 1}) > 2);
  CHECK(std::count(c.orders.begin(), c.orders.end(), std::vector<u32>{1, 0}) > 2);
  CHECK(c.ended_by.empty());
}

TEST_CASE("modelled variants share a seed in each block, and have another one in the next") {
  AbCommand command = two_variants();
  command.replicates = 3;
  command.variants[0].seed = 7;
  command.variants[1].seed = 7;
  std::vector<std::string> seeds;
  (void)compared(command, [&](const std::vector<std::string>& args) {
    seeds.push_back(args.back());
    return made_up(1, 0)(args);
  });
  CHECK(seeds == std::vector<std::string>{"--seed=7", "--seed=7", "--seed=8", "--seed=8", "--seed=9", "--seed=9"});
}

TEST_CASE("auto runs blocks until the interval is narrow, and says why it ended") {
  const Comparison quiet = compared(two_variants(), made_up(1, .001));
  CHECK(quiet.variants[1].replicates.size() == kFirstLook);
  CHECK(quiet.ended_by == "the intervals are within 1 %");
  CHECK(quiet.variants[1].verdict == "no difference seen");
  const Comparison scattered = compared(two_variants(), made_up(1.05, .04));
  const std::size_t blocks = scattered.variants[1].replicates.size();
  CHECK(blocks > kFirstLook);
  CHECK(blocks % kBetweenLooks == 0);
  CHECK(scattered.planned_blocks.value == blocks);
  CHECK(scattered.variants[1].verdict == "faster");
  const Comparison wild = compared(two_variants(), made_up(1, .8));
  CHECK(wild.ended_by == "100 blocks, the limit, would not bring the intervals near 1 %");
  CHECK(wild.variants[1].verdict == "cannot be decided here");
}

TEST_CASE("auto ends at the first look after a replicate that does not count") {
  const RunReplicate run = made_up(1, .5);
  int runs = 0;
  const Comparison c = compared(two_variants(), [&](const auto& args) {
    return ++runs == 3 ? replicate_of(nullptr, "the process crashed") : run(args);
  });
  CHECK(c.variants[0].replicates.size() == kFirstLook);
  CHECK(c.ended_by == "a replicate does not count");
  CHECK(c.variants[1].verdict == "withheld");
  CHECK(exit_status(c) == 1);
}

}  // namespace
}  // namespace latchlab
