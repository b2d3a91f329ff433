#pragma once
// Programs with which the race finder explores memc3. The hashes of a key are those of cuckoo's buckets of pairs, so
// that the programs of cuckoo fit (indexes/cuckoo/race_mixes_test.h).
#include <vector>

#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/memc3/memc3.h"

namespace latchlab::testing {

/// Returns mixes for tables of two buckets of four slots, then four and sixteen. The last has a displacement for nearly
/// every insert: three of four buckets are full, and lead to the fourth, so a path has two moves.
inline std::vector<RaceMix<u64>> memc3_mixes() {
  std::vector<RaceMix<u64>> mixes = cuckoo_mixes<PairsId>(4, 4);
  const auto at = [](u64 home, u64 other, u32 nth) { return number_of<PairsId>(home, other, nth); };
  std::vector<u64> chain;
  for (u32 i = 0; i < 4; ++i) chain.push_back(at(0, 1, i));
  for (u32 i = 0; i < 4; ++i) chain.push_back(at(1, 2, i));
  for (u32 i = 0; i < 2; ++i) chain.push_back(at(2, 3, i));
  mixes.push_back({"path of two moves",
                   chain,
                   {},
                   {chain[0], chain[1], chain[4], chain[5], at(0, 0, 0), at(0, 1, 9)},
                   {6, 6, 1, 0, 1, 0}});
  return mixes;
}

}  // namespace latchlab::testing
