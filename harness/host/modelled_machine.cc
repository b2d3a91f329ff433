#include "harness/host/modelled_machine.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"

namespace latchlab {
namespace {

constexpr std::string_view kScale = "scale";

auto scale_in(auto& options) {
  return std::ranges::find_if(options, [](const auto& option) { return option.first == kScale; });
}

/// Splits changes off the path of a machine file: file:PATH,qpi.gbps=2x. They are the last pieces that look like
/// options.
void split_path(Spec& spec) {
  if (spec.name != "file" || !spec.arg) return;
  std::string path = *spec.arg;
  std::vector<std::string> changes;
  while (true) {
    const std::size_t comma = path.rfind(',');
    if (comma == std::string::npos || path.find('=', comma) == std::string::npos) break;
    changes.insert(changes.begin(), path.substr(comma + 1));
    path.resize(comma);
  }
  if (changes.empty()) return;
  spec = Spec::parse(fmt::format("machine:{}", fmt::join(changes, ",")));
  spec.name = "file";
  spec.arg = path;
}

}  // namespace

u64 ModelledMachine::warmup_operations() const {
  const model::Parameters& parameters = file.parameters();
  return static_cast<u64>(parameters.l3.mb_per_cluster * parameters.all_clusters() * (1 << 20) / kLineBytes);
}

bool complete_machine(Spec& spec, bool standard_scale) {
  split_path(spec);
  if (scale_in(spec.options) != spec.options.end()) return false;
  const double scale = standard_scale ? ModelledMachine::kStandardScale : 1;
  spec.options.insert(spec.options.begin(), {std::string(kScale), fmt::format("{}", scale)});
  return true;
}

void set_whole(Spec& spec) { scale_in(spec.options)->second = "1"; }

std::shared_ptr<const ModelledMachine> modelled_machine(const Spec& spec) {
  Spec named = spec;
  split_path(named);
  double scale = 1;
  if (const auto given = scale_in(named.options); given != named.options.end()) {
    const std::optional<double> number = parse_double(given->second);
    if (!number || !(*number >= 1)) {
      throw InputError(fmt::format("machine {}: scale={} must be a number of at least 1", spec.name, given->second));
    }
    scale = *number;
    named.options.erase(given);
  }
  model::MachineFile file = model::MachineFile::of(named);
  if (scale > 1) file.scale_down(scale);
  Topology topology = topology_of(file.parameters());
  return std::make_shared<const ModelledMachine>(
      ModelledMachine{.file = std::move(file), .scale = scale, .topology = std::move(topology)});
}

std::optional<ModelledMalloc> modelled_malloc(Alloc alloc) {
  switch (alloc) {
    case Alloc::kMalloc: return ModelledMalloc::kGlibc;
    case Alloc::kTcmalloc: return ModelledMalloc::kTcmalloc;
    case Alloc::kJemalloc: return ModelledMalloc::kJemalloc;
    case Alloc::kMimalloc: return ModelledMalloc::kMimalloc;
    case Alloc::kTbb: return ModelledMalloc::kTbb;
    case Alloc::kArena:
    case Alloc::kArenaTouch: break;
  }
  return std::nullopt;
}

ModelInfo info_of(const ModelledMachine& machine, u64 seed, u64 warmup_operations) {
  ModelInfo info{.name = machine.file.name(),
                 .digest = machine.file.digest(),
                 .topology = machine.topology.describe(),
                 .scale = machine.scale,
                 .seed = seed,
                 .warmup_operations = warmup_operations,
                 .changes = machine.file.changes(),
                 .fitted = {}};
  for (const model::MachineFile::Value& value : machine.file.values()) {
    if (value.tag == model::Tag::kFitted) info.fitted.push_back(value.key);
  }
  return info;
}

Topology topology_of(const model::Parameters& machine) {
  Topology out;
  out.sockets = machine.topology.sockets;
  out.clusters = machine.all_clusters();
  out.cores = machine.all_cores();
  out.this_system = true;
  for (u32 cluster = 0; cluster < out.clusters; ++cluster) out.nodes.push_back({.os = cluster});
  std::vector<u32> all;
  for (u32 core = 0; core < out.cores; ++core) {
    const u32 cluster = machine.cluster_of_core(core);
    for (u32 smt = 0; smt < machine.topology.threads; ++smt) {
      all.push_back(smt * out.cores + core);
      out.processors.push_back({.os = all.back(),
                                .socket = machine.socket_of_cluster(cluster),
                                .node = cluster,
                                .cluster = cluster,
                                .core = core,
                                .smt = smt});
    }
  }
  out.restrict_to(all);  // makes the digest
  return out;
}

}  // namespace latchlab
