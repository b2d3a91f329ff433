#include "harness/ab.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "src/testing/catch.h"
#include "src/testing/json_schema.h"

namespace latchlab {
namespace {

Replicate good(double per_second) {
  Json document{{"status", "ok"},
                {"throughput", {{"per_second", per_second}}},
                {"memory", {{"bytes_per_key", 43.5}, {"page_bytes", 4096}}}};
  return {.status = "ok", .reason = "", .document = std::move(document), .per_second = per_second};
}

/// One of a policy that elides: of a million operations 999,000 commit, after 10,000 aborts with status zero
/// and 30,000 with another.
Replicate elided(double per_second) {
  Replicate r = good(per_second);
  r.document["throughput"]["operations"] = 1'000'000;
  r.document["sync"] = {{"counters", {{"begins", 1'039'000}, {"commits", 999'000}}},
                        {"aborts", {{"conflict", 30'000}, {"zero", 10'000}}},
                        {"fallback_rate", 0.001}};
  return r;
}

/// One of a policy that would elide, where transactions do not work.
Replicate degraded(double per_second) {
  Replicate r = good(per_second);
  r.status = "degraded";
  r.reason = "every operation took the lock";
  r.document["throughput"]["operations"] = 1'000'000;
  r.document["sync"] = {{"counters", {{"begins", 0}, {"commits", 0}}},
                        {"aborts", nullptr},
                        {"aborts_reason", "no transaction was begun"},
                        {"fallback_rate", 1.0}};
  return r;
}

Json checked_json(const Comparison& comparison) {
  const std::string text = json_of(comparison).dump();
  CHECK(testing::schema_violations("harness/ab.schema.json", text) == std::vector<std::string>{});
  return Json::parse(text);
}

/// The cells of the line that begins with `first`, which two spaces divide.
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
  summarize(c);
  return c;
}

/// Replicates in which every block has its own speed.
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
  CHECK(*c.variants[1].ratio == Approx(1.02));
  CHECK(c.variants[1].verdict == "faster");  // although the blocks differ by far more
  CHECK(c.variants[2].verdict == "slower");
  CHECK(c.variants[3].verdict == "undecided");
  CHECK(*c.variants[0].median == Approx(1.45e6));
  CHECK(exit_status(c) == 0);
}

TEST_CASE("a bad replicate is shown and withholds the verdict", "[ab]") {
  std::vector<Replicate> broken = series(2);
  broken[3] = {
      .status = "invalid", .reason = "a key is lost", .document = nullptr, .per_second = std::nullopt};
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

TEST_CASE("too few blocks make no claim", "[ab]") {
  const Comparison c = comparison_of({series(1, 5), series(2, 5)});
  CHECK(c.variants[1].verdict == "withheld");
  CHECK(table_of(c).find("b  withheld: fewer than 6 blocks\n") != std::string::npos);
  CHECK(comparison_of({series(1, 6), series(2, 6)}).variants[1].verdict == "faster");
}

TEST_CASE("bytes a key and page size stand beside the ratio", "[ab]") {
  const Comparison c = comparison_of({series(1), series(2)});
  CHECK(table_of(c).find("43.5") != std::string::npos);
  CHECK(table_of(c).find("4K") != std::string::npos);
  CHECK(checked_json(c)["variants"][0]["page_bytes"] == 4096);

  std::vector<Replicate> changing = series(2);
  changing[4].document["memory"]["page_bytes"] = 2 << 20;
  Json variant = checked_json(comparison_of({series(1), changing}))["variants"][1];
  CHECK(variant["page_bytes"].is_null());
  CHECK(variant["page_bytes_reason"] == "the replicates differ");
}

TEST_CASE("what elision came to stands beside the ratio, where there is any", "[ab]") {
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
  CHECK(cells_of(table, "a") ==
        std::vector<std::string>{"a", "1.450", "1.225 .. 1.675", "1.000", "1.000 .. 1.000", "43.5", "4K", "-",
                                 "-", "-", "10 ok", "base"});
  CHECK(cells_of(table, "c") ==
        std::vector<std::string>{"c", "1.450", "1.225 .. 1.675", "1.000", "1.000 .. 1.000", "43.5", "4K", "-",
                                 "100.0 %", "-", "10 degraded", "undecided"});
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 140);

  Json document = checked_json(c);
  CHECK(document["variants"][2]["commits_per_begin"].is_null());
  CHECK(document["variants"][2]["commits_per_begin_reason"] == "no transaction was begun");
  CHECK(document["variants"][2]["fallback_rate"] == 1.0);
  // Nobody elides: there is nothing to say.
  const std::string plain = table_of(comparison_of({series(1), series(2)}));
  for (const char* name : {"commits", "fallbacks", "zero"}) CHECK(plain.find(name) == std::string::npos);
}

TEST_CASE("a comparison of which nothing came is null with reasons", "[ab]") {
  Comparison c = comparison_of({{}, {}});
  c.planned_blocks = 10;
  c.interrupted = true;
  Json document = checked_json(c);
  for (const char* figure :
       {"median_per_second", "quartiles", "bytes_per_key", "page_bytes", "fallback_rate"}) {
    CHECK(document["variants"][0][figure].is_null());
    CHECK(document["variants"][0][std::string(figure) + "_reason"] == "no replicate counts");
  }
  CHECK(document["variants"][1]["ratio_reason"] == "no replicate counts");
  Json halved = checked_json(comparison_of({{}, series(1)}));
  CHECK(halved["variants"][1]["ratio_reason"] == "there is no block in which both a and b count");
  CHECK(halved["variants"][1]["interval_reason"] == halved["variants"][1]["ratio_reason"]);
  CHECK_FALSE(table_of(c).empty());
}

TEST_CASE("a replicate is what the process printed", "[ab]") {
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

}  // namespace
}  // namespace latchlab
