#pragma once
// A machine is everything that a policy, a transaction or an index touches below C++. All members are static: there is
// no object to pass around, so Native costs nothing and Simulated finds the running fiber through one pointer.
//
//   Native     std::atomic, the processor, real RTM                      measuring
//   Emulated   threads; a hidden mutex and an undo log is a transaction  sanitizer lanes, machines without RTM
//   Simulated  fibers in virtual time; schedules replay from a seed      the race finder
//
// A field that another thread may see is one of these, or is fixed before it is published and never changes:
//
//   Plain<T>         read and written under a coarse policy's exclusion (or inside its transaction): T itself on Native
//   Racy<T>          read optimistically while it may be written: an atomic on Native, acquire to load, release to
//                    store
//   Atomic<T>        synchronizes by itself: every operation names its order
//   PlainRow, RacyRow<T, N>   N of them searched at once: load(i), store(i, v), load_all()
//
// All are initialised without an event (nobody sees them yet), are not copied, and need no destructor.
#include <concepts>
#include <cstddef>
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

/// The orders here only show that each operation takes one; nothing runs.
template <class A>
concept AtomicCell = requires(A& a, const A& constant, u64& expected) {
  { constant.load(kAcquire) } -> std::same_as<u64>;
  { constant.is(u64{}) } -> std::same_as<bool>;  // whether it holds this: a relaxed load
  a.store(u64{}, kRelease);
  { a.exchange(u64{}, kAcquire) } -> std::same_as<u64>;
  { a.exchange_by_prefix(u64{}) } -> std::same_as<u64>;  // with the prefixes of hardware lock elision: acquires
  a.store_by_prefix(u64{});                              // releases
  { a.fetch_add(u64{}, kRelaxed) } -> std::same_as<u64>;
  { a.compare_exchange(expected, u64{}, kAcquire) } -> std::same_as<bool>;  // strong; relaxed on failure
};

/// What std::lock_guard takes.
template <class L>
concept Lockable = requires(L& lock) {
  lock.lock();
  lock.unlock();
};

/// What std::shared_lock takes too.
template <class L>
concept SharedLockable = Lockable<L> && requires(L& lock) {
  lock.lock_shared();
  lock.unlock_shared();
};

template <class M>
concept Machine = requires(typename M::template Atomic<u64>& a, void* p, void (*body)(), bool (*done)(u64)) {
  { M::kName } -> std::convertible_to<std::string_view>;
  { M::kReadsWholeLines } -> std::convertible_to<bool>;  // what a reader does not use of a line may be others', or free
  { M::kUndoesAllMemory } -> std::convertible_to<bool>;  // an abort takes back every store, and not only those to cells
  requires Cell<typename M::template Plain<u64>>;
  requires Cell<typename M::template Racy<u64>>;
  requires AtomicCell<typename M::template Atomic<u64>>;
  requires CellRow<typename M::template PlainRow<u8, 16>>;
  requires CellRow<typename M::template RacyRow<u8, 16>>;
  requires Lockable<typename M::Mutex>;  // those of the system: who waits is not running
  requires SharedLockable<typename M::SharedMutex>;
  typename M::Elision;  // held by a policy for as long as it may start transactions

  { M::transact(body) } -> std::same_as<u32>;  // kCommitted, or the abort status; the body may have run in part
  // The same for a transaction that begins in the middle of a body. Where an abort comes back to is the machine's: out
  // of begin a second time, with the status, or out of contain. In both cases every cell is as it was at the begin.
  { M::contain(body) } -> std::same_as<u32>;  // kCommitted, or the abort status
  { M::begin() } -> std::same_as<u32>;        // kCommitted when it has begun, or the abort status
  M::end();
  { M::in_transaction() } -> std::same_as<bool>;
  { M::transactions_work() } -> std::same_as<bool>;
  M::template abort<kBusyCode>();  // [[noreturn]], inside a transaction only
  // Inside a transaction and where it can be: loads between the two see memory as it is, and the transaction's own
  // stores, but nobody's store to what they have seen aborts it. So they prove nothing: who acts on one loads it again
  // after the resume. In between only what nobody else knows is stored to, and a begin, an end or another suspend
  // aborts.
  { M::suspends_loads() } -> std::same_as<bool>;  // whether it can be
  M::suspend_loads();
  M::resume_loads();
  { M::prefixes_elide() } -> std::same_as<bool>;
  { M::in_elision() } -> std::same_as<bool>;  // behind an exchange_by_prefix, where they elide

  { M::wait_until(a, done) } -> std::same_as<u64>;  // the only legal way to spin: bounded, then yields
  M::pause();                                       // a hint inside a backoff; aborts a transaction
  M::yield();
  { M::now() } -> std::same_as<u64>;  // nanoseconds since some start
  M::acquire_fence();
  M::release_fence();
  M::full_fence();   // of two, with a store before and a load after each, one sees the other
  M::light_fence();  // a store before it and a load after it, against the same around
  M::heavy_fence();  // a heavy_fence: at least one of the loads sees the other's store

  M::touch(p, std::size_t{}, Access::kRead);  // bulk access that is not through a cell
  M::prefetch(p, Access::kRead);              // a hint that its line is wanted soon; any p will do, and nothing is read
  // Null when out; at least 16-byte aligned, 64 from 64 bytes on.
  { M::allocate(std::size_t{}) } -> std::same_as<void*>;
  M::deallocate(p, std::size_t{});
  { M::pages() } -> std::same_as<PageSource*>;  // where pools get chunks from; null: nowhere, each block is an allocate
  M::poison(p, std::size_t{});                  // until unpoison, an access is a bug that the machine may report
  M::unpoison(p, std::size_t{});
};

/// A hint for every line of the object. Inlined, for the reason of Native::prefetch.
template <class M, class T>
[[gnu::always_inline]] inline void prefetch_object(const T* p, Access access) {
  const char* const start = reinterpret_cast<const char*>(p);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) M::prefetch(start + at, access);
}

}  // namespace latchlab
