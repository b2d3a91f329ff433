// From a stream's operations to steps: which keys, which values, and what a read must come back with.
//
// A promise is made only where it holds at all moments of the run, whatever overtakes what:
//
//   a read or update of a record   hits, unless the workload erases (the record may be gone, or not there yet) or addresses
//                                  what was just inserted (Stream::addresses_new), or the index keeps nothing
//   a read of an absent key        misses
//   an insert                      finds its key absent, unless the workload erases (then an upsert may have come before it), or
//                                  inserts what may be there (a trace, Stream::inserts_may_hit), or has more operations than
//                                  there are keys (lines of a file, u32, even strides), which then go round; one that fills an
//                                  index inserts each record once, of whichever keys
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
  /// `stream` must outlive the maker. `may_be_gone`: whether anything of the workload erases, or the index keeps nothing.
  /// `value_bits`: 64 or 32.
  StepMaker(const Stream& stream, bool may_be_gone, u32 value_bits)
      : stream_(stream), may_be_gone_(may_be_gone), value_bits_(value_bits) {}

  /// Makes the steps of the operations number first, first + 1, ..., which it leaves in `ops`.
  void make(u64 first, std::span<Step> steps, std::vector<Op>& ops) const;

  /// The same; room for them is made in `steps`. Returns them as one slice.
  Slice make(u64 first, u32 count, std::vector<Op>& ops, std::vector<Step>& steps) const;

  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  /// make(), where the keys are of this type.
  template <class Raw>
  void make_of(u64 first, std::span<Step> steps, std::span<const Op> ops) const;

  const Stream& stream_;
  bool may_be_gone_;
  u32 value_bits_;
};

/// All steps as one slice, which says if they are of one kind.
[[nodiscard]] Slice slice_of(std::span<const Step> steps);

/// Reads that check what was loaded: steps for `count` samples of the records, the first being sample number
/// `first` of `samples` in all, evenly spread over the records. They teach nothing: popularity is for the workload to say.
Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Step>& steps,
                  u32 value_bits);

/// What tells that two runs did the same operations, of the beginning of a stream: from operation `first` on made here, as for one
/// thread; `made`: the fingerprint of those before.
[[nodiscard]] StreamPrint print_of(const Stream& stream, u64 first = 0, u64 made = 0);

}  // namespace latchlab
