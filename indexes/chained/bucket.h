#pragma once
// A bucket of a chained table: the head of a chain, packed into one word with the state of a growing bucket (word.h).
#include "indexes/chained/word.h"
#include "src/base/types.h"

namespace latchlab::chained {

template <class Layout>
struct Bucket {
  Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  u8 tag() const { return 0; }
  void begin(u32 bits, u64) { word.store(Word<void>::empty(bits).word()); }
  static u32 bits_of(u64 word) { return Word<void>(word).bits(); }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;
};

}  // namespace latchlab::chained
