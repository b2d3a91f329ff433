#include "harness/commands/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/host/interrupt.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw OutputError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    read_end = ends[0];
    write_end = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }

  static void close_end(int& end) {
    if (end >= 0) (void)close(end);
    end = -1;
  }
};

/// Appends the bytes that can be read. Returns false at the end of the stream.
bool drain(int file, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(file, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Executes `binary`, which PATH finds if it is no path, in the child. If that fails, writes the error to `failed` and
/// ends. The parent's other threads do not exist here but may have held locks, so the child only makes system calls.
[[noreturn]] void become(const char* binary, char* const* argv, pid_t parent, const Pipe& out, const Pipe& err,
                         int failed) {
  // The child must die with its parent: else it would go on measuring, and disturb the next run.
  bool good = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (getppid() != parent) _exit(1);  // the parent ended before prctl
  // A group of its own keeps the terminal's SIGINT from the child. So the child gets exactly one, from the parent, and
  // writes the results that it has.
  good = good && setpgid(0, 0) == 0;
  const int nothing = open("/dev/null", O_RDONLY);
  good = good && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out.write_end, STDOUT_FILENO) >= 0 &&
         dup2(err.write_end, STDERR_FILENO) >= 0;
  if (good) (void)execvp(binary, argv);
  const int error = errno;
  (void)!write(failed, &error, sizeof(error));
  _exit(1);
}

/// Forks and executes `binary` with `words`. Throws OutputError if that fails.
pid_t start(const std::string& binary, std::vector<std::string> words, const Pipe& out, const Pipe& err) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Pipe failed;  // a successful exec closes it
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(binary.c_str(), argv.data(), parent, out, err, failed.write_end);
  int error = child < 0 ? errno : 0;
  Pipe::close_end(failed.write_end);
  if (child > 0 && read(failed.read_end, &error, sizeof(error)) > 0) (void)waitpid(child, nullptr, 0);
  if (error != 0) throw OutputError(fmt::format("cannot start {}: {}", binary, std::strerror(error)));
  return child;
}

Output run_to_end(const std::string& binary, std::vector<std::string> words) {
  Pipe out;
  Pipe err;
  const pid_t child = start(binary, std::move(words), out, err);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);

  Output output;
  bool forwarded = false;
  while (out.read_end >= 0 || err.read_end >= 0) {
    std::array<pollfd, 2> files{pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0}};
    (void)poll(files.data(), files.size(), 100);
    if (stop_requested() && !forwarded) {
      (void)kill(child, SIGINT);
      forwarded = true;
    }
    if (files[0].revents != 0 && !drain(out.read_end, output.out)) Pipe::close_end(out.read_end);
    if (files[1].revents != 0 && !drain(err.read_end, output.err)) Pipe::close_end(err.read_end);
  }
  while (waitpid(child, &output.wait_status, 0) < 0 && errno == EINTR) {}
  return output;
}

}  // namespace

std::string Output::complaint() const {
  if (!err.empty()) return err.substr(0, err.find('\n'));
  return fmt::format("no result document; {}", WIFSIGNALED(wait_status)
                                                   ? fmt::format("killed by signal {}", WTERMSIG(wait_status))
                                                   : fmt::format("exit status {}", WEXITSTATUS(wait_status)));
}

Output run_process(const std::string& binary, const std::vector<std::string>& args) {
  std::vector<std::string> words{"harness"};
  words.insert(words.end(), args.begin(), args.end());
  return run_to_end(binary, std::move(words));
}

Output run_program(const std::string& name, const std::vector<std::string>& args) {
  std::vector<std::string> words{name};
  words.insert(words.end(), args.begin(), args.end());
  return run_to_end(name, std::move(words));
}

}  // namespace latchlab
