#include "harness/host/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/spec.h"

namespace latchlab {
namespace {

constexpr u64 kMostDescribed = 8192;  // processors, which take hwloc some tenths of a second

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, BitmapDeleter>;

HwlocTopology init() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) throw std::runtime_error("hwloc cannot be initialised");
  // Disallowed processors stay in the topology, so that an error can tell "not allowed" from "does not exist".
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return HwlocTopology(topology);
}

u32 count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int n = hwloc_get_nbobjs_by_type(topology, type);
  return n > 0 ? static_cast<u32>(n) : 0;
}

u32 ancestor(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t object, u32 otherwise) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, object);
  return found != nullptr ? found->logical_index : otherwise;
}

/// Returns the nearest NUMA node of a processor: the first node whose processors include it. In hwloc 2 NUMA nodes are
/// not ancestors of processors.
u32 node_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, pu->os_index)) return node->logical_index;
  }
  return 0;
}

std::string digest_of(const Topology& topology) {
  std::string text;
  for (const Processor& p : topology.processors) {
    text += fmt::format("{},{},{},{},{},{},{};", p.os, p.socket, p.node, p.cluster, p.core, p.smt, p.allowed);
  }
  return fmt::format("{:016x}", hash_bytes(text, 0));
}

/// Returns hwloc's word for the memory of a node. hwloc has none for most nodes before 2.10, which also was the first
/// to tell CXL from other memory.
OrReason<std::string> kind_of(hwloc_obj_t node) {
  constexpr unsigned kKnowsCxl = 0x00020a00;
  if (node->subtype != nullptr && *node->subtype != 0) return std::string(node->subtype);
  return OrReason<std::string>::missing(
      fmt::format("hwloc does not say what the memory of node {} is{}", node->os_index,
                  hwloc_get_api_version() < kKnowsCxl ? ": this hwloc is older than 2.10, which knows CXL" : ""));
}

/// Copies a topology out of hwloc. A null `mask` allows all processors.
Topology read_out(hwloc_topology_t topology, hwloc_const_bitmap_t mask) {
  Topology out;
  out.sockets = std::max(1U, count(topology, HWLOC_OBJ_PACKAGE));
  out.cores = count(topology, HWLOC_OBJ_CORE);
  out.this_system = hwloc_topology_is_thissystem(topology) != 0;
  const hwloc_const_bitmap_t nodes = hwloc_topology_get_allowed_nodeset(topology);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    out.nodes.push_back({.os = node->os_index,
                         .bytes = node->attr->numanode.local_memory,
                         .allowed = mask == nullptr || hwloc_bitmap_isset(nodes, node->os_index) != 0,
                         .kind = kind_of(node)});
  }
  std::map<std::tuple<u32, u32, u32>, u32> clusters;  // (socket, node, L3) -> number
  u32 last_core = ~0U;
  u32 smt = 0;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    Processor p;
    p.os = pu->os_index;
    p.socket = ancestor(topology, HWLOC_OBJ_PACKAGE, pu, 0);
    p.node = node_of(topology, pu);
    const u32 l3 = ancestor(topology, HWLOC_OBJ_L3CACHE, pu, 0);
    p.cluster = clusters.emplace(std::tuple(p.socket, p.node, l3), static_cast<u32>(clusters.size())).first->second;
    p.core = ancestor(topology, HWLOC_OBJ_CORE, pu, pu->logical_index);
    smt = p.core == last_core ? smt + 1 : 0;
    last_core = p.core;
    p.smt = smt;
    p.allowed = mask == nullptr || hwloc_bitmap_isset(mask, pu->os_index) != 0;
    out.processors.push_back(p);
  }
  out.clusters = static_cast<u32>(clusters.size());
  if (out.cores == 0) out.cores = static_cast<u32>(out.processors.size());
  out.digest = digest_of(out);
  return out;
}

