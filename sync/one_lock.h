#pragma once
// The common part of policies with one global lock: an operation holds the lock from beginning to end. Such a policy
// derives from OneLock and has a name and a lock.
//
// `Reading` and `Writing` are guards, which hold the lock while they live. If readers do not share the lock, they are
// the same. A guard that needs something of the thread is made from the lock and the policy's Learned. The lock is
// alone on its lines: all threads write it, and reads of the index must not wait for that.
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#include "sync/coarse.h"

namespace latchlab {

template <class M, class Lock, class Reading, class Writing = Reading>
class OneLock : public CoarsePolicy<M> {
 public:
  static constexpr bool kWritersTakeTurns = true;
  static constexpr bool kHasSections = true;

  explicit OneLock(const NoOptions&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Reading>(me, tx, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Writing>(me, tx, body);
    return finish_writing(tx, attempt);
  }

 protected:
  /// Makes the lock from `arguments`, for a policy with options.
  template <class... Arguments>
  explicit OneLock(std::in_place_t, const Arguments&... arguments) : lock_(arguments...) {}

 private:
  template <class Guard, class Me, class Body>
  [[gnu::always_inline]] auto inside([[maybe_unused]] Me& me, DirectTx<M>& tx, Body& body) {
    [[maybe_unused]] const typename M::Section section{};  // it outlives the guard, and so the release
    if constexpr (std::is_constructible_v<Guard, Lock&>) {
      const Guard guard(lock_);
      return body(tx);
    } else {
      const Guard guard(lock_, me.learned);
      return body(tx);
    }
  }

  alignas(kFalseSharingBytes) Lock lock_;
};

/// One lock that admits only its holder.
template <class M, Lockable Lock>
using OneExclusiveLock = OneLock<M, Lock, std::lock_guard<Lock>>;

/// One lock that readers share.
template <class M, SharedLockable Lock>
using OneSharedLock = OneLock<M, Lock, std::shared_lock<Lock>, std::lock_guard<Lock>>;

}  // namespace latchlab
