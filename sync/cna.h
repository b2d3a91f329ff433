#pragma once
// `cna`: one global queue lock of Dice and Kogan (EuroSys 2019), compact and NUMA-aware. It is `mcs` with one word and
// one queue node a thread as before, but a holder prefers to hand over to a thread of its own NUMA node. So the lock,
// and what it guards, moves between the nodes' caches less often.
//
//     tail -----------------------------------.
//                                             v
//     [A: inside]-->[B: far]-->[C: far]-->[D: near]: none        the main queue
//
//     D's turn = B:
//     [D: inside]: none                                          the main queue
//     [B: far]-->[C: far]: none       B's last = C               the threads aside
//
// A holder looks along the queue for a thread of its node. It moves those before that thread aside, to the end of a
// second queue. The head of that queue travels with the lock: the word `turn`, by which a thread gets the lock, is the
// head, or the thread's own guard if nobody is aside. If no thread of the node waits, the threads aside get in front of
// the main queue, and the first of them is next. So they do after kMost handovers too, each of which left them waiting.
//
// The lemmas that make it safe:
//   1. Only the holder changes the links of waiting threads, apart from one: an arriving thread links itself behind the
//      guard that it found in `tail`. So a holder leaves alone a link that is still null.
//   2. A guard that is moved aside has a link, since a near thread stands behind it. So it is not the one in `tail`.
//   3. The last guard aside has no link. So it may become the one in `tail`, when the main queue is empty.
//   4. Every thread aside waits for its turn. So its guard, on the stack of its operation, is there.
//
// A thread learns its node from the machine when it has to wait, and when it leaves and another waits. It asks once in
// kUses times, since asking takes as long as a cache miss. A wrong node costs speed and nothing else.
//
// Paper: D. Dice, A. Kogan. Compact NUMA-aware locks. EuroSys 2019, arXiv 1810.05600. There a random number decides
// when the threads aside get in front; here a count does. A shortcut that leaves the queue alone at random is left out.
#include <string_view>
#include <type_traits>

#include "sync/one_lock.h"

