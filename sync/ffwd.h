#pragma once
// `ffwd`: delegation. One server thread runs all operations, and the calling threads are its clients. So the lines of
// the index stay with one processor, however many threads ask, and nothing is locked.
//
//     client 0   | asked | operation |----.                       requests: a line of each client, which it writes
//     client 1   | asked | operation |----+--> server, round      and the server reads
//        ...                              |    after round
//     client 14  | asked | operation |----'        |
//                                                  |
//     answered:  | bit 0 | bit 1 | ... | bit 14 | <'              one line of the group, which the server writes once
//                                                                 a round and its clients read
//
// A client writes its operation into its line, then flips `asked`, and waits until its bit of `answered` is the same.
// The server goes over the clients of a group, runs the operation of each whose `asked` differs from its bit, and then
// stores the bits of all these at once. There is no lock and no read-modify-write on the way.
//
// The lemmas that make it safe:
//   1. A request is complete before it is seen: `asked` is stored after the operation, with release.
//   2. An operation has run before its client goes on: `answered` is stored after all operations of the round.
//   3. A client has one request at a time. So its line does not change from the flip of `asked` to the answer.
//   4. The bits that a round stores are the values of `asked` that it acted on. A request that comes behind them is one
//      of the next round.
//
// An operation is copied into the line if it has room there and can be copied byte by byte, as those on one key can.
// Otherwise the line has a reference to it, and the server reads it from the client's stack. It runs with the client's
// blocks and leaves its result on the client's stack, which costs the server a store.
//
// Paper: S. Roghanchi, J. Eriksson, N. Basu. ffwd: delegation is (much) faster than you think. SOSP 2017. There a
// result of eight bytes is beside the bits of `answered`, and a server has many structures; here it has one index.
//
// The server is a thread of its own (Machine::ServerThread). It looks for requests all the time, and yields its
// processor between rounds without any. So it needs a processor for itself, besides those of its clients.
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/types.h"
#include "sync/coarse.h"

