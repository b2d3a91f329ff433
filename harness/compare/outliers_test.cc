#include "harness/compare/outliers.h"

#include "harness/result/report.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Returns the documents of ten undisturbed replicates.
std::vector<Json> quiet() {
  std::vector<Json> documents;
  for (int i = 0; i < 10; ++i) {
    documents.push_back(
        {{"throughput", {{"seconds", 1.8}, {"timed_share", .9}}},
         {"health", {{"steal_share", .001}, {"involuntary_switches", 10 + i}, {"load_before", 1.8 + .01 * i}}},
         {"limits", {{"cycle_ns", .5}}}});
  }
  return documents;
}

std::vector<std::vector<std::string>> outliers_of_documents(const std::vector<Json>& documents) {
  std::vector<RunResult> results;
  for (const Json& document : documents) results.push_back(result_of(document));
  std::vector<const TrialResult*> trials;
  for (const RunResult& result : results) trials.push_back(&result.trial);
  return outliers_of(trials);
}

/// Returns the flags of the fourth of ten replicates, whose document has `value` at `place`, and how many of the others
/// are flagged.
std::pair<std::vector<std::string>, int> flags_with(const char* place, const Json& value) {
  std::vector<Json> documents = quiet();
  documents[3][Json::json_pointer(place)] = value;
  const auto flags = outliers_of_documents(documents);
  int others = 0;
  for (std::size_t i = 0; i < flags.size(); ++i) others += i != 3 && !flags[i].empty();
  return {flags[3], others};
}

using Flagged = std::pair<std::vector<std::string>, int>;

TEST_CASE("a replicate that is like the others is not flagged") {
  for (const auto& flags : outliers_of_documents(quiet())) CHECK(flags.empty());
  CHECK(flags_with("/health/steal_share", .0099) == Flagged{});
  CHECK(flags_with("/health/involuntary_switches", 40) == Flagged{});  // 20 a second
  CHECK(flags_with("/health/load_before", 2.8) == Flagged{});
  CHECK(flags_with("/limits/cycle_ns", .514) == Flagged{});
}

TEST_CASE("the flag of an outlier names its figure and the median") {
  CHECK(flags_with("/health/steal_share", .02) == Flagged{{"the host took 2.0 % of the processors' time"}, 0});
  CHECK(flags_with("/health/involuntary_switches", 1000) ==
        Flagged{{"500 involuntary switches a second; the median is 8"}, 0});
  CHECK(flags_with("/health/on_processor", .9) == Flagged{});
  CHECK(flags_with("/health/on_processor", .5) == Flagged{{"a thread was on a processor 50.0 % of its time"}, 0});
  CHECK(flags_with("/health/load_before", 4.2) ==
        Flagged{{"the load average was 4.2 before the run; the median is 1.9"}, 0});
  CHECK(flags_with("/limits/cycle_ns", .625) == Flagged{{"1.60 GHz; the median is 2.00"}, 0});
  CHECK(flags_with("/limits/cycle_ns", .4) == Flagged{{"2.50 GHz; the median is 2.00"}, 0});
}

TEST_CASE("many involuntary switches are an outlier only beside quieter replicates") {
  std::vector<Json> documents = quiet();  // more threads than processors: all are descheduled all the time
  for (Json& document : documents) document["health"]["involuntary_switches"] = 1000;
  documents[3]["health"]["involuntary_switches"] = 2900;
  for (const auto& flags : outliers_of_documents(documents)) CHECK(flags.empty());
}

TEST_CASE("a figure that was not measured flags nothing") {
  CHECK(flags_with("/health", nullptr) == Flagged{});
  CHECK(flags_with("/throughput/seconds", nullptr) == Flagged{});
  for (const auto& flags : outliers_of_documents({Json::object(), Json::object()})) CHECK(flags.empty());
}

}  // namespace
}  // namespace latchlab
