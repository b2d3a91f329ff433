#include "workloads/phases_file.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/quantity.h"
#include "src/base/spec.h"
#include "workloads/mix_stream.h"
#include "workloads/text_file.h"

namespace latchlab {

namespace {

constexpr u64 kMostOperations = 1'000'000'000'000;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank && !inside) words.emplace_back();
    if (!blank) words.back() += c;
    inside = !blank;
  }
  return words;
}

/// Returns the phase that the words of a line describe; `asked` is its number of operations.
WorkloadPhase phase_of(const std::vector<std::string>& words, u64 asked) {
  const Spec workload = Spec::parse(words[2]);
  if (workload.name == "wiscer" || workload.name == "trace" || workload.name == "phases") {
    throw InputError(fmt::format("{} is a whole workload and cannot be a phase", workload.str()));
  }
  Mix mix(workload, 0);
  if (mix.fills()) throw InputError("insert fills an empty index; write mix:insert=100");
  const std::string usual = mix.usual_distribution().empty() ? "uniform" : std::string(mix.usual_distribution());
  const Spec popularity = Spec::parse(words.size() > 3 ? words[3] : usual);
  const Spec change = Spec::parse(words.size() > 4 ? words[4] : "none");
  Distribution distribution(popularity);
  const Churn churn = Churn::parse(change);
  if (!mix.draws_keys() && words.size() > 3) {
    throw InputError(fmt::format("{} does not reach {}, which takes the records in turn", words[3], workload.str()));
  }
  if (const std::string why = why_no_churn(churn, distribution, popularity.str(), mix); !why.empty())
    throw InputError(why);
  const bool draws = mix.draws_keys();
  return {.name = words[0],
          .operations = (asked + Mix::kBlock - 1) / Mix::kBlock * Mix::kBlock,
          .asked = asked,
          .mix = std::move(mix),
          .distribution = std::move(distribution),
          .churn = churn,
          .workload = workload.str(),
          .distribution_words = draws ? popularity.str() : "",
          .churn_words = change.str()};
}

WorkloadPhase phase_of(const TextFile::Line& line) {
  const std::vector<std::string> words = words_of(line.text);
  if (words.size() < 3 || words.size() > 5) {
    throw line.error("needs a name, a number of operations and a workload, then a distribution and churn if need be");
  }
  const auto count = count_of(words[1]);
  if (!count || !count->fits || count->value < 1 || count->value > kMostOperations) {
    throw line.error(fmt::format("needs a number of operations from 1 to {}, as 10M, after its name", kMostOperations));
  }
  try {
    return phase_of(words, count->value);
  } catch (const InputError& error) {
    throw line.error(fmt::format("is wrong: {}", error.what()));
  }
}

}  // namespace

std::vector<WorkloadPhase> read_phases(const std::string& path) {
  const TextFile file("phases", path);
  std::vector<WorkloadPhase> phases;
  file.for_each_line([&](const TextFile::Line& line) {
    WorkloadPhase phase = phase_of(line);
    if (std::ranges::find(phases, phase.name, &WorkloadPhase::name) != phases.end()) {
      throw line.error(fmt::format("repeats the name {}", phase.name));
    }
    phases.push_back(std::move(phase));
  });
  if (phases.empty()) throw file.error("has no phase");
  return phases;
}

}  // namespace latchlab
