#include "harness/commands/machine_survey.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "harness/host/interrupt.h"
#include "harness/host/placement.h"
#include "src/arch/cache_kind.h"
#include "src/base/error.h"
#include "src/memory/numa.h"
#include "src/memory/page_source.h"

namespace latchlab {

namespace {

using model::Distance;

constexpr u64 kKiB = 1024;
constexpr u32 kHandedOver = 256;  // lines that pass from one core to another: half of an L1
constexpr u32 kHandovers = 200;
constexpr u32 kWindows = 20;
constexpr u32 kTouches = 256;  // pages between two readings of the clock
constexpr u32 kRoundsOfTouches = 32;

/// Where a cluster is, and one allowed processor of each of its cores, by the kernel's numbers.
struct Cluster {
  u32 socket = 0;
  u32 node = 0;  // the kernel's number
  std::vector<u32> cpus;
  u32 processors = 0;  // allowed or not
};

/// Returns the clusters that have allowed processors, socket by socket.
std::vector<Cluster> clusters_of(const Topology& topology) {
  std::map<std::pair<u32, u32>, Cluster> found;
  std::set<u32> cores;
  for (const Processor& p : topology.processors) {
    Cluster& cluster = found[{p.socket, p.cluster}];
    ++cluster.processors;
    cluster.socket = p.socket;
    cluster.node = topology.nodes[p.node].os;
    if (p.allowed && cores.insert(p.core).second) cluster.cpus.push_back(p.os);
  }
  std::vector<Cluster> out;
  for (const auto& [number, cluster] : found) {
    if (!cluster.cpus.empty()) out.push_back(cluster);
  }
  return out;
}

/// Returns the number that all counts are; 0 if they differ.
template <class Key>
u32 same_count(const std::map<Key, std::set<u32>>& groups) {
  const std::size_t first = groups.begin()->second.size();
  for (const auto& [key, members] : groups) {
    if (members.size() != first) return 0;
  }
  return static_cast<u32>(first);
}

class Measurement {
 public:
  Measurement(const LimitsPlan& plan, const Topology& topology, MachineSurvey& out)
      : footprint_(plan.footprint), time_ns_(plan.time_ns), clusters_(clusters_of(topology)), out_(out) {
    if (topology.nodes.size() > 1) refused_ = why_mbind_refused();
    on_nodes_ = topology.nodes.size() > 1 && !refused_;
  }

  void run() {
    measure_clock();
    measure_caches();
    measure_memory();
    measure_bandwidth();
    measure_transfers();
  }
  [[nodiscard]] const Cluster& first() const { return clusters_.front(); }

 private:
  static LimitsPlan plan_on(std::vector<u32> cpus, u64 time_ns) {
    LimitsPlan plan;
    plan.cpus = std::move(cpus);
    plan.time_ns = time_ns;
    return plan;
  }
  PagePlacement on(u32 node) const {
    return on_nodes_ ? PagePlacement{.kind = PagePlacement::Kind::kBind, .nodes = {node}} : PagePlacement{};
  }
  /// Returns the cluster at this distance of the first one; null if there is none.
  const Cluster* at(Distance distance) const {
    const auto found = std::ranges::find_if(clusters_, [&](const Cluster& other) {
      switch (distance) {
        case Distance::kLocal: return true;
        case Distance::kCluster: return &other != &first() && other.socket == first().socket;
        case Distance::kSocket: return other.socket != first().socket;
      }
      return false;
    });
    return found == clusters_.end() ? nullptr : &*found;
  }
  static std::string why_none(Distance distance) {
    return distance == Distance::kCluster ? "unused with one cluster a socket" : "unused with one socket";
  }
  /// Returns the size of a data cache of the first core.
  OrReason<u64> cache_bytes(u32 level) const {
    for (const CacheInfo& cache : out_.caches) {
      if (cache.level == level && cache.type != "instruction") return cache.bytes;
    }
    return OrReason<u64>::missing(fmt::format("the kernel lists no L{} cache", level));
  }

  void measure_clock() {
    std::vector<u32> cpus;
    std::vector<double> cycles;
    const LineBuffer buffer(4 * kKiB, HugePages::kNone, {});
    for (const Cluster& cluster : clusters_) {
      if (cluster.socket != first().socket) continue;
      for (const u32 cpu : cluster.cpus) {
        cpus.push_back(cpu);
        const Limits limits = measure_limits(plan_on(cpus, time_ns_ / 10), buffer);
        if (!limits.cycle_ns) {
          out_.cycle_ns = OrReason<std::vector<double>>::missing(limits.cycle_ns.reason);
          return;
        }
        cycles.push_back(*limits.cycle_ns);
      }
    }
    out_.cycle_ns = std::move(cycles);
  }

