#pragma once
// The engine of a virtual machine: fibers in virtual time on one thread of the system. Its traits make it the race
// finder's world, or the world of a modelled machine.
//
// Each fiber has a clock, and the fiber with the earliest clock runs. An access takes effect when its fiber is the
// earliest; then its cost is added to the clock. This gives three properties:
//   1. Memory is sequentially consistent.
//   2. Everything that happens is a function of the costs and the program.
//   3. A transaction can be undone at the very moment at which a conflict appears.
//
//     access:  1. wait until this fiber is the earliest
//              2. leave the body if the transaction has been aborted meanwhile
//              3. check that these bytes may be accessed
//              4. add the cost; a modelled processor may end transactions here, this one too
//              5. doom the conflicting transactions of other fibers (the requester wins)
//              6. add the line to the own sets, unless this is a suspended load
//              7. log the old bytes
//              8. [the cell loads or stores]
//
// No switch happens between step 2 and step 8, which makes each access atomic, read-modify-writes included. Outside
// run() there is no virtual time: accesses only check the memory, and transactions only keep their log.
//
// A schedule ends when all fibers have returned, or when it fails:
//   - by a forbidden memory access;
//   - by deadlock (all unfinished fibers wait) or livelock (too many events);
//   - by an exception that leaves a fiber;
//   - by the program's own verdict.
// The fibers of a failed schedule are abandoned where they are. Their destructors cannot run, because they would access
// cells of a broken world.
//
// Servers are fibers beside those of a run, with the numbers behind theirs. When all others have returned and every
// server waits, the run is ending: the servers wake up, see it, and return.
#include <array>
#include <bit>
#include <boost/context/detail/fcontext.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/machine/machine.h"
#include "src/machine/modelled_memory.h"
#include "src/machine/simulated_costs.h"
#include "src/machine/simulated_memory.h"
#include "src/machine/software_transaction.h"

namespace latchlab {

/// The race finder's world: it checks every access to memory, and an event costs what chance says.
struct RaceFinding {
  static constexpr u32 kMaxFibers = 64;
  static constexpr u64 kTicksPerNs = 1;
  static constexpr bool kModels = false;
  using Memory = SimulatedMemory;
};

/// The world of a modelled machine. The costs know every reference, and may end transactions. A fiber whose transaction
/// is undone notices it at once.
struct Modelling {
  static constexpr u32 kMaxFibers = ModelledMemory::kMaxFibers;
  static constexpr u64 kTicksPerNs = 16;
  static constexpr bool kModels = true;
  using Memory = ModelledMemory;
};

template <class Traits>
class VirtualWorld {
 public:
  using Memory = typename Traits::Memory;
  static constexpr u32 kMaxFibers = Traits::kMaxFibers;
  static constexpr u64 kTicksPerNs = Traits::kTicksPerNs;

  struct Outcome {
    std::string failure;  // empty if all fibers returned
    u64 events = 0;       // accesses and everything else that takes virtual time
    u64 switches = 0;
    u64 aborts = 0;
    u64 trace = 0;  // a hash of (fiber, line, kind) of every event, in order
  };

  /// Returns the world of this process. One thread at a time may use it.
  static VirtualWorld& get();

  /// Forgets all simulated memory; objects that still live there are gone.
  void reset();

  /// Adds a fiber that calls `serve` once in every run from now on, until it is removed or the world is reset. Throws
  /// std::logic_error in virtual time.
  void add_server(const std::function<void()>& serve);
  void remove_server(const std::function<void()>& serve) { std::erase(servers_, &serve); }
  /// Removes all servers: those of an object that is not destroyed, since its world is broken.
  void forget_servers() { servers_.clear(); }
  u32 servers() const { return static_cast<u32>(servers_.size()); }

  /// Runs body(0) to body(fibers - 1), and the servers, until all have returned or the schedule has failed. Throws
  /// std::invalid_argument for more than kMaxFibers.
  Outcome run(u32 fibers, Costs& costs, u64 event_limit, const std::function<void(u32)>& body);

