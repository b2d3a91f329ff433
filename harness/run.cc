#include "harness/run.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/child_process.h"
#include "harness/commands/plan.h"
#include "harness/commands/profile.h"
#include "harness/config/expected_time.h"
#include "harness/config/numbers.h"
#include "harness/host/clock.h"
#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/modelled_machine.h"
#include "harness/host/modelled_team.h"
#include "harness/host/native_team.h"
#include "harness/host/placement.h"
#include "harness/host/progress.h"
#include "harness/host/recorder.h"
#include "harness/loop/sized_trial.h"
#include "harness/loop/trial.h"
#include "harness/result/build_info.h"
#include "harness/result/report.h"
#include "harness/result/unfinished.h"
#include "harness/text/progress_lines.h"
#include "harness/text/table.h"
#include "harness/trial/account.h"
#include "harness/trial/modelled_account.h"
#include "harness/trial/run_trial.h"
#include "src/base/error.h"
#include "src/base/new_file.h"
#include "src/memory/media/medium.h"
#include "src/memory/memory_config.h"

namespace latchlab {

namespace {

TrialResult without_run(Status status, const std::string& reason, const Config& config) {
  TrialResult result;
  result.status = status;
  result.reason = reason;
  result.placement.requested = config.pin.text;
  result.placement.mem = config.mem.text;
  result.validation.mode = config.validate;
  const std::string why = status == Status::kSkipped ? "the run was skipped" : "the run failed";
  nothing_measured(result, why);
  return result;
}

/// Runs a point on a modelled machine.
TrialResult run_modelled(const Pair& pair, const Plan& plan, Progress& progress) {
  const ModelledMachine& machine = *plan.model;
  ModelledWorld::get().reset();
  std::vector<u32> places = plan.seats.cpus;
  places.insert(places.end(), plan.seats.free.begin(), plan.seats.free.begin() + plan.servers);
  ModelledTeam team(machine.file, places, plan.config.seed,
                    plan.servers);  // before the index takes any memory, whose pages it has to know
  if (const auto allocator = modelled_malloc(plan.config.alloc)) {
    ModelledWorld::get().memory().serve_malloc_by(*allocator, plan.pages);
  }
  const std::unique_ptr<Trial> trial = pair.make_trial(plan, memory_config_of(plan));
  TrialResult result = document(plan, machine.topology, run_trial(*trial, plan, machine.topology, team, progress));
  if (result.throughput) result.virtual_time = virtual_time_of(team.processor());
  mark_modelled(result, plan);
  return result;
}

/// The medium of far leaves and their memory.
struct FarLeaves {
  FarLeaves(const MediumOptions& options, const MemoryConfig& near)
      : medium(options, "--far"), memory(medium.memory(near)) {}