  /// Returns the limits of one thread of the first cluster, on memory of a node. The pages must be of the size asked
  /// for.
  Limits limits_of(u64 bytes, HugePages pages, u32 node) const {
    if (stop_requested()) return no_limits("interrupted");
    try {
      const PageUse before = page_use();
      const LineBuffer buffer(bytes, pages, on(node));
      const bool huge = page_bytes_between(before, page_use()).value.value_or(0) > kSmallPageBytes;
      if (huge != (pages == HugePages::kThp)) {
        return no_limits(huge ? "the kernel gives huge pages only" : "the kernel gives no huge pages");
      }
      return measure_limits(plan_on({first().cpus.front()}, time_ns_), buffer);
    } catch (const std::bad_alloc&) {
      return no_limits("no memory for the buffer");
    }
  }
  /// Returns the time of a line of a cache. A cycle over several times the cache above finds next to nothing there, and
  /// one over a fraction of this cache finds all here.
  OrReason<MachineSurvey::Level> level_of(u32 level) const {
    using Level = MachineSurvey::Level;
    const OrReason<u64> own = cache_bytes(level);
    // Half of L1, which has no cache above.
    const OrReason<u64> above = level == 1 ? then(own, [](u64 bytes) { return bytes / 4; }) : cache_bytes(level - 1);
    for (const OrReason<u64>* size : {&own, &above}) {
      if (!*size) return OrReason<Level>::missing(size->reason);
    }
    const double mean = std::sqrt(static_cast<double>(*own) * static_cast<double>(*above));
    const u64 bytes = static_cast<u64>(mean) / sizeof(Line) * sizeof(Line);
    return then(limits_of(bytes, HugePages::kThp, first().node).chase_ns,
                [&](double ns) { return Level{.bytes = bytes, .ns = ns}; });
  }
  void measure_caches() {
    out_.l1 = level_of(1);
    out_.l2 = level_of(2);
    out_.l3 = level_of(3);
  }

  void measure_memory() {
    for (u32 i = 0; i < model::kDistances; ++i) {
      const auto distance = static_cast<Distance>(i);
      OrReason<MachineSurvey::Level>& level = out_.memory[i];
      const Cluster* const home = at(distance);
      if (home == nullptr) {
        level = OrReason<MachineSurvey::Level>::missing(why_none(distance));
      } else if (distance != Distance::kLocal && home->node == first().node) {
        level = out_.memory[0];  // both clusters have the same memory
      } else if (distance != Distance::kLocal && !on_nodes_) {
        level = OrReason<MachineSurvey::Level>::missing(fmt::format("mbind is refused: {}", refused_.value_or("")));
      } else {
        const Limits limits = limits_of(footprint_, HugePages::kThp, home->node);
        level = then(limits.chase_ns, [&](double ns) { return MachineSurvey::Level{.bytes = footprint_, .ns = ns}; });
        if (distance == Distance::kLocal) out_.independent_ns = limits.independent_ns;
      }
    }
    out_.small_pages_ns = limits_of(footprint_, HugePages::kNone, first().node).chase_ns;
  }

  OrReason<double> gb_of(const std::vector<u32>& cpus, const PagePlacement& placement) const {
    if (stop_requested()) return OrReason<double>::missing("interrupted");
    try {
      const LineBuffer buffer(footprint_, HugePages::kThp, placement);
      // The threads of a window begin together, so the best window is one in which none was descheduled.
      double best = 0;
      for (u32 i = 0; i < kWindows && !stop_requested(); ++i)
        best = std::max(best, read_gb_of(plan_on(cpus, time_ns_ / kWindows), buffer));
      return best;
    } catch (const std::bad_alloc&) {
      return OrReason<double>::missing("no memory for the buffer");
    }
  }
  void measure_bandwidth() {
    // Clusters of one node share its channels.
    std::vector<u32> on_node, on_socket;
    double sharing = 0;
    for (const Cluster& cluster : clusters_) {
      if (cluster.node == first().node) {
        on_node.insert(on_node.end(), cluster.cpus.begin(), cluster.cpus.end());
        ++sharing;
      }
      if (cluster.socket == first().socket) on_socket.insert(on_socket.end(), cluster.cpus.begin(), cluster.cpus.end());
    }
    out_.gb_per_cluster = then(gb_of(on_node, on(first().node)), [&](double gb) { return gb / sharing; });
    const Cluster* const far = at(Distance::kSocket);
    if (far == nullptr) {
      out_.gb_over_link = OrReason<double>::missing(why_none(Distance::kSocket));
    } else if (!on_nodes_ || far->node == first().node) {
      out_.gb_over_link = OrReason<double>::missing("memory cannot be bound to the other socket");
    } else {
      out_.gb_over_link = gb_of(on_socket, on(far->node));
    }
  }

