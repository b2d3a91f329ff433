#pragma once

// The requests of a Wiscer file, shared by all threads. They can only be made in order (wiscer_requests.h). So a thread
// that needs a block also makes those before it, under a lock, and leaves them to the threads that have claimed them. A
// request is still a function of (seed, i), the same for any number of threads.
//
// A block is kept until all of it has been handed out, so a slow thread finds its block. Only two kinds of blocks are
// made again, from the beginning. These are a block that is asked for a second time, and one that is no longer kept.
// The oldest block is dropped if kMostKept blocks are kept when another is made. Other threads' blocks are not
// affected.

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
  /// Number of blocks kept, 128 MB of them: more than 1024 threads (kMostThreads) claim at once, 32 each.
  static constexpr std::size_t kMostKept = 40'000;

  /// Makes the stream. `keys` must outlive it, and must have file.initial_size keys and those that are inserted.
  /// `most_kept` is for tests.
  WiscerStream(const WiscerFile& file, u64 seed, const KeySet& keys, std::size_t most_kept = kMostKept);

  [[nodiscard]] u64 size() const override { return kEndless; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  /// Returns true if there are inserts: the next request, on another thread, may fetch an inserted key.
  [[nodiscard]] bool addresses_new() const override { return front_.mix().has(OpKind::kInsert); }

  /// Returns how often a block had to be made again.
  [[nodiscard]] u64 made_again() const;

 private:
  using Block = std::array<Op, Mix::kBlock>;
  struct Kept {
    Block ops;
    std::size_t left = Mix::kBlock;  // operations of the block that are still to be handed out
  };

  void give(u64 number, std::size_t from, std::span<Op> ops) const;
  [[nodiscard]] const Block& again(u64 number) const;

  const WiscerFile file_;
  const u64 seed_;
  const std::size_t most_kept_;

  // Advanced by fill, which is const for its callers: its results never depend on earlier calls.
  mutable std::mutex mutex_;
  mutable WiscerRequests front_;
  mutable std::map<u64, Kept> kept_;
  mutable std::optional<WiscerRequests> behind_;  // makes blocks again
  mutable Block again_{};                         // the last block that behind_ made
  mutable u64 made_again_ = 0;
};

}  // namespace latchlab
