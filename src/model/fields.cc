#include "src/model/fields.h"

#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/spec.h"

namespace latchlab::model {
namespace {

template <class T>
constexpr bool kIsWord = std::is_enum_v<T>;

/// Returns the numbers of "[3.6, 3.4]", "[3.6;3.4]" or "2.6"; empty if the text is none of them. Commas part the
/// changes of a command line.
std::optional<std::vector<double>> parse_list(std::string_view text) {
  if (const std::optional<double> one = parse_double(text)) return std::vector{*one};
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<double> list;
  while (true) {
    const std::size_t comma = text.find_first_of(",;");
    std::string_view piece = text.substr(0, comma);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    const std::optional<double> number = parse_double(piece);
    if (!number) return std::nullopt;
    list.push_back(*number);
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string Field::text() const {
  return std::visit(
      [](const auto* value) -> std::string {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (kIsWord<T>) {
          return std::string(word(*value));
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return fmt::format("[{}]", fmt::join(*value, ", "));
        } else {
          return fmt::format("{}", *value);
        }
      },
      at);
}

std::string Field::set(std::string_view text) const {
  const auto in_range = [this](double number) { return number >= min && number <= max; };
  return std::visit(
      [&](auto* value) -> std::string {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (kIsWord<T>) {
          const std::optional<T> named = value_of_word<T>(text);
          if (!named) return fmt::format("it must be one of {}", fmt::join(kWords<T>, ", "));
          *value = *named;
        } else if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false") return "it must be true or false";
          *value = text == "true";
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          std::optional<std::vector<double>> list = parse_list(text);
          if (!list) return "it must be a number, or a list as in [3.6;3.4]";
          for (const double number : *list) {
            if (!in_range(number)) return fmt::format("each of its numbers must be from {} to {}", min, max);
          }
          *value = std::move(*list);
        } else {
          const std::optional<double> number = parse_double(text);
          const bool whole = std::is_same_v<T, u32>;
          if (!number || !in_range(*number) || (whole && std::floor(*number) != *number)) {
            return fmt::format("it must be a {} from {} to {}", whole ? "whole number" : "number", min, max);
          }
          *value = static_cast<T>(*number);
        }
        return "";
      },
      at);
}

std::string Field::multiply(double factor) const {
  return std::visit(
      [&](const auto* value) -> std::string {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (kIsWord<T> || std::is_same_v<T, bool>) {
          return set("");  // tells the words
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          std::vector<double> all = *value;
          for (double& number : all) number *= factor;
          return set(fmt::format("[{}]", fmt::join(all, ", ")));
        } else {
          return set(fmt::format("{}", *value * factor));
        }
      },
      at);
}

std::vector<Field> fields_of(Parameters& p) {
  constexpr double kMostNs = 1e6;
  auto& [topology, clock, l1, l2, l3, cluster, socket, dram, home, qpi, core, tlb, htm, kernel] = p;
  return {
      {"topology.sockets", "count", &topology.sockets, 1, 8},
      {"topology.clusters", "count", &topology.clusters, 1, kMostClusters},
      {"topology.cores", "count", &topology.cores, 1, kMostCores},
      {"topology.threads", "count", &topology.threads, 1, 4},
      {"clock.ghz_by_active", "GHz", &clock.ghz_by_active, 0.1, 10},
      {"l1.kb", "KiB", &l1.kb, 1, 1024},
      {"l1.ways", "count", &l1.ways, 1, 32},
      {"l1.ns", "ns", &l1.ns, 0.1, 100},
      {"l2.kb", "KiB", &l2.kb, 1, 65536},
      {"l2.ways", "count", &l2.ways, 1, 32},
      {"l2.ns", "ns", &l2.ns, 0.1, 100},
      {"l3.kind", "word", &l3.kind},
      {"l3.mb_per_cluster", "MiB", &l3.mb_per_cluster, 1.0 / 1024, 1024},
      {"l3.ways", "count", &l3.ways, 1, 32},
      {"l3.ns", "ns", &l3.ns, 0.1, kMostNs},
      {"l3.exclusive_elsewhere", "ns", &l3.exclusive_elsewhere, 0.1, kMostNs},
      {"l3.modified_elsewhere", "ns", &l3.modified_elsewhere, 0.1, kMostNs},
      {"cluster.l3", "ns", &cluster.l3, 0.1, kMostNs},
      {"cluster.modified", "ns", &cluster.modified, 0.1, kMostNs},
      {"socket.l3", "ns", &socket.l3, 0.1, kMostNs},
      {"socket.modified", "ns", &socket.modified, 0.1, kMostNs},
      {"dram.local", "ns", &dram.local, 0.1, kMostNs},
      {"dram.cluster", "ns", &dram.cluster, 0.1, kMostNs},
      {"dram.socket", "ns", &dram.socket, 0.1, kMostNs},
      {"dram.gbps_per_cluster", "GB/s", &dram.gbps_per_cluster, 0.1, 10000},
      {"home.stale_directory", "switch", &home.stale_directory},
      {"home.snoop_local", "ns", &home.snoop_local, 0, kMostNs},
      {"home.snoop_cluster", "ns", &home.snoop_cluster, 0, kMostNs},
      {"home.snoop_socket", "ns", &home.snoop_socket, 0, kMostNs},
      {"qpi.gbps", "GB/s", &qpi.gbps, 0.1, 10000},
      {"core.window", "instructions", &core.window, 1, 4096},
      {"core.fill_buffers", "count", &core.fill_buffers, 1, 256},
      {"core.smt_issue", "factor", &core.smt_issue, 1, 4},
      {"core.instructions_per_cycle", "1/cycle", &core.instructions_per_cycle, 0.1, 16},
      {"core.per_operation", "instructions", &core.per_operation, 0, 100000},
      {"core.per_reference", "instructions", &core.per_reference, 0, 1000},
      {"core.store_ns", "ns", &core.store_ns, 0, 1000},
      {"core.same_block", "share", &core.same_block, 0, 1},
      {"core.run_ahead", "share", &core.run_ahead, 0, 1},
      {"core.atomic_ns", "ns", &core.atomic_ns, 0, 1000},
      {"tlb.l2", "entries", &tlb.l2, 1, 65536},
      {"tlb.ways", "count", &tlb.ways, 1, 32},
      {"tlb.walk_ns", "ns", &tlb.walk_ns, 0, kMostNs},
      {"htm.begin", "ns", &htm.begin, 0, kMostNs},
      {"htm.commit", "ns", &htm.commit, 0, kMostNs},
      {"htm.abort", "ns", &htm.abort, 0, kMostNs},
      {"htm.read", "word", &htm.read},
      {"htm.read_lines", "lines", &htm.read_lines, 1, 1e9},
      {"kernel.fault_ns", "ns", &kernel.fault_ns, 0, kMostNs},
      {"kernel.clear_ns_per_byte", "ns/B", &kernel.clear_ns_per_byte, 0, 1000},
      {"kernel.mprotect_ns", "ns", &kernel.mprotect_ns, 0, kMostNs},
      {"kernel.mark_ns", "ns", &kernel.mark_ns, 0, kMostNs},
      {"kernel.timer_ns", "ns", &kernel.timer_ns, 0, kMostNs},
      {"kernel.hz", "Hz", &kernel.hz, 0, 100000},
      {"kernel.marks_per_s", "1/s", &kernel.marks_per_s, 0, 1e9},
      {"kernel.mark_period_ms", "ms", &kernel.mark_period_ms, 0, 1e6},
      {"kernel.marks_after_ms", "ms", &kernel.marks_after_ms, 0, 1e6},
  };
}

}  // namespace latchlab::model
