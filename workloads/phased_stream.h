#pragma once

// The phases of a file (phases_file.h) one after the other as one stream. Each is the stream of its mix over the records that the
// phases before it have left: with R of them and E gone, the window [E, E + R) of mix_stream.h.
//
// What is popular stays so from phase to phase as long as the number of records is the same; another number is another
// permutation.

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

class PhasedStream final : public Stream {
 public:
  /// `keys` must outlive the stream. Throws InputError as MixStream does, and for a phase that erases more than there is.
  PhasedStream(u64 seed, u64 phase, const KeySet& keys, const std::vector<WorkloadPhase>& phases, u64 records);

  [[nodiscard]] u64 size() const override { return parts_.back().end; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  /// What a phase addresses may be what the end of the one before has inserted, or is still to insert.
  [[nodiscard]] bool addresses_new() const override { return inserts_; }
  [[nodiscard]] u32 most_keys() const override { return most_keys_; }

 private:
  struct Part {
    std::unique_ptr<MixStream> stream;
    u64 begin;
    u64 end;
  };
  std::vector<Part> parts_;
  bool inserts_ = false;   // any of them
  u32 most_keys_ = 1;
};

}  // namespace latchlab
