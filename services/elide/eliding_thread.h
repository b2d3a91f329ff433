#pragma once
// The decisions of one thread that elides mutexes of glibc: when to begin, how to answer an abort, when to end.
//
// The invariants:
//
//   1  A transaction commits only while every lock that it elides is free. It reads the word of each when it locks it.
//      So the word is in its read set, and a thread that takes the lock aborts it.
//   2  A transaction ends in one place: unlock() of the last lock that it elides, if that lock's word is free and the
//      processor says that a transaction runs (XTEST). XEND outside a transaction would end the program; and programs
//      do unlock mutexes that are free, or held by a real lock() from before.
//   3  The counts and notes of a thread are its own. Those written inside a transaction are undone if it aborts.
//
//     lock(m) --- kind 0, no transaction ---> wait until free, briefly -> XBEGIN -> word free? return, inside
//        |                                          ^                       |
//        |                                          '--- retries left? <- abort
//        |                                               else: the real lock(m), a fallback
//        '------- in a transaction: word free? note m, return           else: abort
//     unlock(m) - word free, in a transaction, m noted: the last one? XEND     m not noted: abort
//                 otherwise: the real unlock(m)
//
// XBEGIN outlives lock(): the transaction goes on in the caller, whose calls overwrite the stack frame of lock(). That
// is safe with hardware transactions. An abort restores the registers and drops every store since XBEGIN, those to
// the stack among them. So the processor returns to a frame that is as it was. Signal handlers do not run inside: the
// interrupt aborts first. A copy of registers alone, as setjmp makes it, would return to a frame that is gone; so no
// emulation of memory may stand in for the hardware here. Emulated aborts all happen at the begin, and a test's
// transaction is a child process (forked_hardware_testing.h).
//
// Nesting is flat, in software: an inner lock is subscribed to and noted, and only the last unlock ends. So locks may
// be released in any order, and the processor's depth of seven is no limit. A transaction that the program began
// itself, by its own XBEGIN, notes nothing; calls inside it are the real ones.
//
// Some calls cannot be right in a transaction, so they abort it and are repeated under the real lock:
//
//     trylock of any elidable lock   one that this thread elides looks free
//     a wait for a condition         it would sleep; the lock is remembered, and never elided again by this thread
//     an unlock of another lock      an error of the program; ending here would end the section of another lock
//     a second lock of one lock      a deadlock of the program
//
// System calls, input and output, faults and fork() abort by themselves. They have the status 0, and a retry would
// do the same again, so the thread takes the lock at once. The answers to the other statuses are those of `adaptive`
// (sync/adaptive.h) as far as they need no knowledge of the body, and so is the budget of retries
// (sync/budget_learner.h). It is learned for each lock, by the time from lock() to the end of unlock().
//
// After glibc's elision (2.18 to 2.42; nptl/elision-lock.c). We differ: the counts are not in the mutex, whose line all
// transactions have read; an unlock of a lock that is not noted aborts; the number of retries is learned.
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "services/elide/lock_table.h"
#include "services/elide/seeded_bugs.h"
#include "sync/backoff.h"

namespace latchlab::elide {

/// `Hardware` is the access to transactions: begin, end, test, abort, and how a thread waits (hardware.h). `Real`, in
/// all calls, makes the call of glibc for this mutex and returns its result, which is then returned.
template <class Hardware, class Bugs = NoElisionBugs>
class ElidingThread {
 public:
  static constexpr u32 kMostNoted = 8;  // locks that one transaction elides

  explicit ElidingThread(const Hardware& hardware) : hardware_(hardware) {}
  ElidingThread(const ElidingThread&) = delete;
  ElidingThread& operator=(const ElidingThread&) = delete;

  /// Serves pthread_mutex_lock, and those with a time: a lock that is elided does not wait.
  template <class Real>
  int lock(pthread_mutex_t& mutex, const Real& real) {
    if (!elidable(mutex)) return pass(mutex, real);
    if (hardware_.test()) return noted_ == 0 ? real() : lock_inside(mutex);
    LockEntry& entry = entry_of(mutex);
    start_timing(entry, mutex);
    const u32 retries = entry.learner.budget();
    if (retries == 0 || entry.waits.load(kRelaxed)) return take(entry, entry.counts.direct, real);
    if (!speculate(entry, mutex, retries)) return take(entry, entry.counts.fallbacks, real);
    if constexpr (Hardware::kIsolates) {
      return 0;
    } else {
      return take(entry, entry.counts.commits, real);
    }
  }

