#pragma once
// The popularity that a node of `vip` keeps of its key: the number of finds during a round of learning, and that
// round's number. Counts of earlier rounds are ignored. A count saturates rather than wraps.
#include <algorithm>

#include "src/base/types.h"

namespace latchlab::vip {

template <class Layout>
class Popularity {
 public:
  Popularity() = default;
  Popularity(u32 round, u32 finds) : word_(word(round, finds)) {}

  u32 finds(u32 round) const {
    const u64 word = word_.load();
    return word >> 32 == round ? static_cast<u32>(word) : 0;
  }
  bool later(u32 round) const { return word_.load() >> 32 > round; }
  /// Returns the count plus one, or the largest count.
  u32 next(u32 round) const { return std::max(finds(round), finds(round) + 1); }
  void note(u32 round, u32 finds) { word_.store(word(round, finds)); }

 private:
  static constexpr u64 word(u32 round, u32 finds) { return u64{round} << 32 | finds; }

  typename Layout::template Cell<u64> word_;
};

}  // namespace latchlab::vip
