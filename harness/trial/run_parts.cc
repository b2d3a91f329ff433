#include "harness/trial/run_parts.h"

#include <fmt/format.h>

namespace latchlab {

Tally RunParts::tally_of_all() const {
  Tally all;
  for (const Worker& worker : phases.workers()) all += worker.tally;
  return all;
}

std::string RunParts::full(std::string_view when) const {
  const std::string room = plan.most_keys == ~u64{0} ? std::string() : fmt::format(" in {} slots", plan.most_keys);
  return fmt::format("the index was full, with {} keys{}, {}", tally_of_all().keys, room, when);
}

OrReason<double> RunParts::nodes_of(const Slice& steps) const {
  if (trial.counts_visits()) return trial.nodes_per_fetch(steps);
  return OrReason<double>::missing("the index does not count the nodes that a lookup visits");
}

}  // namespace latchlab