  /// Passes lines to and fro between two cores. The barrier orders the phases, so all accesses are plain or relaxed.
  void hand_over(Distance distance, u32 from, u32 to) {
    // The first lines of a long cycle lie far apart, so no prefetcher brings one with another.
    const LineBuffer buffer(kHugePageBytes, HugePages::kThp, on(first().node));
    Line* const lines = buffer.lines();
    const auto for_each_line = [&](auto&& visit) {
      u64 at = 0;
      for (u32 i = 0; i < kHandedOver; ++i) {
        visit(lines[at]);
        at = lines[at].next;
      }
      keep(at);
    };
    double written = std::numeric_limits<double>::infinity(), taken = written;
    const auto timed = [&](double& best, auto&& visit) {
      const u64 begin = wall_clock().now();
      for_each_line(visit);
      best = std::min(best, static_cast<double>(wall_clock().now() - begin) / kHandedOver);
    };
    const auto add = [](Line& line) { std::atomic_ref<u64>(line.rest[0]).fetch_add(1, kRelaxed); };
    on_seats(plan_on({from, to}, 0), [&](u32 t, Barrier& barrier) {
      for (u32 round = 0; round < kHandovers; ++round) {
        if (t == 0) for_each_line(add);
        barrier.arrive_and_wait();
        if (t == 1) timed(written, [](Line&) {});
        barrier.arrive_and_wait();
        if (t == 0) for_each_line([](Line&) {});
        barrier.arrive_and_wait();
        if (t == 1) timed(taken, add);
        barrier.arrive_and_wait();
      }
    });
    out_.written_elsewhere_ns[static_cast<u32>(distance)] = written;
    out_.taken_from_reader_ns[static_cast<u32>(distance)] = taken;
  }
  void measure_transfers() {
    for (u32 i = 0; i < model::kDistances; ++i) {
      const auto distance = static_cast<Distance>(i);
      const Cluster* const other = at(distance);
      const bool alone = distance == Distance::kLocal && first().cpus.size() == 1;
      if (other != nullptr && !alone && !stop_requested()) {
        hand_over(distance, distance == Distance::kLocal ? first().cpus.back() : other->cpus.front(),
                  first().cpus.front());
        continue;
      }
      const std::string why = other == nullptr ? why_none(distance) : alone ? "unused with one core" : "interrupted";
      out_.written_elsewhere_ns[i] = out_.taken_from_reader_ns[i] = OrReason<double>::missing(why);
    }
  }