  const Medium medium;
  const MemoryConfig memory;
};

/// Returns the memory of far leaves, which keeps its medium open. Throws as Medium does.
std::shared_ptr<const MemoryConfig> far_leaves(const Plan& plan, const MemoryConfig& near) {
  const auto far = std::make_shared<FarLeaves>(*plan.config.far, near);
  return {far, &far->memory};
}

/// Builds the index on a thread that has the first seat. So the memory that it takes before a thread joins is placed as
/// the first thread's.
std::unique_ptr<Trial> made_in_place(const Pair& pair, const Plan& plan) {
  std::unique_ptr<Trial> trial;
  NativeTeam maker(1);
  const auto make = [&](u32) {
    if (plan.seats.binds) (void)maker.pin(plan.seats.cpus[0]);
    if (!plan.places_chunks()) (void)maker.place(plan.pages);
    MemoryConfig memory = memory_config_of(plan);
    if (plan.config.placement_rule().kind == PlacementKind::kLeaves) memory.far_leaves = far_leaves(plan, memory);
    trial = pair.make_trial(plan, memory);
    if (plan.config.sized()) trial = sized_trial(std::move(trial), plan, memory);
  };
  if (const auto failure = maker.run_all(make)) std::rethrow_exception(failure);
  return trial;
}

/// Builds the trial that measures the loop beside a run; none if the build lacks the pair.
std::unique_ptr<Trial> made_null(const Registry& registry, const Plan& plan) {
  const Plan loop = plan_of_loop(plan);
  const Config& config = loop.config;
  const auto pair = std::ranges::find_if(registry.pairs(), [&](const Pair& p) {
    return p.index == config.index.name && p.policy == config.sync.name && p.keys == config.key_kind();
  });
  return pair == registry.pairs().end() ? nullptr : pair->make_trial(loop, memory_config_of(loop));
}

/// Runs a point. `profile_file` is the file for its flame graph; empty for none.
TrialResult run_one(const Plan& plan, const Registry& registry, const Topology& topology, Progress& progress,
                    const std::string& profile_file, const std::string& command_line) {
  const Config& config = plan.config;
  if (!plan.skip.empty()) return without_run(Status::kSkipped, plan.skip, config);
  const Pair& pair = registry.find(config.index.name, config.sync.name, config.key_kind());
  try {
    if (plan.model) return run_modelled(pair, plan, progress);
    // Call this before the index takes any memory, since some of that does not ask for a page size.
    const bool sure = allow_huge_pages(config.huge_pages == HugePages::kThp);
    const std::unique_ptr<Trial> trial = made_in_place(pair, plan);
    NativeTeam team;
    std::optional<Profile> profile;
    if (!profile_file.empty()) profile.emplace(profile_file, plan);
    Recorder* const recorder = profile ? &*profile : nullptr;
    const std::unique_ptr<Trial> null = made_null(registry, plan);
    TrialResult result =
        document(plan, topology, run_trial(*trial, plan, topology, team, progress, recorder, null.get()));
    if (profile) {
      progress.begin("profile", 0, 0);
      result.health.notes.push_back(profile->draw(command_line, trial->elides()));
    }
    if (!sure) {
      result.health.notes.push_back("the kernel does not let a process refuse huge pages: malloc may have got some");
    }
    return result;
  } catch (const InputError&) {
    throw;
  } catch (const std::bad_alloc&) {
    return without_run(Status::kFailed, "memory is out; fewer --records may fit", config);
  } catch (const std::exception& error) {
    return without_run(Status::kFailed, error.what(), config);
  }
}

/// The outcome of a run: its document, and its result for the table.
struct Outcome {
  Json document;
  bool good = false;
  RunResult result;
};

/// Runs a point in a process of its own. `result` has the facts that are known before.
Outcome run_apart(const Plan& planned, RunResult result) {
  std::vector<std::string> words = planned.words;
  words.insert(words.end(), {"--json", "--progress=none"});
  const Output output = run_process("/proc/self/exe", words);
  Json document = Json::parse(output.out, nullptr, false);
  if (document.is_object()) {
    document["command"] = result.command;  // the whole command line, as typed
    result = result_of(document);
    result.plan = planned;
  } else {
    result.trial = without_run(Status::kFailed, output.complaint(), planned.config);
    document = document_of(result);
  }
  return {.document = std::move(document), .good = output.wait_status == 0, .result = std::move(result)};
}

/// Returns what is known of each result before anything runs.
RunResult known_before(const std::vector<std::string>& command_line, const Topology& topology) {
  RunResult facts;
  facts.command = command_line;
  facts.build = build_info();
  facts.machine = read_machine(topology);
  return facts;
}

/// Returns a document for each run that this command need not measure, and null for the others.
std::vector<Json> taken_runs(const RunCommand& command, const RunResult& facts) {
  if (command.out.empty()) return std::vector<Json>(command.runs.size());
  return left_by_unfinished(command.out, command.runs, facts);
}

/// Returns the time that the phases of a run took.
double seconds_of(const TrialResult& trial) {
  double seconds = 0;
  for (const PhaseTime& phase : trial.phases) seconds += phase.seconds;
  return seconds;
}

/// Returns the text before the phases of run number `i` of a list: "3/12, 40 s left in all  art olc 2 threads".
std::string title_of(const std::vector<Plan>& runs, std::size_t i, const TimeLeft& left) {
  const Config& config = runs[i].config;
  const std::optional<double> seconds = left.seconds();
  return fmt::format("{}/{}{}  {} {} {} thread{}", i + 1, runs.size(),
                     seconds ? fmt::format(", {} left in all", short_duration(*seconds)) : "", config.index.str(),
                     config.sync.str(), config.threads, config.threads == 1 ? "" : "s");
}

/// Writes a document to a file. Returns why that failed; empty if it did not.
std::string why_not_kept(const std::string& path, const std::string& document) {
  try {
    NewFile file("result", path);
    file.write(document + '\n');
    file.keep();
    return "";
  } catch (const std::runtime_error& error) {  // InputError if it cannot be opened, OutputError if it cannot be written
    return error.what();
  }
}

}  // namespace

int run_all(const RunCommand& command, const std::vector<std::string>& command_line, const Registry& registry,
            const Topology& topology) {
  const std::unique_ptr<Progress> progress = make_progress(command.progress);
  const RunResult facts = known_before(command_line, topology);
  const bool single = command.runs.size() == 1;
  std::optional<ListClaim> claim;
  if (!single && !command.out.empty()) claim.emplace(command.out, facts);
  const std::vector<Json> taken = taken_runs(command, facts);
  say(taken_text(taken, command.out));
  RunTable table(command.runs);
  TimeLeft left(command.runs);
  if (!single && !command.json) print(table.header());

  bool interrupted = false;
  bool all_good = true;
  for (std::size_t i = 0; i < command.runs.size() && !interrupted; ++i) {
    const Plan& planned = command.runs[i];
    if (!taken[i].is_null()) {
      RunResult result = result_of(taken[i]);
      result.plan = planned;
      left.done(planned, seconds_of(result.trial));
      all_good = all_good && is_good(result.trial.status, planned.config.strict);
      print(command.json ? taken[i].dump() + '\n' : table.row(result));
      continue;
    }
    if (!single) progress->title(title_of(command.runs, i, left));
    const u64 begun = wall_clock().now();
    RunResult result = facts;
    result.plan = planned;
    if (planned.model) {
      result.machine.modelled = info_of(*planned.model, planned.config.seed, planned.warmup_operations);
    }
    identify(result);
    Outcome outcome;
    if (command.mallocs.size() > 1 && planned.skip.empty()) {
      progress->begin("in a process of its own", 0, 0);
      outcome = run_apart(planned, std::move(result));
    } else {
      result.trial = run_one(planned, registry, topology, *progress, command.profile,
                             fmt::format("{}", fmt::join(command_line, " ")));
      outcome.document = document_of(result);
      outcome.good = is_good(result.trial.status, planned.config.strict);
      outcome.result = std::move(result);
    }
    progress->end();
    left.done(planned, wall_clock().seconds_since(begun));

    interrupted = outcome.result.trial.interrupted || stop_requested();
    all_good = all_good && outcome.good;
    const std::string text = outcome.document.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string path = fmt::format("{}/{}.json", command.out, outcome.result.run_id);
    const std::string not_kept = command.out.empty() ? "" : why_not_kept(path, text);
    std::string shown = command.json ? text + '\n' : single ? block_of(outcome.result) : table.row(outcome.result);
    if (!not_kept.empty() && !command.json) shown += (single ? "" : table.footer()) + text + '\n';
    try {
      print(shown);
    } catch (const OutputError& error) {
      if (not_kept.empty()) throw;
      throw OutputError(fmt::format("{}; {}", not_kept, error.what()));
    }
    if (not_kept.empty()) continue;
    // Later results could not be kept either, so their runs are not begun.
    const std::size_t not_begun = command.runs.size() - i - 1;
    throw OutputError(fmt::format(
        "{}; its document is on stdout{}", not_kept,
        not_begun == 0 ? "" : fmt::format(", and {} of {} runs were not begun", not_begun, command.runs.size())));
  }
  if (!single && !command.json) print(table.footer());
  if (interrupted) return 130;
  return all_good ? 0 : 1;
}

void list_runs(const RunCommand& command, const std::vector<std::string>& command_line, const Topology& topology) {
  const std::vector<Json> taken = taken_runs(command, known_before(command_line, topology));
  RunCommand rest = command;
  rest.runs.clear();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i].is_null()) rest.runs.push_back(command.runs[i]);
  }
  const DryRun dry = dry_run(rest, command_line[0]);
  print(dry.lines);
  say(taken_text(taken, command.out) + dry.remarks);
}

}  // namespace latchlab
