#include "harness/ab.h"

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

#include "harness/interrupt.h"
#include "src/base/rng.h"

extern char** environ;

namespace latchlab {

namespace {

// A median of fewer than six ratios has no 95 % interval at all: (1/2)^5 on either side is more than 2.5 %.
constexpr std::size_t kLeastBlocks = 6;

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

/// A document is what somebody else's process printed: everything in it is looked up with care.
std::optional<double> number_at(const Json& document, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!document.contains(at) || !document.at(at).is_number()) return std::nullopt;
  return document.at(at).get<double>();
}

bool counts(const Replicate& replicate) { return replicate.per_second.has_value(); }

using Figure = Measured<double>;

/// The number at a place in a document, or the reason that the document gives for its absence.
Figure figure_at(const Json& document, const std::string& pointer) {
  if (const std::optional<double> value = number_at(document, pointer)) return *value;
  const Json::json_pointer reason(pointer + "_reason");
  const bool given = document.contains(reason) && document.at(reason).is_string();
  return Figure::missing(given ? document.at(reason).get<std::string>() : "the documents do not say");
}

/// One number of a document by another. Without transactions there are no aborts, and no ratio to anything.
Figure ratio_at(const Json& document, const std::string& above, const std::string& below) {
  const Json::json_pointer aborts("/sync/aborts");
  if (!document.contains(aborts) || document.at(aborts).is_null()) return figure_at(document, "/sync/aborts");
  const Figure numerator = figure_at(document, above);
  const Figure denominator = figure_at(document, below);
  if (!numerator) return numerator;
  if (!denominator) return denominator;
  return *denominator > 0 ? Figure(*numerator / *denominator) : Figure::missing("there were none");
}

/// A figure of every replicate that counts.
template <class Read>
Measured<std::vector<double>> figures_of(const VariantSummary& variant, Read&& read) {
  std::vector<double> values;
  std::string why = "no replicate counts";
  for (const Replicate& replicate : variant.replicates) {
    if (!counts(replicate)) continue;
    const Figure figure = read(replicate.document);
    figure ? values.push_back(*figure) : void(why = figure.reason);
  }
  using Figures = Measured<std::vector<double>>;
  return values.empty() ? Figures::missing(why) : Figures(std::move(values));
}

Figure median_of(const Measured<std::vector<double>>& figures) {
  return figures ? Figure(median(*figures)) : Figure::missing(figures.reason);
}

/// There is no page size in the middle between two.
Figure agreed(const Measured<std::vector<double>>& figures) {
  if (!figures) return Figure::missing(figures.reason);
  const auto [least, most] = std::minmax_element(figures->begin(), figures->end());
  return *least == *most ? Figure(*least) : Figure::missing("the replicates differ");
}

void read_documents(VariantSummary& variant) {
  const auto at = [&](const char* place) {
    return figures_of(variant, [=](const Json& document) { return figure_at(document, place); });
  };
  const auto ratio = [&](const char* above, const char* below) {
    return figures_of(variant, [=](const Json& document) { return ratio_at(document, above, below); });
  };
  variant.bytes_per_key = median_of(at("/memory/bytes_per_key"));
  variant.page_bytes = agreed(at("/memory/page_bytes"));
  variant.fallback_rate = median_of(at("/sync/fallback_rate"));
  variant.commits_per_begin = median_of(ratio("/sync/counters/commits", "/sync/counters/begins"));
  variant.zero_aborts_per_operation = median_of(ratio("/sync/aborts/zero", "/throughput/operations"));
}

/// How many replicates do not count, and what the first of them is.
std::string why_withheld(const VariantSummary& variant) {
  u32 bad = 0;
  std::string status;
  for (const Replicate& replicate : variant.replicates) {
    if (counts(replicate)) continue;
    if (bad++ == 0) status = replicate.status;
  }
  return bad == 0 ? ""
                  : fmt::format("{} of {} replicates of {} {}", bad, variant.replicates.size(), variant.name,
                                status);
}

}  // namespace

