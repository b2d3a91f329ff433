#include "harness/compare/comparison.h"

#include <algorithm>
#include <sstream>

#include "src/testing/catch.h"
#include "src/testing/json_schema.h"

namespace latchlab {
namespace {

Json good_document(double per_second) {
  return {{"status", "ok"},
          {"throughput", {{"per_second", per_second}}},
          {"memory", {{"bytes_per_key", 43.5}, {"page_bytes", 4096}}}};
}

Replicate good(double per_second) { return replicate_of(good_document(per_second), ""); }

/// Returns a replicate of a policy that elides: 999,000 of a million operations commit, after 10,000 aborts with status
/// zero and 30,000 with another status.
Replicate elided(double per_second) {
  Json document = good_document(per_second);
  document["throughput"]["operations"] = 1'000'000;
  document["sync"] = {{"counters", {{"begins", 1'039'000}, {"commits", 999'000}}},
                      {"aborts", {{"conflict", 30'000}, {"zero", 10'000}}},
                      {"fallback_rate", 0.001}};
  return replicate_of(std::move(document), "");
}

/// Returns a replicate of a policy that elides, on a machine without working transactions.
Replicate degraded(double per_second) {
  Json document = good_document(per_second);
  document["status"] = "degraded";
  document["reason"] = "every operation took the lock";
  document["throughput"]["operations"] = 1'000'000;
  document["sync"] = {{"counters", {{"begins", 0}, {"commits", 0}}},
                      {"aborts", nullptr},
                      {"aborts_reason", "no transaction was begun"},
                      {"fallback_rate", 1.0}};
  return replicate_of(std::move(document), "");
}

Json checked_json(const Comparison& comparison) {
  const std::string text = json_of(comparison).dump();
  CHECK(testing::schema_violations("harness/compare/comparison.schema.json", text) == std::vector<std::string>{});
  return Json::parse(text);
}

TEST_CASE("the committed schema of comparisons is the one that the structs generate") {
  testing::check_committed("harness/compare/comparison.schema.json", comparison_schema());
}

/// Returns the cells of the line that begins with `first`; two spaces separate cells.
std::vector<std::string> cells_of(const std::string& table, const std::string& first) {
  std::istringstream lines(table.substr(table.rfind("Mops/s") - 3));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
      const std::size_t end = std::min(line.find("  ", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(' ', end);
    }
    if (!cells.empty() && cells.front() == first) return cells;
  }
  return {};
}

Comparison summarized(Comparison comparison) {
  std::vector<Comparison> alone{std::move(comparison)};
  summarize(alone);
  return alone.front();
}

Comparison comparison_of(std::vector<std::vector<Replicate>> variants) {
  Comparison c;
  c.seed = 1;
  c.planned_blocks = static_cast<u32>(std::max<std::size_t>(1, variants[0].size()));
  for (std::size_t i = 0; i < variants.size(); ++i) {
    VariantSummary v;
    v.name = std::string(1, static_cast<char>('a' + i));
    v.command = "--sync=x";
    v.replicates = std::move(variants[i]);
    c.variants.push_back(std::move(v));
  }
  c.orders.resize(c.variants[0].replicates.size());
  return summarized(std::move(c));
}

/// Returns replicates whose speed differs from block to block.
std::vector<Replicate> series(double factor, std::size_t n = 10) {
  std::vector<Replicate> replicates;
  for (std::size_t i = 0; i < n; ++i) {
    replicates.push_back(good(factor * (1e6 + 1e5 * static_cast<double>(i))));
  }
  return replicates;
}

TEST_CASE("ratios are taken within blocks", "[ab]") {
  const Comparison c = comparison_of({series(1), series(1.02), series(0.5), series(1)});
  CHECK(c.variants[0].verdict == "base");
  CHECK(c.variants[1].contrast->ratio == Approx(1.02));
  CHECK(c.variants[1].verdict == "faster");  // although blocks differ by far more than variants
  CHECK(c.variants[2].verdict == "slower");
  CHECK(c.variants[3].verdict == "no difference seen");
  CHECK(*c.variants[0].median == Approx(1.45e6));
  CHECK(exit_status(c) == 0);
}

/// Returns a replicate of an open loop, whose throughput is its rate for any index.
Replicate open(double response_ns, bool late = false) {
  return replicate_of(
      {{"status", late ? "degraded" : "ok"},
       {"config", {{"rate", "fixed:1000000"}, {"slo", nullptr}}},
       {"offer", {{"late", late}}},
       {"throughput", {{"per_second", 1e6}}},
       {"latency",
        {{"response",
          {{"percentiles",
            {{{"percent", 50.0}, {"ns", 100}}, {{"percent", 99.0}, {"ns", static_cast<u64>(response_ns)}}}}}}}}},
      "");
}

std::vector<Replicate> open_series(double factor) {
  std::vector<Replicate> replicates;
  for (int i = 0; i < 10; ++i) replicates.push_back(open(factor * (5000 + 100 * i)));
  return replicates;
}

TEST_CASE("open loops with a given rate are compared by their response times", "[ab]") {
  const Comparison c = comparison_of({open_series(1), open_series(2), open_series(.5), open_series(1)});
  CHECK(c.variants[1].verdict == "slower");
  CHECK(c.variants[1].contrast->ratio == Approx(.5));
  CHECK(c.variants[2].verdict == "faster");
  CHECK(c.variants[3].verdict == "no difference seen");
  CHECK(*c.variants[1].response_ns == Approx(10'900));
  CHECK(*c.variants[1].median == 1e6);
  CHECK(cells_of(table_of(c), "b")[3] == "10.9 us");
  const Json document = checked_json(c);
  CHECK(document["variants"][1]["response_ns"] == Approx(10'900));
  CHECK(document["variants"][0]["replicates"][0]["response_ns"] == 5000);
  // A closed loop has no response times, and its throughput does not compare with one.
  const Comparison both = comparison_of({series(1), open_series(1)});
  CHECK(both.variants[1].withheld == "a response time, the speed under --rate, does not compare with a throughput");
  CHECK(checked_json(both)["variants"][0]["response_ns_reason"] == "its speed is its throughput");
  CHECK(table_of(comparison_of({series(1), series(2)})).find("p99") == std::string::npos);
}

TEST_CASE("an open loop that could not keep up has no speed, since its response times depend on the length of the run",
          "[ab]") {
  const Replicate late = open(1e6, true);
  CHECK(late.status == "unjudged");
  CHECK_FALSE(late.counts());
  CHECK_THAT(late.reason, Catch::StartsWith("its threads could not keep up with its --rate: the queue was growing"));
  const Comparison c = comparison_of({open_series(1), std::vector<Replicate>(10, late)});
  CHECK(c.variants[1].withheld == "10 of 10 replicates of b unjudged");
  CHECK(exit_status(c) == 1);
  checked_json(c);
}

TEST_CASE("an open loop without response times does not count, nor does a search without an answer", "[ab]") {
  const auto only = [](const Json& config, const Json& slo) {
    return replicate_of({{"status", "ok"}, {"config", config}, {"slo", slo}, {"throughput", {{"per_second", 1e6}}}},
                        "");
  };
  const Replicate untimed = only({{"rate", "fixed:1000000"}}, nullptr);
  CHECK(untimed.status == "unjudged");
  CHECK_FALSE(untimed.counts());
  CHECK(untimed.reason == "its throughput is its --rate, so its speed is the p99 of --latency, which is missing");
  const Comparison c = comparison_of({open_series(1), std::vector<Replicate>(10, untimed)});
  CHECK(c.variants[1].withheld == "10 of 10 replicates of b unjudged");
  CHECK(checked_json(c)["variants"][1]["replicates"][0]["response_ns_reason"] == "it does not count");
  const Json bound{{"rate", nullptr}, {"slo", "p99:50us"}};
  CHECK(only(bound, {{"answer", "found"}}).speed() == 1e6);
  CHECK(only(bound, {{"answer", "all-keep"}}).counts());
  CHECK(only(bound, {{"answer", "none-keeps"}}).reason == "no rate keeps --slo=p99:50us: none-keeps");
  CHECK(only(bound, {{"answer", "unsteady"}}).status == "unjudged");
  for (const Json& unfinished : {Json{{"answer", "unfinished"}}, Json(nullptr)}) {
    CHECK(only(bound, unfinished).reason == "the search for --slo=p99:50us did not finish");
  }
}

TEST_CASE("a noisy or degraded replicate counts, and with --strict is a failure", "[ab]") {
  for (const char* status : {"noisy", "degraded"}) {
    for (const bool strict : {false, true}) {
      std::vector<Replicate> some = series(2);
      Json document = some[3].document;
      document["status"] = status;
      document["config"]["strict"] = strict;
      some[3] = replicate_of(std::move(document), "");
      const Comparison c = comparison_of({series(1), some});
      CHECK(c.variants[1].verdict == "faster");
      CHECK(exit_status(c) == (strict ? 1 : 0));
      CHECK(checked_json(c)["variants"][1]["statuses"][status] == 1);
    }
  }
}

TEST_CASE("a noisy replicate is flagged, and its reason appears once", "[ab]") {
  std::vector<Replicate> some = series(2);
  Json document = some[3].document;
  document["status"] = "noisy";
  document["reason"] = "other programs had its processor";
  document["health"] = {{"on_processor", .47}};
  some[3] = replicate_of(std::move(document), "");
  const Comparison c = comparison_of({series(1), some});
  CHECK(c.variants[1].replicates[3].flags ==
        std::vector<std::string>{"a thread was on a processor 47.0 % of its time"});
  const std::string table = table_of(c);
  INFO(table);
  CHECK(table.find("1 noisy, 9 ok") != std::string::npos);
  CHECK(table.find("b  replicate 3 is flagged: a thread was on a processor 47.0 % of its time\n") != std::string::npos);
  CHECK(table.find("other programs had its processor") == std::string::npos);
  CHECK(checked_json(c)["variants"][1]["reasons"].empty());
}

TEST_CASE("a bad replicate is shown and withholds the verdict", "[ab]") {
  std::vector<Replicate> broken = series(2);
  broken[3] = {.status = "invalid",
               .reason = "a key is lost",
               .document = nullptr,
               .trial = {},
               .per_second = std::nullopt,
               .response_ns = std::nullopt,
               .flags = {}};
  const Comparison c = comparison_of({series(1), broken, series(3)});
  CHECK(c.variants[1].verdict == "withheld");
  CHECK(c.variants[1].withheld == "1 of 10 replicates of b invalid");
  CHECK(c.variants[2].verdict == "faster");
  CHECK(exit_status(c) == 1);
  const std::string table = table_of(c);
  CHECK(table.find("1 invalid, 9 ok") != std::string::npos);
  CHECK(table.find("a key is lost") != std::string::npos);
  Json document = checked_json(c);
  CHECK(document["variants"][1]["statuses"]["invalid"] == 1);
  Json& replicate = document["variants"][1]["replicates"][3];
  CHECK(replicate["per_second"].is_null());
  CHECK(replicate["per_second_reason"] == "a run that is invalid does not count");
  CHECK(replicate["document_reason"] == "a key is lost");

  const Comparison base_broken = comparison_of({broken, series(3)});
  CHECK(base_broken.variants[1].verdict == "withheld");
}

TEST_CASE("too few blocks withhold the verdict, and more variants need more blocks") {
  const Comparison c = comparison_of({series(1, 5), series(2, 5)});
  CHECK(c.variants[1].verdict == "withheld");
  CHECK(table_of(c).find("b  withheld: 5 replicates are too few for the test: run 3 more\n") != std::string::npos);
  CHECK(comparison_of({series(1, 8), series(2, 8)}).variants[1].verdict == "faster");
  const Comparison three = comparison_of({series(1, 8), series(2, 8), series(3, 8)});
  CHECK(three.variants[1].withheld == "8 replicates are too few for the test: run 1 more");
}

TEST_CASE("the verdict on replicates that scatter says how many more would decide") {
  std::vector<Replicate> scattered;
  for (int i = 0; i < 10; ++i) scattered.push_back(good((1e6 + 1e5 * i) * (i % 2 == 0 ? 1.05 : .96)));
  const Comparison c = comparison_of({series(1), scattered});
  CHECK(c.variants[1].verdict == "too noisy");
  const u64 more = checked_json(c)["variants"][1]["more_replicates"].get<u64>();
  CHECK(more > 100);
  CHECK(table_of(c).find("too noisy: run " + std::to_string(more) + " more\n") != std::string::npos);
}

TEST_CASE("replicates that scatter too much for any allowed number cannot be decided") {
  std::vector<Replicate> wild;
  for (int i = 0; i < 10; ++i) wild.push_back(good(1e6 * (i % 2 == 0 ? 20 : .05)));
  const Comparison c = comparison_of({series(1), wild});
  CHECK(c.variants[1].verdict == "cannot be decided here");
  const Json variant = checked_json(c)["variants"][1];
  CHECK(variant["more_replicates"].is_null());
  const std::string reason = variant["more_replicates_reason"];
  CHECK(reason.starts_with("it would take "));
  CHECK(reason.ends_with(" replicates, and 10000 are allowed"));
  CHECK(table_of(c).find("cannot be decided here: " + reason + '\n') != std::string::npos);
}

TEST_CASE("without common blocks the medians are compared, in any order of the replicates") {
  Comparison c;
  c.paired_by = "";
  std::vector<Replicate> few;
  for (const double rate : {2.02e6, 2e6, 1.99e6, 2.01e6, 1.98e6}) few.push_back(good(rate));
  std::vector<Replicate> many;
  for (const double rate : {1e6, .99e6, 1.01e6, 1.02e6, .98e6, 1e6, 1e6}) many.push_back(good(rate));
  for (auto& replicates : {many, few}) {
    VariantSummary v;
    v.name = c.variants.empty() ? "a" : "b";
    v.replicates = replicates;
    c.variants.push_back(std::move(v));
  }
  c = summarized(std::move(c));
  CHECK(c.variants[1].verdict == "faster");
  CHECK(c.variants[1].contrast->ratio == Approx(2));
  CHECK(c.variants[1].contrast->replicates == 5);
  CHECK(c.variants[0].contrast->ratio == 1);
  CHECK(checked_json(c)["planned_blocks_reason"] == "the runs were not planned together");
  CHECK(table_of(c).find("results without common blocks") != std::string::npos);
}

/// Returns the series with some replicates slowed down, while the host took the processors away.
std::vector<Replicate> disturbed(double factor, std::size_t bad) {
  std::vector<Replicate> replicates = series(factor, 12);
  for (std::size_t i = 0; i < replicates.size(); ++i) {
    Json document = good_document(*replicates[i].per_second * (i < bad ? .5 : 1));
    document["health"] = {{"steal_share", i < bad ? .4 : 0.}};
    replicates[i] = replicate_of(std::move(document), "");
  }
  return replicates;
}

TEST_CASE("a flagged replicate counts and is shown, and the table says if it decides the verdict") {
  const Comparison c = comparison_of({series(1, 12), disturbed(1.05, 3)});
  CHECK(c.variants[1].contrast->replicates == 12);
  CHECK(c.variants[1].verdict == "too noisy");
  CHECK(c.variants[1].unflagged->replicates == 9);
  const std::string table = table_of(c);
  INFO(table);
  CHECK(table.find("b  replicate 2 is flagged: the host took 40.0 % of the processors' time\n") != std::string::npos);
  CHECK(table.find("b  without flagged replicates: faster: 1.050, 95 % 1.050 .. 1.050, 9 replicates\n") !=
        std::string::npos);
  const Json variant = checked_json(c)["variants"][1];
  CHECK(variant["unflagged"]["verdict"] == "faster");
  CHECK(variant["replicates"][2]["flags"].size() == 1);
  CHECK(variant["replicates"][3]["flags"].empty());
  CHECK(variant["statuses"]["ok"] == 12);

  // The verdict without flagged replicates is not shown if it is the same, even if a replicate of the base is flagged.
  const std::string same = table_of(comparison_of({series(1, 12), disturbed(2, 1)}));
  CHECK(same.find("is flagged") != std::string::npos);
  CHECK(same.find("without flagged replicates") == std::string::npos);
  CHECK(comparison_of({disturbed(1, 3), series(1.05, 12)}).variants[1].unflagged->replicates == 9);
  CHECK(comparison_of({series(1), series(2)}).variants[1].unflagged.reason == "no replicate is flagged");
  CHECK(comparison_of({series(1, 12), disturbed(1, 12)}).variants[1].unflagged.reason == "all replicates are flagged");
  CHECK(table_of(comparison_of({series(1, 12), disturbed(1, 12)})).find("b  and 7 more are flagged") !=
        std::string::npos);
}

TEST_CASE("bytes per key and page size stand beside the ratio", "[ab]") {
  const Comparison c = comparison_of({series(1), series(2)});
  CHECK(table_of(c).find("43.5") != std::string::npos);
  CHECK(table_of(c).find("4K") != std::string::npos);
  CHECK(checked_json(c)["variants"][0]["page_bytes"] == 4096);

  std::vector<Replicate> changing = series(2);
  Json document = changing[4].document;
  document["memory"]["page_bytes"] = 2 << 20;
  changing[4] = replicate_of(std::move(document), "");
  Json variant = checked_json(comparison_of({series(1), changing}))["variants"][1];
  CHECK(variant["page_bytes"].is_null());
  CHECK(variant["page_bytes_reason"] == "the replicates differ");
}

TEST_CASE("commits, fallbacks and zero aborts stand beside the ratio, if a variant elides", "[ab]") {
  const auto ten = [](auto&& make) {
    std::vector<Replicate> out;
    for (int i = 0; i < 10; ++i) out.push_back(make(1e6 + 1e5 * i));
    return out;
  };
  const Comparison c = comparison_of({series(1), ten(elided), ten(degraded)});
  CHECK(*c.variants[1].commits_per_begin == Approx(999.0 / 1039));
  CHECK(*c.variants[1].zero_aborts_per_operation == Approx(0.01));
  CHECK(*c.variants[1].fallback_rate == Approx(0.001));
  const std::string table = table_of(c);
  INFO(table);
  CHECK_THAT(cells_of(table, "Mops/s"), Catch::VectorContains(std::string("zero/op")));
  CHECK_THAT(cells_of(table, "b"), Catch::VectorContains(std::string("0.9615")) &&
                                       Catch::VectorContains(std::string("0.01")) &&
                                       Catch::VectorContains(std::string("0.1 %")));
  CHECK(cells_of(table, "a") == std::vector<std::string>{"a", "1.450", "1.225 .. 1.675", "1.000", "1.000 .. 1.000",
                                                         "43.5", "4K", "-", "-", "-", "10 ok", "base"});
  CHECK(cells_of(table, "c") == std::vector<std::string>{"c", "1.450", "1.225 .. 1.675", "1.000", "1.000 .. 1.000",
                                                         "43.5", "4K", "-", "100.0 %", "-", "10 degraded",
                                                         "no difference seen"});
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 140);

  Json document = checked_json(c);
  CHECK(document["variants"][2]["commits_per_begin"].is_null());
  CHECK(document["variants"][2]["commits_per_begin_reason"] == "no transaction was begun");
  CHECK(document["variants"][2]["fallback_rate"] == 1.0);
  // No variant elides, so the columns are missing.
  const std::string plain = table_of(comparison_of({series(1), series(2)}));
  for (const char* name : {"commits", "fallbacks", "zero"}) CHECK(plain.find(name) == std::string::npos);
}

TEST_CASE("few replicates have no interval, and one has no quartiles", "[ab]") {
  const auto cells = [](int replicates) {
    return cells_of(table_of(comparison_of({series(1, replicates), series(2, replicates)})), "b");
  };
  CHECK(cells(1)[2] == "-");
  CHECK(cells(1)[4] == "-");
  CHECK(cells(5)[2] != "-");
  CHECK(cells(5)[4] == "-");
  CHECK(cells(6)[4] != "-");
  Json one = checked_json(comparison_of({series(1, 1), series(2, 1)}));
  CHECK(one["variants"][1]["ratio"] == 2.0);
  CHECK(one["variants"][1]["interval_reason"] == "there are too few replicates for a 95 % interval");
  CHECK(one["variants"][1]["quartiles_reason"] == "one replicate has no quartiles");
  for (const auto& [replicates, paired, has] :
       {std::tuple{5u, true, false}, {6u, true, true}, {3u, false, false}, {4u, false, true}}) {
    Contrast c;
    c.replicates = replicates;
    c.paired = paired;
    CHECK(c.has_interval() == has);
  }
}

TEST_CASE("a comparison without results is null with reasons", "[ab]") {
  Comparison c = comparison_of({{}, {}});
  c.planned_blocks = 10;
  c.interrupted = true;
  Json document = checked_json(c);
  for (const char* figure : {"median_per_second", "quartiles", "bytes_per_key", "page_bytes", "fallback_rate"}) {
    CHECK(document["variants"][0][figure].is_null());
    CHECK(document["variants"][0][std::string(figure) + "_reason"] == "no replicate counts");
  }
  CHECK(document["variants"][1]["ratio_reason"] == "no replicate counts");
  Json halved = checked_json(comparison_of({{}, series(1)}));
  CHECK(halved["variants"][1]["ratio_reason"] == "there is no block in which both a and b count");
  CHECK(halved["variants"][1]["interval_reason"] == halved["variants"][1]["ratio_reason"]);
  CHECK_FALSE(table_of(c).empty());
}

}  // namespace
}  // namespace latchlab
