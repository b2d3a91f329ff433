#pragma once

// The phases of a file (phases_file.h) one after the other as one stream. Each is the stream of its mix over the
// records that the phases before it have left: with R of them and E gone, the window [E, E + R) of mix_stream.h. So
// that it finds them, nobody begins a phase before all operations of the one before are done: each is a section of the
// stream. Where threads cannot wait for each other, in an open loop, those at the edge may come early or late, as
// within a phase.
//
// What is popular stays so from phase to phase as long as the number of records is the same, also where they were
// replaced; another number is another permutation. Churn begins anew with each phase.

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

/// What each of these phases finds where `records` are loaded, and behind the last one what that leaves. Throws
/// InputError that names the phase which erases as many as there are, leaves more than there are keys (`capacity`) or
/// than a distribution covers, or finds too few for its distribution (a histogram's stretches).
[[nodiscard]] std::vector<MixStream::Window> windows_of(const std::vector<WorkloadPhase>& phases, u64 records,
                                                        u64 capacity);

class PhasedStream final : public Stream {
 public:
  /// `keys` must outlive the stream. Throws InputError as MixStream and windows_of do.
  PhasedStream(u64 seed, u64 phase, const KeySet& keys, const std::vector<WorkloadPhase>& phases, u64 records);

  [[nodiscard]] u64 size() const override { return parts_.back().end; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::vector<u64> sections() const override;
  /// What a phase addresses may be what the end of the one before has inserted, or is still to insert.
  [[nodiscard]] bool addresses_new() const override { return inserts_; }
  /// An upsert of it may come before the insert.
  [[nodiscard]] bool inserts_may_hit() const override { return inserts_ && upserts_; }
  [[nodiscard]] u32 most_keys() const override { return most_keys_; }

 private:
  struct Part {
    std::unique_ptr<MixStream> stream;
    u64 begin;
    u64 end;
  };
  std::vector<Part> parts_;
  bool inserts_ = false;  // any of them
  u32 most_keys_ = 1;
  bool upserts_ = false;
};

}  // namespace latchlab
