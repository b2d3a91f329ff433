#include "harness/commands/survey.h"
#include "harness/text/progress_lines.h"

#include "harness/host/placement.h"
#include "src/arch/features.h"
#include "src/testing/catch.h"
#include "src/testing/json_schema.h"

namespace latchlab {
namespace {

constexpr u64 kMiB = u64{1} << 20;

Survey survey_of(u32 threads, u64 footprint) {
  const Topology topology = Topology::discover();
  Config config;
  config.threads = threads;
  const Seats seats = seat(topology, config);
  LimitsPlan plan;
  plan.footprint = footprint;
  plan.cpus = seats.cpus;
  plan.pin = seats.binds;
  plan.time_ns = 4'000'000;
  return survey_limits(config, plan, topology, *make_progress(ProgressMode::kNone));
}

Json checked_json(const Survey& survey) {
  const std::string text = json_of(survey).dump();
  CHECK(testing::schema_violations("harness/commands/limits.schema.json", text) == std::vector<std::string>{});
  return Json::parse(text);
}

TEST_CASE("the committed schema of limits matches the structs") {
  testing::check_committed("harness/commands/limits.schema.json", limits_schema());
}

TEST_CASE("every limit of this machine has a number or a reason", "[realtime]") {
  for (const u32 threads : {1U, 3U}) {
    CAPTURE(threads);
    const Survey survey = survey_of(threads, 2 * kMiB);
    const Json document = checked_json(survey);
    CHECK(document["footprint_bytes"] == 2 * kMiB);
    CHECK(document["threads"] == threads);
    for (const char* name : {"cycle_ns", "chase_ns", "independent_ns", "operation_ns", "locked_ns",
                             "random_gb_per_second", "read_gb_per_second", "write_gb_per_second"}) {
      CAPTURE(name);
      REQUIRE(document[name].is_number());
      CHECK(document[name] > 0);
    }
    CHECK(document["transaction_ns"].is_null() == why_no_rtm().has_value());
    CHECK(document["batches"].size() > 5);
    for (const Json& batch : document["batches"]) CHECK(batch["ns"] >= document["best_batch"]["ns"]);
    REQUIRE(document["locks"].size() == 4);
    for (const Json& lock : document["locks"]) {
      CHECK(lock["alone_ns"] > 0);
      if (threads == 1) {
        CHECK(lock["contended_ns_reason"] == "one thread alone has no contention");
      } else {
        CHECK(lock["contended_ns"] > 0);
      }
    }
    const std::string table = table_of(survey);
    INFO(table);
    CHECK_THAT(table,
               Catch::Contains("2 MiB on") && Catch::Contains("chases side by side") && Catch::Contains("mutex"));
  }
}

TEST_CASE("a note says if two measurements of a single chase differ, after the notes of the measurements") {
  Survey survey;
  survey.limits.chase_ns = 187.;
  const auto notes_with = [&](double ns) {
    survey.batches = std::vector<Survey::BatchCost>{{.lines = 1, .ns = ns}, {.lines = 2, .ns = 100}};
    return checked_json(survey)["notes"];
  };
  CHECK(notes_with(187) == Json::array());
  CHECK(notes_with(224) == Json::array());
  CHECK(notes_with(156) == Json::array());
  CHECK(notes_with(225).size() == 1);
  CHECK(notes_with(155).size() == 1);
  survey.notes = {"noisy: others had the processors"};
  const std::string apart =
      "a chase alone took 187 ns a line, but 517 when measured with the batches: something disturbed one of the "
      "two; run it again";
  CHECK(notes_with(517) == Json{"noisy: others had the processors", apart});
  CHECK_THAT(table_of(survey), Catch::Contains("note: noisy: others had the processors\nnote: " + apart + "\n"));
  survey.batches = OrReason<std::vector<Survey::BatchCost>>::missing("interrupted");
  CHECK(checked_json(survey)["notes"].size() == 1);
}

TEST_CASE("without memory for the buffer all limits are missing with the reason", "[realtime]") {
  const Survey survey = survey_of(1, u64{1} << 60);
  const Json document = checked_json(survey);
  for (const char* name : {"footprint_bytes", "chase_ns", "batches", "best_batch", "operation_ns", "locked_ns",
                           "random_gb_per_second", "read_gb_per_second"}) {
    CHECK(document[std::string(name) + "_reason"] == "no memory for the buffer");
  }
  CHECK_THAT(table_of(survey), Catch::Contains("no memory for the buffer"));
}

}  // namespace
}  // namespace latchlab
