#include "harness/host/placement.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

/// The size of a mask, 8192 processors: the kernel's limit. With the 1024 of cpu_set_t the calls fail on larger
/// machines.
constexpr size_t kMaskProcessors = 8192;

class Mask {
 public:
  Mask() : set_(CPU_ALLOC(kMaskProcessors), [](cpu_set_t* set) { CPU_FREE(set); }) { CPU_ZERO_S(bytes(), set_.get()); }

  static size_t bytes() { return CPU_ALLOC_SIZE(kMaskProcessors); }
  cpu_set_t* get() { return set_.get(); }
  void add(u32 cpu) {
    if (cpu < kMaskProcessors) CPU_SET_S(cpu, bytes(), set_.get());
  }

 private:
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

std::vector<Processor> allowed(const Topology& topology) {
  std::vector<Processor> out;
  std::ranges::copy_if(topology.processors, std::back_inserter(out), &Processor::allowed);
  return out;
}

/// Returns the first sort key of a processor: with --smt=avoid its number within its core, else the same for all.
u32 rank_of(const Processor& p, Smt smt) { return smt == Smt::kAvoid ? p.smt : 0; }

/// Sorts by rank only; `processors` must be in the order of the topology, neighbours next to each other.
std::vector<Processor> compact(std::vector<Processor> processors, Smt smt) {
  std::ranges::stable_sort(processors, {}, [&](const Processor& p) { return rank_of(p, smt); });
  return processors;
}

/// Alternates between groups: the first processor of each group comes before the second of any. It works from the
/// innermost level out, so that sockets alternate fastest.
std::vector<Processor> scatter(const std::vector<Processor>& processors, Smt smt) {
  using Rank = std::tuple<u32, u32, u32, u32>;
  std::map<std::pair<u32, u32>, u32> seen;         // (cluster, rank) -> processors so far
  std::map<std::tuple<u32, u32, u32>, u32> ranks;  // (socket, rank, position in cluster) -> clusters so far
  std::map<Rank, Processor> order;
  for (const Processor& p : processors) {
    const u32 rank = rank_of(p, smt);
    const u32 place_in_cluster = seen[{p.cluster, rank}]++;
    const u32 cluster_in_socket = ranks[{p.socket, rank, place_in_cluster}]++;
    order[{rank, place_in_cluster, cluster_in_socket, p.socket}] = p;
  }
  std::vector<Processor> out;
  for (const auto& [rank, p] : order) out.push_back(p);
  return out;
}

/// A level of the topology at which processors form groups.
struct Level {
  std::string_view name;
  u32 Processor::* number;
  u32 count;
};

/// Returns the allowed processors of the groups that `pin` names, group by group.
std::vector<Processor> within(const Topology& topology, const Pin& pin, const Level& level) {
  std::vector<Processor> inside;
  for (const u32 number : pin.numbers) {
    if (number >= level.count) {
      throw NoRoom(fmt::format("--pin={}: there is no {} {}; this machine has {}", pin.text, level.name, number,
                               level.count == 1 ? fmt::format("{} 0 only", level.name)
                                                : fmt::format("{}s 0-{}", level.name, level.count - 1)));
    }
    const std::size_t before = inside.size();
    std::ranges::copy_if(allowed(topology), std::back_inserter(inside),
                         [&](const Processor& p) { return p.*level.number == number; });
    if (inside.size() == before) {
      throw NoRoom(fmt::format("--pin={}: no processor of {} {} is allowed; this process may use {}", pin.text,
                               level.name, number, topology.allowed_list()));
    }
  }
  return inside;
}

std::vector<Processor> from_list(const Topology& topology, const Pin& pin) {
  std::vector<Processor> listed;
  for (const u32 cpu : pin.numbers) {
    const auto found = std::ranges::find(topology.processors, cpu, &Processor::os);
    if (found == topology.processors.end()) {
      std::vector<u32> all;
      for (const Processor& p : topology.processors) all.push_back(p.os);
      std::ranges::sort(all);
      throw NoRoom(
          fmt::format("--pin={}: there is no processor {}; this machine has {}", pin.text, cpu, fold_numbers(all)));
    }
    if (!found->allowed) {
      throw NoRoom(
          fmt::format("--pin={}: processor {} is outside the allowed mask {}", pin.text, cpu, topology.allowed_list()));
    }
    listed.push_back(*found);
  }
  return listed;
}

std::vector<Processor> order_of(const Topology& topology, const Pin& pin, Smt smt) {
  switch (pin.kind) {
    case Pin::Kind::kScatter: return scatter(allowed(topology), smt);
    case Pin::Kind::kCluster:
      return compact(within(topology, pin, {"cluster", &Processor::cluster, topology.clusters}), smt);
    case Pin::Kind::kSocket:
      return compact(within(topology, pin, {"socket", &Processor::socket, topology.sockets}), smt);
    case Pin::Kind::kList: return from_list(topology, pin);
    case Pin::Kind::kCompact: break;
  }
  return compact(allowed(topology), smt);
}

/// Returns the processors of each group, in the order in which they are used.
std::vector<std::vector<u32>> group(const Topology& topology, const Config& config) {
  const std::vector<Processor> order = order_of(topology, config.pin, config.smt);
  if (order.empty()) throw InputError("no processor is allowed: check the affinity mask of this process");
  std::vector<std::vector<u32>> groups;
  std::map<u32, std::size_t> known;
  for (const Processor& p : order) {
    const u32 number = config.threads_per == ThreadsPer::kCluster  ? p.cluster
                       : config.threads_per == ThreadsPer::kSocket ? p.socket
                                                                   : 0;
    const std::size_t at = known.emplace(number, groups.size()).first->second;
    if (at == groups.size()) groups.emplace_back();
    groups[at].push_back(p.os);
  }
  return groups;
}

}  // namespace

