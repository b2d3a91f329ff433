#pragma once
// `gcr:K`: generic concurrency restriction of Dice and Kogan (Euro-Par 2019) around the lock of `spin`. It lets K
// threads come to the lock and keeps the rest away from it. More waiting threads than that do not make a lock faster:
// all of them read its word, and take its line from the holder.
//
//     word:    63        32   31       30      0
//             | waiting     | promise | slots   |      slots: taken ones, at most K
//
//     [A: inside] [B: waits for the lock]                      K = 2 have a slot
//     [C: first, looks at the word] [D] [E] ...                the rest wait in order of arrival (`queue`)
//
// An arriving thread takes a slot if one is free, whether others wait or not. So the same few threads come again and
// again, and their caches keep what the lock guards. If none is free, the thread waits. The first of the waiting
// threads gets in when no slot is taken; so the lock is not idle while threads wait for it.
//
// After each kTurns operations a thread promises its slot to the first waiting thread, if there is one. The slot stays
// taken, and the promise is a bit. So a waiting thread gets in even if the others never stop.
//
// The lemmas that make it safe:
//   1. The word changes by read-modify-writes alone. So K slots are taken at most, a promised one among them.
//   2. A promise is made only while a thread waits, and only the first of them takes it. So it is not lost.
//   3. A thread waits only if it saw every slot taken when it counted itself. A slot is given back, or it is promised.
//      The first waiting thread looks at both. So it gets in.
//   4. Exclusion and order between operations are the lock's, so all changes of the word are relaxed.
//
// The lock is not that of `mcs`. If there are more threads than processors, a lock that serves in order hands over to
// descheduled threads, even if only two come to it.
//
// Paper: D. Dice, A. Kogan. Avoiding scalability collapse by restricting concurrency. Euro-Par 2019, arXiv 1905.10818.
// There threads come to the lock while its counter says that at most one other does, and the counter may be late;
// here K is exact. There a counter of the lock decides when a promise is due; here each thread counts its own turns.
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "sync/mcs.h"
#include "sync/one_lock.h"
#include "sync/spin_lock.h"

namespace latchlab {

namespace gcr {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// The first waiting thread looks for a promise alone, not for a lock without threads.
  static inline Flag kMissFree{};
  /// A thread promises its slot although another one is promised, so one of the two is never given back.
  static inline Flag kPromiseTwice{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace gcr

/// A lock that few threads may come to. `Holding` is the guard of `Lock`. `kTurns`: after how many operations a thread
/// looks for a waiting thread.
template <class M, class Lock, class Holding, u32 kTurns = 1u << 12, class Bugs = gcr::NoBugs>
class GcrLock {
 public:
  /// A thread's operations, modulo kTurns.
  class Turns {
    friend GcrLock;
    u32 done_ = 0;
  };

 private:
  class Slot {
   public:
    Slot(GcrLock& lock, Turns& turns) : lock_(lock), turns_(turns) { lock_.take_slot(); }
    ~Slot() { lock_.leave_slot(turns_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    GcrLock& lock_;
    Turns& turns_;
  };

 public:
  /// A guard that has a slot and holds the lock while it lives.
  class Guard {
   public:
    Guard(GcrLock& lock, Turns& turns) : slot_(lock, turns), holding_(lock.lock_) {}

   private:
    const Slot slot_;
    const Holding holding_;  // destroyed first
  };

  /// `most`: slots, from 1.
  explicit GcrLock(u32 most) : most_(most) {}

 private:
  static constexpr u64 kSlot = 1, kPromise = u64{1} << 31, kWaiting = u64{1} << 32;
  static u64 slots(u64 word) { return word & (kPromise - 1); }

  void take_slot() {
    for (u64 word = word_.load(kRelaxed);;) {
      if (slots(word) < most_) {
        if (word_.compare_exchange(word, word + kSlot, kRelaxed)) return;
      } else if (word_.compare_exchange(word, word + kWaiting, kRelaxed)) {
        return wait_for_slot();
      }
    }
  }

  void wait_for_slot() {
    const typename McsLock<M>::Guard first(queue_);
    for (;;) {
      // The acquire of this wait pairs with nothing: lemma 4.
      u64 word =
          M::wait_until(word_, [](u64 now) { return (now & kPromise) != 0 || (slots(now) == 0 && !Bugs::kMissFree); });
      u64 without = word - kWaiting;
      if ((word & kPromise) == 0) without += kSlot;
      if (word_.compare_exchange(word, without & ~kPromise, kRelaxed)) return;
    }
  }

  void leave_slot(Turns& mine) {
    if (++mine.done_ == kTurns) [[unlikely]] {
      mine.done_ = 0;
      for (u64 word = word_.load(kRelaxed); word >= kWaiting && (Bugs::kPromiseTwice || (word & kPromise) == 0);) {
        if (word_.compare_exchange(word, word | kPromise, kRelaxed)) return M::wake(&word_);
      }
    }
    word_.fetch_add(-kSlot, kRelaxed);
    M::wake(&word_);
  }

  const u32 most_;
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> word_{0};
  alignas(kFalseSharingBytes) McsLock<M> queue_;  // of the threads without a slot; the first holds it
  alignas(kFalseSharingBytes) Lock lock_;
};

struct GcrOptions {
  u64 threads = 2;  ///< the number after the colon, 1 to 1,000,000: how many may come to the lock

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static GcrOptions parse(const Spec& spec) {
    SpecReader reader(spec, "policy gcr");
    GcrOptions options;
    options.threads = reader.arg_u64(options.threads, 1, 1'000'000);
    reader.finish();
    return options;
  }
  std::vector<std::pair<std::string, std::string>> resolved() const { return {{"threads", std::to_string(threads)}}; }
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key) {
    return key == "threads" ? "the number after the colon: how many threads may come to the lock at once" : "";
  }
};

template <class M>
using GcrSpinLock = GcrLock<M, SpinLock<M>, std::lock_guard<SpinLock<M>>>;

template <class M>
class Gcr : public OneLock<M, GcrSpinLock<M>, typename GcrSpinLock<M>::Guard> {
  using Base = OneLock<M, GcrSpinLock<M>, typename GcrSpinLock<M>::Guard>;

 public:
  static constexpr std::string_view kName = "gcr";
  static constexpr std::string_view kAbout = "the lock of spin, which few threads may come to at once";
  using Options = GcrOptions;
  /// A thread's operations, modulo a number.
  using Learned = typename GcrSpinLock<M>::Turns;

  explicit Gcr(const Options& options) : Base(std::in_place, static_cast<u32>(options.threads)) {}
};

}  // namespace latchlab
