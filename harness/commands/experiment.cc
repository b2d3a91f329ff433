#include "harness/commands/experiment.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

void run_experiment(const std::vector<std::string>& args) {
  namespace fs = std::filesystem;
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const fs::path tree = self.parent_path().parent_path().parent_path();  // self: TREE/build/PRESET/harness
  const fs::path script = tree / "experiments/run.py";
  if (!fs::exists(script)) {
    throw InputError(fmt::format(
        "experiment: there is no {}; experiments are run in the source tree: ./bench experiment", script.string()));
  }
  const fs::path own = tree / "build/python/bin/python";
  // -B: Python must not write its byte code into the source tree.
  std::vector<std::string> words{fs::exists(own) ? own.string() : "python3", "-B", script.string(), self.string()};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  (void)execvp(pointers[0], pointers.data());
  throw InputError(fmt::format("experiment: {} cannot be run: {}", words[0], std::strerror(errno)));
}

}  // namespace latchlab
