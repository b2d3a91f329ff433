#pragma once

// The operations of one phase of a run. Operation i is a function of (seed, phase, i) and of the configuration: not of
// the thread that executes it, nor of how the stream was cut into chunks. So the same work is done with 1 thread and
// with 56, under every policy, and fingerprint() proves it.
//
// Warm-up and measurement should go through ONE phase, the second going on where the first ended, so that the inserts
// of the second are new as well. A fresh index may start the phase again at 0.

#include <cassert>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/op.h"

namespace latchlab {

/// The phase of warm-up and measurement; loading is phase 0.
inline constexpr u64 kMeasuredPhase = 1;

/// When operations came that somebody has recorded, one after the other. One thread's.
class RecordedTimes {
 public:
  virtual ~RecordedTimes() = default;
  /// Of the next one, ns since the first of the recording; never less than the one before. While there is one.
  [[nodiscard]] virtual u64 next() = 0;
};

/// All threads share one.
class Stream {
 public:
  static constexpr u64 kEndless = KeySet::kNumbers;

  virtual ~Stream() = default;

  /// How many operations there are; kEndless for no end.
  [[nodiscard]] virtual u64 size() const = 0;

  /// Writes the operations number first, first + 1, ... to `ops`; first + ops.size() <= size(). Of each multi-get
  /// (OpKind) the keys, as reads, go to the end of `gets`, in the order of `ops`. Any thread, at any time.
  virtual void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const = 0;

  /// What all operations are but for their keys, where they are alike and keys are integers; fill_keys() is then
  /// defined.
  [[nodiscard]] virtual std::optional<Op> alike() const { return std::nullopt; }
  /// The keys of operations that are alike, of the numbers first, first + 1, ...: those that fill() gives. Any thread.
  virtual void fill_keys(u64 /*first*/, std::span<u64> /*keys*/) const { assert(false); }

  /// Where the parts of a stream begin that a thread each must do in order, and the end of the last: for a stream that
  /// is one for all threads just {0, size()}.
  [[nodiscard]] virtual std::vector<u64> parts() const { return {0, size()}; }

  /// Where a stream that is one for all threads has sections, their ends in order, the last of them size(): all
  /// operations before such an end are to be done before the next one begins.
  [[nodiscard]] virtual std::vector<u64> sections() const { return {}; }

  /// Whether what an operation addresses may not be there yet, although nothing was erased, because operations overtake
  /// each other.
  [[nodiscard]] virtual bool addresses_new() const = 0;

  /// Whether an insert may be of a key that is there, although nothing was erased and no key is used a second time.
  [[nodiscard]] virtual bool inserts_may_hit() const { return false; }

  /// The most keys that one operation looks up in one call: of a multi-get all.
  [[nodiscard]] virtual u32 most_keys() const { return 1; }

  /// When the operations number first, first + 1, ... of a part came, to its end; null where nobody has recorded it.
  /// The stream must outlive it. Any thread.
  [[nodiscard]] virtual std::unique_ptr<RecordedTimes> times_from(u64 /*first*/) const { return nullptr; }

  [[nodiscard]] const KeySet& keys() const { return keys_; }

 protected:
  /// `keys` must outlive the stream.
  explicit Stream(const KeySet& keys) : keys_(keys) {}

 private:
  const KeySet& keys_;
};

/// The sum over the operations of a hash of number and operation: equal for equal streams however they were cut, since
/// parts add up. Wraps around. `gets`: the keys of the multi-gets among them, as Stream::fill leaves them.
[[nodiscard]] u64 fingerprint(u64 first, std::span<const Op> ops, std::span<const Op> gets = {});

}  // namespace latchlab
