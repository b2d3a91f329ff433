// The harness: one process, one command. See cli.h for the grammar.

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/cli/completion.h"
#include "harness/cli/man_page.h"
#include "harness/cli/named_pairs.h"
#include "harness/commands/ab.h"
#include "harness/commands/check_command.h"
#include "harness/commands/doctor.h"
#include "harness/commands/experiment.h"
#include "harness/commands/explain.h"
#include "harness/commands/hdr.h"
#include "harness/commands/list.h"
#include "harness/commands/machine_survey.h"
#include "harness/commands/plan.h"
#include "harness/commands/rows_table.h"
#include "harness/commands/survey.h"
#include "harness/commands/trace_command.h"
#include "harness/compare/compare.h"
#include "harness/config/registry.h"
#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/malloc_library.h"
#include "harness/host/modelled_machine.h"
#include "harness/host/topology.h"
#include "harness/result/build_info.h"
#include "harness/result/report.h"
#include "harness/run.h"
#include "harness/text/progress_lines.h"
#include "src/base/error.h"
#include "src/base/printable.h"

namespace latchlab {

namespace {

int show(const std::vector<Comparison>& comparisons, bool json) {
  int status = 0;
  if (!json) print(table_of(comparisons));
  for (const Comparison& comparison : comparisons) {
    if (json) print(json_of(comparison).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
    status = std::max(status, exit_status(comparison));
  }
  return status;
}

int run_limits(const LimitsCommand& command, const Topology& topology) {
  const Seats& seats = command.plan.seats;
  LimitsPlan plan;
  plan.footprint = command.footprint;
  plan.huge_pages = command.plan.config.huge_pages;
  plan.cpus = seats.cpus;
  plan.pin = seats.binds;
  plan.pages = placement_of_limits(topology, seats, command.plan.pages);
  const Survey survey = survey_limits(command.plan.config, plan, topology, *make_progress(command.progress));
  print(command.json ? json_of(survey).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n' : table_of(survey));
  if (!command.write_machine.empty() && !stop_requested()) {
    const std::unique_ptr<Progress> progress = make_progress(command.progress);
    const MachineSurvey machine = survey_machine(plan, topology, survey, *progress);
    if (!stop_requested()) say(write_machine(command.write_machine, command.like, machine));
  }
  return stop_requested() ? 130 : 0;
}

int run_harness(const std::vector<std::string>& command_line) {
  Registry registry;
  register_all(registry);
  if (command_line.size() > 1 && command_line[1] == "missing-pairs") {  // asked by ./bench
    for (const std::string& pair : missing_pairs({command_line.begin() + 2, command_line.end()}, registry))
      print(pair + '\n');
    return 0;
  }
  if (command_line.size() > 1 && command_line[1] == "points") {  // asked by ./bench ci
    for (const auto& [pair, words] : named_points({command_line.begin() + 2, command_line.end()}, registry))
      print(Json{{"pair", pair}, {"words", words}}.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
    return 0;
  }
  if (command_line.size() == 3 && command_line[1] == "model") {  // asked by ./bench experiment --machine=
    const auto model = modelled_machine(Spec::parse(command_line[2]));
    print(Json{{"processors", model->topology.processors.size()}, {"digest", model->file.digest()}}.dump() + '\n');
    return 0;
  }
  // Asked by the target help_texts.
  if (command_line.size() == 2 && command_line[1] == "completion-script") {
    print(completion_script(registry));
    return 0;
  }
  if (command_line.size() == 2 && command_line[1] == "man-page") {
    print(man_page(registry));
    return 0;
  }
  const Topology topology = Topology::discover();
  const Surroundings surroundings{
      .registry = registry,
      .memory_available = available_memory(),
      .topology = topology,
      .models = machine() == "Modelled",
  };
  const Command command = parse_command_line({command_line.begin() + 1, command_line.end()}, surroundings);
  return std::visit(
      [&](const auto& c) -> int {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, RunCommand>) {
          if (!c.machine.empty()) {
            print(plan_text(c.runs, Topology::read(c.machine)));
            return 0;
          }
          if (const Plan& first = c.runs.front(); !first.requests_to.empty()) {
            print(write_requests(first));
            return 0;
          }
          if (c.dry_run) {
            list_runs(c, command_line, topology);
            return 0;
          }
          stop_on_interrupt();  // only for commands that look at the stop flag; a signal ends the others
          for (const Alloc alloc : c.mallocs) {
            c.mallocs.size() == 1 ? serve_malloc_by(alloc, command_line) : check_installed(alloc);
          }
          return run_all(c, command_line, registry, topology);
        } else if constexpr (std::is_same_v<C, ListCommand>) {
          print(list_text(registry, c.topic));
        } else if constexpr (std::is_same_v<C, DoctorCommand>) {
          print(c.machine.empty() ? doctor_text(diagnose(topology, run_probes()))
                                  : model_text(modelled_machine(Spec::parse(c.machine))->file));
        } else if constexpr (std::is_same_v<C, ExplainCommand>) {
          print(explain(c.result, c.base, c.hot_lines));
        } else if constexpr (std::is_same_v<C, HdrCommand>) {
          print(hdr(c.result, c.name));
        } else if constexpr (std::is_same_v<C, RowsCommand>) {
          print(rows_text(c.result));
        } else if constexpr (std::is_same_v<C, CheckCommand>) {
          return run_check(c);
        } else if constexpr (std::is_same_v<C, TraceCommand>) {
          print(run_trace_command(c));
        } else if constexpr (std::is_same_v<C, ExperimentCommand>) {
          run_experiment(c.args);
        } else if constexpr (std::is_same_v<C, ExportCommand>) {
          run_export(c.args);
        } else if constexpr (std::is_same_v<C, HelpCommand>) {
          print(help_text(registry, c.topic));
        } else if constexpr (std::is_same_v<C, VersionCommand>) {
          print(version_text());
        } else if constexpr (std::is_same_v<C, CompareCommand>) {
          return show(compare(c), c.json);
        } else if constexpr (std::is_same_v<C, LimitsCommand>) {
          stop_on_interrupt();
          return run_limits(c, topology);
        } else {
          stop_on_interrupt();
          const auto run = [](const auto& args) { return run_replicate("/proc/self/exe", args); };
          return show({run_ab(c, *make_progress(c.progress), run)}, c.json);
        }
        return 0;
      },
      command);
}

}  // namespace

}  // namespace latchlab

int main(int argc, char** argv) {
  try {
    return latchlab::run_harness({argv, argv + argc});
  } catch (const latchlab::InputError& error) {
    latchlab::say(std::string("harness: ") + error.what() + '\n');
    return 2;
  } catch (const std::exception& error) {
    latchlab::say("harness: " + latchlab::printable(error.what()) + '\n');
    return 1;
  }
}
