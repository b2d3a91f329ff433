#pragma once
// `combine`: flat combining by a queue. A thread that holds the lock runs the operations of the waiting threads, so the
// lines of a hot key stay with one processor, and a handover is one line of the waiting thread.
//
//     tail -------------------------------------------.
//                                                      v
//     [leads, next]-->[operation, next]-->[operation, next]: none
//       runs its own       then this            then this, and so on, kMost at most
//
// The queue is that of `mcs` (mcs.h): a node on the stack of each operation, in order of arrival. The first thread
// leads. It runs its own operation and then those behind it, and tells each thread `kDone` when its operation has run.
// After kMost of them the next thread leads, so that no operation serves others for ever.
//
// A node outlives all uses by other threads: the leader reads its `next` before it writes its `turn`, which is the
// leader's last access; and a thread returns only after it has seen that store. The thread behind writes `next` once,
// which the leader waits for, unless the tail says that nobody is behind.
//
// An operation runs on another thread than the one that asked for it, with the blocks and the result of the one that
// asked. Both hand them over by `turn` and `next`, so they are never used by two threads at once.
//
// Papers: D. Hendler, I. Incze, N. Shavit, M. Tzafrir. Flat combining and the synchronization-parallelism tradeoff.
// SPAA 2010. P. Fatourou, N. Kallimanis. Revisiting the combining synchronization technique. PPoPP 2012 (CC-Synch,
// whose queue has a node of the predecessor's instead).
#include <array>
#include <string_view>
#include <utility>

#include "src/base/function_ref.h"
#include "src/base/types.h"
#include "sync/coarse.h"

namespace latchlab {

/// `kMost`: operations of others that a thread runs in a row.
template <class M, u32 kMost = 64>
class CombiningQueue {
 public:
  /// Runs the operation alone, on this thread or on another one that is inside. Returns true if another thread ran it.
  bool run(FunctionRef<void()> operation) {
    Node mine(operation);
    // Acquire: if the queue is empty, pairs with the exchange of the tail by the leader before; else with that of the
    // predecessor, whose node is written next. Release: pairs with the exchange of the successor, which writes this
    // one.
    Node* const before = tail_.exchange(&mine, kAcqRel);
    if (before != nullptr) {
      before->next.store(&mine, kRelease);  // pairs with the loads in lead
      M::wake(&before->next);
      // Its acquire pairs with the stores in lead.
      const u32 turn = M::wait_until(mine.turn, [](u32 now) { return now != kWaits; });
      if (turn == kDone) return true;
    }
    lead(mine);
    return false;
  }

 private:
  enum Turn : u32 { kWaits, kLeads, kDone };

  struct alignas(kFalseSharingBytes) Node {
    explicit Node(FunctionRef<void()> to_run) : operation(to_run) {}

    typename M::template Atomic<Node*> next{nullptr};
    typename M::template Atomic<u32> turn{kWaits};
    const FunctionRef<void()> operation;
  };

  void lead(Node& mine) {
    mine.operation();
    Node* last = &mine;  // whose operation has run, and whose thread does not know it yet
    for (u32 served = 0;; ++served) {
      Node* behind = last->next.load(kAcquire);  // pairs with run
      if (behind == nullptr) {
        Node* tail = last;
        // Release: pairs with the exchange in run. Its thread sees what the operations have changed.
        if (tail_.compare_exchange(tail, nullptr, kRelease)) return end(*last, mine);
        behind = M::wait_until(last->next, [](Node* next) { return next != nullptr; });  // its acquire pairs with run
      }
      end(*last, mine);
      if (served == kMost) return give_turn(*behind, kLeads);
      behind->operation();
      last = behind;
    }
  }
  static void end(Node& node, const Node& mine) {
    if (&node != &mine) give_turn(node, kDone);
  }
  static void give_turn(Node& node, Turn turn) {
    node.turn.store(turn, kRelease);  // pairs with the wait in run
    M::wake(&node.turn);
  }

  typename M::template Atomic<Node*> tail_{nullptr};
};

template <class M>
class Combine : public RunsElsewhere<Combine<M>, M> {
 public:
  static constexpr std::string_view kName = "combine";
  static constexpr std::string_view kAbout =
      "flat combining: the thread inside runs the operations of the waiting threads";
  static constexpr bool kWritersTakeTurns = true;

  struct Counters {
    u64 combined = 0;  ///< operations that another thread ran

    static constexpr auto fields() { return std::array{CounterField{"combined", &Counters::combined}}; }
  };

  explicit Combine(const NoOptions&) {}

  template <class Me, class Operation>
  void run(Me& me, const Operation& operation) {
    me.counters.combined += queue_.run(operation);
  }

 private:
  alignas(kFalseSharingBytes) CombiningQueue<M> queue_;
};

}  // namespace latchlab
