#pragma once
// `nr:R`: node replication. R replicas of the index, one for each NUMA node that the run uses, and one log of the
// operations that change it. So a lookup reads lines that only threads of its node write, and the nodes exchange
// operations instead of the lines of the index. The pages of a replica lie where they are touched first, mostly by
// threads of its node. Those that a single thread loads lie near that thread.
//
//     node 0                                                                    node 1
//     [asked]-->[request]-->[request]                             [asked]-->[request]: none
//         |  the first thread leads                                   |
//         v                                                           v
//     log, a ring:  ... | insert 7 | erase 3 | update 9 | insert 4 | (being filled) |
//                           ^                              ^            ^      ^
//                        replica 1 has run               completed   replica 0  tail
//
// A thread that changes the index adds its request to the list of its node. The thread that finds the list empty leads.
// It waits until the leader before it is done, takes the whole list, and reserves as many entries by one
// compare-and-swap of `tail`. It fills them, each with its mark last. Then it takes the lock of its replica
// (replica_lock.h) and runs all entries up to its own, those of other nodes too. Whoever runs an entry on the replica
// of the thread that asked answers it.
//
// A lookup loads `completed`. If its replica has run fewer entries, it brings the replica up to that one. Then it reads
// under the replica's lock, as a reader.
//
// The log is a ring. A leader that would overwrite entries which a replica has not run takes that replica's lock, and
// runs them. So a replica of a node without threads holds nobody up.
//
// The lemmas that make it linearizable:
//   1. A mark is the position of the entry in the endless log, plus one. So an entry of an earlier round is not full.
//   2. A leader that has reserved entries fills them without waiting. So a thread may wait for a mark with locks held.
//   3. Replicas run the same operations in the same order, each alone with it. Bodies depend on nothing else, so the
//      answers are the same on each.
//   4. Before a thread gives back the lock of a replica, it raises `completed` to what the replica has run. So what a
//      lookup has seen, or an answer has said, is completed. Every lookup that begins later sees it.
//   5. A leader holds its list's lock while it takes a replica's lock, and no second one. So no threads wait in a ring.
//   6. An entry is overwritten only if each replica has run it. Then its request has been taken out of it.
//   7. A request's `next` is read before its entry is full. From then on the thread that answers it uses `next`.
//
// Memory. An operation that runs out of memory on one replica may have run on another, whose readers have seen it. It
// cannot be undone, so the process ends with one line. With one replica the operation throws, and has changed nothing.
// An index that may not grow is full on each replica at the same operation (lemma 3): that is an answer.
//
// Paper: I. Calciu, S. Sen, M. Balakrishnan, M. Aguilera. Black-box concurrent data structures for NUMA architectures.
// ASPLOS 2017. There a thread has a slot that its node's combiner polls, and threads compete for the combiner's lock;
// here requests are a list, whose first thread leads, so a thread waits on a word of its own. There a full log waits
// for the slowest replica; here it is helped. There an operation is a call of any code, here one of six on a key.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "src/base/types.h"
#include "sync/coarse.h"
#include "sync/replica_lock.h"
#include "sync/spin_lock.h"

namespace latchlab {

struct NrOptions {
  static constexpr u64 kMostReplicas = 16;

  /// The number after the colon, 1 to 16. Empty: one for each NUMA node of the run's threads. Where no run says how
  /// many these are, it is two.
  std::optional<u64> replicas;

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static NrOptions parse(const Spec& spec) {
    SpecReader reader(spec, "policy nr");
    NrOptions options;
    if (spec.arg) options.replicas = reader.arg_u64(1, 1, kMostReplicas);
    reader.finish();
    return options;
  }
  /// Returns the spec for a run on so many nodes.
  static Spec on_nodes(Spec spec, u64 nodes) {
    if (!spec.arg) spec.arg = std::to_string(nodes < kMostReplicas ? nodes : kMostReplicas);
    return spec;
  }
  u32 count() const { return static_cast<u32>(replicas.value_or(2)); }
  std::vector<std::pair<std::string, std::string>> resolved() const {
    return {{"replicas", replicas ? std::to_string(*replicas) : "nodes"}};
  }
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key) {
    return key == "replicas" ? "the number after the colon: how many replicas there are, 1 to 16; else one a NUMA node"
                             : "";
  }
};

