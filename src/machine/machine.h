#pragma once
// A machine: everything that a policy, a transaction or an index touches below C++. All members are static, so there is
// no object to pass around. Native therefore costs nothing, and a virtual machine finds the running fiber through one
// pointer.
//
//   Native     std::atomic, the processor, real RTM                               measuring
//   Emulated   threads; a transaction is made of a hidden mutex and an undo log   sanitizer lanes, machines without RTM
//   Simulated  fibers in virtual time; schedules replay from a seed               the race finder
//   Modelled   fibers in virtual time, on the costs of a modelled processor       predicting other machines
//
// A field that another thread may see is one of these, or it is fixed before it is published and never changes:
//
//   Plain<T>         read and written under a coarse policy's exclusion (or inside its transaction): T itself on Native
//   Racy<T>          read optimistically while it may be written: on Native an atomic, loaded with acquire and stored
//                    with release
//   Atomic<T>        synchronizes by itself: every operation names its order
//   PlainRow, RacyRow<T, N>   a row of N fields searched at once: load(i), store(i, v), load_all()
//
// All are initialised without an event, because no other thread sees them yet. They are not copied and need no
// destructor.
#include <concepts>
#include <cstddef>
#include <functional>
#include <string_view>

#include "src/arch/rtm_status.h"
#include "src/base/types.h"
#include "src/memory/page_source.h"