  // The hooks that cells call before an access to `bytes` bytes at p. If write() returns false, the store or
  // read-modify-write must not take place.
  static void read(const void* p, u32 bytes) {
    if (me) [[likely]] {
      get_unchecked().access(*me, p, bytes, Event::kLoad);
    } else {
      get().access_outside(p, bytes, Event::kLoad);
    }
  }
  template <class T>
  [[nodiscard]] static bool write(T* cell, Event event) {
    static_assert(sizeof(T) <= sizeof(u64), "a cell holds at most 8 bytes");
    Fiber& fiber = me ? *me : get().outside_;
    if (fiber.transaction.unwinding()) return false;
    if (me) [[likely]] {
      get_unchecked().access(*me, cell, sizeof(T), event);
    } else {
      get().access_outside(cell, sizeof(T), event);
    }
    if (fiber.transaction.running()) {
      u64 old = 0;
      __builtin_memcpy(&old, cell, sizeof(T));
      fiber.transaction.remember(cell, old, [](void* at, u64 word) { __builtin_memcpy(at, &word, sizeof(T)); });
    }
    return true;
  }

  // The engine of SoftwareTransactions.
  void begin();
  void commit();
  u32 caught();
  u32 caught_foreign();
  void suspend_loads();
  void resume_loads();
  [[noreturn]] void abort(u32 status);
  [[noreturn]] void abort_explicitly(u8 code);
  bool in_transaction() { return current().transaction.running(); }
  bool unwinding() { return current().transaction.unwinding(); }

  /// Sleeps until the line of p is written. The caller has just seen that its wait is not over.
  void park(const void* p);
  /// Watches one more line, that of p, for sleep().
  void watch(const void* p);
  /// Sleeps until a watched line is written or the run is ending, unless one was since watch(). It does not watch that
  /// line any more.
  void sleep();
  /// Watches no lines any more.
  void unwatch();
  /// Returns true if a server is to return.
  bool ending() const { return ending_; }
  /// Pauses or yields; aborts a transaction.
  void pass(Event event);
  /// Returns true while a fiber runs.
  static bool inside() { return me != nullptr; }
  // The next two are called in a fiber only.
  /// Advances the clock for code that is not simulated: without an event, and no other fiber runs meanwhile.
  static void spend(u64 ns) { me->clock += ns * kTicksPerNs; }
  /// Returns when no other fiber is earlier.
  static void await_turn() { get_unchecked().await_turn(*me); }
  /// Returns the time in nanoseconds.
  u64 now() { return current().clock / kTicksPerNs; }
  /// Returns the node of the running fiber; 0 outside virtual time.
  u32 node() { return me ? costs_->node(me->id) : 0; }
  /// Returns the number of the running fiber; 0 outside virtual time.
  u32 fiber() { return current().id; }

  void touch(const void* p, std::size_t bytes, Access access);

  // Only on a modelled machine. The first four have no effect outside virtual time.
  /// Tells the costs that the line of p is wanted soon; p may be any address.
  void prefetch(const void* p);
  /// Tells the costs that an operation begins.
  void begin_operation();
  /// Lets a full fence take its time.
  void fence();
  /// Enters the kernel; aborts a transaction. No other fiber runs meanwhile, since the caller may hold a std::mutex.
  void trap(KernelCall call);
  /// Tells the costs about pages, inside and outside virtual time.
  void mapped(const void* p, u64 bytes, bool huge, const PagePlacement& placement);
  void unmapped(const void* p, u64 bytes);
  /// Replaces the costs that are told about pages and blocks outside virtual time; null: none. Returns those before.
  Costs* exchange_costs(Costs* costs) { return std::exchange(costs_, costs); }

  void* allocate(std::size_t bytes);
  void deallocate(void* p, std::size_t bytes);
  Memory& memory() { return memory_; }

  /// Returns the last events of the last run, one a line, oldest first.
  std::string recent_events() const;

  AbortInjection* exchange_plan(AbortInjection* plan) { return std::exchange(current().plan, plan); }

  /// Fails the schedule. Inside virtual time this ends it at once; outside, take_outside_failure() returns the failure.
  [[gnu::noinline, gnu::cold]] void fail(const std::string& what);
  std::string take_outside_failure() { return std::exchange(outside_failure_, {}); }

