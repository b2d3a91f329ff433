#pragma once

// The requests of a Wiscer file (wiscer.h). Which key has which popularity is a list that inserts, deletes and shifts
// change as Wiscer does, so request i depends on those before it: the list is moved on block by block, by whoever needs
// the next block, under a lock. Requests are a function of (seed, i) all the same, and the same for any number of
// threads; a block that was given away already is made again from the beginning.
//
//     rank        0    1    2   ...         n-1         popularity of rank r: (r+1)^-zipf in the sum of all n
//     order    [ key  key  key ...          key ]
//
//   fetch    the key at a rank drawn from the popularity
//   insert   a new key takes a uniform random rank p; while the ranks up to p have less than .9 of the popularity, what
//            it pushed out takes a random rank behind p; the last one pushed out goes to the end
//   delete   from a uniform random rank, while the ranks up to it have less than .9, the key there changes places with
//            one at a random rank behind it; it is the last such that goes, and the last of the list takes its rank
//   shift    for p = 0, 1, ... until the ranks up to p have the share that shifts: what is at p changes places with what
//            is at a random rank behind it
//
// A fetch or a delete of an empty list asks for a key that was never inserted.

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/ranks.h"
#include "workloads/stream.h"
#include "workloads/wiscer.h"

namespace latchlab {

class WiscerStream final : public Stream {
 public:
  /// `keys` must outlive the stream and have file.initial_size and what is inserted.
  WiscerStream(const WiscerFile& file, u64 seed, const KeySet& keys);

  [[nodiscard]] u64 size() const override { return kEndless; }
  void fill(u64 first, std::span<Op> ops) const override;
  /// What was inserted may be fetched by the next request, which another thread may have.
  [[nodiscard]] bool addresses_new() const override { return mix_.has(OpKind::kInsert); }

 private:
  using Block = std::vector<Op>;

  /// The list and what follows from it, as of a block.
  struct State {
    u64 block = 0;              ///< the next to be made
    u64 inserted = 0;           ///< keys so far: the number of the next one
    std::vector<u64> order;     ///< record numbers by rank
    u64 changes = 0;            ///< random words that changes of the list have taken
  };

  [[nodiscard]] const Block& block(u64 number) const;
  void begin_again() const;
  void make_next() const;
  void make_fetches(u64 first, std::span<Op> ops) const;

  [[nodiscard]] u64 fetched_rank(u64 i) const;
  [[nodiscard]] bool is_hot(u64 rank, double share) const;
  [[nodiscard]] u64 any_rank(u64 from) const;
  void insert(Op& op) const;
  void erase(Op& op) const;
  void shift() const;
  void fit_ranks() const;

  const WiscerFile file_;
  const Mix mix_;
  const u64 seed_;
  const Draws fetches_, changes_, schedules_;

  // Moved on by fill, which is const to its callers: what it gives never depends on who asked before.
  mutable std::mutex mutex_;
  mutable State now_;
  mutable std::map<u64, Block> made_;       // not yet given away, or not long ago
  mutable std::vector<double> sums_;        // of the weights of ranks 0 to r
  mutable std::optional<Ranks> ranks_;      // over ranks_->size() >= order.size() ranks, so that it rarely must be made again
};

}  // namespace latchlab
