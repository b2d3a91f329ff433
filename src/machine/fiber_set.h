#pragma once
// A set of fibers: one bit each. With up to 64 fibers it compiles to the instructions of a word.
#include <array>
#include <bit>

#include "src/base/types.h"

namespace latchlab {

template <u32 kMost>
class FiberSet {
  static_assert(kMost % 64 == 0);
  static constexpr u32 kWords = kMost / 64;

 public:
  void add(u32 fiber) { words_[word_of(fiber)] |= bit_of(fiber); }
  void remove(u32 fiber) { words_[word_of(fiber)] &= ~bit_of(fiber); }
  bool has(u32 fiber) const { return words_[word_of(fiber)] & bit_of(fiber); }
  bool empty() const {
    u64 all = 0;
    for (const u64 word : words_) all |= word;
    return all == 0;
  }
  /// Calls f(fiber) for every member but `fiber`, in ascending order; f must remove the member that it is called for.
  template <class F>
  void drain_others(u32 fiber, F&& f) {
    for (u32 i = 0; i < kWords; ++i) {
      const u64 mine = i == word_of(fiber) ? bit_of(fiber) : 0;
      while (const u64 others = words_[i] & ~mine) f(i * 64 + static_cast<u32>(std::countr_zero(others)));
    }
  }

 private:
  static constexpr u32 word_of(u32 fiber) { return kWords == 1 ? 0 : fiber / 64; }
  static constexpr u64 bit_of(u32 fiber) { return u64{1} << fiber % 64; }

  std::array<u64, kWords> words_;
};

/// The state of a cache line for the conflicts of transactions. All zero: no fiber has it.
template <u32 kMostFibers>
struct LineState {
  FiberSet<kMostFibers> readers;  // the fibers that have read it in their transactions
  u16 writer1;                    // one plus the fiber that has written it in its transaction; 0 for none
  bool waited;                    // a fiber is parked on it
  bool used;                      // the memory has recorded that it must be cleared

  bool idle() const { return readers.empty() && writer1 == 0 && !waited; }
};

}  // namespace latchlab
