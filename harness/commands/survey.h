// `harness limits`: what this machine can do at best, with no index: what limits.h measures beside every run, and more
// of the kind, which no run waits for.
//
//   batches      chases side by side, as the lookups of a batch go: with so many in flight a line costs so much. From
//                some number on more of them do not help: as many misses as a processor keeps in flight. The first
//                number is of one alone, measured as the chase of limits.h is; where the two are far apart, a note says
//                so
//   read, write  bytes one after the other, all threads together
//   operation    one random line an operation, by the loop of a run: no index that touches a line can be faster here
//   locks        an increment under a lock, or by an atomic instruction, by each thread alone and by all on the same
//                one
//
// All of it on one buffer, pinned, on the page size that was asked for, and on the nodes of the threads or those of
// --mem.
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
  OrReason<double> read_gb;
  OrReason<double> write_gb;
  OrReason<double> operation_ns;

  struct LockCost {
    std::string name;
    OrReason<double> alone_ns;
    OrReason<double> contended_ns;
  };
  std::vector<LockCost> locks;
  std::vector<std::string> notes;  ///< on how far it may be believed, from its measurements

  /// The one at which a line costs least. `batches` must be there.
  [[nodiscard]] const BatchCost& best_batch() const;
  /// `notes`, and that the number which it has twice, of one chase, is not the same.
  [[nodiscard]] std::vector<std::string> all_notes() const;
};
void describe(Like<Survey::BatchCost> auto& b, auto& field) {
  field("lines", b.lines, "in flight, of each thread", kOneOrMore);
  field("ns", b.ns, "a line", kAboveZero);
}
void describe(Like<Survey::LockCost> auto& l, auto& field) {
  field.one_of("name", l.name, std::array{"fetch_add", "compare_and_swap", "spin", "mutex"});
  field("alone_ns", l.alone_ns, "each thread its own", kAboveZero);
  field("contended_ns", l.contended_ns, "all the same one: from one increment to the next, whoever's it is",
        kAboveZero);
}
void describe(Like<Survey> auto& s, auto& field) {
  field.about(
      "What was not measured is null, and the property of the same name with _reason says why; it is never zero.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("machine", s.machine);
  field("threads", s.config.threads, "", kOneOrMore);
  field("pin", s.config.pin.text, "", kNotEmpty);
  field("mem", s.config.mem.text, "asked for; first-touch and local: on the nodes of all threads in turn", kNotEmpty);
  field("hugepages", s.config.huge_pages, "asked for; page_bytes is what was had");
  field("footprint_bytes", s.limits.footprint, "of the buffer that all of it ran over", kOneOrMore);
  field("page_bytes", s.limits.page_bytes, "of most of the buffer, as observed", kOneOrMore);
  field("cycle_ns", s.limits.cycle_ns, "of the processors' clock: an addition that waits for the one before it",
        kAboveZero);
  field("chase_ns", s.limits.chase_ns, "one line, whose address is in the one before it", kAboveZero);
  field("independent_ns", s.limits.independent_ns, "one line, all addresses known beforehand", kAboveZero);
  field("batches", s.batches,
        "chases side by side, so many of each thread: ns a line; the first is of one alone, as chase_ns is");
  field("best_batch", then(s.batches, [&](const auto&) { return s.best_batch(); }),
        "the one at which a line costs least");
  field("operation_ns", s.operation_ns, "of a processor's time: one random line an operation, by the loop of a run",
        kAboveZero);
  field("read_gb_per_second", s.read_gb, "10^9 bytes, one line after the other, all threads at the same time",
        kAboveZero);
  field("write_gb_per_second", s.write_gb, "likewise", kAboveZero);
  field("transaction_ns", s.limits.transaction_ns, "of the hardware, that reads one line of its thread's own",
        kAboveZero);
  field("locks", s.locks, "an increment, by an atomic instruction or under a lock");
  field("notes", s.all_notes(),
        "on how far the numbers may be believed: noisy, or one chase alone took 20 % more or less in batches than in "
        "chase_ns",
        kNotEmpty);
}

/// Some twenty times time_ns, and a second or two per GiB. `config` says threads, pin and hugepages; plan.cpus and
/// plan.pin are its seats. Reasons instead of values where memory is out or somebody interrupted.
[[nodiscard]] Survey survey_limits(const Config& config, const LimitsPlan& plan, const Topology& topology,
                                   Progress& progress);

/// One random line an operation, by the loop of a run (survey_operation.cc), in ns; a note where that run is noisy.
struct OperationCost {
  OrReason<double> ns;
  std::string note;  ///< empty where there is nothing to say
};
[[nodiscard]] OperationCost measure_operation(const Config& config, const LimitsPlan& plan, const Topology& topology,
                                              Progress& progress);

/// For people, and the document that limits.schema.json describes (survey_report.cc).
[[nodiscard]] std::string table_of(const Survey& survey);
[[nodiscard]] Json json_of(const Survey& survey);
[[nodiscard]] std::string limits_schema();

}  // namespace latchlab
