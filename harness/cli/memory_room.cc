#include "harness/cli/memory_room.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "harness/config/values.h"
#include "harness/host/environment.h"
#include "harness/host/placement.h"
#include "src/base/error.h"
#include "src/memory/media/file_system.h"

namespace latchlab {

namespace {

constexpr u64 kMostDefaultRecords = 16'000'000;

// Bytes for each default record: for the index, its growth, and the requests and the tally of the harness.
constexpr u64 kRoomPerKey = 128;
constexpr u64 kLeafBytes = 32;  // about, of a far leaf of one pair

/// Returns the bytes of a value in the store at least; 0 if it is a word in the index.
u64 stored_bytes(const Config& config) { return config.sized() && config.value_size > 7 ? config.value_size + 8 : 0; }

/// Returns true if values have a near and a far memory.
bool has_two_memories(const Config& config) { return config.far && config.near != 0 && stored_bytes(config) != 0; }

/// Returns true if far memory is a folder; a DAX device is none, and stands in one of a tmpfs.
bool far_is_folder(const MediumOptions& far) {
  std::error_code failed;
  return far.kind == MediumKind::kFile && std::filesystem::is_directory(far.path, failed);
}
/// Returns true if far memory is this machine's: a model's, or that of a tmpfs.
bool far_is_local(const MediumOptions& far) {
  if (!far_is_folder(far)) return far.kind == MediumKind::kModel;
  const std::optional<FileSystem> files = file_system_of(far.path);
  return files && files->is_memory;
}

/// Returns the bytes of two memories that are this machine's.
u64 local_bytes(const Config& config) { return config.near + (far_is_local(*config.far) ? config.far->size : 0); }

/// Returns the share of the keys whose new values are far, however much near memory has room for.
double always_far(const PlacementRule& rule) { return rule.kind == PlacementKind::kFarFirst ? 1 : 1 - rule.share; }

/// Returns the most new values for which far memory has room, and for which both memories have.
u64 most_in_far_memory(const Config& config) {
  const double share = always_far(config.placement_rule());
  const u64 values = config.far->size / stored_bytes(config);
  const double room = static_cast<double>(values);
  return room < share * 1e18 ? static_cast<u64>(room / share) : ~u64{0};
}
u64 most_in_two_memories(const Config& config) {
  return std::min((config.near + config.far->size) / stored_bytes(config), most_in_far_memory(config));
}

/// Returns a size for people: "1.5 GB".
std::string size_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}
std::string size_text(u64 bytes) { return size_text(static_cast<double>(bytes)); }

/// Returns the nodes that have memory for this process. Nodes without memory are unusable, if the topology tells.
std::vector<u32> usable_nodes(const Topology& topology) {
  const bool tells = std::ranges::any_of(topology.nodes, [](const MemoryNode& node) { return node.bytes > 0; });
  std::vector<u32> usable;
  for (const MemoryNode& node : topology.nodes) {
    if (node.allowed && (node.bytes > 0 || !tells)) usable.push_back(node.os);
  }
  return usable;
}

/// Throws NoRoom, which begins with `option`, for a node that is not among the usable ones.
void check_node(u32 wanted, const std::vector<u32>& usable, const Topology& topology, std::string_view option) {
  if (std::ranges::count(usable, wanted) != 0) return;
  const auto node = std::ranges::find(topology.nodes, wanted, &MemoryNode::os);
  throw NoRoom(fmt::format(
      "{}: {}; this process may use {}", option,
      node == topology.nodes.end() ? fmt::format("there is no node {}", wanted)
      : node->allowed              ? fmt::format("node {} has no memory", wanted)
                                   : fmt::format("node {} is not allowed", wanted),
      usable.size() == 1 ? fmt::format("node {} only", usable[0]) : fmt::format("nodes {}", fold_numbers(usable))));
}

/// Returns the nodes that --mem names. Throws NoRoom for a node that this process cannot use.
std::vector<u32> nodes_meant(const Config& config, const Topology& topology) {
  const Mem& mem = config.mem;
  const std::vector<u32> usable = usable_nodes(topology);
  const bool all = mem.kind == PagePlacement::Kind::kInterleave && !mem.of_pin;
  const std::vector<u32> meant = all ? usable : mem.of_pin ? nodes_of_pin(topology, config) : mem.nodes;
  for (const u32 wanted : meant) check_node(wanted, usable, topology, "--mem=" + mem.text);
  return meant;
}

}  // namespace

u64 least_bytes_per_key(const Spec& keys) { return keys.name == "u64" ? 16 : 8; }

