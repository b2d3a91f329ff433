#pragma once

// Another process, from its beginning to its end.

#include <string>
#include <vector>

namespace latchlab {

/// What a process wrote, and how it ended.
struct Output {
  std::string out;
  std::string err;
  int wait_status = 0;

  /// The first line of what it said on stderr, or how it ended without a word there.
  [[nodiscard]] std::string complaint() const;
};

/// Runs `binary`, which sees `args` behind a name, an empty stdin and a group of its own, and waits for its end. It
/// gets a SIGINT when stop_requested(), and ends with this process, however that ends: the calling thread must live as
/// long. Throws OutputError where it cannot be started.
[[nodiscard]] Output run_process(const std::string& binary, const std::vector<std::string>& args);

}  // namespace latchlab
