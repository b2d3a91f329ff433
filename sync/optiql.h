#pragma once
// `optiql`: olc whose latches are the queue locks of OptiQL (Shi, Yan, Wang, SIGMOD 2024). Writers that claim a node
// form a queue of elements, as under `mcs`, and each waits on its own. While the latch is handed over, readers may
// read.
//
//     | lock: 1 | open: 1 | element: 14 | version: 48 |
//
//     free       0 0 -       version          readers and writers may come
//     locked     1 0 element -                the element is that of the thread that came last
//     open       1 1 element version          the next thread has not begun to store: readers may read
//
//     free v --claim or try_lock by A--> locked A --claim by B--> locked B
//     locked B --A unlocks--> open B, v + 1 --B wakes--> locked B --B unlocks--> free v + 2
//
// A reader remembers the whole word of a free or open latch, and trusts what it reads then if the word is the same.
//
// An element has a number, since a pointer would leave no room for the version of an open latch. A thread takes a block
// of elements with its first change and gives it back when it ends.
//
// The lemmas that make it safe:
//   1. A thread that finds `locked` or `open` when it claims links its element behind the one that it has found, and
//      waits. Exactly one thread finds each element, since it exchanges the word.
//   2. The version bits of a locked word are 0. So the unlocking thread may add the version, whatever element is
//      there.
//   3. The thread that wakes closes the latch before its first store (1), or finds it closed by a thread that came. A
//      reader that sees one of its stores then sees a closed word (2).
//   4. An open word is never locked by try_lock: the thread that is next would not know, and both would be inside.
//   5. Two other threads write an element. The one before grants it, and `claim` waits for that. The one behind links
//      itself, and `unlock` waits for that, unless there is none. So an element may be used again.
//   6. A word comes again only after 2^48 changes: 32 days at 10 ns each.
//
// Paper: G. Shi, Z. Yan, T. Wang. OptiQL: robust optimistic locking for memory-optimized indexes. SIGMOD 2024. Its code
// has 1024 elements for a process, of which a thread takes four and gives none back; its try_lock does not look at the
// lock bit. Its ART moves contended slots into nodes of their own; here an index claims a node that it does not read.
#include <bit>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "sync/queued.h"

namespace latchlab {

/// The elements of the threads that use an index.
template <class M>
class OptiqlElements {
 public:
  /// The most latches that a thread holds at once.
  static constexpr u32 kEach = 16;
  static constexpr u32 kMostThreads = 1024;

  struct alignas(kLineBytes) Element {
    typename M::template Atomic<u64> granted{0};  // version after the next change, once the thread's turn has come
    typename M::template Atomic<u32> next{0};     // number of the element behind, or 0
  };
  struct Block {
    Element element[kEach];
  };

  /// A thread's block, which it gives back when it ends.
  class Thread {
   public:
    Thread() = default;
    Thread(Thread&& other) noexcept
        : home_(std::exchange(other.home_, nullptr)),
          block_(other.block_),
          number_(other.number_),
          used_(other.used_) {}
    Thread& operator=(Thread&&) = delete;
    ~Thread() {
      if (home_ != nullptr) home_->give_back(number_);
    }

    /// Takes an element, and returns its number. It is as good as new.
    u32 take() {
      const u32 i = static_cast<u32>(std::countr_one(used_));
      used_ |= 1u << i;
      // Relaxed: the operation that shows the element to others releases both.
      block_->element[i].granted.store(0, kRelaxed);
      block_->element[i].next.store(0, kRelaxed);
      return number_ * kEach + i + 1;
    }
    void put(u32 element) { used_ &= ~(1u << (element - 1) % kEach); }

   private:
    friend OptiqlElements;
    OptiqlElements* home_ = nullptr;
    Block* block_ = nullptr;
    u32 number_ = 0;
    u32 used_ = 0;  // a bit for each element
  };

  /// Gives a thread a block, if it has none. Throws std::length_error if too many threads have one.
  void join(Thread& thread) {
    if (thread.home_ != nullptr) [[likely]]
      return;
    const std::lock_guard guard(mutex_);
    if (free_.empty()) {
      if (made_ == kMostThreads) throw std::length_error("optiql: more than 1024 threads change an index");
      free_.reserve(kMostThreads);  // so that give_back, which a destructor calls, takes no memory
      owner_.push_back(std::make_unique<Block>());
      block_[made_].store(owner_.back().get(), kRelease);  // pairs with of
      free_.push_back(made_++);
    }
    thread.number_ = free_.back();
    free_.pop_back();
    thread.block_ = &of(thread.number_);
    thread.home_ = this;
  }

  /// Returns the element with a number that a word or another element held.
  Element& element(u32 number) const { return of((number - 1) / kEach).element[(number - 1) % kEach]; }

 private:
  Block& of(u32 number) const { return *block_[number].load(kAcquire); }  // pairs with join
  void give_back(u32 number) {
    const std::lock_guard guard(mutex_);
    free_.push_back(number);
  }

  typename M::template Atomic<Block*> block_[kMostThreads]{};
  typename M::Mutex mutex_;
  std::vector<u32> free_;  // blocks that no thread has
  std::vector<std::unique_ptr<Block>> owner_;
  u32 made_ = 0;
};

template <class M, class Bugs = NoBugs>
class OptiqlLatch {
 public:
  using Shared = OptiqlElements<M>;
  using Thread = typename Shared::Thread;
  class Queue {
   public:
    Queue() = default;  // for readers, which need no element
    Queue(Shared& shared, Thread& thread, u64& waits) : shared_(&shared), thread_(&thread), waits_(&waits) {
      shared.join(thread);
    }

