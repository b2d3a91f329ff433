#pragma once

// The requests of a Wiscer file for all threads. They can only be made one after the other (wiscer_requests.h), so
// whoever needs a block makes those before it too, under a lock, and leaves them to whom they are dealt. Requests are a
// function of (seed, i) all the same, and the same for any number of threads.
//
// A block is kept until all of it was given away: however late a thread comes for its own, it is there. Only a block
// that somebody asks for a second time, or that kMostKept others have outlived, is made again, from the beginning,
// beside what goes on.

#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/stream.h"
#include "workloads/wiscer.h"
#include "workloads/wiscer_requests.h"

namespace latchlab {

class WiscerStream final : public Stream {
 public:
  /// Blocks, 128 MB of them: more than 1024 threads (kMostThreads) are dealt at once, 32 each.
  static constexpr std::size_t kMostKept = 40'000;

  /// `keys` must outlive the stream and have file.initial_size and what is inserted. `most_kept`: for tests.
  WiscerStream(const WiscerFile& file, u64 seed, const KeySet& keys, std::size_t most_kept = kMostKept);

  [[nodiscard]] u64 size() const override { return kEndless; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  /// What was inserted may be fetched by the next request, which another thread may have.
  [[nodiscard]] bool addresses_new() const override { return front_.mix().has(OpKind::kInsert); }

  /// How often a block had to be made again.
  [[nodiscard]] u64 made_again() const;

 private:
  using Block = std::array<Op, Mix::kBlock>;
  struct Kept {
    Block ops;
    std::size_t left = Mix::kBlock;  // of them to be given away
  };

  void give(u64 number, std::size_t from, std::span<Op> ops) const;
  [[nodiscard]] const Block& again(u64 number) const;

  const WiscerFile file_;
  const u64 seed_;
  const std::size_t most_kept_;

  // Moved on by fill, which is const to its callers: what it gives never depends on who asked before.
  mutable std::mutex mutex_;
  mutable WiscerRequests front_;
  mutable std::map<u64, Kept> kept_;
  mutable std::optional<WiscerRequests> behind_;  // for what is made again
  mutable Block again_{};                         // the last that it made
  mutable u64 made_again_ = 0;
};

}  // namespace latchlab