std::vector<u32> nodes_of_pin(const Topology& topology, const Config& config) {
  std::set<u32> nodes;
  for (const Processor& p : order_of(topology, config.pin, config.smt)) nodes.insert(topology.nodes[p.node].os);
  return {nodes.begin(), nodes.end()};
}

u32 groups_of(const Topology& topology, const Config& config) {
  return static_cast<u32>(group(topology, config).size());
}

Seats seat(const Topology& topology, const Config& config) {
  const std::vector<std::vector<u32>> groups = group(topology, config);
  const u32 each = config.threads / static_cast<u32>(groups.size());
  Seats out;
  for (const std::vector<u32>& cpus : groups) {
    for (u32 t = 0; t < each; ++t) out.cpus.push_back(cpus[t % cpus.size()]);
  }
  out.processors = static_cast<u32>(std::set<u32>(out.cpus.begin(), out.cpus.end()).size());
  out.oversubscribed = out.threads() > out.processors;
  out.binds = topology.this_system;
  for (const std::vector<u32>& cpus : groups) {
    for (const u32 cpu : cpus) {
      if (std::ranges::count(out.cpus, cpu) == 0) out.free.push_back(cpu);
    }
  }
  return out;
}

Plan plan_of(const Config& config, const Topology& topology) {
  Plan plan;
  plan.config = config;
  plan.workload = std::make_shared<Workload>(config.workload, config.negative);
  plan.seats = seat(topology, config);
  plan.nodes = static_cast<u32>(nodes_of_seats(topology, plan.seats).size());
  return plan;
}

std::vector<u32> nodes_of_seats(const Topology& topology, const Seats& seats) {
  std::set<u32> nodes;
  for (const Processor& p : topology.processors) {
    if (std::ranges::count(seats.cpus, p.os) != 0) nodes.insert(topology.nodes[p.node].os);
  }
  return {nodes.begin(), nodes.end()};
}

bool pin_this_thread(u32 cpu) {
  Mask mask;
  mask.add(cpu);
  return sched_setaffinity(0, Mask::bytes(), mask.get()) == 0;
}

std::optional<u32> this_cpu() {
  const int cpu = sched_getcpu();
  return cpu >= 0 ? std::optional(static_cast<u32>(cpu)) : std::nullopt;
}

std::vector<ThreadPlacement> thread_places(const Topology& topology, const Seats& seats,
                                           const std::vector<std::optional<u32>>& seen_on, const std::string& unseen) {
  std::vector<ThreadPlacement> places;
  for (u32 t = 0; t < seats.threads(); ++t) {
    ThreadPlacement place;
    place.requested_cpu = seats.cpus[t];
    place.observed_cpu = place.socket = place.node = place.cluster = place.core = OrReason<u32>::missing(unseen);
    if (seen_on[t]) place.observed_cpu = *seen_on[t];
    for (const Processor& p : topology.processors) {
      if (!place.observed_cpu || p.os != *place.observed_cpu) continue;
      place.socket = p.socket;
      place.node = topology.nodes[p.node].os;
      place.cluster = p.cluster;
      place.core = p.core;
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<u64> sample_of(u64 pages, u64 most) {
  const u64 stratum = pages / most + (pages % most != 0);
  std::vector<u64> sample;
  for (u64 first = 0; first < pages; first += stratum) {
    const u64 page = first + bounded(mix64(first), stratum);
    if (page < pages) sample.push_back(page);  // in the last, shorter stratum each page is as likely as in the others
  }
  return sample;
}

OrReason<PageNodes> page_nodes_of(const std::vector<ChunkSource::Chunk>& chunks, u64 most_pages) {
  u64 all = 0;
  for (const ChunkSource::Chunk& chunk : chunks) all += chunk.bytes / kSmallPageBytes;
  if (all == 0) return OrReason<PageNodes>::missing("the index has no memory");
  std::vector<void*> pages;
  auto chunk = chunks.begin();
  u64 before = 0;  // pages of the chunks before this one
  for (const u64 page : sample_of(all, most_pages)) {
    for (; page - before >= chunk->bytes / kSmallPageBytes; ++chunk) before += chunk->bytes / kSmallPageBytes;
    pages.push_back(static_cast<char*>(chunk->start) + (page - before) * kSmallPageBytes);
  }
  const std::optional<std::vector<int>> nodes = nodes_of(pages);
  if (!nodes)
    return OrReason<PageNodes>::missing(fmt::format("the kernel does not say (move_pages: {})", std::strerror(errno)));
  std::map<int, u64> counts;
  for (const int node : *nodes) ++counts[node];
  counts.erase(-1);
  PageNodes out;
  for (const auto& [node, count] : counts) out.pages += count;
  for (const auto& [node, count] : counts) {
    out.shares.push_back(
        {.node = static_cast<u32>(node), .share = static_cast<double>(count) / static_cast<double>(out.pages)});
  }
  if (out.pages == 0) return OrReason<PageNodes>::missing("no page of the index has been touched");
  return out;
}

}  // namespace latchlab
