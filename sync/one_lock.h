#pragma once
// What every policy is that is nothing but one global lock: an operation runs inside it from beginning to end. Such a
// policy derives from OneLock, says its name, and brings its lock.
//
// `Reading` and `Writing` are guards, which hold the lock for as long as they live. Where readers do not share they are
// the same. The lock is alone on its lines: everybody writes it, and who reads the index is not to wait for that.
#include <mutex>
#include <shared_mutex>

#include "sync/coarse.h"

namespace latchlab {

template <class M, class Lock, class Reading, class Writing = Reading>
class OneLock : public CoarsePolicy<M> {
 public:
  static constexpr bool kWritersTakeTurns = true;

  explicit OneLock(const NoOptions&) {}

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Reading>(tx, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Writing>(tx, body);
    return finish_writing(tx, attempt);
  }

 private:
  template <class Guard, class Body>
  auto inside(DirectTx<M>& tx, Body& body) {
    Guard guard(lock_);
    return body(tx);
  }

  alignas(kFalseSharingBytes) Lock lock_;
};

/// One lock that lets nobody in beside its holder.
template <class M, Lockable Lock>
using OneExclusiveLock = OneLock<M, Lock, std::lock_guard<Lock>>;

/// One lock that readers share.
template <class M, SharedLockable Lock>
using OneSharedLock = OneLock<M, Lock, std::shared_lock<Lock>, std::lock_guard<Lock>>;

}  // namespace latchlab
