// `harness limits`: what this machine can do at best, with no index: what limits.h measures beside every run, and more of the
// kind, which no run waits for.
//
//   batches      chases side by side, as the lookups of a batch go: with so many in flight a line costs so much. From some
//                number on more of them do not help: as many misses as a processor keeps in flight. The first number is of
//                one alone, measured as the chase of limits.h is; where the two are far apart, a note says so
//   read, write  bytes one after the other, all threads together
//   operation    one random line an operation, by the loop of a run: no index that touches a line can be faster here
//   locks        an increment under a lock, or by an atomic instruction, by each thread alone and by all on the same one
//
// All of it on one buffer, pinned, on the page size that was asked for, and on the nodes of the threads or those of --mem.
#pragma once

#include <string>
#include <vector>

#include "harness/host/limits.h"
#include "harness/host/progress.h"
#include "harness/host/topology.h"
#include "harness/result/report.h"
#include "harness/result/result.h"

namespace latchlab {

struct Survey {
  Config config;   ///< threads, placement and pages that were asked for
  MachineInfo machine;
  Limits limits;

  struct Batch {
    u32 lines = 0;   ///< in flight, of each thread
    double ns = 0;   ///< a line
  };
  Measured<std::vector<Batch>> batches;
  Measured<double> read_gb;    ///< 10^9 bytes a second
  Measured<double> write_gb;
  Measured<double> operation_ns;   ///< of a processor's time

  struct Lock {
    std::string name;   ///< fetch_add, compare_and_swap, spin, mutex
    Measured<double> alone_ns;
    Measured<double> contended_ns;   ///< from one increment to the next, whoever's it is
  };
  std::vector<Lock> locks;
  std::vector<std::string> notes;   ///< on how far it may be believed, from its measurements

  /// The one at which a line costs least. `batches` must be there.
  [[nodiscard]] const Batch& best_batch() const;
};

/// Some twenty times time_ns, and a second or two per GiB. `config` says threads, pin and hugepages; plan.cpus and plan.pin
/// are its seats. Reasons instead of values where memory is out or somebody interrupted.
[[nodiscard]] Survey survey_limits(const Config& config, const LimitsPlan& plan, const Topology& topology, Progress& progress);

/// One random line an operation, by the loop of a run (survey_operation.cc); a note where that run is noisy.
void measure_operation(Survey& survey, const LimitsPlan& plan, const Topology& topology, Progress& progress);

/// For people, and the document that limits.schema.json describes (survey_report.cc).
[[nodiscard]] std::string table_of(const Survey& survey);
[[nodiscard]] Json json_of(const Survey& survey);

}  // namespace latchlab
