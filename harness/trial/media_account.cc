#include "harness/trial/media_account.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/host/placement.h"
#include "harness/trial/phases.h"
#include "src/base/quantity.h"

namespace latchlab {
namespace {

using Double = OrReason<double>;

void take_times(const OrReason<MediumTimes>& measured, Double& latency, Double& read, Double& write) {
  latency = measured ? measured->latency_ns : Double::missing(measured.reason);
  read = measured ? measured->read_gbps : Double::missing(measured.reason);
  write = measured ? measured->write_gbps : Double::missing(measured.reason);
}

/// Returns hwloc's word for the memory of a far node.
OrReason<std::string> hwloc_word(const MediumOptions& far, const Topology& topology) {
  using Word = OrReason<std::string>;
  if (far.kind != MediumKind::kNode) return Word::missing("far memory is no node");
  if (!topology.this_system) return Word::missing("the topology describes another machine");
  const auto node = std::ranges::find(topology.nodes, far.node, &MemoryNode::os);
  return node != topology.nodes.end() ? node->kind : Word::missing(fmt::format("hwloc has no node {}", far.node));
}

/// Returns the nodes that near memory may lie on, by the kernel's numbers.
std::vector<u32> near_nodes(const Plan& plan, const Topology& topology) {
  return plan.pages.kind == PagePlacement::Kind::kFirstTouch ? nodes_of_seats(topology, plan.seats) : plan.pages.nodes;
}

/// Returns a remark if near memory lies on the far node, too.
std::optional<Remark> shared_node(const Plan& plan, const Topology& topology) {
  const MediumOptions& far = *plan.config.far;
  if (far.kind != MediumKind::kNode || !plan.seats.binds) return std::nullopt;
  const std::vector<u32> near = near_nodes(plan, topology);
  if (std::ranges::count(near, far.node) == 0) return std::nullopt;
  if (near.size() == 1)
    return Remark{Status::kOk,
                  fmt::format("near and far memory are the same node, {}: they differ in no speed", far.node)};
  return Remark{Status::kOk, fmt::format("node {} has far memory, and near memory, too, which lies on nodes {}",
                                         far.node, fold_numbers(near))};
}

/// Adds what was counted of values in two memories: the difference between the ends of the measured phase.
void add_tier_counts(TwoMemories& out, const TierCounters& counts, double thread_seconds) {
  out.near_reads = counts.near_reads;
  out.far_reads = counts.far_reads;
  out.far_bytes_read = counts.far_bytes_read;
  out.far_writes = counts.far_writes;
  out.far_bytes_written = counts.far_bytes_written;
  out.promotions = counts.promotions;
  out.demotions = counts.demotions;
  out.looks = counts.looks;
  out.late_moves = counts.late_moves;
  out.near_full = counts.near_full;
  const u64 reads = counts.near_reads + counts.far_reads;
  out.near_share = reads == 0 ? Double::missing("no value was read")
                              : Double(static_cast<double>(counts.near_reads) / static_cast<double>(reads));
  out.moving_share = static_cast<double>(counts.moving_ns) / 1e9 / thread_seconds;
}

}  // namespace

Account<OrReason<TwoMemories>> media_account(const Plan& plan, const Topology& topology, const Measurement& m) {
  const MeasuredPhase& phase = *m.measured;
  if (!phase.far_before || !phase.far_after) return {OrReason<TwoMemories>::missing(phase.far_after.reason), {}};
  const MediumOptions& far = *plan.config.far;
  const bool is_modelled = far.kind == MediumKind::kModel;
  Remarks remarks;
  TwoMemories out;
  out.medium = is_modelled ? "modelled" : word(far.kind);
  out.words = far.str();
  out.rule = plan.config.placement_rule().str();
  out.hwloc = hwloc_word(far, topology);
  out.file_system = phase.far_after->file_system;
  out.near_limit = plan.config.near != 0 ? OrReason(plan.config.near)
                                         : OrReason<u64>::missing("inner nodes have no limit of their own");
  out.live = phase.far_after->bytes.live;
  out.reserved = phase.far_after->bytes.reserved;
  out.page_nodes = m.far_page_nodes;
  out.locked = OrReason<u64>::missing("far memory is no node");
  if (far.kind == MediumKind::kNode) {
    out.locked = phase.locked ? OrReason(std::min(*phase.locked, out.reserved)) : phase.locked;
    if (auto shared = shared_node(plan, topology)) remarks.push_back(std::move(*shared));
    if (out.locked && *out.locked < out.reserved) {
      remarks.push_back({Status::kOk, fmt::format("the kernel locks {} of the {} bytes of far memory, and may swap out "
                                                  "or move the others: {}",
                                                  *out.locked, out.reserved, m.lock_limit)});
    }
  }
  const auto preset = [&](double value) { return is_modelled ? Double(value) : Double::missing("a real medium"); };
  out.preset_latency_ns = preset(far.speed.latency_ns);
  out.preset_read_gbps = preset(far.speed.read_gbps);
  out.preset_write_gbps = preset(far.speed.write_gbps);
  take_times(m.far_times, out.latency_ns, out.read_gbps, out.write_gbps);
  take_times(m.near_times, out.near_latency_ns, out.near_read_gbps, out.near_write_gbps);
  out.kernel_demotes = m.kernel_demotes;
  if (phase.far_after->counts) {
    add_tier_counts(out, counters_since(*phase.far_before->counts, *phase.far_after->counts),
                    phase.metered.seconds * static_cast<double>(plan.config.threads));
  } else {
    const std::string why = "reads and writes of leaves are plain loads and stores, which nothing counts";
    for (OrReason<u64>* const count :
         {&out.near_reads, &out.far_reads, &out.far_bytes_read, &out.far_writes, &out.far_bytes_written,
          &out.promotions, &out.demotions, &out.looks, &out.late_moves, &out.near_full})
      *count = OrReason<u64>::missing(why);
    out.near_share = out.moving_share = Double::missing(why);
  }
  return {std::move(out), std::move(remarks)};
}

std::string memory_out(std::string_view failure, const Plan& plan, const Measurement& m) {
  if (failure != kMemoryRanOut || !m.far) return "";
  // A pool that has not this much left is refused: it takes whole chunks.
  const u64 chunk = (u64{64} << 10) + 2 * u64{plan.config.value_size};
  const bool near = m.far->near_free < chunk, far = m.far->far_free() < chunk;
  if (!far) return ": that of the index, since far memory has room";
  const u64 limit = plan.config.near;  // inner nodes have none
  return fmt::format(": {}far memory {} full, {}--far={}; write fewer --records or larger sizes",
                     near ? "near and " : "", near ? "are" : "is",
                     limit == 0 ? "" : fmt::format("--near={} and ", count_text(limit)), plan.config.far->str());
}

}  // namespace latchlab
