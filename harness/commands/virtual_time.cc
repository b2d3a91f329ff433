#include "harness/commands/virtual_time.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/config/numbers.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

constexpr double kLeastShown = .001;  // share of the time; causes below are joined

/// The causes in plain words, in the order of model::Cause.
constexpr std::array<std::string_view, model::kCauses> kCauseTexts{
    "instructions",
    "hits in L1",
    "lines from L2",
    "lines from the own L3",
    "lines from a core under the same L3",
    "lines from another cluster of the socket",
    "lines from another socket's caches",
    "lines from the own cluster's memory",
    "lines from other memory",
    "page walks",
    "until a fill buffer was free",
    "until a line had gone to those that asked before",
    "in queues of memory channels",
    "in queues of links between sockets",
    "until stores were done: fences, locked instructions, transactions",
    "locked instructions besides their misses",
    "to begin and to commit transactions",
    "in attempts that were aborted",
    "page faults",
    "system calls",
    "until the kernel's lock of the address space was free",
    "the kernel's timer",
    "asleep until another thread wrote a line",
    "pauses and yields",
    "allocations",
    "idle until other threads had ended their rounds, or an operation was due"};

std::string_view text_of_cause(std::string_view name) {
  const auto& words = kWords<model::Cause>;
  const auto found = std::ranges::find(words, name);
  return found == words.end() ? name : kCauseTexts[static_cast<std::size_t>(found - words.begin())];
}

/// Returns a share with one digit behind the point, so that the rows of a table align.
std::string in_percent(double part, double of) { return fmt::format("{:.1f} %", of > 0 ? part / of * 100 : 0); }

std::string place_of(const OrReason<std::string>& structure, const OrReason<u64>& bytes) {
  const std::string size = !bytes ? "" : fmt::format("{}{} bytes", *bytes >= 65536 ? "at least " : "", *bytes);
  if (structure) return bytes ? fmt::format("{} ({})", *structure, size) : *structure;
  return bytes ? "a block of " + size : "no node, policy or index";
}

/// Returns numbers with their runs joined: "0-3, 9".
std::string joined(const std::vector<u32>& numbers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    runs.push_back(last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

}  // namespace

std::string virtual_time_text(const TrialResult& trial) {
  if (!trial.virtual_time || trial.virtual_time->thread_ns <= 0) return "";
  const VirtualTime& time = *trial.virtual_time;
  const double operations = trial.throughput ? static_cast<double>(trial.throughput->operations) : 0;
  TimeByCause causes = time.causes;
  std::ranges::stable_sort(causes, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "Where the threads' virtual time went:\n  share  ns an operation\n";
  double rest = 0;
  const auto row = [&](double ns, std::string_view what) {
    text += fmt::format("{:>7}  {:>15}  {}\n", in_percent(ns, time.thread_ns),
                        operations > 0 ? fmt::format("{:.2f}", ns / operations) : "-", what);
  };
  for (const auto& [name, ns] : causes) {
    if (ns >= kLeastShown * time.thread_ns) {
      row(ns, text_of_cause(name));
    } else {
      rest += ns;
    }
  }
  if (rest > 0) row(rest, "all else");
  double lost = 0;
  for (const LostByCause& abort : time.aborts) lost += abort.ns;
  for (const LostByCause& abort : time.aborts) {
    text += fmt::format("{:>7}  of the time in aborted attempts: {} by {}\n", in_percent(abort.ns, lost), abort.count,
                        abort.name);
  }
  for (const LostByStructure& conflict : time.conflicts) {
    text += fmt::format("{:>7}  of it: {} by conflicts in {}\n", in_percent(conflict.ns, lost), conflict.count,
                        place_of(conflict.structure, conflict.bytes));
  }
  return text;
}

std::string hot_lines_text(const TrialResult& trial) {
  if (!trial.virtual_time) {
    throw InputError(
        fmt::format("explain: --hot-lines: {}; only a run with --machine knows its lines", trial.virtual_time.reason));
  }
  const VirtualTime& time = *trial.virtual_time;
  if (time.hot_lines.empty()) return "No thread waited for another one's line.\n";
  std::string text =
      "Lines that threads waited for each other on; share is of the threads' virtual time:\n"
      "  share  asleep     reads    writes  conflicts  line\n";
  for (const HotLineTime& line : time.hot_lines) {
    text +=
        fmt::format("{:>7} {:>7} {:>9} {:>9} {:>10}  {}{}{}; {} {}\n", in_percent(line.waited_ns, time.thread_ns),
                    in_percent(line.asleep_ns, time.thread_ns), line.reads, line.writes, line.conflicts,
                    place_of(line.structure, line.bytes), line.offset ? fmt::format(", byte {}", *line.offset) : "",
                    line.lock ? ", a lock" : "", line.threads.size() == 1 ? "thread" : "threads", joined(line.threads));
  }
  return text;
}

}  // namespace latchlab
