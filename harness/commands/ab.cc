#include "harness/commands/ab.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/host/interrupt.h"
#include "src/base/rng.h"

extern char** environ;

namespace latchlab {

namespace {

/// What a process wrote, and how it ended.
struct Output {
  std::string out;
  std::string err;
  int wait_status = 0;
};

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

/// Appends what there is to read; false at the end of the stream.
bool drain(int file, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(file, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

Output run_process(const std::string& binary, const std::vector<std::string>& args) {
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
  // A group of its own keeps the terminal's SIGINT from the child: it gets exactly one, from here, and writes
  // what it has.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<char*> argv;
  std::string name = "harness";
  std::vector<std::string> copies = args;
  argv.push_back(name.data());
  for (std::string& arg : copies) argv.push_back(arg.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, binary.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw OutputError(fmt::format("cannot start {}: {}", binary, std::strerror(error)));
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
  while (waitpid(child, &output.wait_status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string how_it_ended(int wait_status) {
  if (WIFSIGNALED(wait_status)) return fmt::format("killed by signal {}", WTERMSIG(wait_status));
  return fmt::format("exit status {}", WEXITSTATUS(wait_status));
}

bool all_count(const VariantSummary& variant) {
  return std::all_of(variant.replicates.begin(), variant.replicates.end(), [](const Replicate& r) { return r.counts(); });
}

/// One block: every variant once, in a random order. False if somebody asked for an end.
bool run_block(const AbCommand& command, u32 block, Comparison& comparison, Progress& progress, const RunReplicate& run) {
  const auto n = static_cast<u32>(command.variants.size());
  comparison.orders.push_back(shuffled(n, draw(command.seed, 0, block)));
  for (u32 position = 0; position < n; ++position) {
    const u32 which = comparison.orders.back()[position];
    progress.title(fmt::format("block {}/{} {}", block + 1, *comparison.planned_blocks, command.variants[which].name));
    progress.advance(u64{block} * n + position);
    std::vector<std::string> args = command.variants[which].args;
    args.insert(args.end(), {"--json", "--progress=none", fmt::format("--block={}", block),
                             fmt::format("--order={}", position), fmt::format("--replicate={}", block)});
    comparison.variants[which].replicates.push_back(run(args));
    if (stop_requested()) return false;
  }
  return true;
}

/// Whether --replicates=auto goes on after the blocks that were planned so far; else says why not.
bool goes_on(std::vector<Comparison>& alone) {
  summarize(alone);
  Comparison& comparison = alone.front();
  std::vector<Contrast> contrasts;
  for (std::size_t i = 1; i < comparison.variants.size(); ++i) {
    const VariantSummary& variant = comparison.variants[i];
    if (!all_count(variant) || !all_count(comparison.variants.front())) {
      comparison.ended_by = "a replicate does not count";
      return false;
    }
    contrasts.push_back(*variant.contrast);
  }
  switch (look_at(contrasts, *comparison.planned_blocks)) {
    case Look::kGoOn: return true;
    case Look::kTight: comparison.ended_by = "the intervals are within 1 %"; break;
    case Look::kMost: comparison.ended_by = fmt::format("{} blocks are the most", kMostReplicates); break;
    case Look::kHopeless:
      comparison.ended_by = fmt::format("{} blocks, the most, would not bring the intervals near 1 %", kMostReplicates);
  }
  return false;
}

}  // namespace

Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args) {
  const Output output = run_process(binary, args);
  return replicate_of(Json::parse(output.out, nullptr, false),
                      output.err.empty() ? "no result document; " + how_it_ended(output.wait_status)
                                         : first_line(output.err));
}

Comparison run_ab(const AbCommand& command, Progress& progress, const RunReplicate& run) {
  std::vector<Comparison> alone(1);
  Comparison& comparison = alone.front();
  comparison.seed = command.seed;
  comparison.common = command.common;
  comparison.planned_blocks = command.replicates.value_or(kFirstLook);
  for (const AbCommand::Variant& variant : command.variants) {
    VariantSummary summary;
    summary.name = variant.name;
    summary.command = variant.line;
    comparison.variants.push_back(std::move(summary));
  }
  progress.begin("runs", u64{command.replicates.value_or(kMostReplicates)} * command.variants.size(), 0);
  for (u32 block = 0; !comparison.interrupted; ++block) {
    if (block == *comparison.planned_blocks) {
      if (command.replicates || !goes_on(alone)) break;
      comparison.planned_blocks = block + kBetweenLooks;
    }
    comparison.interrupted = !run_block(command, block, comparison, progress, run);
  }
  progress.end();
  summarize(alone);
  return std::move(comparison);
}

}  // namespace latchlab