namespace nr {

/// An operation that changes an index, as data that each replica runs.
struct Operation {
  enum class Kind : u8 {
    kInsert,
    kUpdate,
    kUpsert,
    kErase,
    kReplace,  ///< an update if the value is `expected`
    kEraseIf   ///< an erase if the value is `expected`
  };

  Kind kind;
  u64 key;
  u64 value = 0;
  u64 expected = 0;
};

enum class Answer : u32 {
  kNo,
  kYes,
  kFull,     ///< the index has no room and may not grow
  kNoMemory  ///< only with one replica
};

struct Counters {
  u64 batches = 0;    ///< batches of requests that the thread led
  u64 combined = 0;   ///< operations that another thread led
  u64 catch_ups = 0;  ///< lookups that found their replica behind

  static constexpr auto fields() {
    return std::array{CounterField{"batches", &Counters::batches}, CounterField{"combined", &Counters::combined},
                      CounterField{"catch_ups", &Counters::catch_ups}};
  }
};

/// Ends the process with one line: memory was out on a replica, for an operation that others may have run.
[[noreturn]] void end_without_memory(u32 replica, u32 replicas);

}  // namespace nr

/// The log, and what its replicas share. `Replica` has `Answer run(const Operation&)`, which is called with the
/// replica's lock. `kEntries` is a power of two; `kMost`: entries that one batch reserves at once.
template <class M, class Replica, class Bugs = nr::NoBugs, u32 kEntries = 4096, u32 kMost = 64>
class NodeReplication {
  static_assert((kEntries & (kEntries - 1)) == 0 && kMost <= kEntries);

  /// A request is on a line of its own, in its thread's state. It is filled by that thread, then read by its leader,
  /// and answered by the thread that runs its entry.
  struct alignas(kFalseSharingBytes) Request {
    typename M::template Atomic<u32> done{1};
    typename M::template Plain<nr::Operation::Kind> kind;
    typename M::template Plain<nr::Answer> answer;
    typename M::template Plain<u64> key, value, expected;
    typename M::template Plain<Request*> next;
  };

  /// An entry is a line: each is written by one node and read by all.
  struct alignas(kLineBytes) Entry {
    typename M::template Atomic<u64> mark{0};
    typename M::template Plain<nr::Operation::Kind> kind;
    typename M::template Plain<u32> node;  // the replica of the thread that asked
    typename M::template Plain<u64> key, value, expected;
    typename M::template Plain<Request*> request;
  };
  static_assert(sizeof(Entry) == kLineBytes);

 public:
  using Lock = ReplicaLock<M, Bugs>;

  /// A thread that calls the index. It must not move while an operation runs.
  class Thread {
    friend NodeReplication;
    Request request_;
    u32 home_ = 0, left_ = 0;  // its replica, and for how many uses it stays
  };

  /// Throws std::bad_alloc.
  explicit NodeReplication(std::vector<std::unique_ptr<Replica>> replicas) : ring_(make_ring()) {
    for (auto& replica : replicas) nodes_.push_back(std::make_unique<Node>(std::move(replica)));
  }
  NodeReplication(const NodeReplication&) = delete;
  NodeReplication& operator=(const NodeReplication&) = delete;

  u32 replicas() const { return static_cast<u32>(nodes_.size()); }
  Replica& replica(u32 number) { return *nodes_[number]->replica; }
  const Replica& replica(u32 number) const { return *nodes_[number]->replica; }
  Lock& lock(u32 number) { return nodes_[number]->lock; }
  /// Returns the bytes of the log and of the locks, without the replicas.
  u64 bytes() const { return kRingBytes + nodes_.size() * sizeof(Node); }

  /// Runs the operation on all replicas. It is one linearizable step.
  [[gnu::noinline]] nr::Answer run(Thread& me, nr::Counters& counters, const nr::Operation& operation) {
    Request& mine = me.request_;
    mine.kind.store(operation.kind);
    mine.key.store(operation.key);
    mine.value.store(operation.value);
    mine.expected.store(operation.expected);
    mine.done.store(0, kRelaxed);  // relaxed: the exchange publishes it
    const u32 home = home_of(me);
    auto& asked = nodes_[home]->asked;
    Request* before = asked.load(kRelaxed);
    do mine.next.store(before);
    while (!asked.compare_exchange(before, &mine, kRelease));  // pairs with the exchange in lead
    if (before == nullptr) {
      ++counters.batches;
      lead(home);
    } else {
      ++counters.combined;
    }
    M::wait_until(mine.done, [](u32 done) { return done != 0; });  // its acquire pairs with catch_up
    return mine.answer.load();
  }

