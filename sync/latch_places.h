#pragma once
// The place of a node's latch, for transactions with versions: a small copyable object whose `of(node)` is the latch.
// Its Lock is a latch that a transaction locks, and its Queue what the transaction needs for that. (Latches with queues
// have places of their own, queued.h.)
//
//   LatchInNode    in the node             on a line that a reader of the node needs anyway; 8 bytes a node, or none
//                                          if the node has a word, which then is its latch
//   LatchInStripe  in a table of stripes   nodes carry nothing; one more line a node, and unrelated nodes share a latch
//
// Sharing is safe, because a version then counts the changes of all its nodes. A reader of one of them may restart too
// often, but never too seldom. A parent and its child may share a latch. Then a step loads it twice, and an upgrade
// locks it once. The stripe is a function of the node's address. So a block that is reused for another node keeps its
// stripe, and the version never goes back.
#include <memory>

#include "src/base/hash.h"
#include "sync/version_latch.h"

namespace latchlab {

template <class M>
struct LatchInNode {
  static constexpr bool kTagged = true;  ///< the latch holds the node's tag
  using Lock = VersionLock<M>;
  using Queue = NoQueue;
  template <class N>
  static auto& of(N* node) {
    if constexpr (requires { node->latch; }) {
      return node->latch;
    } else {
      return node->word;
    }
  }
};

/// The table of stripes, which lives as long as its policy. Each stripe has a line of its own.
template <class M>
class Stripes {
 public:
  /// Makes a table of `count` stripes, 1 or more. Throws std::bad_alloc.
  explicit Stripes(u64 count) : count_(count), stripe_(new Stripe[count]) {}

  /// Returns the latch of a node. The factor scatters addresses; the high word of the product scales them to the table.
  VersionLatch<M>& of(const void* node) const {
    return stripe_[multiply_high(reinterpret_cast<u64>(node) * kMixFactor, count_)].latch;
  }

 private:
  struct alignas(kLineBytes) Stripe {
    VersionLatch<M> latch;
  };
  const u64 count_;
  const std::unique_ptr<Stripe[]> stripe_;
};

template <class M>
class LatchInStripe {
 public:
  static constexpr bool kTagged = false;
  using Lock = VersionLock<M>;
  using Queue = NoQueue;

  LatchInStripe() = default;  // has no table until it is assigned
  explicit LatchInStripe(const Stripes<M>& stripes) : stripes_(&stripes) {}
  VersionLatch<M>& of(const void* node) const { return stripes_->of(node); }

 private:
  const Stripes<M>* stripes_ = nullptr;
};

}  // namespace latchlab
