#pragma once
// Simulated: up to 64 fibers in virtual time (simulated_world.h). With made-up costs it is the race finder
// (race_finder.h).
//
// A field of a coarse policy and one of an optimistic policy are the same here: every access to a cell or a
// row is an event, and memory between events is sequentially consistent, so orders and fences mean nothing.
// Missing ones are ThreadSanitizer's to find, on Emulated.
#include <string_view>
#include <type_traits>

#include "src/arch/simd.h"
#include "src/machine/machine.h"
#include "src/machine/simulated_world.h"

namespace latchlab {

struct Simulated {
  static constexpr std::string_view kName = "simulated";

  /// Plain and racy fields differ in how they are aligned on Native, and so here.
  template <class T, std::size_t kAlignment>
  class Field {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    constexpr Field() : value_{} {}
    constexpr explicit Field(T value) : value_(value) {}
    Field(const Field&) = delete;
    Field& operator=(const Field&) = delete;
    T load() const {
      World::read(&value_, sizeof(T));
      return value_;
    }
    void store(T value) {
      if (World::write(&value_, Event::kStore)) value_ = value;
    }

   private:
    alignas(kAlignment) T value_;
  };
  template <class T>
  using Plain = Field<T, alignof(T)>;
  template <class T>
  using Racy = Field<T, alignof(std::atomic<T>)>;

  template <class T>
  class Atomic {
   public:
    constexpr Atomic() : value_{} {}
    constexpr explicit Atomic(T value) : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    T load(std::memory_order) const {
      World::read(&value_, sizeof(T));
      return value_;
    }
    void store(T value, std::memory_order) {
      if (World::write(&value_, Event::kStore)) value_ = value;
    }
    T exchange(T value, std::memory_order) {
      return changed([&](T) { return value; });
    }
    T fetch_add(T value, std::memory_order) {
      return changed([&](T old) { return static_cast<T>(old + value); });
    }
    /// Takes the line to write it even when it fails, as the processor does.
    bool compare_exchange(T& expected, T value, std::memory_order) {
      if (!World::write(&value_, Event::kReadModifyWrite)) return false;
      if (value_ != expected) {
        expected = value_;
        return false;
      }
      value_ = value;
      return true;
    }

   private:
    // The old value is read after the event, when this fiber is the earliest.
    template <class Change>
    T changed(Change&& change) {
      const bool alive = World::write(&value_, Event::kReadModifyWrite);
      const T old = value_;
      if (alive) value_ = change(old);
      return old;
    }
    alignas(std::atomic<T>) T value_;
  };

  template <class T, std::size_t N>
  class PlainRow {
   public:
    PlainRow() = default;
    PlainRow(const PlainRow&) = delete;
    PlainRow& operator=(const PlainRow&) = delete;
    T load(std::size_t i) const {
      World::read(&values_[i], sizeof(T));
      return values_[i];
    }
    void store(std::size_t i, T value) {
      if (World::write(&values_[i], Event::kStore)) values_[i] = value;
    }
    /// One event.
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      World::read(values_, sizeof(values_));
      return Bytes16::load(values_);
    }

   private:
    alignas(sizeof(T) * N >= 8 ? 8 : alignof(T)) T values_[N]{};
  };

  template <class T, std::size_t N>
  class RacyRow {
    static constexpr std::size_t kPerWord = 8 / sizeof(T);
    static_assert(std::is_unsigned_v<T> && N % kPerWord == 0);

   public:
    RacyRow() = default;
    RacyRow(const RacyRow&) = delete;
    RacyRow& operator=(const RacyRow&) = delete;
    T load(std::size_t i) const {
      World::read(&words_[i / kPerWord], sizeof(u64));
      return static_cast<T>(words_[i / kPerWord] >> shift(i));
    }
    /// Reads the word and writes it, as on Native: two events, so that a store by somebody without the latch
    /// is lost here too.
    void store(std::size_t i, T value) {
      u64& word = words_[i / kPerWord];
      World::read(&word, sizeof(u64));
      const u64 mask = u64{static_cast<T>(~T{})} << shift(i);
      const u64 changed = (word & ~mask) | u64{value} << shift(i);
      if (World::write(&word, Event::kStore)) word = changed;
    }
    /// Word by word, as on Native.
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      World::read(&words_[0], sizeof(u64));
      const u64 low = words_[0];
      World::read(&words_[1], sizeof(u64));
      return Bytes16::of_words(low, words_[1]);
    }

   private:
    static constexpr u32 shift(std::size_t i) { return static_cast<u32>(i % kPerWord * 8 * sizeof(T)); }
    u64 words_[N / kPerWord]{};
  };

  struct Elision {};   // conflicts are seen as they happen: isolation is always strong

  /// kCommitted, or the abort status; then every cell is as if the body had not run. Of two transactions in
  /// conflict the one that has the line loses.
  template <class Body>
  static u32 transact(Body&& body) {
    return run_transaction(World::get(), body);
  }
  static bool in_transaction() { return World::get().in_transaction(); }
  static bool transactions_work() { return true; }
  /// Only inside a transaction; elsewhere it ends the process.
  template <u8 kCode>
  [[noreturn]] static void abort() {
    World::get().abort_explicitly(kCode);
  }

  /// A plan for the calling fiber's transactions (outside virtual time: for those outside), for as long as
  /// the result lives.
  class [[nodiscard]] Injected {
   public:
    explicit Injected(AbortInjection plan)
        : plan_(std::move(plan)), outer_(World::get().exchange_plan(&plan_)) {}
    ~Injected() { World::get().exchange_plan(outer_); }
    Injected(const Injected&) = delete;
    Injected& operator=(const Injected&) = delete;

   private:
    AbortInjection plan_;
    AbortInjection* outer_;
  };
  static Injected inject(AbortInjection plan) { return Injected(std::move(plan)); }

  /// Sleeps until the line is written and looks again. Inside a transaction one look, then an abort with
  /// status zero. Outside virtual time nobody could end the wait: that ends the process.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    World& world = World::get();
    for (;;) {
      if (const auto value = atomic.load(kAcquire); done(value) || world.unwinding()) return value;
      if (world.in_transaction()) world.abort(0);
      world.park(&atomic);
    }
  }
  static void pause() { World::get().pass(Event::kPause); }
  static void yield() { World::get().pass(Event::kYield); }
  /// Virtual nanoseconds.
  static u64 now() { return World::get().now(); }
  static void acquire_fence() {}
  static void release_fence() {}
  static void light_fence() {}
  static void heavy_fence() {}

  static void touch(const void* p, std::size_t bytes, Access access) { World::get().touch(p, bytes, access); }
  static void* allocate(std::size_t bytes) { return World::get().allocate(bytes); }
  /// Inside a transaction the block is freed when that commits.
  static void deallocate(void* p, std::size_t bytes) { World::get().deallocate(p, bytes); }
  static void poison(const void* p, std::size_t bytes) { World::get().memory().poison(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { World::get().memory().unpoison(p, bytes); }
};

static_assert(Machine<Simulated>);

}  // namespace latchlab
