#include "src/testing/death.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "src/testing/catch.h"

namespace latchlab::testing {

std::string last_words(const std::function<void()>& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The abort is expected, so it needs neither a report of the test framework's handler nor a core file.
    std::signal(SIGABRT, SIG_DFL);
    const rlimit none{0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    run();
    _exit(0);
  }
  close(ends[1]);
  std::string words;
  std::array<char, 1000> part;
  for (ssize_t got; (got = read(ends[0], part.data(), part.size())) > 0;) {
    words.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "";
}

}  // namespace latchlab::testing
