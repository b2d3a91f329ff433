#include "harness/trial/history_account.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "workloads/mix.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

constexpr const char* kNoAnswer = "the checks of some keys of the history reached their limits";

std::string keys_text(u64 keys) { return fmt::format("{} key{}", grouped(keys), keys == 1 ? "" : "s"); }

/// Returns what is wrong with a history that is not linearizable, in one line.
std::string conflict_of(const HistoryVerdict& verdict) {
  std::string text = fmt::format("the recorded calls on {} are not linearizable", keys_text(verdict.wrong));
  if (verdict.shown) text += fmt::format("; key {}: {}", verdict.shown->key, verdict.shown->witness.conflict);
  return text;
}

/// Returns true if the phase comes before the measured one.
bool is_before_measuring(std::string_view phase) { return phase == "load" || phase == "warmup" || phase == "verify"; }

void add_verdict(const HistoryVerdict& verdict, History& out) {
  out.checked_keys = verdict.keys;
  out.wrong_keys = verdict.wrong;
  out.undecided_keys = verdict.undecided;
  out.linearizable = verdict.answer == Linearizable::kUnknown ? OrReason<bool>::missing(kNoAnswer)
                                                              : OrReason(verdict.answer == Linearizable::kYes);
  out.witness = OrReason<std::string>::missing("no calls conflict");
  if (!verdict.shown) return;
  const auto& [key, witness] = *verdict.shown;
  out.witness = fmt::format("key {}: {}\n{}", key, witness.conflict, witness.drawing());
}

/// Returns what --preempt did, in one line.
std::string interrupted_text(const OrReason<PreemptionCounts>& done) {
  if (!done) return "--preempt interrupts no thread: " + done.reason;
  return fmt::format(
      "--preempt interrupted threads {} times, {} of them inside a recorded call: the throughput is that of a test and "
      "measures nothing",
      grouped(done->all), grouped(done->inside));
}

/// Returns remarks about the length and the cost of a recording.
Remarks remarks_of_recording(const Plan& plan, const RecordedHistory& history, const Recording& asked) {
  Remarks remarks;
  if (history.ended_in) {
    const bool early = is_before_measuring(*history.ended_in);
    remarks.push_back({early ? Status::kDegraded : Status::kOk,
                       fmt::format("the recording was full with {} calls, {:.3g} s after it began, in the phase {}: "
                                   "later calls are not recorded{}; --history=FILE,calls=N makes room for N",
                                   grouped(history.calls), history.ended_s, *history.ended_in,
                                   early ? ", and so none that was measured" : "")});
  }
  if (asked.keys.one_in == 1)
    remarks.push_back({Status::kOk, "all calls are recorded, which costs throughput: it says little about the index"});
  if (plan.config.preempt) remarks.push_back({Status::kDegraded, interrupted_text(history.preemptions)});
  if (plan.workload->mix().has(OpKind::kScan)) remarks.push_back({Status::kOk, "scans are not recorded"});
  if (!history.not_written.empty()) remarks.push_back({Status::kFailed, history.not_written});
  return remarks;
}

}  // namespace

Account<OrReason<History>> history_account(const Plan& plan, const Measurement& m) {
  using Part = OrReason<History>;
  const std::optional<Recording> asked = plan.config.recording();
  if (!asked) return {Part::missing("calls are recorded with --history or --validate=history"), {}};
  if (!m.keeps) return {Part::missing("this index keeps nothing"), {}};
  if (!m.history)
    return {Part::missing(m.history.reason), {{Status::kDegraded, "no calls are recorded: " + m.history.reason}}};
  const RecordedHistory& history = *m.history;
  History out{.keys = asked->share(),
              .room = history.room,
              .calls = history.calls,
              .pending = history.pending,
              .ended_in = OrReason<std::string>::missing("there was room to the end"),
              .ended_s = OrReason<double>::missing("there was room to the end"),
              .linearizable = {},
              .checked_keys = {},
              .wrong_keys = {},
              .undecided_keys = {},
              .witness = {},
              .preemptions = OrReason<u64>::missing(history.preemptions.reason),
              .preemptions_inside = OrReason<u64>::missing(history.preemptions.reason)};
  if (history.preemptions) {
    out.preemptions = history.preemptions->all;
    out.preemptions_inside = history.preemptions->inside;
  }
  if (history.ended_in) {
    out.ended_in = *history.ended_in;
    out.ended_s = history.ended_s;
  }
  Remarks remarks = remarks_of_recording(plan, history, *asked);
  if (!history.verdict) {
    const auto why = fmt::format("--validate={} checks no history", word(plan.config.validate));
    out.linearizable = OrReason<bool>::missing(why);
    out.checked_keys = out.wrong_keys = out.undecided_keys = OrReason<u64>::missing(why);
    out.witness = OrReason<std::string>::missing(why);
    return {std::move(out), std::move(remarks)};
  }
  const HistoryVerdict& verdict = *history.verdict;
  add_verdict(verdict, out);
  if (verdict.answer == Linearizable::kNo) {
    remarks.push_back({Status::kInvalid, conflict_of(verdict) + (asked->file.empty() || !history.not_written.empty()
                                                                     ? ""
                                                                     : "; the history is in " + asked->file)});
  }
  if (history.calls == 0) {
    remarks.push_back({Status::kDegraded, "no call was on the recorded share of the keys, " + asked->share() +
                                              ", so the history says nothing; --history=FILE,keys=all has all calls"});
  }
  if (verdict.undecided > 0) {
    remarks.push_back({Status::kDegraded, fmt::format("whether the recorded calls on {} are linearizable is not known: "
                                                      "their checks reached their limits",
                                                      keys_text(verdict.undecided))});
  }
  return {std::move(out), std::move(remarks)};
}

void add_history(const OrReason<RecordedHistory>& history, Validation& validation) {
  if (!validation.passed || !*validation.passed)
    return;  // the tally has found a mistake already, or nothing was checked
  if (!history || !history->verdict) {
    validation.passed = OrReason<bool>::missing("no history was checked: " + history.reason);
  } else if (history->verdict->answer == Linearizable::kUnknown) {
    validation.passed = OrReason<bool>::missing(kNoAnswer);
  } else if (history->verdict->answer == Linearizable::kNo) {
    validation.passed = false;
    validation.detail = conflict_of(*history->verdict);
  }
}

}  // namespace latchlab