  /// Serves pthread_mutex_trylock. It makes one try: a caller that can do without the lock does not want to wait.
  template <class Real>
  int try_lock(pthread_mutex_t& mutex, const Real& real) {
    if (!elidable(mutex)) return pass(mutex, real);
    if (hardware_.test() && noted_ != 0 && !Bugs::kTryInside) hardware_.template abort<kTrylockCode>();
    if (hardware_.test()) return real();
    LockEntry& entry = entry_of(mutex);
    start_timing(entry, mutex);
    if (busy(mutex) || entry.learner.budget() == 0 || entry.waits.load(kRelaxed)) {
      return take(entry, entry.counts.direct, real);
    }
    if (const u32 status = begin(entry, mutex); status != kCommitted) {
      if (count_abort(entry, status) == Cause::kWait && !Bugs::kForgetWait) entry.waits.store(true, kRelaxed);
      return take(entry, entry.counts.fallbacks, real);
    }
    if constexpr (Hardware::kIsolates) {
      return 0;
    } else {
      return take(entry, entry.counts.commits, real);
    }
  }

  /// Serves pthread_mutex_unlock.
  template <class Real>
  int unlock(pthread_mutex_t& mutex, const Real& real) {
    if (!elidable(mutex)) return real();
    const bool inside = hardware_.test();
    if (!busy(mutex) || Bugs::kEndOnHeld) {
      if ((inside && noted_ != 0) || Bugs::kEndOutside) return unlock_inside(mutex);
    }
    const int result = real();
    if (timed_mutex_ == &mutex) {
      if (inside) {
        timed_mutex_ = nullptr;  // no clock is read inside
      } else {
        finish_timing();
      }
    }
    return result;
  }

  /// Serves the waits for conditions, which release the mutex. `real` waits.
  template <class Real>
  int wait(pthread_mutex_t& mutex, const Real& real) {
    if (hardware_.test() && noted_ != 0 && !Bugs::kWaitInside) hardware_.template abort<kWaitCode>();
    if (elidable(mutex) && !hardware_.test()) {
      if (!Bugs::kForgetWait) entry_of(mutex).waits.store(true, kRelaxed);
      if (timed_mutex_ == &mutex) timed_mutex_ = nullptr;
    }
    return real();
  }

  LockTable& table() { return table_; }

 private:
  // Of one acquisition, as in sync/adaptive.h.
  static constexpr u32 kMostCapacity = 1, kMostHeld = 16;
  static constexpr u32 kMostPauses = 512;  // some ten microseconds, after which the real call may sleep

  static int kind_of(const pthread_mutex_t& mutex) { return mutex.__data.__kind; }
  static bool elidable(const pthread_mutex_t& mutex) { return kind_of(mutex) == 0 || Bugs::kElideAllKinds; }

  /// Returns true if the mutex is held. Relaxed: inside a transaction the read subscribes, outside it is a guess.
  static bool busy(pthread_mutex_t& mutex) { return std::atomic_ref<int>(mutex.__data.__lock).load(kRelaxed) != 0; }

  LockEntry& entry_of(pthread_mutex_t& mutex) {
    LockEntry& entry = table_.at(&mutex);
    if (entry.kind.load(kRelaxed) != kind_of(mutex)) entry.kind.store(kind_of(mutex), kRelaxed);
    return entry;
  }

  /// Makes the real call and counts its outcome.
  template <class Real>
  int take(LockEntry& entry, Count& acquisition, const Real& real) {
    const int result = real();
    if (result == 0 || result == EOWNERDEAD) {
      acquisition.add();
    } else {
      entry.counts.refused.add();
      if (timed_ == &entry) timed_mutex_ = nullptr;
    }
    return result;
  }

  template <class Real>
  int pass(pthread_mutex_t& mutex, const Real& real) {
    LockEntry& entry = entry_of(mutex);
    return take(entry, entry.counts.passed, real);
  }