namespace latchlab {

namespace ffwd {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A round stores its answers before it runs the operations.
  static inline Flag kAnswerFirst{};
  /// A client flips `asked` before it writes its operation.
  static inline Flag kAskFirst{};
  /// A round answers all that is asked when it ends.
  static inline Flag kAnswerUnseen{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace ffwd

/// The server of one structure, and its clients.
template <class M, class Bugs = ffwd::NoBugs>
class Delegation {
  static constexpr u32 kClients = 15;  // of a group, as in the paper
  static constexpr std::size_t kRoom = kLineBytes - 2 * sizeof(u64);

  struct alignas(kLineBytes) Request {
    typename M::template Atomic<u32> asked{0};
    bool taken = false;  // by a client; guarded by joining_
    void (*run)(const void*) = [](const void*) {};
    alignas(u64) std::byte operation[kRoom];
  };
  static_assert(sizeof(Request) == kLineBytes, "a request is one miss");

  struct Group {
    alignas(kLineBytes) typename M::template Atomic<u32> used{0};  // requests that have had a client
    typename M::template Atomic<Group*> next{nullptr};
    u32 served = 0;  // the bits of `answered`, without a look at that line; only the server uses it
    alignas(kLineBytes) typename M::template Atomic<u32> answered{0};
    Request requests[kClients];
  };

 public:
  /// A thread's place among the clients. It takes one with its first operation, and keeps it while it lives.
  class Client {
   public:
    Client() = default;
    /// Moves the place; only between operations.
    Client(Client&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), group_(other.group_), number_(other.number_) {}
    Client& operator=(Client&&) = delete;
    ~Client() {
      if (of_ != nullptr) of_->leave(*this);
    }

   private:
    friend Delegation;
    Delegation* of_ = nullptr;
    Group* group_ = nullptr;
    u32 number_ = 0;
  };

  /// Starts the server. Throws std::bad_alloc, and std::system_error if the system has no more threads.
  Delegation() : first_(make_group()), server_([this] { serve(); }) {}
  Delegation(const Delegation&) = delete;
  Delegation& operator=(const Delegation&) = delete;

  /// Runs the operation on the server and returns when it has run. Outside virtual time, where nobody serves, runs it
  /// here. Throws std::bad_alloc if the thread has no place among the clients yet and memory is out; then the operation
  /// has not run.
  template <class Operation>
  void run(Client& me, const Operation& operation) {
    if (!server_.serves()) return operation();
    if (me.of_ == nullptr) [[unlikely]]
      join(me);
    Group& group = *me.group_;
    Request& mine = group.requests[me.number_];
    const u32 turn = mine.asked.load(kRelaxed) ^ 1;  // only this thread writes it
    if (Bugs::kAskFirst) {
      mine.asked.store(turn, kRelease);
      M::pause();  // the operation is in no cells, so without an event the simulator would not switch here
    }
    write(mine, operation);
    if (!Bugs::kAskFirst) mine.asked.store(turn, kRelease);  // (1) pairs with (2)
    // Its acquire pairs with (3).
    M::wait_until(group.answered, [&](u32 bits) { return (bits >> me.number_ & 1) == turn; });
  }

 private:
  struct Free {
    void operator()(Group* group) const {
      while (group != nullptr) {
        Group* const next = group->next.load(kRelaxed);  // the server and all clients have ended
        M::deallocate(group, sizeof(Group));
        group = next;
      }
    }
  };
  using Groups = std::unique_ptr<Group, Free>;

  static Groups make_group() {
    void* const block = M::allocate(sizeof(Group));
    if (block == nullptr) throw std::bad_alloc();
    return Groups(new (block) Group);
  }

  template <class Operation>
  static void write(Request& request, const Operation& operation) {
    if constexpr (sizeof(Operation) <= kRoom && std::is_trivially_copyable_v<Operation>) {
      new (static_cast<void*>(request.operation)) Operation(operation);
      request.run = [](const void* at) { (*std::launder(static_cast<const Operation*>(at)))(); };
    } else {
      new (static_cast<void*>(request.operation)) const Operation*(&operation);
      request.run = [](const void* at) { (**std::launder(static_cast<const Operation* const*>(at)))(); };
    }
  }

  // -------------------------------------------------------------- clients

  void join(Client& me) {
    const std::lock_guard guard(joining_);
    for (Group* group = first_.get();; group = group->next.load(kRelaxed)) {  // written under the same mutex
      for (u32 i = 0; i < kClients; ++i) {
        if (group->requests[i].taken) continue;
        group->requests[i].taken = true;
        me.of_ = this;
        me.group_ = group;
        me.number_ = i;
        // Relaxed: if the server sees it late, it sees the first request in a later round.
        if (i >= group->used.load(kRelaxed)) group->used.store(i + 1, kRelaxed);
        return;
      }
      // Release: pairs with the loads of next by the server, which then reads the new group.
      if (group->next.load(kRelaxed) == nullptr) group->next.store(make_group().release(), kRelease);
    }
  }
  void leave(const Client& client) {
    const std::lock_guard guard(joining_);
    client.group_->requests[client.number_].taken = false;
  }

  // -------------------------------------------------------------- the server

  void serve() {
    const auto words = [this](const auto& watch) {
      each_group([&](Group& group) {
        watch(&group.used);  // and next, on the same line
        for (u32 i = 0; i < kClients; ++i) watch(&group.requests[i].asked);
        return false;
      });
    };
    const auto wanted = [this] { return each_group([](Group& group) { return asked_of(group) != group.served; }); };
    do {
      while (each_group([](Group& group) { return serve_group(group); })) {}
    } while (server_.wait(words, wanted));
  }

  /// Calls f(group) for each. Returns true if one returned true.
  template <class F>
  bool each_group(const F& f) {
    bool any = false;
    // Acquire: pairs with the store of next in join.
    for (Group* group = first_.get(); group != nullptr; group = group->next.load(kAcquire)) any |= f(*group);
    return any;
  }

  static bool serve_group(Group& group) {
    if (Bugs::kAnswerFirst) group.answered.store(asked_of(group), kRelease);
    const u32 used = group.used.load(kRelaxed);  // as in join
    u32 bits = group.served;
    for (u32 i = 0; i < used; ++i) {
      const Request& request = group.requests[i];
      const u32 turn = request.asked.load(kAcquire);  // (2) pairs with (1)
      if (turn == (bits >> i & 1)) continue;
      M::begin_operation();  // its instructions are the server's
      request.run(request.operation);
      bits ^= 1u << i;
    }
    if (Bugs::kAnswerUnseen && bits != group.served) bits = asked_of(group);
    if (bits == group.served) return false;
    group.served = bits;
    group.answered.store(bits, kRelease);  // (3) pairs with the wait in run
    M::wake(&group.answered);
    return true;
  }
  /// Returns the bits that would answer all that is asked now.
  static u32 asked_of(const Group& group) {
    u32 bits = 0;
    const u32 used = group.used.load(kRelaxed);                                          // as in join
    for (u32 i = 0; i < used; ++i) bits |= group.requests[i].asked.load(kAcquire) << i;  // pairs with (1)
    return bits;
  }

  typename M::Mutex joining_;
  const Groups first_;
  typename M::ServerThread server_;  // last: it uses all others
};

template <class M>
class Ffwd : public RunsElsewhere<Ffwd<M>, M> {
 public:
  static constexpr std::string_view kName = "ffwd";
  static constexpr std::string_view kAbout = "delegation: a server thread runs all operations, round after round";
  static constexpr u32 kServers = 1;
  /// A thread's place among the clients of the server.
  using Learned = typename Delegation<M>::Client;

  explicit Ffwd(const NoOptions&) {}

  template <class Me, class Operation>
  void run(Me& me, const Operation& operation) {
    server_.run(me.learned, operation);
  }

 private:
  Delegation<M> server_;
};

}  // namespace latchlab
