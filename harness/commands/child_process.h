#pragma once

// Runs another process, from its beginning to its end.

#include <string>
#include <vector>

namespace latchlab {

/// The output of a process, and how it ended.
struct Output {
  std::string out;
  std::string err;
  int wait_status = 0;

  /// Returns the first line of its stderr; how it ended if that is empty.
  [[nodiscard]] std::string complaint() const;
};

/// Runs `binary` with `args` (behind a program name), an empty stdin and a process group of its own, and waits for its
/// end. Sends it a SIGINT when stop_requested(). The kernel kills it when the calling thread ends, so that thread must
/// live as long as this process. Throws OutputError if the process cannot be started.
[[nodiscard]] Output run_process(const std::string& binary, const std::vector<std::string>& args);

/// Runs a program that PATH finds, in the same way.
[[nodiscard]] Output run_program(const std::string& name, const std::vector<std::string>& args);

}  // namespace latchlab
