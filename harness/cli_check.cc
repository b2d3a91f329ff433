#include "harness/cli_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/environment.h"
#include "harness/payloads.h"
#include "harness/placement.h"
#include "harness/pmu_events.h"
#include "src/base/error.h"
#include "src/memory/accessed_bits.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

constexpr u64 kMostDefaultRecords = 16'000'000;
constexpr u64 kDefaultWarmup = 200'000'000;
constexpr u64 kDefaultTime = 3'000'000'000;

// What a key with its value takes at least: eight bytes each, but for a key that its path spells. Asking for more than
// memory holds at this size is surely a mistake, while anything less is up to the index.
u64 least_bytes_per_key(const Spec& keys) { return keys.name == "u64" ? 16 : 8; }

/// Those that a key of this kind may have, if it is a number.
u32 bits_of(const Spec& keys) { return keys.name == "u16" ? 16 : keys.name == "u32" ? 32 : 64; }

// For the default: room for the index, its growth, and the steps and the oracle of the harness.
constexpr u64 kRoomPerKey = 128;

/// `payload`: bytes apart from the index, of a record.
u64 default_records(u64 memory_available, u64 payload) {
  const u64 fits = memory_available / 4 / (kRoomPerKey + payload);
  // A tidy number, so that two machines of the same size use the same one although a little more is free on
  // one.
  const u64 step = fits > 1'000'000 ? 1'000'000 : 10'000;
  return std::clamp(fits / step * step, u64{10'000}, kMostDefaultRecords);
}

/// What `make` makes; its errors begin with the option's name.
template <class Make>
auto named(std::string_view option, Make&& make) {
  try {
    return make();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", option, error.what()));
  }
}

bool writes(const Mix& mix) {
  return mix.has(OpKind::kInsert) || mix.has(OpKind::kUpdate) || mix.has(OpKind::kUpsert) ||
         mix.has(OpKind::kErase) || mix.has(OpKind::kRmw);
}

/// Whether any operation takes its key from the distribution (workloads/mix_stream.cc).
bool draws_keys(const Mix& mix) {
  return mix.has(OpKind::kRead) || mix.has(OpKind::kUpdate) || mix.has(OpKind::kUpsert) ||
         mix.has(OpKind::kScan) || mix.has(OpKind::kRmw);
}

/// Places for the payloads of `records`, and of what is inserted besides; none where the index keeps the values (payloads.h).
u64 payload_places(const Config& config, const Workload& workload, u64 records) {
  if (config.value_size == kPlainValueBytes) return 0;
  if (workload.trace()) return std::clamp<u64>(workload.trace()->keys(), 1, kMostPlaces);
  const bool inserts_more = workload.mix().has(OpKind::kInsert) && !workload.mix().fills();
  return std::clamp<u64>(inserts_more ? 2 * records : records, 1, kMostPlaces);
}

/// Throws NoRoom.
void check_room_for_payloads(const Config& config, u64 memory_available) {
  const u64 least = config.payload_bytes() + config.records * least_bytes_per_key(config.keys);
  if (config.payloads == 0 || least <= memory_available) return;
  throw NoRoom(fmt::format("--value-size: {} payloads of {} bytes and their keys take at least {:.0f} GB; {:.1f} GB of memory "
                           "are available", config.payloads, config.value_size, static_cast<double>(least) / 1e9,
                           static_cast<double>(memory_available) / 1e9));
}

/// What a workload file says in place of options; why those that were given do not reach it.
std::string take_file(Config& config, const Workload& workload, const Defaults& defaults) {
  if (const auto& file = workload.wiscer()) {
    config.keys = Spec{.name = file->sequential ? "dense" : "affine", .arg = {}, .options = {}};
    if (file->sorted) config.keys.options.emplace_back("in_order", "1");
    config.records = file->initial_size;
    if (defaults.time) config.ops = file->operations;
    if (!config.rows) config.rows = 1'000'000;   // its "batches"
  } else {
    config.keys = Spec{.name = "trace", .arg = config.workload.arg, .options = {}};
    config.records = workload.trace()->loaded();
    if (defaults.time) config.ops = workload.trace()->ops().size();
  }
  if (defaults.warmup) config.warmup_ns = 0;
  config.no_distribution = "the file says how popular they are";
  const auto not_reached = [&](std::string_view option, std::string_view what) {
    return fmt::format("{}: it does not reach --workload={}: the file says {}", option, config.workload.str(), what);
  };
  if (!defaults.keys) return not_reached("--keys", "which keys there are");
  if (!defaults.records) return not_reached("--records", "how many keys are loaded");
  if (config.negative > 0) return not_reached("--negative", "which keys are asked for");
  return "";
}

/// What a file of phases says in place of options; why those that were given do not reach it.
std::string take_phases(Config& config, const Workload& workload, const Defaults& defaults) {
  if (defaults.time) {
    config.ops = 0;
    for (const WorkloadPhase& phase : workload.phases()) config.ops += phase.operations;
  }
  const bool warms_up = !defaults.warmup && config.warmup_ns > 0;
  config.warmup_ns = 0;
  config.no_distribution = "the file says how popular they are";
  const std::string text = config.workload.str();
  if (warms_up) return fmt::format("--warmup: it does not reach --workload={}, where each phase is measured: make one its first", text);
  if (config.negative > 0) return fmt::format("--negative: it does not reach --workload={}: the file says what is read", text);
  return "";
}

/// Makes --isa an option of the index; why it cannot be one, if so.
std::string take_isa(Config& config, const Registry& registry) {
  if (config.isa.empty()) return "";
  const auto pair = std::ranges::find(registry.pairs(), config.index.name, &Pair::index);
  if (std::ranges::find(pair->index_options, "isa", &OptionAbout::key) == pair->index_options.end()) {
    return fmt::format("--isa: it does not reach {}, which has no kernels to choose from", config.index.name);
  }
  const auto is_isa = [](const auto& option) { return option.first == "isa"; };
  if (std::ranges::any_of(config.index.options, is_isa)) {
    return fmt::format("--isa: --index={} says which, too", config.index.str());
  }
  // A word that there is none of is wrong in itself; with one that the other options do not bear the combination is at fault.
  const Spec alone{.name = config.index.name, .arg = {}, .options = {{"isa", config.isa}}};
  (void)named("--isa", [&] { return pair->resolve_index(alone); });
  config.index.options.emplace_back("isa", std::exchange(config.isa, ""));
  try {
    config.index_options = pair->resolve_index(config.index);
  } catch (const InputError& error) {
    config.index_options.clear();   // none is in effect
    return fmt::format("--isa: {}", error.what());
  }
  return "";
}

/// The nodes that --mem means: those without memory are none, where the topology tells. Throws NoRoom for one that is not there.
std::vector<u32> nodes_meant(const Config& config, const Topology& topology) {
  const Mem& mem = config.mem;
  const bool tells = std::ranges::any_of(topology.nodes, [](const MemoryNode& node) { return node.bytes > 0; });
  std::vector<u32> usable;
  for (const MemoryNode& node : topology.nodes) {
    if (node.allowed && (node.bytes > 0 || !tells)) usable.push_back(node.os);
  }
  const bool all = mem.kind == PagePlacement::Kind::kInterleave && !mem.of_pin;
  const std::vector<u32> meant = all ? usable : mem.of_pin ? nodes_of_pin(topology, config) : mem.nodes;
  for (const u32 wanted : meant) {
    const auto node = std::ranges::find(topology.nodes, wanted, &MemoryNode::os);
    if (std::ranges::count(usable, wanted) != 0) continue;
    throw NoRoom(fmt::format("--mem={}: {}; this process may use {}", mem.text,
                             node == topology.nodes.end() ? fmt::format("there is no node {}", wanted)
                             : node->allowed              ? fmt::format("node {} has no memory", wanted)
                                                          : fmt::format("node {} is not allowed", wanted),
                             usable.size() == 1 ? fmt::format("node {} only", usable[0])
                                                : fmt::format("nodes {}", fold_numbers(usable))));
  }
  return meant;
}

}  // namespace

void place_memory(Config& config, const Topology& topology) {
  config.mem.nodes = nodes_meant(config, topology);
  PagePlacement wanted{.kind = config.mem.kind, .nodes = config.mem.nodes};
  if (wanted.kind == PagePlacement::Kind::kLocal) wanted.nodes = nodes_of_seats(topology, seat(topology, config));
  if (wanted.kind == PagePlacement::Kind::kFirstTouch) return;
  if (topology.nodes.size() == 1) {
    config.not_placed = "there is one NUMA node";
  } else if (!topology.this_system) {
    config.not_placed = "the topology describes another machine";
  } else if (const auto refusal = why_not_placed(wanted)) {
    config.not_placed = config.mem_degraded = "--mem: " + *refusal;
  } else {
    config.pages = wanted;
    config.not_placed.clear();
  }
}

Spec index_meant(Spec index, const Registry& registry) {
  using Option = std::pair<std::string, std::string>;
  const auto member = std::ranges::find_if(registry.pairs(), [&](const Pair& pair) {
    return pair.meant_by.index == index.name && std::ranges::count(index.options, pair.meant_by.option, &Option::first) != 0;
  });
  if (member == registry.pairs().end()) return index;
  for (const auto& [key, value] : index.options) {
    if (std::ranges::count(member->index_options, key, &OptionAbout::key) != 0) continue;
    throw InputError(fmt::format("--index: '{}' is {}, by its option {}, and that has no option {}", index.str(), member->index,
                                 member->meant_by.option, key));
  }
  index.name = member->index;
  return index;
}

Spec in_effect(const Spec& sync, const Registry& registry) {
  for (const Pair& pair : registry.pairs()) {
    if (pair.policy != sync.name) continue;
    return {.name = sync.name, .arg = {}, .options = named("--sync", [&] { return pair.resolve(sync); })};
  }
  return sync;
}

Spec index_in_effect(const Spec& index, const Registry& registry) {
  const auto pair = std::ranges::find(registry.pairs(), index.name, &Pair::index);
  if (pair == registry.pairs().end()) return index;
  return {.name = index.name, .arg = {}, .options = named("--index", [&] { return pair->resolve_index(index); })};
}

std::string complete_and_check(Config& config, const Defaults& defaults, const Surroundings& surroundings,
                               CapacityOfKeys& capacities) {
  surroundings.registry.check_words(config.index.name, config.sync.name);
  config.index_options = index_in_effect(config.index, surroundings.registry).options;
  const std::string no_isa = take_isa(config, surroundings.registry);
  (void)in_effect(config.sync, surroundings.registry);
  if (config.pmu != kDefaultPmu) (void)pmu_events(config.pmu);   // throws for what there is not
  // What --fit takes for an answer where it is NoRoom, and goes on: a word that is wrong in itself comes before it.
  const auto fits = [&](auto&& look) {
    try {
      look();
    } catch (const NoRoom& error) {
      if (!config.fit) throw;
      if (config.no_room.empty()) config.no_room = error.what();
    }
  };
  fits([&] { config.groups = groups_of(surroundings.topology, config); });
  if (config.threads * config.groups > kMostThreads) {
    throw InputError(fmt::format("--threads-per: {} threads in each of {} {}s are more than {}", config.threads, config.groups,
                                 word(config.threads_per), kMostThreads));
  }
  config.threads *= config.groups;
  fits([&] {
    const Seats seats = seat(surroundings.topology, config);
    if (!config.fit || !seats.oversubscribed) return;
    throw NoRoom(fmt::format("{} threads would share {}", seats.threads(),
                             seats.processors == 1 ? "one processor" : fmt::format("{} processors", seats.processors)));
  });
  fits([&] { place_memory(config, surroundings.topology); });
  const u64 memory_available = std::min(surroundings.memory_available, available_memory_on(config.pages));
  (void)named("--dist", [&] { return Distribution(config.distribution); });   // also where another will take its place
  const Churn churn = named("--churn", [&] { return Churn::parse(config.churn); });
  const Workload workload = named("--workload", [&] { return Workload(config.workload, 0); });
  const Mix& mix = workload.mix();
  const bool inserts = mix.fills();
  const bool by_file = workload.by_file();
  if (!draws_keys(mix)) config.no_distribution = "it takes the records in turn";
  if (defaults.dist && !mix.usual_distribution().empty()) config.distribution = Spec::parse(mix.usual_distribution());

  const bool warmup_is_lost = inserts && !defaults.warmup && config.warmup_ns > 0;
  if (inserts) {
    config.warmup_ns = 0;
  } else if (defaults.warmup) {
    config.warmup_ns = kDefaultWarmup;
  }
  if (defaults.time && !inserts && !by_file && workload.phases().empty()) config.time_ns = kDefaultTime;
  const std::string no_file = by_file                      ? take_file(config, workload, defaults)
                              : !workload.phases().empty() ? take_phases(config, workload, defaults)
                                                           : "";
  const bool open = config.rate || config.slo;
  if (open && defaults.latency) config.latency_every = 1;   // every call stands alone there anyway
  const u64 capacity = named("--keys", [&] { return capacities.of(config.keys, memory_available); });
  if (defaults.records && !by_file) {
    // A mix that inserts needs keys that are not in the index.
    const u64 keys_left = !inserts && mix.has(OpKind::kInsert) ? capacity / 2 : capacity;
    config.records = std::min(default_records(memory_available, payload_places(config, workload, 1) * config.value_size),
                              std::max<u64>(keys_left, 1));
  } else if (config.records > capacity) {
    throw InputError(fmt::format("--records: --keys={} has distinct keys for {} records, not for {}", config.keys.str(), capacity,
                                 config.records));
  }
  if (const u64 least = least_bytes_per_key(config.keys); config.records > memory_available / least) {
    fits([&] {
      throw NoRoom(fmt::format("{}: {} keys take at least {:.0f} GB; {:.1f} GB of memory are available",
                               by_file ? "--workload" : "--records", config.records, static_cast<double>(config.records * least) / 1e9,
                               static_cast<double>(memory_available) / 1e9));
    });
  }

  // From here on every word is right by itself; what is left are combinations.
  const Pair* pair = nullptr;
  try {
    pair = &surroundings.registry.find(config.index.name, config.sync.name, config.key_kind());
  } catch (const InputError& error) {
    return error.what();
  }
  config.own_memory = pair->own_memory;
  if (!no_isa.empty()) return no_isa;
  if (!no_file.empty()) return no_file;
  config.index_degraded = pair->index_degraded(config.index).value_or("");
  config.widths = pair->widths(config.index);
  if (const u64 least = pair->least_bytes(config.index); least > memory_available) {
    fits([&] {
      throw NoRoom(fmt::format("--index: {} takes at least {:.0f} GB; {:.1f} GB of memory are available", config.index.str(),
                               static_cast<double>(least) / 1e9, static_cast<double>(memory_available) / 1e9));
    });
  }
  config.most_keys = pair->most_keys(config.index);
  // By default nine tenths of a table are filled.
  if (defaults.records && !inserts && !by_file) config.records = std::min(config.records, config.most_keys - config.most_keys / 10);
  if (!inserts && config.records > config.most_keys) {
    return fmt::format("--records: {} has {} slots, too few for {} records", config.index.str(), config.most_keys, config.records);
  }
  config.payloads = payload_places(config, workload, config.records);
  if (config.payloads != 0 && config.widths.value < 64) {
    return fmt::format("--value-size: {} keeps values of {} bits, too few to lead to payloads", config.index.str(),
                       config.widths.value);
  }
  fits([&] { check_room_for_payloads(config, memory_available); });
  // What a file inserts has keys in the file.
  if (mix.has(OpKind::kInsert) && !inserts && !mix.has(OpKind::kErase) && !by_file && config.records == capacity) {
    if (defaults.records) {
      return fmt::format("--keys: no key of {} is left to insert: all of them ({}) are loaded", config.keys.str(), capacity);
    }
    return fmt::format("--records: --keys={} has {} keys, too few for {} records and one to insert; write fewer",
                       config.keys.str(), capacity, config.records);
  }
  if (config.widths.key < bits_of(config.keys)) {
    return fmt::format("--keys: {0} holds keys of {1} bits; write --keys=u{1}", config.index.str(), config.widths.key);
  }
  if (!config.own_memory.empty() && !defaults.alloc) {
    return fmt::format("--alloc: it does not reach {}: {}", config.index.name, config.own_memory);
  }
  config.no_reclaim = pair->no_reclaim;
  if (!config.no_reclaim.empty() && !defaults.reclaim) {
    return fmt::format("--reclaim: it does not reach --sync={}: {}", config.sync.name, config.no_reclaim);
  }
  const bool from_malloc = !config.own_memory.empty() || calls_malloc(config.alloc);
  if (config.huge_pages == HugePages::kThp && from_malloc) {
    return !config.own_memory.empty()
               ? fmt::format("--hugepages: thp does not reach {}: {}", config.index.name, config.own_memory)
               : fmt::format("--hugepages: thp does not reach --alloc={}, which asks nobody for a page size",
                             word(config.alloc));
  }
  if (config.pin.kind == Pin::Kind::kList && !defaults.smt) {
    return fmt::format("--smt: it does not reach --pin={}, which names each processor", config.pin.text);
  }
  if (mix.has(OpKind::kScan) && !pair->ordered) {
    return fmt::format("--workload: {} is not ordered, so it has no scans", config.index.name);
  }
  if (mix.has(OpKind::kErase) && !pair->no_erase.empty()) {
    return fmt::format("--workload: {} does not erase: {}", config.index.name, pair->no_erase);
  }
  if (config.threads > 1 && !pair->many_writers && pair->learns) {
    return fmt::format("--sync: {} allows one writing thread, but --threads={} and {} learns from lookups", config.sync.name,
                       config.threads, config.index.name);
  }
  if (config.threads > 1 && writes(mix) && !pair->many_writers) {
    return fmt::format("--sync: {} allows one writing thread, but --threads={} and --workload={} writes",
                       config.sync.name, config.threads, config.workload.str());
  }
  if (config.negative > 0 && !mix.has(OpKind::kRead)) {
    return fmt::format("--negative: --workload={} reads nothing", config.workload.str());
  }
  if (open && config.batch.keys > 1) {
    return fmt::format("--batch: with --{} operations come one by one, not {} at a time; leave one of them out",
                       config.rate ? "rate" : "slo", config.batch.keys);
  }
  if (config.slo && config.rate) return "--slo: it looks for the rate that --rate gives; leave one of them out";
  if (config.slo && config.latency_every == 0) return "--slo: --latency=off times nothing; leave it out";
  if (config.slo && workload.trace()) {
    return fmt::format("--slo: --workload={} is over when all of it was replayed, and every rate would need it again",
                       config.workload.str());
  }
  if (config.slo && config.ops > 0 && config.ops / config.latency_every < config.slo->fewest_calls()) {
    return fmt::format("--slo: {} needs {} timed calls, and of --ops={} with --latency={} there are {}", config.slo->str(),
                       config.slo->fewest_calls(), config.ops, latency_text(config.latency_every),
                       config.ops / config.latency_every);
  }
  if (config.slo && inserts) return "--slo: --workload=insert fills the index once, and every rate would need an empty one";
  if (config.batch.keys > 1) {
    const auto only = mix.only();
    const bool reads = only == static_cast<std::size_t>(OpKind::kRead);
    if (!reads && only != static_cast<std::size_t>(OpKind::kInsert) && only != static_cast<std::size_t>(OpKind::kUpdate) &&
        only != static_cast<std::size_t>(OpKind::kErase)) {
      return fmt::format("--batch: --workload={} is not of one kind: all lookups, inserts, updates or erasures",
                         config.workload.str());
    }
    if (!pair->no_batch.empty()) return fmt::format("--batch: it does not reach {}: {}", config.index.name, pair->no_batch);
    if (config.batch.order == BatchOrder::kSideBySide && !(reads ? pair->side_by_side : pair->hints)) {
      return fmt::format("--batch: {} of {} do not go side by side; write --batch={}:in-turn", reads ? "lookups" : "changes",
                         config.index.name, config.batch.keys);
    }
  }
  if (warmup_is_lost) {
    return fmt::format("--warmup: --workload={} has none: it begins with an empty index", config.workload.str());
  }
  if (!config.no_distribution.empty() && !defaults.dist) {
    return fmt::format("--dist: it does not reach --workload={}: {}", config.workload.str(),
                       config.no_distribution);
  }
  if (churn.kind != Churn::Kind::kNone && !config.no_distribution.empty()) {
    return fmt::format("--churn: it does not reach --workload={}: {}", config.workload.str(), config.no_distribution);
  }
  const Distribution distribution(config.distribution);
  if (churn.kind == Churn::Kind::kDrift && distribution.alike()) {
    return fmt::format("--churn: under --dist={} no rank is more popular than another, so none can drift", config.distribution.str());
  }
  if (churn.kind == Churn::Kind::kFlash && distribution.by_age() && mix.has(OpKind::kInsert)) {
    return fmt::format("--churn: a flash crowd addresses the same records for a while, but under --dist={} every insert makes all of "
                       "them older", config.distribution.str());
  }
  if (config.no_distribution.empty()) {
    try {
      (void)distribution.law(config.records);
    } catch (const InputError& error) {
      return fmt::format("--dist: {}", error.what());
    }
  }
  if (!config.no_room.empty()) return config.no_room;
  const std::string accessed_stay = config.clear_accessed_ns == 0 ? "" : why_accessed_stay().value_or("");
  for (const std::string& why : {config.index_degraded, config.mem_degraded, accessed_stay}) {
    if (config.strict && !why.empty()) throw InputError("--strict: the result would be degraded: " + why);
  }
  if (config.strict && (pair->elides_reads || writes(mix))) {
    if (const auto why = pair->degraded(config.sync)) {
      throw InputError("--strict: the result would be degraded: " + *why);
    }
  }
  return "";
}

u64 CapacityOfKeys::of(const Spec& keys, u64 memory) {
  const std::string text = keys.str();
  for (const auto& [known, capacity] : known_) {
    if (known == text) return capacity;
  }
  const u64 capacity = KeySet(keys, 0, memory).capacity();
  known_.emplace_back(text, capacity);
  return capacity;
}

}  // namespace latchlab
