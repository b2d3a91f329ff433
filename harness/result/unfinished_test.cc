#include "harness/result/unfinished.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "harness/result/full_result_test.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

/// A folder of documents of one list: three points, as `harness --threads=1..3` would keep them.
class KeptFolder {
 public:
  KeptFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("latchlab_unfinished_{}", getpid())) {
    std::filesystem::create_directory(path_);
    facts_ = testing::full_result();
    facts_.command = {"./harness", "--threads=1..3", "--out=" + path_.string(), "--progress=none"};
    for (u32 threads = 1; threads <= 3; ++threads) {
      runs_.push_back(facts_.plan);
      runs_.back().config.threads = threads;
    }
  }
  ~KeptFolder() { std::filesystem::remove_all(path_); }
  KeptFolder(const KeptFolder&) = delete;
  KeptFolder& operator=(const KeptFolder&) = delete;

  /// Keeps a document of run number `run`, after a change, and returns its run_id.
  std::string keep(std::size_t run, const std::function<void(RunResult&)>& change = [](RunResult&) {}) {
    RunResult result = facts_;
    result.plan = runs_[run];
    identify(result);
    result.trial.interrupted = false;
    change(result);
    std::ofstream(path_ / (result.run_id + ".json")) << document_of(result).dump();
    return result.run_id;
  }

  /// Returns the run_id of the document that each run of the list is given; "-" for none.
  std::vector<std::string> left() const {
    std::vector<std::string> ids;
    for (const Json& document : left_by_unfinished(path_.string(), runs_, facts_))
      ids.push_back(document.is_null() ? "-" : document["run_id"].get<std::string>());
    return ids;
  }

  std::filesystem::path path_;
  RunResult facts_;
  std::vector<Plan> runs_;
};

using Ids = std::vector<std::string>;
const Ids kNone{"-", "-", "-"};

TEST_CASE("a list that was stopped goes on, and one that was finished is repeated") {
  KeptFolder folder;
  CHECK(folder.left() == kNone);
  const std::string first = folder.keep(0);
  CHECK(folder.left() == Ids{first, "-", "-"});
  const std::string third = folder.keep(2);  // a document in between may have been deleted
  CHECK(folder.left() == Ids{first, "-", third});
  (void)folder.keep(1);
  CHECK(folder.left() == kNone);
  const std::string again = folder.keep(1);
  CHECK(folder.left() == Ids{"-", again, "-"});
}

TEST_CASE("replicates of a point are runs of their own") {
  KeptFolder folder;
  folder.runs_.resize(2, folder.runs_[0]);
  folder.runs_[1] = folder.runs_[0];
  folder.runs_[1].config.replicate = 1;
  const std::string second = folder.keep(1);
  CHECK(folder.left() == Ids{"-", second});
}

TEST_CASE("points that differ only in an option without effect are several runs of one point") {
  KeptFolder folder;
  folder.runs_[1] = folder.runs_[2] = folder.runs_[0];
  const std::string older = folder.keep(0, [](RunResult& r) { r.started = "2026-01-01T00:00:00Z"; });
  const std::string newer = folder.keep(0);
  CHECK(folder.left() == Ids{older, newer, "-"});
  (void)folder.keep(0);
  CHECK(folder.left() == kNone);
}

TEST_CASE("a document of another command, build or machine, or of an interrupted run, is not taken") {
  const std::vector<std::function<void(RunResult&)>> changes{
      [](RunResult& r) { r.command[1] = "--threads=1..4"; },
      [](RunResult& r) { r.command.emplace_back("--strict"); },
      [](RunResult& r) { r.build.commit = "def"; },
      [](RunResult& r) { r.machine.hostname = std::string("there"); },
      [](RunResult& r) { r.machine.kernel = std::string("Linux 7"); },
      [](RunResult& r) { r.machine.topology_digest = "other"; },
      [](RunResult& r) { r.trial.interrupted = true; },
      [](RunResult& r) { r.point_hash = "0123456789abcdef"; },
  };
  for (const auto& change : changes) {
    KeptFolder folder;
    (void)folder.keep(0, change);
    CHECK(folder.left() == kNone);
  }
  KeptFolder folder;
  const std::string id =
      folder.keep(0, [](RunResult& r) { r.command = {"harness", "--out", "elsewhere", "--json", "--threads=1..3"}; });
  CHECK(folder.left() == Ids{id, "-", "-"});  // where results go, and their form, make no other list
}

TEST_CASE("files that are no whole result are passed over") {
  KeptFolder folder;
  const std::string id = folder.keep(0);
  for (const char* text : {"", "{", "[]", "{}", R"({"schema_version":17})", R"({"schema_version":17,"build":3})"}) {
    std::ofstream(folder.path_ / "other.json") << text;
    CHECK(folder.left() == Ids{id, "-", "-"});
  }
  const std::filesystem::path file = folder.path_ / (id + ".json");
  std::ifstream kept(file);
  Json document = Json::parse(kept);
  document["schema_version"] = RunResult::kSchemaVersion - 1;
  std::ofstream(file) << document.dump();
  CHECK(folder.left() == kNone);
}

TEST_CASE("a list in a folder has one claim, which ends with its process") {
  KeptFolder folder;
  const auto claim = [&](const RunResult& facts) {
    return testing::refusal([&] { const ListClaim taken(folder.path_.string(), facts); });
  };
  RunResult other = folder.facts_;
  other.command[1] = "--threads=1..4";
  {
    const ListClaim first(folder.path_.string(), folder.facts_);
    CHECK(claim(folder.facts_) == fmt::format("--out: another process is running this list into '{}'; wait until it "
                                              "ends, or name another folder",
                                              folder.path_.string()));
    CHECK(claim(other).empty());
  }
  CHECK(claim(folder.facts_).empty());
  CHECK(std::filesystem::is_empty(folder.path_));
}

TEST_CASE("a single run is always measured") {
  KeptFolder folder;
  folder.runs_.resize(1);
  (void)folder.keep(0);
  CHECK(folder.left() == Ids{"-"});
}

TEST_CASE("a line says how many runs are taken") {
  CHECK(taken_text({Json(), Json()}, "results").empty());
  CHECK(taken_text({Json(), Json::object()}, "results") ==
        "1 of 2 runs is taken from 'results', where this command was stopped before its end\n");
}

}  // namespace
}  // namespace latchlab
