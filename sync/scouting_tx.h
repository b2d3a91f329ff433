#pragma once
// A direct transaction that can also scout: run a body only to touch the pages that it needs.
//
// A scout reads the data that the operation will read, without a lock and outside hardware transactions. It makes the
// blocks that the operation will make and returns them to the pool, from where the next run takes them again. It stops
// at the upgrade, so it changes nothing. It repairs pages that abort transactions because they were never touched, or
// because their Accessed bit was cleared. (It does not repair a page that can be read but not written: only the
// operation itself may store.)
//
// A scout's reads are not validated. So it needs three things: an index whose bodies tolerate that (BearsScouts,
// concepts.h), racy cells, and a grace period for nodes that others unlink.
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
  template <class N>
  [[nodiscard]] bool upgrade_value(const typename DirectTx<M>::template Reader<N>&) {
    return !scouts_;
  }

  /// Calls `run`, which runs the body, without changing the index. The policy calls this inside an epoch.
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
