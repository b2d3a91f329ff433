#include "harness/commands/perf_record.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/commands/perf_text.h"
#include "harness/host/clock.h"
#include "harness/host/pmu_access.h"
#include "harness/host/pmu_events.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

constexpr u64 kPatienceNs = 10'000'000'000;

/// The part of a stack that is copied with a sample, in bytes. A batch of lookups under olc needs more than 4 KiB.
constexpr int kStackBytes = 8192;

OutputError cannot_start(int error) {
  if (error == ENOENT) return OutputError("perf is missing; install the package linux-perf");
  return OutputError(fmt::format("cannot start perf: {}", std::strerror(error)));
}

/// Returns the whole of a file that another process has written.
std::string content_of(std::FILE* file) {
  std::string text;
  std::array<char, 4096> buffer;
  if (std::fseek(file, 0, SEEK_SET) != 0) return text;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) text.append(buffer.data(), n);
  return text;
}

/// Returns why perf failed, with what to change.
std::string why_failed(int wait_status, std::string_view err) {
  for (const std::string_view refusal : {"perf_event_paranoid", "No permission", "ermission denied", "not permitted"}) {
    if (err.find(refusal) != std::string_view::npos) return why_not_counted(EACCES, PmuEvent()).text();
  }
  const std::string said = complaint_of_perf(err);
  if (WIFSIGNALED(wait_status)) return fmt::format("perf was killed by signal {}", WTERMSIG(wait_status));
  return said.empty() ? fmt::format("perf ended with status {}", WEXITSTATUS(wait_status)) : "perf: " + said;
}

/// Waits for the process at most as long as perf may take. Returns false if it still runs.
bool awaited(pid_t process, int& wait_status) {
  const u64 end = wall_clock().now() + kPatienceNs;
  for (;;) {
    const pid_t got = waitpid(process, &wait_status, WNOHANG);
    if (got == process || (got < 0 && errno != EINTR)) return true;
    if (wall_clock().now() > end) return false;
    (void)poll(nullptr, 0, 5);
  }
}

}  // namespace

PerfRecord::PerfRecord(u64 frequency) : data_(std::tmpfile()), err_(std::tmpfile()) {
  if (!data_ || !err_) throw OutputError(fmt::format("cannot make a temporary file: {}", std::strerror(errno)));
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw OutputError(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  std::vector<std::string> words{"perf",
                                 "record",
                                 fmt::format("--pid={}", getpid()),
                                 fmt::format("--control=fd:{0},{0}", ends[1]),
                                 "--delay=-1",
                                 fmt::format("--freq={}", frequency),
                                 fmt::format("--call-graph=dwarf,{}", kStackBytes),
                                 "--no-buildid",
                                 "--no-buildid-cache",
                                 "--max-size=1G",
                                 "--output=" + path()};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&actions, fileno(err_.get()), STDERR_FILENO);
  (void)posix_spawn_file_actions_adddup2(&actions, ends[1], ends[1]);  // clears FD_CLOEXEC
  (void)posix_spawnattr_init(&attributes);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // keeps the terminal's SIGINT from perf
  const int error = posix_spawnp(&perf_, "perf", &actions, &attributes, argv.data(), environ);
  (void)posix_spawnattr_destroy(&attributes);
  (void)posix_spawn_file_actions_destroy(&actions);
  (void)close(ends[1]);
  socket_ = ends[0];
  if (error == 0) return;
  perf_ = -1;
  (void)close(socket_);
  throw cannot_start(error);
}

PerfRecord::~PerfRecord() {
  (void)end();
  (void)close(socket_);
}

std::string PerfRecord::path() const { return fmt::format("/dev/fd/{}", fileno(data_.get())); }

bool PerfRecord::tell(const std::string& command) {
  if (perf_ < 0) return false;
  const std::string line = command + '\n';
  // Without MSG_NOSIGNAL, a perf that has ended would end this process, too.
  if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) < 0) return false;
  std::string answer;
  const u64 end = wall_clock().now() + kPatienceNs;
  while (answer.find("ack\n") == std::string::npos) {
    const u64 now = wall_clock().now();
    pollfd file{socket_, POLLIN, 0};
    const int ready = now < end ? poll(&file, 1, static_cast<int>((end - now) / 1'000'000)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    silent_ = ready == 0;
    std::array<char, 64> buffer;
    const ssize_t n = ready > 0 ? recv(socket_, buffer.data(), buffer.size(), 0) : 0;
    if (n <= 0) return false;
    answer.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return true;
}

std::string PerfRecord::end() {
  if (perf_ < 0) return why_;
  constexpr std::string_view kStop = "stop\n";
  (void)send(socket_, kStop.data(), kStop.size(), MSG_NOSIGNAL);
  int wait_status = 0;
  if (silent_ || !awaited(perf_, wait_status)) {
    (void)kill(perf_, SIGKILL);
    while (waitpid(perf_, &wait_status, 0) < 0 && errno == EINTR) {}
    why_ = fmt::format("perf did not answer within {} s", kPatienceNs / 1'000'000'000);
  } else if (wait_status != 0) {
    why_ = why_failed(wait_status, content_of(err_.get()));
  }
  perf_ = -1;
  return why_;
}

}  // namespace latchlab