 private:
  // The exception state that the C++ runtime keeps per thread. Here each fiber needs its own. A fiber may be switched
  // out inside a catch block, or inside a destructor that runs because of an exception. The layout is that of
  // __cxa_eh_globals in the Itanium ABI.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  /// A stack that can be executed on: a fiber's, or the thread's own, called home.
  struct Context {
    boost::context::detail::fcontext_t at = nullptr;
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;
    void* sanitizer_fiber = nullptr;
    ExceptionState exceptions;
  };
  struct Fiber {
    u64 clock = 0;
    u32 id = 0;
    bool doomed = false;  // another fiber has undone its transaction, and its body has not been left yet
    bool done = true;
    bool resting = true;   // its stack holds only the loop of fiber_main
    bool asleep = false;   // it waits for a store to a line
    bool stirred = false;  // there was a store to a line that it watches, before it slept
    SoftwareTransaction transaction;
    std::vector<u32> lines_read;
    std::vector<u32> lines_written;
    AbortInjection* plan = nullptr;
    const void* waits_for = nullptr;
    Context context;
  };
  struct Waiter {
    u32 line;
    u32 fiber;
  };
  struct Recent {
    const void* at;  // null for an event that is not an access
    u64 clock;
    u32 fiber;
    Event event;
    bool in_transaction;
  };
  static constexpr u64 kRecent = 48;
  static constexpr u64 kNotRunnable = ~u64{0};
  static constexpr u32 kIdBits = std::bit_width(kMaxFibers - 1);

  static inline constinit Fiber* me = nullptr;  // null outside virtual time
  static inline constinit VirtualWorld* instance_ = nullptr;
  static VirtualWorld& get_unchecked() { return *instance_; }

  VirtualWorld();
  ~VirtualWorld();

  Fiber& current() { return me ? *me : outside_; }
  // Flattened, because the race finder spends most of its time here. What it hardly ever calls is not inlined: an
  // aborted body leaves through it, and the unwinder would read a long table.
  [[gnu::flatten]] void access(Fiber& fiber, const void* p, u32 bytes, Event event);
  void access_outside(const void* p, u32 bytes, Event event);
  void event(Fiber& fiber, Event event, const void* at = nullptr, u32 line = 0);
  void record(Fiber& fiber, Event event, const void* at, u32 line);
  void refer(Fiber& fiber, Event event, const void* p, u32 bytes, u32 line);
  void end_transactions(Fiber& fiber, u64 at);
  void await_turn(Fiber& fiber);
  void take_turn(Fiber& fiber, AbortMoment moment);
  void* allocate_by_model(Fiber& fiber, AllocatorModel& allocator, std::size_t bytes)
    requires(Traits::kModels);
  void deallocate_by_model(Fiber& fiber, AllocatorModel& allocator, void* p, std::size_t bytes)
    requires(Traits::kModels);
  void follow(Fiber& fiber, const AllocatorModel& allocator)
    requires(Traits::kModels);
  void take_lock(Fiber& fiber, u64* word)
    requires(Traits::kModels);
  void add_to_sets(Fiber& fiber, typename Memory::Line& line, u32 number, const void* p, bool writes, u64 at);
  void undo(Fiber& fiber, u32 status, u64 at);
  void doom(Fiber& victim, u32 status, u64 at);
  void forget_lines(Fiber& fiber);
  void wake(u32 line, u64 stored);
  void rouse(Fiber& sleeper, u64 clock);

  void set_key(u32 fiber, u64 key);
  void dispatch();
  [[gnu::noinline, gnu::cold]] void end_run();
  [[gnu::noinline, gnu::cold]] void fail_livelock();
  [[gnu::noinline, gnu::cold]] void fail_access(const void* p, u32 bytes, Event kind);
  // Never inlined: a jump may return in another thread, whose exception state has another address.
  [[gnu::noinline]] void jump(Context& to, Fiber* next);
  void landed(boost::context::detail::transfer_t from);
  void prepare(u32 fiber);
  void give_stack(Fiber& fiber);
  static void fiber_main(boost::context::detail::transfer_t from);

  Memory memory_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber outside_;
  std::string outside_failure_;
  Context home_;
  Context* on_ = &home_;     // the stack that is executed on
  Context* left_ = nullptr;  // the stack that was left last
  std::vector<u64> keys_;    // winner tree: leaf i is clock << kIdBits | i of fiber i, or kNotRunnable
  u32 leaves_ = 1;
  std::vector<Waiter> waiters_;
  std::vector<const std::function<void()>*> servers_;
  u32 asked_for_ = 0;  // fibers of the run that are no servers
  u32 running_ = 0;    // with the servers
  bool ending_ = false;
  u64 event_limit_ = 0;
  Costs* costs_ = nullptr;
  const std::function<void(u32)>* body_ = nullptr;
  Outcome outcome_;
  std::array<Recent, kRecent> recent_{};  // the i-th event of a run is at i modulo kRecent
};

extern template class VirtualWorld<RaceFinding>;
extern template class VirtualWorld<Modelling>;

using World = VirtualWorld<RaceFinding>;
using ModelledWorld = VirtualWorld<Modelling>;

}  // namespace latchlab
