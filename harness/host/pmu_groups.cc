#include "harness/host/pmu_groups.h"

#include <algorithm>
#include <cerrno>
#include <set>

namespace latchlab {
namespace {

// Positions of the words that PerfCalls::read fills.
constexpr std::size_t kHowMany = 0, kEnabled = 1, kRunning = 2, kValues = 3;

bool forbidden(int file) { return file == -EACCES || file == -EPERM; }

}  // namespace

PmuGroups::PmuGroups(const std::vector<PmuEvent>& events, PerfCalls& calls, int cpu)
    : events_(events), calls_(calls), cpu_(cpu), counts_(events.size()) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!mine(i)) continue;
    const bool joins = !groups_.empty() && events[groups_.back().events.front()].family == events[i].family;
    // EINVAL for an event that would be fine alone means that the processor has no counter left for it in this group.
    int file = joins ? open(i, groups_.back().files.front()) : -EINVAL;
    const bool leads = file == -EINVAL;
    if (leads) file = open(i, PerfCalls::kNoGroup);
    if (file < 0) {
      counts_[i].error = -file;
      if (file != -EMFILE && file != -ENFILE) continue;
      close();  // leave the files to the rest of the process
      for (std::size_t k = 0; k < events.size(); ++k) counts_[k].error = mine(k) ? -file : 0;
      return;
    }
    if (leads) groups_.emplace_back();
    groups_.back().events.push_back(i);
    groups_.back().files.push_back(file);
  }
  for (Group& group : groups_) {
    group.before.resize(kValues + group.events.size());
    group.now.resize(group.before.size());
  }
}

bool PmuGroups::mine(std::size_t event) const {
  return events_[event].missing.empty() && events_[event].of_packages == (cpu_ != PerfCalls::kThisThread);
}

/// Opens an event. If counting inside the kernel is forbidden, opens its user part, if it has one.
int PmuGroups::open(std::size_t event, int group) {
  PerfCode code = events_[event].code;
  const int file = calls_.open(code, cpu_, group);
  const bool has_user_part = cpu_ == PerfCalls::kThisThread && !code.exclude_user && !happens_in_kernel(code);
  if (!forbidden(file) || !has_user_part || code.exclude_kernel) {
    counts_[event].user_only = code.exclude_kernel;
    return file;
  }
  code.exclude_kernel = true;
  const int without = calls_.open(code, cpu_, group);
  counts_[event].user_only = without >= 0;
  return without;
}

void PmuGroups::read(Group& group, std::vector<u64>& into) {
  if (group.error != 0) return;
  const long bytes = calls_.read(group.files.front(), into);
  if (bytes < 0) {
    group.error = static_cast<int>(-bytes);
  } else if (static_cast<std::size_t>(bytes) != into.size() * sizeof(u64) || into[kHowMany] != group.events.size()) {
    group.error = EIO;
  }
}

void PmuGroups::begin() {
  for (Group& group : groups_) read(group, group.before);
}

void PmuGroups::end() {
  for (Group& group : groups_) {
    read(group, group.now);
    if (group.error != 0) continue;
    for (std::size_t k = 0; k < group.events.size(); ++k) {
      PmuCount& count = counts_[group.events[k]];
      count.raw += group.now[kValues + k] - group.before[kValues + k];
      count.enabled_ns += group.now[kEnabled] - group.before[kEnabled];
      count.running_ns += group.now[kRunning] - group.before[kRunning];
    }
  }
}

std::vector<PmuCount> PmuGroups::counts() const {
  std::vector<PmuCount> out = counts_;
  for (const Group& group : groups_) {
    if (group.error == 0) continue;
    for (const std::size_t event : group.events) out[event].error = group.error;
  }
  return out;
}

/// Closes all files, the members of a group before their leader.
void PmuGroups::close() {
  for (const Group& group : groups_) {
    for (auto file = group.files.rbegin(); file != group.files.rend(); ++file) calls_.close(*file);
  }
  groups_.clear();
}

PackageCounters count_packages(const std::vector<PmuEvent>& events, const Topology& topology, const Seats& seats) {
  PackageCounters packages;
  std::set<u32> sockets;
  for (const Processor& processor : topology.processors) {
    const bool in_use = std::ranges::count(seats.cpus, processor.os) != 0;
    if (!seats.binds || !in_use || !sockets.insert(processor.socket).second) continue;
    packages.push_back(std::make_unique<PmuGroups>(events, kernel_perf(), static_cast<int>(processor.os)));
  }
  return packages;
}

std::vector<PmuCount> counted_since(const std::vector<PmuCount>& before, const std::vector<PmuCount>& now) {
  std::vector<PmuCount> since = now;
  for (std::size_t i = 0; i < before.size(); ++i) {
    since[i].raw -= before[i].raw;
    since[i].enabled_ns -= before[i].enabled_ns;
    since[i].running_ns -= before[i].running_ns;
  }
  return since;
}

}  // namespace latchlab