/// Returns the number of processors that a synthetic description asks for, capped just above kMostDescribed. The check
/// comes before hwloc, which would build them all in quadratic time.
u64 described_processors(std::string_view description) {
  u64 processors = 1;
  for (std::size_t at = 0; at < description.size(); ++at) {
    // A count follows a colon, or is a word of its own.
    const bool begins = at == 0 || std::string_view(": \t\n\v\f\r").find(description[at - 1]) != std::string_view::npos;
    const std::string_view rest = description.substr(at);
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    if (!begins || digits.empty()) continue;
    const u64 count = parse_u64(digits).value_or(kMostDescribed + 1);
    processors = std::min(processors * std::min<u64>(count, kMostDescribed + 1), u64{kMostDescribed} + 1);
  }
  return processors;
}

std::string plural(u32 n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace

Topology Topology::discover() {
  const HwlocTopology topology = init();
  if (hwloc_topology_load(topology.get()) != 0) throw std::runtime_error("hwloc cannot read the topology");
  const Bitmap mask(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology.get())));
  if (hwloc_topology_is_thissystem(topology.get()) != 0) {
    const Bitmap bound(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_THREAD) == 0) {
      hwloc_bitmap_and(mask.get(), mask.get(), bound.get());
    }
  }
  return read_out(topology.get(), mask.get());
}

Topology Topology::synthetic(std::string_view description) {
  const HwlocTopology topology = init();
  if (hwloc_topology_set_synthetic(topology.get(), std::string(description).c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    throw InputError(
        fmt::format("topology \"{}\": not a synthetic description; try \"pack:2 l3:1 core:14 pu:2\"", description));
  }
  return read_out(topology.get(), nullptr);
}

Topology Topology::read(const std::string& file_or_description) {
  std::error_code error;
  if (!std::filesystem::exists(file_or_description, error)) {
    if (described_processors(file_or_description) > kMostDescribed) {
      throw InputError(
          fmt::format("--topology: '{}' has more than {} processors", file_or_description, kMostDescribed));
    }
    try {
      return synthetic(file_or_description);
    } catch (const InputError&) {
      throw InputError(
          fmt::format("--topology: '{}' is neither a file that lstopo wrote nor a description such as "
                      "\"pack:2 numa:2 core:7 pu:2\"",
                      file_or_description));
    }
  }
  const HwlocTopology topology = init();
  if (hwloc_topology_set_xml(topology.get(), file_or_description.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    throw InputError(fmt::format("--topology: '{}' is not a topology that lstopo wrote as XML", file_or_description));
  }
  Topology read = read_out(topology.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  if (read.allowed_count() == 0) {
    throw InputError(fmt::format("--topology: '{}' has no processor that is allowed there", file_or_description));
  }
  return read;
}

u32 Topology::allowed_count() const {
  return static_cast<u32>(
      std::count_if(processors.begin(), processors.end(), [](const Processor& p) { return p.allowed; }));
}

std::string Topology::allowed_list() const {
  std::vector<u32> numbers;
  for (const Processor& p : processors) {
    if (p.allowed) numbers.push_back(p.os);
  }
  std::sort(numbers.begin(), numbers.end());
  return fold_numbers(numbers);
}

void Topology::restrict_to(const std::vector<u32>& os_numbers) {
  for (Processor& p : processors) {
    p.allowed = p.allowed && std::find(os_numbers.begin(), os_numbers.end(), p.os) != os_numbers.end();
  }
  digest = digest_of(*this);
}

std::string Topology::describe() const {
  const u32 all = static_cast<u32>(processors.size());
  const u32 mine = allowed_count();
  return fmt::format("{}, {}, {}, {}, {} ({})", plural(sockets, "socket", "sockets"),
                     plural(static_cast<u32>(nodes.size()), "NUMA node", "NUMA nodes"),
                     plural(clusters, "cluster", "clusters"), plural(cores, "core", "cores"),
                     plural(all, "processor", "processors"),
                     mine == all ? std::string("all allowed") : fmt::format("{} allowed: {}", mine, allowed_list()));
}

std::string fold_numbers(const std::vector<u32>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!out.empty()) out += ',';
    out += end - i == 1 ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace latchlab
