#pragma once
// Where the latch of a node is, for transactions with versions: a small thing to copy, whose `of(node)` is the latch.
//
//   LatchInNode    in the node itself       a line that a reader of the node needs anyway; 8 bytes a node
//   LatchInStripe  in a table beside them   nodes carry nothing; a further line a node, and strangers share a latch
//
// Sharing is safe, since a version then counts the changes of all its nodes: who reads one of them restarts too often
// and never too seldom. A parent and its child may share: a step asks one latch twice, an upgrade locks it once. A
// node's stripe is a function of its address, so a block that comes back as another node has the same, and its version
// never goes back.
#include <memory>

#include "src/base/hash.h"
#include "sync/version_latch.h"

namespace latchlab {

template <class M>
struct LatchInNode {
  static constexpr bool kTagged = true;  ///< the latch was made with the node's tag
  template <class N>
  static VersionLatch<M>& of(N* node) {
    return node->latch;
  }
};

/// The table; it lives as long as its policy. Each stripe has a line of its own.
template <class M>
class Stripes {
 public:
  /// 1 or more of them. Throws std::bad_alloc.
  explicit Stripes(u64 count) : count_(count), stripe_(new Stripe[count]) {}

  /// The factor scatters addresses, the high word of the product scales them to the table.
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

  LatchInStripe() = default;  // of no table: to be assigned
  explicit LatchInStripe(const Stripes<M>& stripes) : stripes_(&stripes) {}
  VersionLatch<M>& of(const void* node) const { return stripes_->of(node); }

 private:
  const Stripes<M>* stripes_ = nullptr;
};

}  // namespace latchlab
