#pragma once
// A bucket of a chained table: the head of a chain, packed into one word with the state of a growing bucket (word.h).
#include "src/base/types.h"

namespace latchlab::chained {

template <class Layout>
struct Bucket {
  explicit Bucket(u64) {}
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  u8 tag() const { return 0; }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;
};

}  // namespace latchlab::chained
