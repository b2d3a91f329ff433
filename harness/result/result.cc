#include "harness/result/result.h"

#include <type_traits>

namespace latchlab {

bool is_good(Status status, bool strict) {
  const bool as_asked = status <= Status::kModelled || status == Status::kSkipped;
  return strict ? as_asked : status < Status::kFailed;
}

std::vector<PhaseInfo> about(const std::vector<WorkloadPhase>& phases) {
  std::vector<PhaseInfo> all;
  for (const WorkloadPhase& phase : phases) {
    all.push_back({.name = phase.name,
                   .operations = phase.operations,
                   .workload = phase.workload,
                   .distribution = phase.distribution_words,
                   .churn = phase.churn_words});
  }
  return all;
}

void TrialResult::worsen(Status to, const std::string& why) {
  if (to == Status::kDegraded && status == to) {
    reason += "; " + why;
  } else if (to > status) {
    if (status == Status::kNoisy) health.notes.push_back(reason);
    status = to;
    reason = why;
  } else if (to == Status::kNoisy && status > to) {
    health.notes.push_back(why);
  }
}

void TrialResult::add_phase(const std::string& name, double seconds, u64 operations) {
  PhaseTime time;
  time.name = name;
  time.seconds = seconds;
  time.operations = operations;
  if (operations > 0 && seconds > 0) time.per_second = static_cast<double>(operations) / seconds;
  phases.push_back(std::move(time));
}

namespace {

/// Gives a reason to every missing value that has none yet.
class Blame {
 public:
  explicit Blame(const std::string& why) : why_(why) {}

  void about(const char*) {}
  template <class T>
  void operator()(const char*, T&& value, const char* = "", const Bounds& = kAny) {
    using Value = std::remove_reference_t<T>;
    if constexpr (kIsOrReason<Value>) {
      if (!value && value.reason == Value().reason) value.reason = why_;
    } else if constexpr (requires { describe(value, *this); }) {
      describe(value, *this);
    }
  }
  void keyed(const char* name, auto& list, const Keys&, const char* = "") { (*this)(name, list); }
  void group(const char*, const auto& fields) { fields(*this); }

 private:
  const std::string& why_;
};

}  // namespace

void nothing_measured(TrialResult& result, const std::string& why) {
  Blame blame(why);
  describe_files(result, blame);
  describe(result, blame);
}

void nothing_kept(TrialResult& result) {
  const auto blame = [](auto&... measured) {
    ((measured = std::remove_cvref_t<decltype(measured)>::missing("this index keeps nothing")), ...);
  };
  MemoryUse& memory = result.memory;
  Validation& validation = result.validation;
  blame(result.placement.page_nodes, memory.index_live, memory.index_reserved, memory.keys, memory.keys_at_start,
        memory.bytes_per_key);
  result.limits = no_limits("this index keeps nothing");
  blame(validation.passed, validation.expected_keys, validation.found_keys);
}

}  // namespace latchlab