u64 default_records(const Config& config, u64 memory_available) {
  const u64 stored = stored_bytes(config);
  const bool two = has_two_memories(config);
  u64 fits = memory_available / 4 / (kRoomPerKey + stored);
  if (two) {
    const u64 left = memory_available - std::min(memory_available, local_bytes(config));
    // Half of the values that would fit: blocks are larger than values, and some wait to be freed.
    fits = std::min(left / 4 / kRoomPerKey, most_in_two_memories(config) / 2);
  }
  if (config.far && config.placement_rule().kind == PlacementKind::kLeaves)
    fits = std::min(fits, config.far->size / kLeafBytes / 2);
  // A round number, so that machines of the same size use the same one although their free memory differs slightly.
  const u64 step = fits > 1'000'000 ? 1'000'000 : !two || fits > 10'000 ? 10'000 : 1;
  return std::clamp(fits / step * step, two ? u64{1} : u64{10'000}, kMostDefaultRecords);
}

void check_room_for_values(const Config& config, u64 memory_available) {
  const u64 least = config.records * (stored_bytes(config) + least_bytes_per_key(config.keys));
  if (!config.sized() || config.far || least <= memory_available) return;
  throw NoRoom(fmt::format(
      "--value-size: {} values of {} bytes and their keys take at least {:.0f} GB; {:.1f} GB of memory are available",
      config.records, config.value_size, static_cast<double>(least) / 1e9,
      static_cast<double>(memory_available) / 1e9));
}

void check_room_in_two_memories(const Config& config, std::string_view option) {
  if (!has_two_memories(config) || config.records <= most_in_two_memories(config)) return;
  if (config.records > most_in_far_memory(config)) {
    const double values = static_cast<double>(config.records) * always_far(config.placement_rule());
    throw NoRoom(fmt::format(
        "{}: --rule={} puts {:.0f} of {} values of {} bytes into far memory, where they take at least {}; it has {}",
        option, config.placement_rule().str(), values, config.records, config.value_size,
        size_text(values * static_cast<double>(stored_bytes(config))), size_text(config.far->size)));
  }
  throw NoRoom(fmt::format("{}: {} values of {} bytes take at least {}; near and far memory have {} together", option,
                           config.records, config.value_size, size_text(config.records * stored_bytes(config)),
                           size_text(config.near + config.far->size)));
}

void check_room_for_history(const Config& config, u64 memory_available) {
  const std::optional<Recording> recording = config.recording();
  if (!recording) return;
  const u64 calls = recording->room_for(config.records, config.threads);
  if (calls <= memory_available / Recording::kBytesOfCall) return;
  throw NoRoom(fmt::format("{}: {} calls take {:.0f} GB; {:.1f} GB of memory are available; write calls=N",
                           config.history ? "--history" : "--validate=history", calls,
                           static_cast<double>(calls * Recording::kBytesOfCall) / 1e9,
                           static_cast<double>(memory_available) / 1e9));
}

void check_media(const Config& config, const Topology& topology, u64 memory_available) {
  if (!config.far) return;
  const MediumOptions& far = *config.far;
  const auto check = [&](std::string_view what, u64 bytes, u64 available, std::string_view where) {
    if (bytes <= available) return;
    throw NoRoom(
        fmt::format("{}: {}; {} of memory are available{}", what, size_text(bytes), size_text(available), where));
  };
  check("--near", config.near, memory_available, "");
  if (far_is_local(far)) {
    check(
        fmt::format("--far={} lies in this machine's memory{}", far.str(), config.near == 0 ? "" : ", as --near does"),
        local_bytes(config), memory_available, "");
  }
  if (far.kind == MediumKind::kNode) check_node(far.node, usable_nodes(topology), topology, "--far=" + far.str());
  if (!topology.this_system) return;
  if (far_is_folder(far)) {
    std::error_code failed;
    const std::filesystem::space_info room = std::filesystem::space(far.path, failed);
    const bool is_told = !failed && room.capacity != 0;  // a ramfs has no size
    if (is_told) check("--far=" + far.str(), far.size, room.available, " in its folder");
  }
  if (far.kind != MediumKind::kNode) return;
  const PagePlacement there{.kind = PagePlacement::Kind::kBind, .nodes = {far.node}};
  check("--far=" + far.str(), far.size, available_memory_on(there), fmt::format(" on node {}", far.node));
}

void place_memory(Plan& plan, const Topology& topology) {
  Mem& mem = plan.config.mem;
  mem.nodes = nodes_meant(plan.config, topology);
  PagePlacement wanted{.kind = mem.kind, .nodes = mem.nodes};
  if (wanted.kind == PagePlacement::Kind::kLocal) wanted.nodes = nodes_of_seats(topology, plan.seats);
  if (wanted.kind == PagePlacement::Kind::kFirstTouch) return;
  const bool asks_kernel = plan.model == nullptr;  // a modelled kernel refuses nothing
  if (topology.nodes.size() == 1) {
    plan.not_placed = "there is one NUMA node";
  } else if (asks_kernel && !topology.this_system) {
    plan.not_placed = "the topology describes another machine";
  } else if (const auto refusal = asks_kernel ? why_not_placed(wanted) : std::nullopt) {
    plan.not_placed = plan.mem_degraded = "--mem: " + *refusal;
  } else {
    plan.pages = wanted;
    plan.not_placed.clear();
  }
}

}  // namespace latchlab
