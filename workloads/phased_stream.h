#pragma once

// The phases of a file (phases_file.h) as one stream. Each phase is the stream of its mix over the records that the
// phases before it have left. With R of them and E gone, that is the window [E, E + R) of mix_stream.h. All operations
// of a phase end before the next phase begins, so that it finds those records: each phase is a section of the stream.
// In an open loop threads cannot wait for each other, so operations at the edge may come early or late, as within a
// phase.
//
// Popular records stay popular from phase to phase as long as the number of records is the same, even if the records
// were replaced. Another number of records means another permutation. Churn begins anew with each phase.

#include <memory>
#include <span>
#include <vector>

#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/mix_stream.h"
#include "workloads/op.h"
#include "workloads/phases_file.h"
#include "workloads/stream.h"

namespace latchlab {

/// Returns the window that each phase finds if `records` are loaded, and at the end the window that the last phase
/// leaves. Throws InputError with the name of a phase that
///   - erases as many records as there are,
///   - leaves more than there are keys (`capacity`) or than a distribution covers, or
///   - finds too few for its distribution (the stretches of a histogram).
[[nodiscard]] std::vector<MixStream::Window> windows_of(const std::vector<WorkloadPhase>& phases, u64 records,
                                                        u64 capacity);

class PhasedStream final : public Stream {
 public:
  /// Makes the stream. `keys` must outlive it. Throws InputError as MixStream and windows_of do.
  PhasedStream(u64 seed, u64 phase, const KeySet& keys, const std::vector<WorkloadPhase>& phases, u64 records);

  [[nodiscard]] u64 size() const override { return parts_.back().end; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::vector<u64> sections() const override;
  /// Returns true if a phase may address records that the end of the phase before has inserted, or is still to insert.
  [[nodiscard]] bool addresses_new() const override { return inserts_; }
  /// Returns true if an upsert of such a record may come before its insert.
  [[nodiscard]] bool inserts_may_hit() const override { return inserts_ && upserts_; }
  [[nodiscard]] u32 most_keys() const override { return most_keys_; }

 private:
  struct Part {
    std::unique_ptr<MixStream> stream;
    u64 begin;
    u64 end;
  };
  std::vector<Part> parts_;
  bool inserts_ = false;  // true if any phase inserts; upserts_ likewise
  u32 most_keys_ = 1;
  bool upserts_ = false;
};

}  // namespace latchlab
