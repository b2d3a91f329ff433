#include "harness/result/document.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(std::string command, std::string path) : command_(std::move(command)), path_(std::move(path)) {}

  std::vector<Json> read() {
    std::ostringstream text;
    if (path_ == "-") {
      text << std::cin.rdbuf();
    } else {
      std::ifstream file(path_);
      if (file) text << file.rdbuf();
      if (!file) throw InputError(fmt::format("{}: '{}' cannot be read: {}", command_, path_, std::strerror(errno)));
    }
    if (Json::accept(text.str())) {
      add(text.str(), 1);
    } else {
      std::istringstream lines(text.str());
      std::size_t number = 0;
      for (std::string line; std::getline(lines, line);) {
        if (++number; !line.empty()) add(line, number);
      }
    }
    if (results_.empty()) throw InputError(fmt::format("{}: '{}' is empty", command_, path_));
    return std::move(results_);
  }

 private:
  void add(const std::string& part, std::size_t line) {
    Json document = Json::parse(part, nullptr, false);
    const auto is_part = [](const Json& d, const char* name) {
      return d.contains(name) && (d[name].is_object() || d[name].is_null());
    };
    const auto is_result = [&](const Json& d) {
      return d.is_object() && is_part(d, "throughput") && is_part(d, "sync") &&
             (!d.contains("config") || d["config"].is_object());
    };
    if (is_result(document)) {
      if (const auto version = number_at(document, "/schema_version");
          version && *version > RunResult::kSchemaVersion) {
        throw InputError(fmt::format("{}: '{}', line {}: the result has schema {}; this harness knows schemas up to {}",
                                     command_, path_, line, *version, RunResult::kSchemaVersion));
      }
      return results_.push_back(std::move(document));
    }
    const std::size_t before = results_.size();
    if (document.is_object() && document.contains("variants") && document["variants"].is_array()) {
      for (const Json& variant : document["variants"]) {
        const Json::json_pointer at("/replicates");
        if (!variant.contains(at) || !variant[at].is_array()) continue;
        for (const Json& replicate : variant[at]) {
          const Json::json_pointer own("/document");
          if (replicate.contains(own) && is_result(replicate[own])) results_.push_back(replicate[own]);
        }
      }
    }
    if (results_.size() > before) return;
    throw InputError(
        fmt::format("{}: '{}', line {}: not a result; harness --json prints one per line", command_, path_, line));
  }

  const std::string command_;
  const std::string path_;
  std::vector<Json> results_;
};

}  // namespace

std::optional<double> number_at(const Json& document, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!document.contains(at) || !document.at(at).is_number()) return std::nullopt;
  return document.at(at).get<double>();
}

std::string text_at(const Json& document, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!document.contains(at) || document.at(at).is_null()) return "";
  return document.at(at).is_string() ? document.at(at).get<std::string>() : document.at(at).dump();
}

std::string option_at(const Json& document, const std::string& key) {
  static const Json kPlain = document_of(RunResult());
  const std::string place = "/config/" + key, workload = text_at(document, "/config/workload");
  // If a file sets the change of popularity, older results have "none" here and newer ones null.
  if (key == "churn" && Workload::by_file(workload.substr(0, workload.find(':')))) return "";
  return text_at(document.contains(Json::json_pointer(place)) ? document : kPlain, place);
}

std::vector<Json> read_results(const std::string& command, const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return Reader(command, path).read();
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  if (error) throw InputError(fmt::format("{}: '{}' cannot be read: {}", command, path, error.message()));
  if (files.empty()) {
    throw InputError(fmt::format("{}: '{}' holds no .json file; harness --out={} writes them", command, path, path));
  }
  std::sort(files.begin(), files.end());
  std::vector<Json> results;
  for (const std::string& file : files) {
    for (Json& result : Reader(command, file).read()) results.push_back(std::move(result));
  }
  // ISO 8601 texts sort by time. File names do not, within a second.
  std::stable_sort(results.begin(), results.end(),
                   [](const Json& a, const Json& b) { return text_at(a, "/started") < text_at(b, "/started"); });
  return results;
}

}  // namespace latchlab