void summarize(Comparison& comparison) {
  const VariantSummary& base = comparison.variants.front();
  for (VariantSummary& variant : comparison.variants) {
    std::vector<double> values;
    std::vector<double> paired_base;
    std::vector<double> paired;
    for (std::size_t block = 0; block < variant.replicates.size(); ++block) {
      if (!counts(variant.replicates[block])) continue;
      values.push_back(*variant.replicates[block].per_second);
      if (block < base.replicates.size() && counts(base.replicates[block]) &&
          *base.replicates[block].per_second > 0) {
        paired_base.push_back(*base.replicates[block].per_second);
        paired.push_back(values.back());
      }
    }
    read_documents(variant);
    if (!values.empty()) {
      variant.median = median(values);
      variant.quartiles = Interval{.low = quantile(values, 0.25), .high = quantile(values, 0.75)};
    } else {
      variant.median = Measured<double>::missing("no replicate counts");
      variant.quartiles = Measured<Interval>::missing(variant.median.reason);
    }
    if (!paired.empty()) {
      variant.ratio = paired_ratio(paired_base, paired);
      variant.interval = bootstrap_ratio(paired_base, paired, comparison.seed);
    } else {
      variant.ratio = Measured<double>::missing(
          values.empty() ? variant.median.reason
                         : fmt::format("there is no block in which both {} and {} count", base.name,
                                       variant.name));
      variant.interval = Measured<Interval>::missing(variant.ratio.reason);
    }
    std::string& why = variant.withheld;
    why = why_withheld(variant);
    if (&variant == &base) {
      variant.verdict = why.empty() ? "base" : "withheld";
      continue;
    }
    if (why.empty()) why = why_withheld(base);
    if (why.empty() && comparison.interrupted) why = "interrupted";
    if (why.empty() && paired.size() < kLeastBlocks) why = fmt::format("fewer than {} blocks", kLeastBlocks);
    if (!why.empty()) {
      variant.verdict = "withheld";
    } else if (variant.interval->low > 1) {
      variant.verdict = "faster";
    } else if (variant.interval->high < 1) {
      variant.verdict = "slower";
    } else {
      variant.verdict = "undecided";
    }
  }
}

Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args) {
  const Output output = run_process(binary, args);
  Replicate replicate;
  replicate.status = "failed";
  replicate.document = Json::parse(output.out, nullptr, false);
  if (replicate.document.is_discarded() || !replicate.document.is_object() ||
      !replicate.document.contains("status") || !replicate.document["status"].is_string()) {
    replicate.document = nullptr;
    replicate.reason = output.err.empty() ? "no result document; " + how_it_ended(output.wait_status)
                                          : first_line(output.err);
    return replicate;
  }
  const Json& document = replicate.document;
  replicate.status = document["status"].get<std::string>();
  if (document.contains("reason") && document["reason"].is_string()) {
    replicate.reason = document["reason"].get<std::string>();
  }
  if (document.value("interrupted", false)) {
    replicate.status = "interrupted";
    replicate.reason = "ended early by a signal";
  } else if (replicate.status == "ok" || replicate.status == "degraded") {
    replicate.per_second = number_at(document, "/throughput/per_second");
    if (!replicate.per_second) {
      replicate.status = "failed";
      replicate.reason = "the document has no throughput";
    }
  }
  return replicate;
}

Comparison compare(const AbCommand& command, Progress& progress) {
  Comparison comparison;
  comparison.seed = command.seed;
  comparison.common = command.common;
  comparison.planned_blocks = command.replicates;
  for (const AbCommand::Variant& variant : command.variants) {
    VariantSummary summary;
    summary.name = variant.name;
    summary.command = variant.line;
    comparison.variants.push_back(std::move(summary));
  }
  const auto n = static_cast<u32>(command.variants.size());
  progress.begin("runs", u64{n} * command.replicates, 0);
  u64 done = 0;
  for (u32 block = 0; block < command.replicates && !comparison.interrupted; ++block) {
    comparison.orders.push_back(shuffled(n, draw(command.seed, 0, block)));
    for (u32 position = 0; position < n; ++position) {
      const u32 which = comparison.orders.back()[position];
      progress.title(
          fmt::format("block {}/{} {}", block + 1, command.replicates, command.variants[which].name));
      progress.advance(done);
      std::vector<std::string> args = command.variants[which].args;
      args.insert(args.end(), {"--json", "--progress=none", fmt::format("--block={}", block),
                               fmt::format("--order={}", position), fmt::format("--replicate={}", block)});
      comparison.variants[which].replicates.push_back(run_replicate("/proc/self/exe", args));
      progress.advance(++done);
      if (stop_requested()) {
        comparison.interrupted = true;
        break;
      }
    }
  }
  progress.end();
  summarize(comparison);
  return comparison;
}

int exit_status(const Comparison& comparison) {
  if (comparison.interrupted) return 130;
  for (const VariantSummary& variant : comparison.variants) {
    for (const Replicate& replicate : variant.replicates) {
      if (!counts(replicate)) return 1;
    }
  }
  return 0;
}

}  // namespace latchlab