  /// Begins a transaction that elides the mutex. Returns kCommitted inside, and an abort's status outside.
  [[nodiscard]] u32 begin(LockEntry& entry, pthread_mutex_t& mutex) {
    entry.counts.begins.add();
    outermost_ = &entry;
    const u32 status = hardware_.begin();
    if (status != kCommitted) return status;
    if constexpr (Hardware::kIsolates) {
      if (busy(mutex) && !Bugs::kDropSubscription) hardware_.template abort<kBusyCode>();
      noted_mutexes_[noted_++] = &mutex;  // an abort undoes this
    }
    return kCommitted;
  }

  static Cause count_abort(LockEntry& entry, u32 status) {
    const Cause cause = cause_of(status);
    entry.counts.aborts[static_cast<std::size_t>(cause)].add();
    return cause;
  }

  /// Tries until a transaction has begun, and returns true inside it; or false if the lock shall be taken.
  [[nodiscard]] bool speculate(LockEntry& entry, pthread_mutex_t& mutex, u32 retries) {
    u32 too_large = 0, held = 0, conflicts = 0;
    for (;;) {
      if (!await_free(mutex)) return false;
      const u32 status = begin(entry, mutex);
      if (status == kCommitted) return true;
      bool costs = true;
      switch (count_abort(entry, status)) {
        case Cause::kHeld:
          if (++held > kMostHeld) return false;
          costs = false;
          break;
        case Cause::kCapacity:
          if (++too_large > kMostCapacity) return false;
          costs = false;
          break;
        case Cause::kConflict:
        case Cause::kNested: back_off<Hardware>(++conflicts); break;
        case Cause::kWait:
          if (!Bugs::kForgetWait) entry.waits.store(true, kRelaxed);
          return false;
        case Cause::kTrylock:
        case Cause::kUnlock: return false;
        case Cause::kOther:
          if (!(status & kAbortRetry)) return false;
      }
      if (costs && retries-- == 0) return false;
    }
  }

  [[nodiscard]] static bool await_free(pthread_mutex_t& mutex) {
    for (u32 pauses = 0; busy(mutex); ++pauses) {
      if (pauses == kMostPauses) return false;
      Hardware::pause();
    }
    return true;
  }

  /// Locks an inner lock: subscribes to it and notes it.
  int lock_inside(pthread_mutex_t& mutex) {
    for (u32 i = 0; i < noted_; ++i) {
      if (noted_mutexes_[i] == &mutex) hardware_.template abort<kAgainCode>();
    }
    if (busy(mutex) && !Bugs::kDropInnerSubscription) hardware_.template abort<kInnerHeldCode>();
    if (noted_ == kMostNoted) hardware_.template abort<kTooManyCode>();
    entry_of(mutex).counts.inside.add();
    noted_mutexes_[noted_++] = &mutex;
    return 0;
  }

  /// Unlocks a free lock: ends the transaction if it was the last one that the transaction elides.
  int unlock_inside(pthread_mutex_t& mutex) {
    u32 place = 0;
    while (place < noted_ && noted_mutexes_[place] != &mutex) ++place;
    if (place < noted_) {
      noted_mutexes_[place] = noted_mutexes_[--noted_];
    } else if (!Bugs::kEndByStranger && !Bugs::kEndOutside) {
      hardware_.template abort<kUnlockCode>();
    } else {
      noted_ = 0;
    }
    if (noted_ != 0 && !Bugs::kEndByInner) return 0;
    hardware_.end();
    outermost_->counts.commits.add();
    if (timed_mutex_ != nullptr && timed_ == outermost_) finish_timing();
    return 0;
  }

  void start_timing(LockEntry& entry, pthread_mutex_t& mutex) {
    if (--entry.until_timed != 0) return;
    entry.until_timed = LockEntry::kTimedEvery;
    timed_ = &entry;
    timed_mutex_ = &mutex;
    timed_since_ = Hardware::now();
  }

  void finish_timing() {
    timed_mutex_ = nullptr;
    timed_->learn(Hardware::now() - timed_since_);
  }

  Hardware hardware_;
  u32 noted_ = 0;  // not 0 only inside a transaction that this class began
  std::array<pthread_mutex_t*, kMostNoted> noted_mutexes_{};
  LockEntry* outermost_ = nullptr;  // of the lock that began the last transaction
  LockEntry* timed_ = nullptr;
  pthread_mutex_t* timed_mutex_ = nullptr;  // null while no acquisition is timed
  u64 timed_since_ = 0;
  LockTable table_;
};

}  // namespace latchlab::elide
