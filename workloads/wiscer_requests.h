#pragma once

// The requests of a Wiscer file (wiscer.h), block after block. A list assigns popularity ranks to keys. Inserts,
// deletes and shifts change it as they do in Wiscer. So request i depends on those before it, and otherwise only on the
// seed.
//
//     rank        0    1    2   ...         n-1         popularity of rank r: (r+1)^-zipf in the sum of all n
//     order    [ key  key  key ...          key ]
//
//   fetch    takes the key at a rank drawn from the popularity
//   insert   draws a uniform random rank p. While the ranks up to p have less than .9 of the popularity, the new key
//            takes rank p, and the displaced key continues in its place with a random rank behind p. The last key
//            without a rank goes to the end
//   delete   begins at a uniform random rank p. While the ranks up to p have less than .9 of the popularity, the key at
//            p changes places with the key at a random rank behind it, which becomes p. The key at the last p is
//            deleted, and the last key of the list takes its rank
//   shift    for p = 0, 1, ... until the ranks up to p have the share that shifts: the key at p changes places with the
//            key at a random rank behind it
//
// A fetch or a delete on an empty list asks for a key that was never inserted.

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
  /// Makes the requests. `keys` must outlive this object, and must have file.initial_size keys and those that are
  /// inserted.
  WiscerRequests(const WiscerFile& file, u64 seed, const KeySet& keys);

  /// Returns the number of the next block, from 0.
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
  u64 inserted_;                // number of keys so far, which is the number of the next one
  std::vector<u64> order_;      // record numbers by rank
  u64 taken_ = 0;               // random words that changes of the list have used
  std::vector<double> sums_;    // the sum of the weights of ranks 0 to r
  std::optional<Ranks> ranks_;  // covers at least order_.size() ranks, so that it is rarely remade
};

}  // namespace latchlab
