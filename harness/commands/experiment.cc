#include "harness/commands/experiment.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

namespace {

namespace fs = std::filesystem;

fs::path own_file() { return fs::read_symlink("/proc/self/exe"); }

[[noreturn]] void run_script(const std::string& command, const std::string& name,
                             const std::vector<std::string>& args) {
  const fs::path tree = own_file().parent_path().parent_path().parent_path();  // of TREE/build/PRESET/harness
  const fs::path script = tree / "experiments" / name;
  if (!fs::exists(script)) {
    throw InputError(
        fmt::format("{0}: there is no {1}; it runs in the source tree: ./bench {0}", command, script.string()));
  }
  const fs::path own = tree / "build/python/bin/python";
  // -B: Python must not write its byte code into the source tree.
  std::vector<std::string> words{fs::exists(own) ? own.string() : "python3", "-B", script.string()};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  (void)execvp(pointers[0], pointers.data());
  throw InputError(fmt::format("{}: {} cannot be run: {}", command, words[0], std::strerror(errno)));
}

}  // namespace

void run_experiment(const std::vector<std::string>& args) {
  std::vector<std::string> words{own_file().string()};
  words.insert(words.end(), args.begin(), args.end());
  run_script("experiment", "run.py", words);
}

void run_export(const std::vector<std::string>& args) { run_script("export", "export.py", args); }

}  // namespace latchlab
