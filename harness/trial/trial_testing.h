// Helpers that the tests of trials share: a short run, and functions that run it over any index. A run is in virtual
// time, where everything except what the kernel reports is the same in every run, or on threads of the system.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/plan.h"
#include "harness/host/native_team.h"
#include "harness/host/placement.h"
#include "harness/host/progress.h"
#include "harness/host/topology.h"
#include "harness/host/virtual_team_testing.h"
#include "harness/loop/trial.h"
#include "harness/loop/trial_of.h"
#include "harness/text/progress_lines.h"
#include "harness/trial/account.h"
#include "harness/trial/run_trial.h"
#include "src/base/spec.h"

namespace latchlab::testing {

/// Returns the Config of a short run: 20'000 records and two threads.
inline Config small(std::string_view workload) {
  Config config;
  config.index = Spec::parse("toy");
  config.sync = Spec::parse("own");
  config.workload = Spec::parse(workload);
  config.records = 20'000;
  config.warmup_ns = 2'000'000;
  config.time_ns = 30'000'000;
  config.sample_ns = 5'000'000;
  config.threads = 2;
  config.seed = 1;
  return config;
}

/// Returns the Plan of a Config on this machine, without anything that depends on the index.
inline Plan plan_of(const Config& config) { return latchlab::plan_of(config, Topology::discover()); }

template <class Index, class Team = VirtualTeam>
TrialResult run_of(const Plan& plan, Progress& progress) {
  Team team;
  TrialOf<Index> trial(plan);
  const Topology topology = Topology::discover();
  return document(plan, topology, run_trial(trial, plan, topology, team, progress));
}
template <class Index, class Team = VirtualTeam>
TrialResult run_of(const Plan& plan) {
  return run_of<Index, Team>(plan, *make_progress(ProgressMode::kNone));
}
template <class Index, class Team = VirtualTeam>
TrialResult run_of(const Config& config, Progress& progress) {
  return run_of<Index, Team>(plan_of(config), progress);
}
template <class Index, class Team = VirtualTeam>
TrialResult run_of(const Config& config) {
  return run_of<Index, Team>(plan_of(config));
}

/// Runs a trial on threads of the system. Its times may be noisy, since other programs may use the machine's
/// processors.
template <class Index, class What>
TrialResult run_on_threads(const What& plan_or_config) {
  return run_of<Index, NativeTeam>(plan_or_config);
}

inline std::vector<std::string> phases_of(const TrialResult& result) {
  std::vector<std::string> names;
  for (const PhaseTime& phase : result.phases) names.push_back(phase.name);
  return names;
}
inline const PhaseTime& phase_of(const TrialResult& result, std::string_view name) {
  return *std::find_if(result.phases.begin(), result.phases.end(),
                       [&](const PhaseTime& phase) { return phase.name == name; });
}
inline double seconds_of(const TrialResult& result, std::string_view phase) { return phase_of(result, phase).seconds; }

/// Returns the rate of an operation in the measured phase; null if there was no such operation.
inline const OperationRate* rate_of(const TrialResult& result, std::string_view operation) {
  for (const OperationRate& rate : result.throughput->per_operation) {
    if (rate.name == operation) return &rate;
  }
  return nullptr;
}

/// A key file, whose name differs between processes.
class Lines {
 public:
  explicit Lines(u32 count, u32 bytes = 0) : path_("/tmp/latchlab_trial_test_" + std::to_string(::getpid())) {
    std::ofstream file(path_);
    for (u32 i = 0; i < count; ++i) file << "word number " << std::string(bytes, '.') << i * 7919 << '\n';
  }
  ~Lines() { std::remove(path_.c_str()); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace latchlab::testing
