#include "harness/commands/trace_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/host/environment.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/base/new_file.h"
#include "workloads/churn.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/stream.h"
#include "workloads/trace.h"
#include "workloads/trace_formats.h"
#include "workloads/value.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

std::string info_line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<13}{}\n", name, text);
}

std::string percent_of(u64 part, u64 all) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

/// Returns the share of the operations that are on the hottest keys.
std::string skew_text(const Trace& trace) {
  std::vector<u64> counts(trace.keys());
  for (const TraceOp& op : trace.ops()) ++counts[op.key];
  std::ranges::sort(counts, std::greater());
  std::string text;
  for (const double share : {.0001, .01, .1}) {
    const u64 hottest = std::max<u64>(1, static_cast<u64>(share * static_cast<double>(counts.size())));
    const u64 sum = std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(hottest), u64{0});
    text += fmt::format("{}{} on {} key{}", text.empty() ? "" : ", ", percent_of(sum, trace.ops().size()),
                        grouped(hottest), hottest == 1 ? "" : "s");
  }
  return text;
}

std::string info(const std::string& path) {
  const Trace trace(path);
  const u64 all = trace.ops().size();
  const std::array<u64, kOpKinds>& counts = trace.counts();
  const Trace::Values& values = trace.values();
  u64 key_bytes = 0, longest_key = 0;
  for (u64 n = 0; n < trace.keys(); ++n) {
    key_bytes += trace.key(n).size();
    longest_key = std::max<u64>(longest_key, trace.key(n).size());
  }
  std::string kinds;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    if (counts[kind] > 0) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kWords<OpKind>[kind], percent_of(counts[kind], all));
    }
  }
  const auto mean = [](u64 sum, u64 count) { return static_cast<double>(sum) / static_cast<double>(count); };
  std::string text = info_line("operations", fmt::format("{}: {}", grouped(all), kinds));
  text += info_line(
      "keys", fmt::format("{}, {:.1f} bytes on average, at most {}; {} were there before (those not written first)",
                          grouped(trace.keys()), mean(key_bytes, trace.keys()), longest_key, grouped(trace.loaded())));
  text += info_line("values", fmt::format("{:.1f} bytes on average, at most {}",
                                          mean(values.bytes, std::max<u64>(values.count, 1)), values.longest));
  text += info_line("skew", skew_text(trace));
  if (!trace.has_times()) return text + info_line("times", "none");
  const double seconds = static_cast<double>(trace.ops().back().time_ns) / 1e9;
  return text + info_line("times", seconds > 0 ? fmt::format("{:.0f} s, {} operations/s on average", seconds,
                                                             short_number(static_cast<double>(all) / seconds))
                                               : "all operations in one second");
}

/// Throws InputError if both paths are the same file, which the conversion would overwrite.
void check_differ(const std::string& from, const std::string& to) {
  std::error_code none;
  if (!std::filesystem::equivalent(from, to, none)) return;
  throw InputError(fmt::format("trace: '{}' is the file that is converted; write to another", to));
}

/// Returns a number as a key of a trace: eight bytes, whose order is that of the numbers.
std::array<char, 8> as_bytes(u64 key) {
  std::array<char, 8> bytes{};
  for (u32 i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(U64Key(key)[i]);
  return bytes;
}

}  // namespace

std::string run_trace_command(const TraceCommand& command) {
  if (command.format.empty()) return info(command.from);
  check_differ(command.from == "-" ? "/dev/stdin" : command.from, command.to);
  const std::filesystem::path folder = std::filesystem::path(command.to).parent_path();
  NewFile::remove_abandoned(folder.empty() ? "." : folder);
  NewFile to("trace", command.to);  // opened before hours of reading, since that may fail
  TraceWriter writer(available_memory());
  const bool has_times = read_trace(command.format, command.from, writer);
  writer.write(to, has_times);
  to.keep();
  return info(command.to);
}

std::string write_requests(const Plan& plan) {
  const Config& config = plan.config;
  check_differ(*config.workload.arg, plan.requests_to);
  NewFile to("trace", plan.requests_to);
  TraceWriter writer(available_memory(), TraceWriter::Loaded::kByCaller);
  const KeySet keys(config.keys, config.seed);
  const auto stream = plan.workload->stream(config.seed, kMeasuredPhase, keys, 1, Distribution(config.distribution),
                                            config.records, Churn());
  const auto text_of = [](const std::array<char, 8>& bytes) { return std::string_view(bytes.data(), bytes.size()); };
  for (u64 n = 0; n < config.records; ++n) writer.load(text_of(as_bytes(keys.key<u64>(n))));
  std::vector<Op> ops(Mix::kBlock), gets;
  for (u64 first = 0; first < config.ops; first += ops.size()) {
    ops.resize(std::min<u64>(ops.size(), config.ops - first));
    stream->fill(first, ops, gets);
    for (const Op& op : ops)
      writer.add(0, text_of(as_bytes(op.key)), op.kind, about(op.kind).erases ? 0 : kPlainValueBytes);
  }
  writer.write(to, false);
  to.keep();
  return info_line("written to", fmt::format("{0}; --workload=trace:{0} replays it", plan.requests_to)) +
         info(plan.requests_to);
}

}  // namespace latchlab