namespace latchlab {

namespace cna {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A thread that leaves an empty main queue frees the lock, although threads wait aside.
  static inline Flag kForgetAside{};
  /// The threads that join others aside do not change which guard is the last.
  static inline Flag kKeepLast{};
  /// The last guard aside stays linked with the main queue.
  static inline Flag kKeepLink{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace cna

/// `kMost`: handovers in a row that may leave threads aside.
template <class M, u32 kMost = 1u << 16, class Bugs = cna::NoBugs>
class CnaLock {
 public:
  /// A thread's node, as it was at the last look.
  class Place {
   public:
    u32 node() {
      if (left_ == 0) {
        node_ = M::node();
        left_ = kUses;
      }
      --left_;
      return node_;
    }

   private:
    static constexpr u32 kUses = 1024;
    u32 node_ = 0, left_ = 0;
  };

  /// A guard that holds the lock while it lives; it is also the element in the queues.
  class alignas(kFalseSharingBytes) Guard {
   public:
    Guard(CnaLock& lock, Place& place) : lock_(lock), place_(place) { lock_.enter(*this); }
    ~Guard() { lock_.leave(*this); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    friend CnaLock;
    typename M::template Atomic<Guard*> next_{nullptr};
    typename M::template Atomic<Guard*> turn_{nullptr};  // null: it waits
    // Written by this thread before it is linked, and read by holders.
    typename M::template Plain<u32> node_;
    // The rest is the holder's, whichever thread that is.
    typename M::template Plain<u32> kept_;     // handovers in a row that have left threads aside
    typename M::template Plain<Guard*> last_;  // of the first guard aside: the last one
    Guard* aside_ = nullptr;                   // the first guard aside; used by this thread alone
    CnaLock& lock_;
    Place& place_;
  };

 private:
  void enter(Guard& mine) {
    // Acquire: if the queue is empty, pairs with leave; else with the exchange of the predecessor, whose guard is
    // written next. Release: pairs with the exchange of the successor, which writes this guard.
    Guard* const before = tail_.exchange(&mine, kAcqRel);
    if (before == nullptr) return;
    mine.node_.store(mine.place_.node());
    before->next_.store(&mine, kRelease);  // pairs with leave and find_near
    M::wake(&before->next_);
    // Its acquire pairs with hand_over.
    Guard* const turn = M::wait_until(mine.turn_, [](Guard* now) { return now != nullptr; });
    if (turn != &mine) mine.aside_ = turn;
  }

  void leave(Guard& mine) {
    Guard* behind = mine.next_.load(kAcquire);  // pairs with enter
    if (behind == nullptr) {
      if (close(mine)) return;
      behind = M::wait_until(mine.next_, [](Guard* next) { return next != nullptr; });  // its acquire pairs with enter
    }
    const u32 kept = mine.kept_.load();
    Guard* const near = kept < kMost ? find_near(mine, behind) : nullptr;
    if (near != nullptr) {
      hand_over(*near, mine.aside_, mine.aside_ == nullptr ? 0 : kept + 1);
    } else if (mine.aside_ != nullptr) {
      mine.aside_->last_.load()->next_.store(behind, kRelaxed);  // relaxed: hand_over publishes it
      hand_over(*mine.aside_, nullptr, 0);
    } else {
      hand_over(*behind, nullptr, 0);
    }
  }

  /// Leaves an empty main queue, which becomes that of the threads aside. Returns false if a thread has arrived.
  bool close(Guard& mine) {
    Guard* const aside = Bugs::kForgetAside ? nullptr : mine.aside_;
    Guard* found = &mine;
    if (!tail_.compare_exchange(found, aside == nullptr ? nullptr : aside->last_.load(), kRelease)) {
      return false;  // on success pairs with the exchange in enter
    }
    if (aside != nullptr) hand_over(*aside, nullptr, 0);
    return true;
  }

  /// Returns the first guard from `first` on whose thread is on the holder's node, and moves those before it aside.
  /// Null, with all of them where they were, if no link leads to one. It looks at each waiting thread at most once.
  Guard* find_near(Guard& mine, Guard* first) {
    const u32 node = mine.place_.node();
    Guard* far = nullptr;
    // Acquire: pairs with enter.
    for (Guard* at = first; at != nullptr; at = at->next_.load(kAcquire)) {
      if (at->node_.load() == node) {
        if (far != nullptr) move_aside(mine, *first, *far);
        return at;
      }
      far = at;
    }
    return nullptr;
  }

  /// Moves the guards from first to last, which stand behind the holder's, to the end of the queue aside.
  void move_aside(Guard& mine, Guard& first, Guard& last) {
    // The next two are relaxed: hand_over publishes them.
    if (!Bugs::kKeepLink) last.next_.store(nullptr, kRelaxed);
    if (mine.aside_ == nullptr) {
      mine.aside_ = &first;
    } else {
      mine.aside_->last_.load()->next_.store(&first, kRelaxed);
      if (Bugs::kKeepLast) return;
    }
    mine.aside_->last_.store(&last);
  }

  static void hand_over(Guard& next, Guard* aside, u32 kept) {
    next.kept_.store(kept);
    next.turn_.store(aside == nullptr ? &next : aside, kRelease);  // pairs with the wait in enter
    M::wake(&next.turn_);
  }

  typename M::template Atomic<Guard*> tail_{nullptr};
};

template <class M>
class Cna : public OneLock<M, CnaLock<M>, typename CnaLock<M>::Guard> {
 public:
  static constexpr std::string_view kName = "cna";
  static constexpr std::string_view kAbout =
      "one global queue lock that prefers waiting threads of the holder's NUMA node";
  /// A thread's node.
  using Learned = typename CnaLock<M>::Place;

  using Cna::OneLock::OneLock;
};

}  // namespace latchlab