   private:
    friend OptiqlLatch;
    Shared* shared_ = nullptr;
    Thread* thread_ = nullptr;
    u64* waits_ = nullptr;
  };
  struct Hold {
    u32 element = 0;
    u64 next = 0;  // the version of the unlock
  };

  OptiqlLatch() = default;
  explicit OptiqlLatch(u8) {}  // the tag is dropped: only node.tag() has it
  OptiqlLatch(const OptiqlLatch&) = delete;
  OptiqlLatch& operator=(const OptiqlLatch&) = delete;

  u64 version() const {
    const u64 word = this->word();
    if (!locked(word)) [[likely]]
      return word;
    return M::wait_until(word_, [](u64 now) { return !locked(now); });  // its acquire pairs with (3) and (4)
  }
  u64 word() const { return word_.load(kAcquire); }  // pairs with (3) and (4): the reader sees that writer's stores
  /// The fence (2) orders the earlier reads before the load. It pairs with the fences after (1) and in try_lock.
  [[nodiscard]] bool unchanged(u64 version) const {
    if (held(version)) return true;
    M::acquire_fence();        // (2)
    return word_.is(version);  // relaxed: the fence orders it
  }

  [[nodiscard]] bool try_lock(u64 version, Queue queue, Hold& hold) {
    if ((version & kLock) != 0 && !Bugs::kLockOpen) return false;  // lemma 4
    hold.element = queue.thread_->take();
    // Release: pairs with the exchange in claim, which finds the element.
    if (!word_.compare_exchange(version, locked_by(hold.element), kRelease)) {
      queue.thread_->put(hold.element);
      return false;
    }
    M::release_fence();  // pairs with (2): a reader that sees a later store also sees the lock
    hold.next = number(version) + 1;
    return true;
  }
  [[nodiscard]] u64 claim(Queue queue, Hold& hold) {
    hold.element = queue.thread_->take();
    // Acquire: pairs with (3), and with the release of the thread before. Release: pairs with the exchange of the
    // thread behind, which finds this element.
    const u64 before = word_.exchange(locked_by(hold.element), kAcqRel);
    if ((before & kLock) == 0) {
      hold.next = number(before) + 1;
    } else {
      ++*queue.waits_;
      auto& next = queue.shared_->element(element(before)).next;
      next.store(hold.element, kRelease);  // pairs with the wait in unlock
      M::wake(&next);
      auto& mine = queue.shared_->element(hold.element);
      hold.next = M::wait_until(mine.granted, [](u64 granted) { return granted != 0; });  // its acquire pairs with (5)
      if (!Bugs::kStayOpen) close();
    }
    M::release_fence();  // pairs with (2)
    return locked_by(hold.element);
  }
  void unlock(Queue queue, const Hold& hold) {
    u64 alone = locked_by(hold.element);
    if (word_.compare_exchange(alone, number(hold.next), kRelease)) {  // (3) pairs with word, version and claim
      M::wake(&word_);
    } else {
      word_.fetch_add(kOpen | number(hold.next), kRelease);  // (4) pairs with word and version; lemma 2
      M::wake(&word_);
      // Its acquire pairs with the store of the thread behind.
      const u32 behind = M::wait_until(queue.shared_->element(hold.element).next, [](u32 next) { return next != 0; });
      auto& granted = queue.shared_->element(behind).granted;
      granted.store(hold.next + 1, kRelease);  // (5) pairs with the wait in claim
      M::wake(&granted);
    }
    queue.thread_->put(hold.element);
  }
  void release(Queue queue, const Hold& hold) { unlock(queue, hold); }

  static u8 tag(u64 word) { return locked(word) ? 1 : 0; }  // 0, the tag of all nodes, if readers may read
  /// Returns true if readers may not read.
  static bool locked(u64 word) { return (word & (kLock | kOpen)) == kLock; }
  /// Returns true for the version of a latch that the attempt itself holds: readers have no locked word.
  static bool held(u64 version) { return locked(version); }

 private:
  static constexpr u32 kElementShift = 48;
  static constexpr u64 kLock = u64{1} << 63, kOpen = u64{1} << 62, kVersion = (u64{1} << kElementShift) - 1;
  static_assert(Shared::kMostThreads * Shared::kEach == 1 << (62 - kElementShift), "the element has 14 bits");
  static u64 locked_by(u32 element) { return kLock | u64{element - 1} << kElementShift; }
  static u32 element(u64 word) { return static_cast<u32>((word & ~kLock & ~kOpen) >> kElementShift) + 1; }
  static u64 number(u64 word) { return word & kVersion; }

  /// (1) Makes an open word a locked one.
  void close() {
    for (u64 word = word_.load(kRelaxed); (word & kOpen) != 0;) {  // relaxed: the fence after (1) orders it
      u64 seen = word;
      if (word_.compare_exchange(seen, word & ~(kOpen | kVersion), kRelaxed)) return;
      if (seen == word) return;  // the machine lets no access take place any more
      word = seen;
    }
  }

  typename M::template Atomic<u64> word_{0};
};

template <class M, class Bugs = NoBugs>
class Optiql : public Queued<M, OptiqlLatch<M, Bugs>, Bugs> {
 public:
  static constexpr std::string_view kName = "optiql";
  static constexpr std::string_view kAbout =
      "olc whose writers queue at nodes that they claim; readers read between two";
  using Optiql::Queued::Queued;

  static_assert(OptiqlElements<M>::kEach >= Optiql::Queued::Tx::kMaxLocks, "an element for each latch of an attempt");
};

}  // namespace latchlab
