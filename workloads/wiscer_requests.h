#pragma once

// The requests of a Wiscer file (wiscer.h), block after block. Which key has which popularity is a list that inserts,
// deletes and shifts change as Wiscer does, so request i depends on those before it, and on nothing else but the seed.
//
//     rank        0    1    2   ...         n-1         popularity of rank r: (r+1)^-zipf in the sum of all n
//     order    [ key  key  key ...          key ]
//
//   fetch    the key at a rank drawn from the popularity
//   insert   a new key takes a uniform random rank p; while the ranks up to p have less than .9 of the popularity, what
//            it pushed out takes a random rank behind p; the last one pushed out goes to the end
//   delete   from a uniform random rank, while the ranks up to it have less than .9, the key there changes places with
//            one at a random rank behind it; it is the last such that goes, and the last of the list takes its rank
//   shift    for p = 0, 1, ... until the ranks up to p have the share that shifts: what is at p changes places with
//            what is at a random rank behind it
//
// A fetch or a delete of an empty list asks for a key that was never inserted.

#include <optional>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/op.h"
#include "workloads/ranks.h"
#include "workloads/wiscer.h"

namespace latchlab {

class WiscerRequests {
 public:
  /// `keys` must outlive this and have file.initial_size and what is inserted.
  WiscerRequests(const WiscerFile& file, u64 seed, const KeySet& keys);

  /// The number of the block that comes next, from 0.
  [[nodiscard]] u64 next() const { return block_; }
  void make_next(std::span<Op, Mix::kBlock> ops);

  [[nodiscard]] const Mix& mix() const { return mix_; }

 private:
  void make_fetches(u64 first, std::span<Op> ops);

  [[nodiscard]] u64 fetched_rank(u64 i) const;
  [[nodiscard]] bool is_hot(u64 rank, double share) const;
  [[nodiscard]] u64 any_rank(u64 from);
  void insert(Op& op);
  void erase(Op& op);
  void shift();
  void fit_ranks();

  const KeySet& keys_;
  const WiscerFile file_;
  const Mix mix_;
  const Draws fetches_, changes_, schedules_;
  u64 block_ = 0;
  u64 inserted_;                // keys so far: the number of the next one
  std::vector<u64> order_;      // record numbers by rank
  u64 taken_ = 0;               // random words that changes of the list have taken
  std::vector<double> sums_;    // of the weights of ranks 0 to r
  std::optional<Ranks> ranks_;  // over ranks_->size() >= order_.size() ranks, so that it rarely must be made again
};

}  // namespace latchlab
