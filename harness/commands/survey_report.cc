// Reports the survey: as a table for people, and as the document that limits.schema.json describes.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/survey.h"
#include "harness/config/numbers.h"
#include "harness/result/schema.h"

namespace latchlab {

namespace {

/// Returns a line of the table: a name, a number with its unit, and its meaning. If the number is missing, the line has
/// the reason.
std::string line(std::string_view name, const OrReason<double>& value, std::string_view unit,
                 const std::string& meaning) {
  const std::string number = value ? fmt::format("{:.2f}", *value) : std::string("-");
  return fmt::format("{:<17} {:>9} {:<5} {}\n", name, number, value ? unit : "", value ? meaning : value.reason);
}

std::string gigahertz(const OrReason<double>& cycle_ns) {
  return cycle_ns ? fmt::format("an addition that waits for the one before it: {:.2f} GHz", 1 / *cycle_ns) : "";
}

std::string batches_text(const Survey& survey) {
  if (!survey.batches) return line("best batch", OrReason<double>::missing(survey.batches.reason), "", "");
  const Survey::BatchCost& best = survey.best_batch();
  std::vector<std::string> all;
  for (const Survey::BatchCost& batch : *survey.batches)
    all.push_back(fmt::format("{}: {:.3g}", batch.lines, batch.ns));
  return line("best batch", best.ns, "ns", fmt::format("a line, {} chases side by side", best.lines)) +
         fmt::format("  by their number: {}\n", fmt::join(all, "  "));
}

std::string locks_text(const std::vector<Survey::LockCost>& locks) {
  if (locks.empty()) return "";
  const auto ns = [](const OrReason<double>& value) {
    return value ? fmt::format("{:.2f} ns", *value) : std::string("-");
  };
  std::string text = fmt::format("\n{:<17} {:>9}     {:>12}   one increment\n", "", "alone", "contended");
  for (const Survey::LockCost& lock : locks) {
    text += fmt::format("{:<17} {:>12}  {:>15}\n", lock.name, ns(lock.alone_ns), ns(lock.contended_ns));
  }
  if (!locks.front().contended_ns) text += fmt::format("contended: {}\n", locks.front().contended_ns.reason);
  return text;
}

}  // namespace

std::vector<std::string> Survey::all_notes() const {
  constexpr double kApart = 1.2;
  std::vector<std::string> all = notes;
  if (!batches || !limits.chase_ns) return all;
  const auto [less, more] = std::minmax(*limits.chase_ns, batches->front().ns);
  if (more > less * kApart) {
    all.push_back(
        fmt::format("a chase alone took {:.3g} ns a line, but {:.3g} when measured with the batches: something "
                    "disturbed one of the two; run it again",
                    *limits.chase_ns, batches->front().ns));
  }
  return all;
}

std::string table_of(const Survey& survey) {
  const Limits& limits = survey.limits;
  const Config& config = survey.config;
  const std::string footprint = limits.footprint
                                    ? fmt::format("{:.4g} MiB", static_cast<double>(*limits.footprint) / (1 << 20))
                                    : limits.footprint.reason;
  std::string text =
      fmt::format("{} thread{}, pin={}, mem={}, {} on {} pages\n\n", config.threads, config.threads == 1 ? "" : "s",
                  config.pin.text, config.mem.text, footprint, page_text(limits.page_bytes));
  text += line("cycle", limits.cycle_ns, "ns", gigahertz(limits.cycle_ns));
  text += line("chase", limits.chase_ns, "ns", "a line, whose address is in the one before it");
  text += line("independent", limits.independent_ns, "ns", "a line, all addresses known beforehand");
  text += batches_text(survey);
  text += line("operation", survey.operation_ns, "ns", "one random line an operation, by the loop of a run");
  text += line("locked", survey.locked_ns, "ns", "a line that is read, then changed by one locked instruction");
  text += line("random", survey.random_gb(), "GB/s", "independent lines, all threads");
  text += line("read", survey.read_gb, "GB/s", "one line after the other, all threads");
  text += line("write", survey.write_gb, "GB/s", "one line after the other, all threads");
  text += line("transaction", limits.transaction_ns, "ns", "one that reads a line of its own thread");
  text += locks_text(survey.locks);
  for (const std::string& note : survey.all_notes()) text += fmt::format("note: {}\n", note);
  return text;
}

Json json_of(const Survey& survey) { return to_json(survey); }

std::string limits_schema() {
  return schema_text("limits.schema.json", "The limits of a machine, measured without an index", schema_of<Survey>());
}

}  // namespace latchlab
