#include "harness/result/unfinished.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/result/document.h"
#include "src/base/error.h"
#include "src/base/hash.h"

namespace latchlab {

namespace {

/// The identity of a run within a list: its point and its replicate.
using Run = std::pair<std::string, u32>;

/// Returns the options that determine what a list measures: the command without its program, without --out, and without
/// the forms of output.
std::vector<std::string> asked(const std::vector<std::string>& command) {
  std::vector<std::string> options;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "--json" || word == "--dry-run") continue;
    if (word.starts_with("--out=") || word.starts_with("--progress=")) continue;
    if (word == "--out" || word == "--progress") {
      ++i;  // its value is the next word
      continue;
    }
    options.push_back(word);
  }
  return options;
}

/// Returns the identity of a list: its command, its build and its machine.
std::string list_of(const RunResult& result) {
  const auto text = [](const OrReason<std::string>& value) { return value ? *value : std::string(); };
  const MachineInfo& machine = result.machine;
  return Json::array({asked(result.command), to_json(result.build), text(machine.hostname), text(machine.kernel),
                      machine.topology_digest})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Kept {
  Run run;
  Json document;
};

/// Returns the document in a file if it is a whole result of the same list; else nothing.
std::optional<Kept> kept_in(const std::filesystem::path& path, const RunResult& facts) {
  std::ifstream file(path);
  Json document = Json::parse(file, nullptr, false);
  if (!document.is_object() || number_at(document, "/schema_version") != RunResult::kSchemaVersion) return std::nullopt;
  RunResult result;
  try {
    result = result_of(document);
  } catch (const InputError&) {  // it does not conform to the schema
    return std::nullopt;
  }
  if (result.trial.interrupted || list_of(result) != list_of(facts)) return std::nullopt;
  return Kept{.run = {result.point_hash, result.plan.config.replicate}, .document = std::move(document)};
}

}  // namespace

std::vector<Json> left_by_unfinished(const std::string& folder, const std::vector<Plan>& runs, const RunResult& facts) {
  std::vector<Json> left(runs.size());
  if (runs.size() == 1) return left;  // it was finished, or never begun: the folder need not be read
  // Points may share a hash, if they differ only in an option without effect. So a run may be in the list several
  // times.
  std::map<Run, std::size_t> times;
  std::vector<Run> keys;
  for (const Plan& run : runs) {
    keys.emplace_back(point_hash(run), run.config.replicate);
    ++times[keys.back()];
  }

  std::map<Run, std::vector<Json>> kept;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    std::optional<Kept> found = kept_in(entry->path(), facts);
    if (found && times.contains(found->run)) kept[found->run].push_back(std::move(found->document));
  }

  // The number of times that the list was begun, as far as the documents show.
  std::size_t begun = 0;
  for (const auto& [run, documents] : kept) begun = std::max(begun, (documents.size() + times[run] - 1) / times[run]);
  const bool finished =
      std::ranges::all_of(times, [&](const auto& run) { return kept[run.first].size() == begun * run.second; });
  if (finished) return left;

  for (auto& [run, documents] : kept) {
    std::ranges::stable_sort(documents, {}, [](const Json& document) { return text_at(document, "/started"); });
    const std::size_t earlier = std::min(documents.size(), (begun - 1) * times[run]);
    documents.erase(documents.begin(), documents.begin() + static_cast<std::ptrdiff_t>(earlier));
    std::ranges::reverse(documents);  // the oldest of the rest is the last now, which is taken first
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<Json>& documents = kept[keys[i]];
    if (documents.empty()) continue;
    left[i] = std::move(documents.back());
    documents.pop_back();
  }
  return left;
}

ListClaim::ListClaim(const std::string& folder, const RunResult& facts)
    : path_(std::filesystem::path(folder) / fmt::format(".latchlab.{:016x}.list", hash_bytes(list_of(facts)))) {
  for (;;) {
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) return;
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      (void)close(file_);
      throw InputError(fmt::format(
          "--out: another process is running this list into '{}'; wait until it ends, or name another folder", folder));
    }
    struct stat about{};
    if (fstat(file_, &about) != 0 || about.st_nlink > 0) return;
    (void)close(file_);  // the process that had the claim removed the file before this one locked it
  }
}

ListClaim::~ListClaim() {
  if (file_ < 0) return;
  (void)unlink(path_.c_str());  // before the lock goes, lest it remove the file of the next claim
  (void)close(file_);
}

std::string taken_text(const std::vector<Json>& left, const std::string& folder) {
  const std::ptrdiff_t taken = std::ranges::count_if(left, [](const Json& document) { return !document.is_null(); });
  if (taken == 0) return "";
  return fmt::format("{} of {} runs {} taken from '{}', where this command was stopped before its end\n", taken,
                     left.size(), taken == 1 ? "is" : "are", folder);
}

}  // namespace latchlab
