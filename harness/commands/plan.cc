#include "harness/commands/plan.h"

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace latchlab {

namespace {

/// Threads of one place, and the processors that they run on, in the order of threads.
struct Sitting {
  std::vector<u32> threads;
  std::vector<u32> cpus;
};

using Place = std::tuple<u32, u32, u32>;  // socket, node (the kernel's number), cluster

std::map<Place, Sitting> sittings(const Seats& seats, const Topology& topology) {
  std::map<u32, Place> place_of;
  for (const Processor& p : topology.processors) place_of[p.os] = {p.socket, topology.nodes[p.node].os, p.cluster};
  std::map<Place, Sitting> out;
  for (u32 t = 0; t < seats.threads(); ++t) {
    Sitting& sitting = out[place_of[seats.cpus[t]]];
    sitting.threads.push_back(t);
    sitting.cpus.push_back(seats.cpus[t]);
  }
  return out;
}

std::string numbered(std::string_view what, const std::vector<u32>& numbers) {
  return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s", fold_numbers(numbers));
}

std::string memory_text(const Config& config, const std::set<u32>& own) {
  using Kind = PagePlacement::Kind;
  const std::string nodes = numbered("node", config.mem.nodes);
  const std::string threads = numbered("node", {own.begin(), own.end()});
  switch (config.mem.kind) {
    case Kind::kFirstTouch:
      return fmt::format("{}, each page on that of the thread that touches it first, if it is not full", threads);
    case Kind::kLocal: return fmt::format("{}, each page on that of the thread that asks for it", threads);
    case Kind::kInterleave: return fmt::format("{} in turn", nodes);
    case Kind::kBind: return fmt::format("{}{}", nodes, config.mem.nodes.size() == 1 ? "" : ", the nearest first");
  }
  return "";
}

std::string block(const Plan& run, const Topology& topology) {
  const std::string point = point_of(run) + '\n';
  if (!run.skip.empty()) return point + fmt::format("  skipped: {}\n", run.skip);
  const Seats& seats = run.seats;
  std::string text = point;
  std::set<u32> own;
  for (const auto& [place, sitting] : sittings(seats, topology)) {
    const auto [socket, node, cluster] = place;
    own.insert(node);
    text += fmt::format("  socket {}  node {}  cluster {}  {} on {}\n", socket, node, cluster,
                        numbered("thread", sitting.threads), numbered("processor", sitting.cpus));
  }
  text += fmt::format("  memory of {} from {}\n", run.places_chunks() ? "the index" : "the threads",
                      memory_text(run.config, own));
  if (seats.oversubscribed) {
    text += fmt::format("  {} threads share {}\n", seats.threads(),
                        seats.processors == 1 ? "one processor" : fmt::format("{} processors", seats.processors));
  }
  return text;
}

}  // namespace

std::string plan_text(const std::vector<Plan>& runs, const Topology& topology) {
  std::string text = fmt::format("{}; a plan: nothing runs\n", topology.describe());
  for (const Plan& run : runs) text += '\n' + block(run, topology);
  return text;
}

}  // namespace latchlab
