#pragma once

// The operations of one phase of a run. Operation i is a function of (seed, phase, i) and of the configuration. It
// depends neither on the thread that executes it, nor on how the stream is cut into chunks. So 1 thread and 56 threads
// do the same work, under every policy; fingerprint() proves it.
//
// Warm-up and measurement should go through ONE phase, with the measurement starting where the warm-up ended, so that
// its inserts are new too. A fresh index may start the phase again at 0.

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

/// The recorded times at which operations came, in order. For one thread.
class RecordedTimes {
 public:
  virtual ~RecordedTimes() = default;
  /// Returns the time of the next operation, in ns since the first of the recording. It is never less than the one
  /// before. There must be a next one.
  [[nodiscard]] virtual u64 next() = 0;
};

/// A stream of operations, shared by all threads.
class Stream {
 public:
  static constexpr u64 kEndless = KeySet::kNumbers;

  virtual ~Stream() = default;

  /// Returns the number of operations; kEndless if there is no end.
  [[nodiscard]] virtual u64 size() const = 0;

  /// Writes operations first, first + 1, ... to `ops`; first + ops.size() <= size(). Appends the keys of each multi-get
  /// (OpKind) to `gets`, as reads, in the order of `ops`. Any thread may call it at any time.
  virtual void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const = 0;

  /// Returns the operation that all operations equal except for their keys, if there is one and keys are integers. Only
  /// then fill_keys() is defined.
  [[nodiscard]] virtual std::optional<Op> alike() const { return std::nullopt; }
  /// Writes the keys of such operations, first, first + 1, ...: the same keys as fill(). Any thread.
  virtual void fill_keys(u64 /*first*/, std::span<u64> /*keys*/) const { assert(false); }

  /// Returns where the parts of a stream begin, and the end of the last part. One thread must run the operations of a
  /// part, in order. For a stream that all threads share this is {0, size()}.
  [[nodiscard]] virtual std::vector<u64> parts() const { return {0, size()}; }

  /// Returns the ends of the sections of a shared stream, in order, the last one size(). All operations before such an
  /// end must be done before the next one begins.
  [[nodiscard]] virtual std::vector<u64> sections() const { return {}; }

  /// Returns true if an operation may address a record that is not inserted yet, although nothing was erased, since
  /// operations overtake each other.
  [[nodiscard]] virtual bool addresses_new() const = 0;

  /// Returns true if an insert may find its key present, although nothing was erased and no key is used twice.
  [[nodiscard]] virtual bool inserts_may_hit() const { return false; }

  /// Returns the largest number of keys that one operation looks up in one call, as a multi-get does.
  [[nodiscard]] virtual u32 most_keys() const { return 1; }

  /// Returns the recorded times of operations first, first + 1, ... to the end of their part; null without a recording.
  /// The stream must outlive the result. Any thread.
  [[nodiscard]] virtual std::unique_ptr<RecordedTimes> times_from(u64 /*first*/) const { return nullptr; }

  [[nodiscard]] const KeySet& keys() const { return keys_; }

 protected:
  /// `keys` must outlive the stream.
  explicit Stream(const KeySet& keys) : keys_(keys) {}

 private:
  const KeySet& keys_;
};

/// Returns the sum of a hash of number and operation over all operations, with wraparound. Parts add up, so equal
/// streams have equal sums no matter how they were cut. `gets` are the keys of their multi-gets, as Stream::fill leaves
/// them.
[[nodiscard]] u64 fingerprint(u64 first, std::span<const Op> ops, std::span<const Op> gets = {});

}  // namespace latchlab
