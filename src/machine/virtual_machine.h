#pragma once
// The machine whose threads are the fibers of a world (simulated_world.h). Every access to a cell or a row is an event.
// Memory between events is sequentially consistent, so memory orders mean nothing.
//
// A machine derives from it: Simulated, for the race finder, or Modelled. So both have the same locks, and the same
// rules of waiting.
#include <functional>
#include <utility>

#include "src/machine/cells.h"
#include "src/machine/machine.h"
#include "src/machine/simulated_world.h"

namespace latchlab {

template <class Self, class WorldOfSelf>
struct VirtualMachine : Cells<Self>, SoftwareTransactions<&WorldOfSelf::get> {
  using World = WorldOfSelf;
  static constexpr bool kUndoesAllMemory = false;

  class SharedMutex;
  using Mutex = SharedMutex;  // used in exclusive mode only
  class ServerThread;

  struct Elision {};  // empty: conflicts are detected as they happen, so isolation is always strong

  static bool in_transaction() { return WorldOfSelf::get().in_transaction(); }
  /// Sleeps until the line is written, then looks again. Inside a transaction it looks once, then aborts with status
  /// zero. Outside virtual time no other fiber could end the wait, so it ends the process.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    WorldOfSelf& world = WorldOfSelf::get();
    for (;;) {
      // Acquire as on the other machines, where it pairs with the store that ends the wait. Here orders mean nothing.
      if (const auto value = atomic.load(kAcquire); done(value) || world.unwinding()) return value;
      if (world.in_transaction()) world.abort(0);
      world.park(&atomic);
    }
  }
  static void wake(const void*) {}  // the store itself has ended the waits
  static void pause() { WorldOfSelf::get().pass(Event::kPause); }
  static void yield() { WorldOfSelf::get().pass(Event::kYield); }
  /// Returns virtual nanoseconds.
  static u64 now() { return WorldOfSelf::get().now(); }
  static u32 node() { return WorldOfSelf::get().node(); }
  static void full_fence() {}
  static void acquire_fence() {}
  static void release_fence() {}
  static void light_fence() {}
  static void heavy_fence() {}

  static void touch(const void* p, std::size_t bytes, Access access) { WorldOfSelf::get().touch(p, bytes, access); }
  /// Aligns every block to a line, if it has that many bytes.
  static void* allocate(std::size_t bytes, std::size_t = kLineBytes) { return WorldOfSelf::get().allocate(bytes); }
  /// Frees a block; inside a transaction, when the transaction commits.
  static void deallocate(void* p, std::size_t bytes) { WorldOfSelf::get().deallocate(p, bytes); }
  static void poison(const void* p, std::size_t bytes) { WorldOfSelf::get().memory().poison(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { WorldOfSelf::get().memory().unpoison(p, bytes); }
  static void name(const void*, std::size_t, std::string_view) {}

 private:
  friend Cells<Self>;

  template <class V>
  static bool loading(const V& value) {
    WorldOfSelf::read(&value, sizeof(V));
    return true;
  }
  template <class V>
  static bool storing(V& value) {
    return WorldOfSelf::write(&value, Event::kStore);
  }
  /// Counts as a write even if it changes nothing, as on the processor.
  template <class V>
  static bool changing(V& value) {
    return WorldOfSelf::write(&value, Event::kReadModifyWrite);
  }
};

/// The system's reader-writer lock in virtual time: a waiting fiber sleeps until the word is written. As in glibc,
/// readers do not wait for a waiting writer.
template <class Self, class WorldOfSelf>
class VirtualMachine<Self, WorldOfSelf>::SharedMutex {
 public:
  void lock() {
    u32 word;
    do word = wait_until(word_, [](u32 now) { return now == 0; });
    while (!word_.compare_exchange(word, kWriter, kAcquire));  // pairs with unlock and unlock_shared
  }
  void unlock() { word_.store(0, kRelease); }  // pairs with lock and lock_shared
  void lock_shared() {
    u32 word;
    do word = wait_until(word_, [](u32 now) { return now != kWriter; });
    while (!word_.compare_exchange(word, word + 1, kAcquire));  // pairs with unlock
  }
  void unlock_shared() { word_.fetch_add(-1u, kRelease); }  // pairs with lock

 private:
  static constexpr u32 kWriter = ~0u;  // held by a writer; any other word is the number of readers

  typename Cells<Self>::template Atomic<u32> word_{0};
};

/// A fiber of every run, beside those that the run asks for. It ends when all of them have returned. Outside virtual
/// time there is one thread, and nobody serves.
template <class Self, class WorldOfSelf>
class VirtualMachine<Self, WorldOfSelf>::ServerThread {
 public:
  /// Throws std::logic_error in virtual time.
  explicit ServerThread(std::function<void()> serve) : serve_(std::move(serve)) {
    WorldOfSelf::get().add_server(serve_);
  }
  ~ServerThread() { WorldOfSelf::get().remove_server(serve_); }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  static bool serves() { return WorldOfSelf::inside(); }

  /// Sleeps until a line of the words is written, then looks again. It watches the lines before it looks, so it misses
  /// no store.
  template <class Words, class Done>
  bool wait(const Words& words, const Done& done) {
    WorldOfSelf& world = WorldOfSelf::get();
    for (;;) {
      words([&world](const void* word) { world.watch(word); });
      const bool over = done();
      if (!over && !world.ending()) world.sleep();
      world.unwatch();
      if (over || world.ending()) return over;
    }
  }

 private:
  const std::function<void()> serve_;
};

}  // namespace latchlab
