#pragma once
// A direct transaction that can also scout: run a body for nothing but the pages that it touches.
//
// A scout reads what the operation will read, without a lock and outside hardware transactions, and makes the blocks
// that it will make, which go back to the pool, from where the next run takes them again. It stops at the upgrade. So a
// page that aborts transactions because nobody has touched it, or because its Accessed bit was cleared, is repaired,
// and nothing is changed. (A page that can be read and not written is not: only the operation itself may store.)
//
// What a scout sees is proved by nothing. It needs an index whose bodies come to no harm by that (BearsScouts,
// concepts.h), racy cells, and a grace period for what others unlink.
#include "sync/direct_tx.h"

namespace latchlab {

template <class M>
class ScoutingTx : public DirectTx<M> {
 public:
  using DirectTx<M>::DirectTx;

  template <class... Readers>
  [[nodiscard]] bool upgrade(const Readers&...) {
    return !scouts_;
  }
  template <class N>
  [[nodiscard]] bool upgrade(std::span<const typename DirectTx<M>::template Reader<N>>) {
    return !scouts_;
  }

  /// For the policy: `run`, which runs the body, without a change of the index. Within an epoch.
  template <class Run>
  void scout(const Run& run) {
    scouts_ = true;
    run();
    scouts_ = false;
    this->blocks().abandon();
  }

 private:
  bool scouts_ = false;
};

}  // namespace latchlab