  /// Returns the number of the calling thread's replica, once it has run all entries that were completed before the
  /// call.
  u32 ready(Thread& me, nr::Counters& counters) {
    const u32 home = home_of(me);
    const u64 completed = completed_.load(kRelaxed);  // relaxed: the replica's lock orders what entries have changed
    if (!Bugs::kReadAtOnce && nodes_[home]->lock.entries_run() < completed) [[unlikely]] {
      ++counters.catch_ups;
      catch_up(home, completed);
    }
    return home;
  }

  /// Brings all replicas up to the end of the log.
  void catch_up_all() {
    const u64 end = tail_.load(kRelaxed);
    for (u32 i = 0; i < replicas(); ++i) catch_up(i, end);
  }

 private:
  struct Node {
    explicit Node(std::unique_ptr<Replica> own) : replica(std::move(own)) {}

    alignas(kFalseSharingBytes) typename M::template Atomic<Request*> asked{nullptr};  // the last one first
    SpinLock<M> leading;
    u64 free_until = kEntries;  // positions below it are free to fill; guarded by `leading`
    Lock lock;
    const std::unique_ptr<Replica> replica;
  };
  static constexpr u64 kRingBytes = kEntries * sizeof(Entry);
  struct Free {
    void operator()(Entry* ring) const { M::deallocate(ring, kRingBytes); }
  };
  using Ring = std::unique_ptr<Entry[], Free>;

  static Ring make_ring() {
    void* const block = M::allocate(kRingBytes);
    if (block == nullptr) throw std::bad_alloc();
    Entry* const ring = static_cast<Entry*>(block);
    for (u32 i = 0; i < kEntries; ++i) new (ring + i) Entry;
    return Ring(ring);
  }

  Entry& entry(u64 position) { return ring_[position % kEntries]; }

  /// Returns the replica of a NUMA node. Nodes take the replicas in the order in which their threads come, so as many
  /// nodes as replicas have one each, whatever their numbers.
  u32 replica_of(u32 node) {
    auto& taken = taken_[node % kNodes];
    if (taken.load(kAcquire) == 0) {  // pairs with the store
      const std::lock_guard guard(taking_);
      if (taken.load(kRelaxed) == 0) taken.store(next_++ % replicas() + 1, kRelease);  // pairs with the loads
    }
    return taken.load(kAcquire) - 1;  // pairs with the store
  }

  /// Returns the number of the thread's replica. It asks for the node once in kUses times, since that takes as long as
  /// a cache miss. A wrong node costs speed and nothing else.
  u32 home_of(Thread& me) {
    if (me.left_ == 0) {
      me.home_ = replica_of(M::node());
      me.left_ = kUses;
    }
    --me.left_;
    return me.home_;
  }

  /// Runs what threads of the node have asked for. The calling thread found the list empty, so there is one such thread
  /// at a time, beside the one that is inside.
  [[gnu::noinline]] void lead(u32 home) {
    Node& node = *nodes_[home];
    const std::lock_guard guard(node.leading);
    Request* next = node.asked.exchange(nullptr, kAcquire);  // pairs with run
    Request* first = nullptr;
    while (next != nullptr) {  // in order of arrival
      Request* const after = next->next.load();
      next->next.store(first);
      first = next;
      next = after;
    }
    u64 end = 0;
    while (first != nullptr) first = append(home, first, end);
    catch_up(home, end);
  }

  /// Appends up to kMost requests from `first` on. Returns the next one, and the end of the entries in `end`.
  Request* append(u32 home, Request* first, u64& end) {
    u64 count = 0;
    for (Request* at = first; at != nullptr && count < kMost; at = at->next.load()) ++count;
    // Relaxed: entries are published by their marks. Their earlier use is over as far as make_room has seen.
    u64 at = tail_.load(kRelaxed);
    do make_room(*nodes_[home], at + count);
    while (!tail_.compare_exchange(at, at + count, kRelaxed));
    for (end = at + count; at < end; ++at) {
      Entry& mine = entry(at);
      mine.kind.store(first->kind.load());
      mine.node.store(home);
      mine.key.store(first->key.load());
      mine.value.store(first->value.load());
      mine.expected.store(first->expected.load());
      mine.request.store(first);
      first = first->next.load();
      mine.mark.store(at + 1, kRelease);  // pairs with catch_up
      M::wake(&mine.mark);
    }
    return first;
  }

