#include "src/testing/json_schema.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "src/testing/catch.h"

namespace latchlab::testing {

std::vector<std::string> schema_violations(const std::string& schema, const std::string& document) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("latchlab_document_" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << document;
  const std::string tree = source_folder();
  const std::string command =
      python() + " '" + tree + "/src/testing/json_schema.py' '" + tree + "/" + schema + "' < '" + file + "'";
  std::FILE* const lines = popen(command.c_str(), "r");
  if (lines == nullptr) throw std::runtime_error("cannot run " + command);
  std::vector<std::string> found;
  std::string line;
  for (int c; (c = std::fgetc(lines)) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
    } else {
      found.push_back(std::exchange(line, {}));
    }
  }
  const int status = pclose(lines);
  std::filesystem::remove(file);
  if (status != 0) throw std::runtime_error("failed: " + command);
  return found;
}

void check_committed(const std::string& path, const std::string& text) {
  std::ostringstream committed;
  committed << std::ifstream(source_folder() + "/" + path).rdbuf();
  if (committed.str() == text) {
    SUCCEED();
    return;
  }
  const std::string made = build_folder() + "/" + std::filesystem::path(path).filename().string();
  std::ofstream(made) << text;
  FAIL_CHECK(path << " differs from the text that the sources generate; copy " << made << " there and read the diff");
}

}  // namespace latchlab::testing
