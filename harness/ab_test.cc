#include "harness/ab.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

Replicate good(double per_second) {
  Json document{{"status", "ok"},
                {"throughput", {{"per_second", per_second}}},
                {"memory", {{"bytes_per_key", 43.5}, {"page_bytes", 4096}}}};
  return {.status = "ok", .reason = "", .document = std::move(document), .per_second = per_second};
}

Comparison comparison_of(std::vector<std::vector<Replicate>> variants) {
  Comparison c;
  c.seed = 1;
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
  CHECK(c.variants[1].verdict.find("withheld: 1 of 10") == 0);
  CHECK(c.variants[2].verdict == "faster");
  CHECK(exit_status(c) == 1);
  const std::string table = table_of(c);
  CHECK(table.find("1 invalid, 9 ok") != std::string::npos);
  CHECK(table.find("a key is lost") != std::string::npos);
  CHECK(json_of(c)["variants"][1]["statuses"]["invalid"] == 1);
  CHECK(json_of(c)["variants"][1]["replicates"][3]["per_second"].is_null());

  const Comparison base_broken = comparison_of({broken, series(3)});
  CHECK(base_broken.variants[1].verdict.find("withheld") == 0);
}

TEST_CASE("too few blocks make no claim", "[ab]") {
  CHECK(comparison_of({series(1, 5), series(2, 5)}).variants[1].verdict.find("withheld: fewer") == 0);
  CHECK(comparison_of({series(1, 6), series(2, 6)}).variants[1].verdict == "faster");
}

TEST_CASE("bytes a key and page size stand beside the ratio", "[ab]") {
  const Comparison c = comparison_of({series(1), series(2)});
  CHECK(table_of(c).find("43.5") != std::string::npos);
  CHECK(table_of(c).find("4K") != std::string::npos);
  CHECK(json_of(c)["variants"][0]["page_bytes"] == 4096);
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