  const u64 footprint_;
  const u64 time_ns_;
  const std::vector<Cluster> clusters_;
  std::optional<std::string> refused_;
  bool on_nodes_ = false;
  MachineSurvey& out_;
};

/// Returns the median time, in ns, of the steps of each round.
template <class Round>
double median_of_rounds(u32 rounds, u32 steps, Round&& round) {
  std::vector<double> times;
  for (u32 i = 0; i < rounds && (i == 0 || !stop_requested()); ++i) {
    const u64 begin = wall_clock().now();
    round(i);
    times.push_back(static_cast<double>(wall_clock().now() - begin) / steps);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Returns the time of the first touch of a page.
OrReason<double> fault_ns(bool huge) {
  const u64 page = huge ? kHugePageBytes : kSmallPageBytes;
  const u32 steps = huge ? 1 : kTouches;
  const u64 bytes = page * steps * kRoundsOfTouches;
  if (huge && !system_pages().grants_huge_pages()) return OrReason<double>::missing("the kernel gives no huge pages");
  const PageSource::Mapping mapping = system_pages().map(bytes, huge, {});
  if (mapping.start == nullptr) return OrReason<double>::missing("no memory for the pages");
  auto* const first = static_cast<volatile unsigned char*>(mapping.start);
  const PageUse before = page_use();
  const double ns = median_of_rounds(kRoundsOfTouches, steps, [&](u32 round) {
    for (u32 i = 0; i < steps; ++i) first[(u64{round} * steps + i) * page] = 1;
  });
  const u64 seen = page_bytes_between(before, page_use()).value.value_or(kSmallPageBytes);
  system_pages().unmap(mapping.start, bytes);
  if (huge && seen == kSmallPageBytes) return OrReason<double>::missing("the kernel gives no huge pages");
  return ns;
}

/// Returns the time of an mprotect that makes one page more usable, as the heap of a thread grows.
OrReason<double> protect_ns() {
  constexpr u64 kBytes = u64{kSmallPageBytes} * kTouches * kRoundsOfTouches;
  void* const start = system_pages().reserve(kBytes);
  if (start == nullptr) return OrReason<double>::missing("no addresses for the pages");
  char* at = static_cast<char*>(start);
  bool refused = false;
  const double ns = median_of_rounds(kRoundsOfTouches, kTouches, [&](u32) {
    for (u32 i = 0; i < kTouches; ++i, at += kSmallPageBytes) {
      refused |= mprotect(at, kSmallPageBytes, PROT_READ | PROT_WRITE) != 0;
    }
  });
  system_pages().unmap(start, kBytes);
  return refused ? OrReason<double>::missing("mprotect fails") : OrReason<double>(ns);
}

/// Returns the ways of a cache of a processor, by the kernel's number.
OrReason<u32> ways_of(u32 cpu, u32 level) {
  const std::string caches = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index", cpu);
  for (u32 i = 0; const auto of_level = read_fact({}, fmt::format("{}{}/level", caches, i)); ++i) {
    const std::string folder = fmt::format("{}{}", caches, i);
    if (*of_level != fmt::format("{}", level) || read_fact({}, folder + "/type") == "Instruction") continue;
    const u64 ways = parse_u64(read_fact({}, folder + "/ways_of_associativity").value_or("")).value_or(0);
    if (ways != 0) return static_cast<u32>(ways);
  }
  return OrReason<u32>::missing(fmt::format("the kernel does not list the ways of L{}", level));
}

OrReason<double> tick_hz() {
  timespec period{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &period) != 0 || period.tv_sec != 0 || period.tv_nsec == 0)
    return OrReason<double>::missing("the kernel does not tell its tick");
  return 1e9 / static_cast<double>(period.tv_nsec);
}

}  // namespace

model::Parameters::Topology shape_of(const Topology& topology) {
  std::map<u32, std::set<u32>> clusters_of_socket;
  std::map<std::pair<u32, u32>, std::set<u32>> cores_of_cluster;
  std::map<u32, std::set<u32>> threads_of_core;
  for (const Processor& p : topology.processors) {
    if (!p.allowed) continue;
    clusters_of_socket[p.socket].insert(p.cluster);
    cores_of_cluster[{p.socket, p.cluster}].insert(p.core);
    threads_of_core[p.core].insert(p.os);
  }
  const model::Parameters::Topology shape{.sockets = static_cast<u32>(clusters_of_socket.size()),
                                          .clusters = same_count(clusters_of_socket),
                                          .cores = same_count(cores_of_cluster),
                                          .threads = same_count(threads_of_core)};
  const std::size_t cores = threads_of_core.size(), clusters = cores_of_cluster.size();
  const auto fail = [&](std::string_view why) {
    return InputError(
        fmt::format("limits: --write-machine: {}; choose processors by taskset ({})", why, topology.describe()));
  };
  if (shape.clusters == 0 || shape.cores == 0 || shape.threads == 0)
    throw fail("the model has equal sockets, clusters and cores, and this machine has not");
  if (cores > model::kMostCores || clusters > model::kMostClusters) {
    throw fail(fmt::format("the model has at most {} cores in {} clusters, and this machine has {} in {}",
                           model::kMostCores, model::kMostClusters, cores, clusters));
  }
  return shape;
}

MachineSurvey survey_machine(const LimitsPlan& plan, const Topology& topology, const Survey& limits,
                             Progress& progress) {
  MachineSurvey out;
  out.shape = shape_of(topology);
  out.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(time(nullptr)));
  out.model = limits.machine.model.value.value_or("a processor without a name");
  out.vendor = read_fact({}, "/proc/cpuinfo", "vendor_id").value_or("");
  out.notes = limits.all_notes();
  out.caches = limits.machine.caches;
  out.numa_balancing = limits.machine.numa_balancing;
  const std::optional<bool> inclusive = l3_is_inclusive();
  out.l3_inclusive =
      inclusive ? OrReason<bool>(*inclusive) : OrReason<bool>::missing("CPUID does not describe the L3 cache");
  out.transaction_ns = limits.limits.transaction_ns;
  out.fetch_add_ns =
      limits.locks.empty() ? OrReason<double>::missing("interrupted, or no memory") : limits.locks.front().alone_ns;
  progress.begin("machine", 0, 0);
  Measurement measurement(plan, topology, out);
  for (const CacheInfo& cache : out.caches) {
    if (cache.level == 3 && cache.shared_by && *cache.shared_by > measurement.first().processors)
      out.l3_share = static_cast<double>(measurement.first().processors) / *cache.shared_by;
  }
  for (u32 level = 1; level <= out.ways.size(); ++level)
    out.ways[level - 1] = ways_of(measurement.first().cpus.front(), level);
  measurement.run();
  out.small_fault_ns = fault_ns(false);
  out.huge_fault_ns = fault_ns(true);
  out.protect_ns = protect_ns();
  out.tick_hz = tick_hz();
  progress.end();
  return out;
}

}  // namespace latchlab
