#include "harness/result/document.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

namespace fs = std::filesystem;

const std::string kResult = R"({"status":"ok","throughput":{"per_second":5.0},"sync":{"aborts":null}})";

/// A temporary folder.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("latchlab_document_" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

TEST_CASE("a file may hold one result or many, and anything else is refused in one line") {
  const Folder folder;
  const auto reading = [&](const std::string& text) { return read_results("explain", folder.put("r", text)).size(); };
  const std::string path = folder.path() + "/r";
  CHECK(reading(kResult) == 1);
  CHECK(reading(Json::parse(kResult).dump(2)) == 1);
  CHECK(reading(kResult + "\n" + kResult + "\n") == 2);
  CHECK_THROWS_WITH(reading(""), "explain: '" + path + "' is empty");
  CHECK_THROWS_WITH(reading(kResult + "\n{}\n"),
                    "explain: '" + path + "', line 2: not a result; harness --json prints one per line");
  CHECK_THROWS_WITH(reading(R"({"throughput":"x","sync":null})"), Catch::Contains("not a result"));
  CHECK_THROWS_WITH(reading(R"({"throughput":null,"sync":null,"config":3})"), Catch::Contains("not a result"));
  CHECK_THROWS_WITH(reading(R"({"throughput":null,"sync":null,"schema_version":99})"),
                    Catch::Contains("line 1: the result has schema 99; this harness knows schemas up to "));
  CHECK_THROWS_WITH(reading("hello"),
                    "explain: '" + path + "', line 1: not a result; harness --json prints one per line");
  CHECK_THROWS_WITH(reading(R"({"variants":[{"replicates":[{"document":null}]},{},3]})"),
                    Catch::Contains("not a result"));
  CHECK_THROWS_WITH(read_results("compare", folder.path() + "/no"),
                    "compare: '" + folder.path() + "/no' cannot be read: No such file or directory");
}

TEST_CASE("the report of a comparison is read as the results in it") {
  const Folder folder;
  const std::string report = R"({"variants":[{"replicates":[{"document":)" + kResult + R"(},{"document":null}]},)" +
                             R"({"replicates":[{"document":)" + kResult + "}]}]}";
  CHECK(read_results("compare", folder.put("ab.json", report)).size() == 2);
}

TEST_CASE("a folder is read as the documents in it") {
  const Folder folder;
  CHECK_THROWS_WITH(read_results("compare", folder.path()), Catch::Contains("holds no .json file; harness --out="));
  folder.put("one.json", kResult);
  folder.put("two.json", kResult + "\n" + kResult + "\n");
  folder.put("notes.txt", "nothing");
  CHECK(read_results("compare", folder.path()).size() == 3);
  const auto started = [](const std::string& when) {
    return R"({"status":"ok","started":")" + when + R"(","throughput":null,"sync":null})";
  };
  folder.put("one.json", started("2026-01-01T00:00:00.500000Z"));
  folder.put("two.json", started("2026-01-01T00:00:00.400000Z"));
  CHECK(text_at(read_results("compare", folder.path()).front(), "/started") == "2026-01-01T00:00:00.400000Z");
  folder.put("three.json", "nothing");
  CHECK_THROWS_WITH(read_results("compare", folder.path()), Catch::Contains("three.json', line 1: not a result"));
}

TEST_CASE("a value that is missing in a document is read as nothing") {
  const Json document = Json::parse(kResult);
  CHECK(number_at(document, "/throughput/per_second") == 5);
  CHECK_FALSE(number_at(document, "/throughput/seconds"));
  CHECK_FALSE(number_at(document, "/status"));
  CHECK_FALSE(number_at(nullptr, "/status"));
  CHECK(text_at(document, "/status") == "ok");
  CHECK(text_at(document, "/throughput/per_second") == "5.0");
  CHECK(text_at(document, "/sync/aborts").empty());
  CHECK(text_at(document, "/nowhere/at/all").empty());
}

TEST_CASE("an option that is newer than a result has its default, and an option without effect has no value") {
  const Json older = {{"config", {{"workload", "lookup"}, {"dist", nullptr}, {"batch", 16}}}};
  CHECK(option_at(older, "batch") == "16");
  CHECK(option_at(older, "dist").empty());
  CHECK(option_at(older, "value_size") == "8");
  CHECK(option_at(older, "churn") == "none");
  CHECK(option_at(older, "rate").empty());
  CHECK(option_at(older, "no such").empty());
  for (const Json& churn : {Json("none"), Json()}) {  // as schemas before 8 have it, and later ones
    CHECK(option_at({{"config", {{"workload", "trace:x"}, {"churn", churn}}}}, "churn").empty());
  }
}

}  // namespace
}  // namespace latchlab
