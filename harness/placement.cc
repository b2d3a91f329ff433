#include "harness/placement.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {
namespace {

/// Room for masks of 8192 processors, the kernel's limit: with cpu_set_t's 1024 the calls fail on larger
/// machines.
constexpr size_t kMaskProcessors = 8192;

class Mask {
 public:
  Mask() : set_(CPU_ALLOC(kMaskProcessors), [](cpu_set_t* set) { CPU_FREE(set); }) {
    CPU_ZERO_S(bytes(), set_.get());
  }

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
  for (const Processor& p : topology.processors) {
    if (p.allowed) out.push_back(p);
  }
  return out;
}

std::vector<u32> numbers(const std::vector<Processor>& processors) {
  std::vector<u32> out;
  for (const Processor& p : processors) out.push_back(p.os);
  return out;
}

std::vector<u32> compact(std::vector<Processor> processors) {
  std::stable_sort(processors.begin(), processors.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.smt, a.socket, a.node, a.cluster, a.core) <
           std::tie(b.smt, b.socket, b.node, b.cluster, b.core);
  });
  return numbers(processors);
}

/// Each processor's rank is its place within its group; taking all first ones before all second ones
/// alternates between the groups. From the innermost level out, so that sockets alternate fastest.
std::vector<u32> scatter(std::vector<Processor> processors) {
  using Rank = std::tuple<u32, u32, u32, u32>;
  std::map<std::pair<u32, u32>, u32> cores_seen;   // (cluster, smt) -> cores so far
  std::map<std::tuple<u32, u32, u32>, u32> ranks;  // (socket, smt, place in cluster) -> clusters so far
  std::vector<std::pair<Rank, u32>> order;
  std::stable_sort(processors.begin(), processors.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.socket, a.cluster, a.core, a.smt) < std::tie(b.socket, b.cluster, b.core, b.smt);
  });
  for (const Processor& p : processors) {
    const u32 place_in_cluster = cores_seen[{p.cluster, p.smt}]++;
    const u32 cluster_in_socket = ranks[{p.socket, p.smt, place_in_cluster}]++;
    order.push_back({{p.smt, place_in_cluster, cluster_in_socket, p.socket}, p.os});
  }
  std::sort(order.begin(), order.end());
  std::vector<u32> out;
  for (const auto& [rank, os] : order) out.push_back(os);
  return out;
}

std::vector<u32> within_socket(const Topology& topology, const Pin& pin) {
  if (pin.socket >= topology.sockets) {
    throw InputError(fmt::format("--pin={}: there is no socket {}; this machine has {}", pin.text, pin.socket,
                                 topology.sockets == 1 ? std::string("socket 0 only")
                                                       : fmt::format("sockets 0-{}", topology.sockets - 1)));
  }
  std::vector<Processor> inside = allowed(topology);
  std::erase_if(inside, [&](const Processor& p) { return p.socket != pin.socket; });
  if (inside.empty()) {
    throw InputError(fmt::format("--pin={}: no processor of that socket is allowed; this process may use {}",
                                 pin.text, topology.allowed_list()));
  }
  return compact(std::move(inside));
}

std::vector<u32> from_list(const Topology& topology, const Pin& pin) {
  for (const u32 cpu : pin.cpus) {
    const auto found = std::find_if(topology.processors.begin(), topology.processors.end(),
                                    [&](const Processor& p) { return p.os == cpu; });
    if (found == topology.processors.end()) {
      std::vector<u32> all = numbers(topology.processors);
      std::sort(all.begin(), all.end());
      throw InputError(fmt::format("--pin={}: there is no processor {}; this machine has {}", pin.text, cpu,
                                   fold_numbers(all)));
    }
    if (!found->allowed) {
      throw InputError(fmt::format("--pin={}: processor {} is outside the allowed mask {}", pin.text, cpu,
                                   topology.allowed_list()));
    }
  }
  return pin.cpus;
}

std::vector<u32> order_of(const Topology& topology, const Pin& pin) {
  switch (pin.kind) {
    case Pin::Kind::kScatter: return scatter(allowed(topology));
    case Pin::Kind::kSocket: return within_socket(topology, pin);
    case Pin::Kind::kList: return from_list(topology, pin);
    case Pin::Kind::kCompact: break;
  }
  return compact(allowed(topology));
}

}  // namespace

Seats seat(const Topology& topology, const Pin& pin, u32 threads) {
  const std::vector<u32> order = order_of(topology, pin);
  if (order.empty()) throw InputError("no processor is allowed: check the affinity mask of this process");
  Seats out;
  for (u32 t = 0; t < threads; ++t) out.cpus.push_back(order[t % order.size()]);
  out.processors = static_cast<u32>(std::set<u32>(out.cpus.begin(), out.cpus.end()).size());
  out.oversubscribed = threads > out.processors;
  out.binds = topology.this_system;
  return out;
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

std::vector<ThreadPlace> thread_places(const Topology& topology, const Seats& seats,
                                       const std::vector<std::optional<u32>>& seen_on, const std::string& unseen) {
  std::vector<ThreadPlace> places;
  for (u32 t = 0; t < seats.threads(); ++t) {
    ThreadPlace place;
    place.requested_cpu = seats.cpus[t];
    place.observed_cpu = place.socket = place.core = Measured<u32>::missing(unseen);
    if (seen_on[t]) place.observed_cpu = *seen_on[t];
    for (const Processor& p : topology.processors) {
      if (!place.observed_cpu || p.os != *place.observed_cpu) continue;
      place.socket = p.socket;
      place.core = p.core;
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace latchlab
