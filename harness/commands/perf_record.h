#pragma once

// A `perf record` that samples the threads of this process while it is told to.
//
//     this process   start      enable         disable  stop
//     perf           opens ...  samples .......         writes, ends
//
// perf is a process of its own and gets its commands through a socket; it acknowledges each. Its data goes to a file
// that has no name, so nothing is left however either process ends. perf itself ends when this process does.
//
// It is started by posix_spawn, not by fork. A fork would write-protect every page of the index, and the first write
// to each page would then fault within the measured time.

#include <cstdio>
#include <memory>
#include <string>

#include <sys/types.h>

#include "src/base/types.h"

namespace latchlab {

class PerfRecord {
 public:
  /// Starts perf, which takes `frequency` samples a second of each running thread, stacks included. The samples begin
  /// with enable(). Throws OutputError with the reason if the system refuses to start it.
  explicit PerfRecord(u64 frequency);
  /// Ends perf.
  ~PerfRecord();
  PerfRecord(const PerfRecord&) = delete;
  PerfRecord& operator=(const PerfRecord&) = delete;

  /// Begin and end sampling. Return false if perf has ended, or does not acknowledge within 10 s.
  [[nodiscard]] bool enable() { return tell("enable"); }
  [[nodiscard]] bool disable() { return tell("disable"); }

  /// Makes perf end, and waits for that. Returns why it failed, in one line; empty if it did not. Only the first call
  /// waits.
  [[nodiscard]] std::string end();

  /// Returns the path under which children of this process find the data.
  [[nodiscard]] std::string path() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  bool tell(const std::string& command);

  File data_, err_;  // their descriptors are inherited
  int socket_ = -1;
  pid_t perf_ = -1;  // -1: it has ended
  bool silent_ = false;
  std::string why_;
};

}  // namespace latchlab
