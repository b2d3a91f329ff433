#pragma once
// The common part of policies whose nodes have latches with queues. Readers are those of `olc`. A writer that claims a
// node waits for its turn there, instead of trying again and again. So a node that all threads change is handed from
// one to the next, and no attempt is in vain.
//
// An upgrade is a compare-and-exchange from a version that was seen, and it never waits. So only a claim queues
// (VersionedTx::claim), and a thread that waits holds no latch. A body without claims runs as under `olc`.
//
// A latch L of this kind is in each node. (A node with a word has it beside the word, which makes the node larger;
// concepts.h, kNodesFillLines.) It has
//
//     L::Shared         the state of all latches of an index, which the policy holds
//     L::Thread         that of a thread, kept for it as the policy's Learned
//     L::Queue          a reference to both, which a transaction has, and to the count of the thread's claims that had
//                       to wait: Queue(shared, thread, waits)
//     L::Hold           what an acquisition hands to the release; the transaction keeps it
//     version()         the version; waits until readers may read
//     word()            the same, and never waits: locked(word) says that readers may not read
//     unchanged(v)      true if v is still the version, or if the attempt itself holds the latch (held(v))
//     try_lock(v, q, h) locks from the version v; never waits
//     claim(q, h)       locks after its turn has come; returns a version for which held() is true
//     unlock(q, h)      hands on, with a new version
//     release(q, h)     the same if nothing was stored: others may have queued, so the version is a new one, too
#include <concepts>

#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

template <class M, class LatchType, class SeededBugs>
struct QueuedLayout : VersionedLayout<M, SeededBugs> {
  using Latch = LatchType;
  using Word = WordBesideLatch<LatchType, typename M::template Racy<u64>>;
};

/// A latch with a queue that a transaction locks, or has locked.
template <class Latch>
struct QueuedLock {
  using Queue = typename Latch::Queue;

  static QueuedLock of(Latch& latch, u64 version) { return {&latch, version, {}}; }
  /// Returns the lock of a latch after waiting for it.
  static QueuedLock claimed(Latch& latch, Queue queue) {
    QueuedLock lock{&latch, 0, {}};
    lock.version = latch.claim(queue, lock.hold);
    return lock;
  }
  [[nodiscard]] bool try_lock(Queue queue) { return latch->try_lock(version, queue, hold); }
  void commit(Queue queue) { latch->unlock(queue, hold); }
  void release(Queue queue) { latch->release(queue, hold); }

  Latch* latch;
  u64 version;
  typename Latch::Hold hold;
};

/// The place of latches with queues: the node. It holds no tag.
template <class M, class Latch>
struct QueueInNode {
  static constexpr bool kTagged = false;
  using Lock = QueuedLock<Latch>;
  using Queue = typename Latch::Queue;
  template <class N>
  static Latch& of(N* node) {
    return LatchInNode<M>::of(node);
  }
};

template <class M, class Latch, class Bugs>
class Queued : public Optimistic<QueuedLayout<M, Latch, Bugs>, QueueInNode<M, Latch>> {
  using Base = Optimistic<QueuedLayout<M, Latch, Bugs>, QueueInNode<M, Latch>>;

 public:
  using Tx = typename Queued::Optimistic::Tx;
  using Learned = typename Latch::Thread;

  struct Counters : Base::Counters {
    u64 waits = 0;  ///< claims that had to wait

    u64 conflicts() const { return this->write_restarts + waits; }
    static constexpr auto fields() {
      using Field = CounterField<Counters>;
      return std::array{Field{"read_restarts", &Counters::read_restarts},
                        Field{"write_restarts", &Counters::write_restarts}, Field{"waits", &Counters::waits}};
    }
  };

  explicit Queued(const NoOptions&) {}

  /// Runs every attempt with the transaction that can claim: a small one (small_tx.h) could not hold the latch of a
  /// node that turns out to be full.
  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    const typename Latch::Queue queue(shared_, me.learned, me.counters.waits);
    me.reclaim.enter();
    return this->write_by(me, body, std::nullopt, [&] { return Tx(*me.pool, QueueInNode<M, Latch>(), queue); });
  }
  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    // A reader locks nothing, so its transaction needs no queue.
    return this->read_by(me, body, [&] { return Tx(*me.pool); });
  }

 private:
  typename Latch::Shared shared_;
};

}  // namespace latchlab