namespace latchlab {

enum class Access { kRead, kWrite };

template <class C>
concept Cell = requires(C& cell, const C& constant) {
  constant.load();
  cell.store(constant.load());
};

template <class R>
concept CellRow = requires(R& row, const R& constant, u32 i) {
  constant.load(i);
  row.store(i, constant.load(i));
  constant.load_all();
};

/// A cell whose operations name their memory order. The orders below only show which operations take one.
template <class A>
concept AtomicCell = requires(A& a, const A& constant, u64& expected) {
  { constant.load(kAcquire) } -> std::same_as<u64>;
  { constant.is(u64{}) } -> std::same_as<bool>;  // true if it holds this value: a relaxed load
  a.store(u64{}, kRelease);
  { a.exchange(u64{}, kAcquire) } -> std::same_as<u64>;
  { a.exchange_by_prefix(u64{}) } -> std::same_as<u64>;  // acquires; with the prefix of lock elision
  a.store_by_prefix(u64{});                              // releases; with the prefix of lock elision
  { a.fetch_add(u64{}, kRelaxed) } -> std::same_as<u64>;
  { a.compare_exchange(expected, u64{}, kAcquire) } -> std::same_as<bool>;  // strong; relaxed on failure
};

/// A lock that std::lock_guard accepts.
template <class L>
concept Lockable = requires(L& lock) {
  lock.lock();
  lock.unlock();
};

/// A lock that std::shared_lock accepts too.
template <class L>
concept SharedLockable = Lockable<L> && requires(L& lock) {
  lock.lock_shared();
  lock.unlock_shared();
};

/// A thread beside those that call an index, for a policy that delegates. It lives as long as the object does.
template <class S>
concept ServesBeside = std::constructible_from<S, std::function<void()>> &&
                       requires(S& server, void (*words)(void (*)(const void*)), bool (*done)()) {
                         // False where nobody would serve now: then the caller is alone, and does the work itself.
                         { S::serves() } -> std::same_as<bool>;
                         // The only legal way for the server to wait. words(watch) calls watch(&atomic) for all that
                         // done() reads. True once done() is, or false if the server is to end.
                         { server.wait(words, done) } -> std::same_as<bool>;
                       };

template <class M>
concept Machine = requires(typename M::template Atomic<u64>& a, void* p, void (*body)(), bool (*done)(u64)) {
  { M::kName } -> std::convertible_to<std::string_view>;
  // True if a search may load a whole line, including words of other blocks and of free memory. It touches the line
  // first.
  { M::kReadsWholeLines } -> std::convertible_to<bool>;
  { M::kUndoesAllMemory } -> std::convertible_to<bool>;  // an abort undoes every store, not only stores to cells
  requires Cell<typename M::template Plain<u64>>;
  requires Cell<typename M::template Racy<u64>>;
  requires AtomicCell<typename M::template Atomic<u64>>;
  requires CellRow<typename M::template PlainRow<u8, 16>>;
  requires CellRow<typename M::template RacyRow<u8, 16>>;
  requires Lockable<typename M::Mutex>;  // the system's locks: a waiting thread is descheduled
  requires SharedLockable<typename M::SharedMutex>;
  requires ServesBeside<typename M::ServerThread>;
  typename M::Elision;  // a policy holds one for as long as it may start transactions
  typename M::Section;  // one lives while a thread takes, holds and gives back a lock that all threads may wait for

  { M::transact(body) } -> std::same_as<u32>;  // kCommitted, or the abort status; the body may have run in part
  // The next three make a transaction that begins in the middle of a body. An abort continues where the machine
  // decides: begin returns a second time, with the status, or contain returns it. Either way every cell is as it was at
  // begin.
  { M::contain(body) } -> std::same_as<u32>;  // kCommitted, or the abort status
  { M::begin() } -> std::same_as<u32>;        // kCommitted once it has begun, or the abort status
  M::end();
  { M::in_transaction() } -> std::same_as<bool>;
  { M::transactions_work() } -> std::same_as<bool>;
  M::template abort<kBusyCode>();  // [[noreturn]], inside a transaction only
  // Suspend and resume are called inside a transaction, and only if suspends_loads(). Loads between the two see memory
  // as it is, and the transaction's own stores. A store of another thread to a line that they read does not abort it.
  // So these loads prove nothing: a body that acts on one repeats it after the resume. In between it may store only to
  // memory that no other thread knows, and a begin, an end or another suspend aborts.
  { M::suspends_loads() } -> std::same_as<bool>;  // true if the machine can suspend loads
  M::suspend_loads();
  M::resume_loads();
  { M::kPrefixesAreTransactions } -> std::convertible_to<bool>;  // elision by prefixes is hle:emulated, always
  { M::prefixes_elide() } -> std::same_as<bool>;
  { M::in_elision() } -> std::same_as<bool>;  // after an exchange_by_prefix; ask only if prefixes_elide()

  { M::wait_until(a, done) } -> std::same_as<u64>;  // the only legal way to spin: bounded, then as the machine waits
  // Follows a store that may end waits for the cell, which may be gone. Without it a wait may last for ever.
  M::wake(static_cast<const void*>(p));
  M::pause();  // a hint inside a backoff; aborts a transaction
  M::yield();
  { M::now() } -> std::same_as<u64>;   // nanoseconds since a fixed moment
  { M::node() } -> std::same_as<u32>;  // the NUMA node where the calling thread runs; may take as long as a cache miss
  M::acquire_fence();
  M::release_fence();
  // Each of two threads stores, fences and loads the other's word. Then at least one load sees the other's store, if
  // both fences are full, or both heavy, or one light and one heavy.
  M::full_fence();
  M::light_fence();
  M::heavy_fence();

  M::touch(p, std::size_t{}, Access::kRead);  // bulk access that does not go through cells
  M::prefetch(p, Access::kRead);              // a hint that the line is needed soon; p may be any address
  M::begin_operation();                       // an operation of an index begins
  // Null when memory is out. Blocks of 64 bytes or more are aligned as the second argument says, to 16 or 64 bytes; 64
  // if it is left out. Smaller ones are aligned to 16.
  { M::allocate(std::size_t{}) } -> std::same_as<void*>;
  { M::allocate(std::size_t{}, std::size_t{}) } -> std::same_as<void*>;
  M::deallocate(p, std::size_t{});
  { M::pages() } -> std::same_as<PageSource*>;  // the pools' source of chunks; null: every block is an allocate() call
  M::poison(p, std::size_t{});                  // until unpoison, an access is a bug that the machine may report
  M::unpoison(p, std::size_t{});
  M::name(p, std::size_t{}, std::string_view());  // how a machine that says where time goes names these bytes
};

/// Prefetches every line of the object.
template <class M, class T>
[[gnu::always_inline]] inline void prefetch_object(const T* p, Access access) {
  const char* const start = reinterpret_cast<const char*>(p);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) M::prefetch(start + at, access);
}

}  // namespace latchlab
