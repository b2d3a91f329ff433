// From a stream's operations to steps: which keys, which values, and what a read must come back with.
//
// A promise is made only where it holds at all moments of the run, whatever overtakes what:
//
//   a read or update of a record   hits, unless the workload erases (the record may be gone, or not there yet)
//   a read of an absent key        misses
//   an insert                      finds its key absent, unless the workload erases (then an upsert may have
//                                  come before it) or keys come from a file, where record numbers go round
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/step.h"
#include "harness/trial.h"
#include "workloads/stream.h"

namespace latchlab {

class StepMaker {
 public:
  /// `stream` must outlive the maker. `erases`: whether anything of the workload erases.
  StepMaker(const Stream& stream, bool erases) : stream_(stream), erases_(erases) {}

  /// Makes the steps of the operations number first, first + 1, ...; room for them is made in `steps`. `ops`
  /// is scratch space. Returns them as one slice.
  Slice make(u64 first, u32 count, std::vector<Op>& ops, std::vector<Step>& steps) const;

  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  const Stream& stream_;
  bool erases_;
};

/// Reads that check what was loaded: steps for `count` samples of the records, the first being sample number
/// `first` of `samples` in all, evenly spread over the records.
Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count,
                  std::vector<Step>& steps);

}  // namespace latchlab
