// `harness limits`: measures what this machine can do at best without an index. It measures the limits that limits.h
// measures beside every run, and others that would take a run too long.
//
//   batches      pointer chases side by side, like the lookups of a batch: the time of a line for each number of
//                chases. More chases stop helping at the number of misses that a processor keeps in flight. The first
//                number is of one chase alone, measured like that of limits.h; a note says if the two differ much
//   locked       independent lines, each read and then changed by one locked instruction: what an update needs at least
//   random       independent lines, all threads together
//   read, write  sequential bytes, all threads together
//   operation    one random line an operation, by the loop of a run: no index that touches a line can be faster here
//   locks        an increment under a lock, or by an atomic instruction: each thread on its own counter, and all
//                threads on one
//
// Threads are pinned. All measurements use one buffer, with the page size that was asked for, on the nodes of the
// threads or those of --mem.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/host/limits.h"
#include "harness/host/progress.h"
#include "harness/host/topology.h"
#include "harness/result/report.h"
#include "harness/result/result.h"

namespace latchlab {

struct Survey {
  Config config;  ///< threads, placement and pages that were asked for
  MachineInfo machine;
  Limits limits;

  struct BatchCost {
    u32 lines = 0;
    double ns = 0;
  };
  OrReason<std::vector<BatchCost>> batches;
  OrReason<double> locked_ns;
  OrReason<double> read_gb;
  OrReason<double> write_gb;
  OrReason<double> operation_ns;

  struct LockCost {
    std::string name;
    OrReason<double> alone_ns;
    OrReason<double> contended_ns;
  };
  std::vector<LockCost> locks;
  std::vector<std::string> notes;  ///< notes of the measurements on how far they may be believed

  /// Returns the 10^9 bytes a second that all threads together get from independent lines.
  [[nodiscard]] OrReason<double> random_gb() const;
  /// Returns the batch at which a line costs least. `batches` must not be missing.
  [[nodiscard]] const BatchCost& best_batch() const;
  /// Returns `notes`, and a note if the two measurements of a single chase differ.
  [[nodiscard]] std::vector<std::string> all_notes() const;
};
void describe(Like<Survey::BatchCost> auto& b, auto& field) {
  field("lines", b.lines, "lines in flight, for each thread", kOneOrMore);
  field("ns", b.ns, "time of one line", kAboveZero);
}
void describe(Like<Survey::LockCost> auto& l, auto& field) {
  field.one_of("name", l.name, std::array{"fetch_add", "compare_and_swap", "spin", "mutex"});
  field("alone_ns", l.alone_ns, "time of an increment if each thread has a lock and number of its own", kAboveZero);
  field("contended_ns", l.contended_ns, "time from one increment to the next, by any thread, if all share one number",
        kAboveZero);
}
void describe(Like<Survey> auto& s, auto& field) {
  field.about(
      "A number that was not measured is null, and the property of the same name with _reason says why; it is never "
      "zero.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("machine", s.machine);
  field("threads", s.config.threads, "", kOneOrMore);
  field("pin", s.config.pin.text, "", kNotEmpty);
  field("mem", s.config.mem.text, "the placement asked for; first-touch and local use the nodes of all threads in turn",
        kNotEmpty);
  field("hugepages", s.config.huge_pages, "the page size asked for; page_bytes is the one observed");
  field("footprint_bytes", s.limits.footprint, "size of the buffer of all measurements", kOneOrMore);
  field("page_bytes", s.limits.page_bytes, "observed page size of most of the buffer", kOneOrMore);
  field("cycle_ns", s.limits.cycle_ns,
        "cycle of the processors' clock: time of an addition that waits for the one before it", kAboveZero);
  field("chase_ns", s.limits.chase_ns, "time of one line whose address is in the one before it", kAboveZero);
  field("independent_ns", s.limits.independent_ns, "time of one line if all addresses are known beforehand",
        kAboveZero);
  field("batches", s.batches,
        "time of one line for each number of chases side by side; the first is of one chase alone, like chase_ns");
  field("best_batch", then(s.batches, [&](const auto&) { return s.best_batch(); }),
        "the batch at which a line costs least");
  field("operation_ns", s.operation_ns, "a processor's time for an operation of one random line, by the loop of a run",
        kAboveZero);
  field("locked_ns", s.locked_ns,
        "time of one independent line that is read and then changed by one locked instruction", kAboveZero);
  field("random_gb_per_second", s.random_gb(), "10^9 bytes of independent lines, by all threads at the same time",
        kAboveZero);
  field("read_gb_per_second", s.read_gb, "10^9 bytes read in order, by all threads at the same time", kAboveZero);
  field("write_gb_per_second", s.write_gb, "10^9 bytes written in order, by all threads at the same time", kAboveZero);
  field("transaction_ns", s.limits.transaction_ns,
        "time of a hardware transaction that reads one line of its own thread", kAboveZero);
  field("locks", s.locks, "time of an increment, by an atomic instruction or under a lock");
  field("notes", s.all_notes(),
        "how far the numbers may be believed: noisy, or one chase alone took 20 % more or less in batches than in "
        "chase_ns",
        kNotEmpty);
}

/// Measures the limits, which takes about twenty times time_ns, and a second or two per GiB. `config` has threads, pin
/// and hugepages; plan.cpus and plan.pin are its seats. Values are missing with a reason if memory is out or the
/// process was interrupted.
[[nodiscard]] Survey survey_limits(const Config& config, const LimitsPlan& plan, const Topology& topology,
                                   Progress& progress);

/// Returns the 10^9 bytes a second that the threads of the plan read from the buffer in order, all together.
[[nodiscard]] double read_gb_of(const LimitsPlan& plan, const LineBuffer& buffer);

/// The time of an operation of one random line, by the loop of a run (survey_operation.cc).
struct OperationCost {
  OrReason<double> ns;
  std::string note;  ///< the note of a noisy run, else empty
};
[[nodiscard]] OperationCost measure_operation(const Config& config, const LimitsPlan& plan, const Topology& topology,
                                              Progress& progress);

/// Return the survey as a table for people, as the document that limits.schema.json describes, and that schema
/// (survey_report.cc).
[[nodiscard]] std::string table_of(const Survey& survey);
[[nodiscard]] Json json_of(const Survey& survey);
[[nodiscard]] std::string limits_schema();

}  // namespace latchlab