  /// Waits until the entries below `end` may be filled. Runs on slow replicas what is in their place.
  void make_room(Node& node, u64 end) {
    if (end <= node.free_until || Bugs::kOverwrite) return;
    u64 least = ~u64{0};
    for (u32 i = 0; i < replicas(); ++i) {
      catch_up(i, end - kEntries);
      least = std::min(least, nodes_[i]->lock.entries_run());
    }
    node.free_until = least + kEntries;
  }

  /// Runs entries on a replica until it has run `least`, and those behind them that are full. It is not inlined, since
  /// it has all operations of the index in it, and lookups seldom call it.
  [[gnu::noinline]] void catch_up(u32 number, u64 least) {
    Node& node = *nodes_[number];
    if (!node.lock.lock_unless(least)) return;
    const u64 end = std::max(least, tail_.load(kRelaxed));  // relaxed: it may lag, and then less is run
    u64 at = node.lock.entries_run();
    Request* answered = nullptr;
    for (; at < end; ++at) {
      Entry& next = entry(at);
      const auto full = [at](u64 mark) { return mark == at + 1; };
      if (!Bugs::kTakeUnfilled && !full(next.mark.load(kAcquire))) {  // pairs with append
        if (at >= least) break;
        M::wait_until(next.mark, full);  // its acquire pairs with append
      }
      const nr::Answer answer = run_on(*node.replica, next, number);
      if (next.node.load() != number) continue;
      Request* const request = next.request.load();
      if (Bugs::kTakeUnfilled && request == nullptr) continue;
      request->answer.store(answer);
      request->next.store(answered);
      answered = request;
    }
    if (!Bugs::kCompleteLate) raise_completed(at);
    node.lock.unlock(at);
    while (answered != nullptr) {
      Request* const request = answered;
      answered = request->next.load();
      request->done.store(1, kRelease);  // pairs with the wait in run
      M::wake(&request->done);
    }
    if (Bugs::kCompleteLate) raise_completed(at);
  }

  nr::Answer run_on(Replica& replica, const Entry& entry, u32 number) {
    const nr::Answer answer = replica.run({.kind = entry.kind.load(),
                                           .key = entry.key.load(),
                                           .value = entry.value.load(),
                                           .expected = entry.expected.load()});
    if (answer == nr::Answer::kNoMemory && replicas() > 1) nr::end_without_memory(number, replicas());
    return answer;
  }

  void raise_completed(u64 at) {
    // Relaxed: a later lookup sees this or more, because the lock or an answer follows it.
    for (u64 seen = completed_.load(kRelaxed); seen < at;) {
      if (completed_.compare_exchange(seen, at, kRelaxed)) return;
    }
  }

  static constexpr u32 kUses = 1024;
  static constexpr u32 kNodes = 64;  // nodes beyond share the replicas of others

  alignas(kFalseSharingBytes) typename M::template Atomic<u64> tail_{0};       // entries that are reserved
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> completed_{0};  // entries whose answers may be known
  alignas(kFalseSharingBytes) const Ring ring_;
  std::vector<std::unique_ptr<Node>> nodes_;
  SpinLock<M> taking_;
  u32 next_ = 0;                                                  // the next replica to take; guarded by taking_
  std::array<typename M::template Atomic<u32>, kNodes> taken_{};  // the replica of each node, plus one; 0: none yet
};

/// The policy of one replica: lookups share its lock, and a change runs where the lock is held already.
template <class M, class Bugs = nr::NoBugs>
class NrReplica : public CoarsePolicy<M> {
 public:
  static constexpr std::string_view kName = "nr";
  using Options = NrOptions;
  /// The thread as a reader of this replica.
  using Learned = typename ReplicaLock<M, Bugs>::Reader;

  explicit NrReplica(const Options&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = [&] {
      const typename ReplicaLock<M, Bugs>::Reading reading(me.learned);
      return body(tx);
    }();
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = body(tx);
    return finish_writing(tx, attempt);
  }
};

/// The policy that callers name. An index is not joined to it but to `Replica`, several times (sync/replicated.h).
template <class M>
struct Nr : CoarsePolicy<M> {
  static constexpr std::string_view kName = "nr";
  static constexpr std::string_view kAbout = "node replication: a replica of the index for each NUMA node, and one log";
  using Options = NrOptions;
  using Counters = nr::Counters;
  using Replica = NrReplica<M>;
};

}  // namespace latchlab
