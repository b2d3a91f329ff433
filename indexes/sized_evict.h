#pragma once
// A step of a cache's clock hand over sized values (indexes/sized.h). The hand is a walk that goes round, and the
// reference bit is the used bit in the header of a value (src/memory/values.h):
//
//     use       finds the value; after the attempt, sets its bit if it is clear
//     evict     bit set --> the hand clears it           a value that was used since the last round stays for this one
//               bit clear -> an attempt erases the pair if it still has this word, and the bit is still clear
//
//   1. A new value begins clear, and so does the one that replaces a value, unless a modification wishes otherwise
//      (Mark in indexes/sized_modify.h). A short value has no bit: it counts as not used, so the first hand that comes
//      by evicts it.
//   2. The hand works on copies of words. The thread stays in the values' epoch from the copy to the attempt, so an
//      equal word is the same value (no ABA), and its header is readable.
//   3. An erase by key alone would take a value that another thread has just put. So the condition is in the attempt.
//   4. A claimed word is left to its claimer, which erases it.
//   5. An erase may need memory: `art` makes a smaller leaf or node. A pair whose erase lacks it stays, and the hand
//      goes on to pairs that can go.
//   6. Any number of threads may turn hands of their own, or take turns at one. The thread whose attempt erases a pair
//      retires its block.
//
// A block is free for another value after a grace period, when the reclaimer collects. An insert that lacks memory
// collects by itself. So a cache at its limit makes room by steps until the insert succeeds.
//
// The clock algorithm: F. J. Corbato, A paging experiment with the Multics system (1969).
#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <new>

#include "src/base/types.h"
#include "src/memory/attempt_blocks.h"
#include "sync/change.h"

namespace latchlab {

/// The result of a step of a clock hand.
struct Eviction {
  std::size_t pairs = 0;    ///< that the step has erased
  bool came_round = false;  ///< the hand was at its end, and is at its start again
};

namespace sized {

/// The step. Owner is a Sized.
template <class Owner, class Evicted>
class HandStep {
  using ThreadState = typename Owner::ThreadState;
  using Raw = typename Owner::Raw;
  using Store = typename Owner::Store;
  using Bugs = typename Owner::Bugs;

 public:
  /// The most pairs that a step erases: the reclaimer has room for as many blocks.
  static constexpr std::size_t kMost = AttemptBlocks<typename Owner::Machine>::kMaxBlocks;

  HandStep(Owner& owner, ThreadState& me, Evicted& evicted) : owner_(owner), me_(me), evicted_(evicted) {}

  Eviction take(typename Owner::Walk& hand, std::size_t most) {
    Owner::prepare(me_);
    bool more = false;
    const Retire retire{*this};
    {
      const typename Owner::Inside inside(me_);
      // An exception must not leave the walk: one that goes on may show the same copies again, in another epoch.
      more = owner_.index_.walk_on(me_.index, hand, std::min(most, kMost), [&](const Raw& key, u64 word) {
        if (thrown_ || count_ == kMost) return;
        try {
          pass(key, word);
        } catch (...) {
          thrown_ = std::current_exception();
        }
      });
    }
    if (thrown_) std::rethrow_exception(thrown_);
    return {.pairs = count_, .came_round = !more};
  }

 private:
  /// Retires what the step has erased, after the stay in the epoch: the thread's own stay would delay the collection.
  struct Retire {
    ~Retire() {
      for (std::size_t i = 0; i < step.count_; ++i) Owner::retire(step.me_, step.words_[i]);
    }
    HandStep& step;
  };

  void pass(const Raw& key, u64 word) {
    if (Owner::is_claimed(word) || Store::clear_used(word)) return;
    const auto wanted = [word](u64 now) { return Bugs::kEvictByKey || (now == word && !Store::is_used(word)); };
    try {
      if (owner_.index_.erase_if(me_.index, key, wanted) != Changed::kChanged) return;
    } catch (const std::bad_alloc&) {
      return;
    }
    words_[count_++] = word;
    evicted_(key, Store::bytes(words_[count_ - 1]));
  }

  Owner& owner_;
  ThreadState& me_;
  Evicted& evicted_;
  std::exception_ptr thrown_;
  std::size_t count_ = 0;
  std::array<u64, kMost> words_;
};

}  // namespace sized

}  // namespace latchlab
