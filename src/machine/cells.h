#pragma once
// The cells and rows of every machine; machine.h tells the kinds apart. They are laid out alike on all machines, and a
// machine M says only what goes with an access. Each of these is called before one and its result held until after it:
//
//   M::loading(v)     a load
//   M::storing(v)     a store; a false result: it must not take place, the body is being left
//   M::changing(v)    a read-modify-write, likewise
//
// where v is what is accessed: a T, an array of T (all of it), or a std::atomic<T>. On Native nothing is left of them.
#include <atomic>
#include <type_traits>

#include "src/arch/holds.h"
#include "src/arch/simd.h"
#include "src/base/types.h"

namespace latchlab {

template <class M>
struct Cells {
  // A machine without prefixes: what the instructions behind them do.
  static u32 prefixed_exchange(std::atomic<u32>& word, u32 value) {
    return word.exchange(value, kAcquire);
  }  // pairs with
  static void prefixed_store(std::atomic<u32>& word, u32 value) { word.store(value, kRelease); }  // each other
  static bool prefixes_elide() { return false; }
  static bool in_elision() { return false; }

  template <class T>
  class Plain {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    constexpr Plain() : value_{} {}
    constexpr explicit Plain(T value) : value_(value) {}
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;
    T load() const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return value_;
    }
    void store(T value) {
      if (const auto access = M::storing(value_)) value_ = value;
    }

   private:
    T value_;
  };

  template <class T>
  class Racy {
    static_assert(std::atomic<T>::is_always_lock_free && sizeof(std::atomic<T>) == sizeof(T));

   public:
    constexpr Racy() : value_{} {}
    constexpr explicit Racy(T value) : value_(value) {}
    Racy(const Racy&) = delete;
    Racy& operator=(const Racy&) = delete;
    // Acquire and release cost nothing on x86-64, and they are why a pointer may be followed before it is validated:
    // what it points to was initialised before the store, which pairs with the load here.
    T load() const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return value_.load(kAcquire);
    }
    /// Whether it holds `value`: a relaxed load.
    bool is(T value) const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return holds(value_, value);
    }
    void store(T value) {
      if (const auto access = M::storing(value_)) value_.store(value, kRelease);
    }

   private:
    std::atomic<T> value_;
  };

  template <class T>
  class Atomic {
   public:
    constexpr Atomic() : value_{} {}
    constexpr explicit Atomic(T value) : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    T load(std::memory_order order) const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return value_.load(order);
    }
    /// Whether it holds `value`: a relaxed load.
    bool is(T value) const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return holds(value_, value);
    }
    void store(T value, std::memory_order order) {
      if (const auto access = M::storing(value_)) value_.store(value, order);
    }
    // Where a change must not take place the body is being left, and what is returned reaches nobody: relaxed.
    T exchange(T value, std::memory_order order) {
      const auto access = M::changing(value_);
      return access ? value_.exchange(value, order) : value_.load(kRelaxed);
    }
    /// An exchange that acquires, and a store that releases, with the prefixes of lock elision where the machine has
    /// them.
    T exchange_by_prefix(T value) {
      const auto access = M::changing(value_);
      return access ? M::prefixed_exchange(value_, value) : value_.load(kRelaxed);
    }
    void store_by_prefix(T value) {
      if (const auto access = M::storing(value_)) M::prefixed_store(value_, value);
    }
    T fetch_add(T value, std::memory_order order) {
      const auto access = M::changing(value_);
      return access ? value_.fetch_add(value, order) : value_.load(kRelaxed);
    }
    /// Strong. Relaxed where it fails: the caller may only try again with what it found, or give up.
    bool compare_exchange(T& expected, T value, std::memory_order order) {
      const auto access = M::changing(value_);
      return access && value_.compare_exchange_strong(expected, value, order, kRelaxed);
    }

   private:
    std::atomic<T> value_;
  };

  template <class T, std::size_t N>
  class PlainRow {
   public:
    PlainRow() = default;
    PlainRow(const PlainRow&) = delete;
    PlainRow& operator=(const PlainRow&) = delete;
    T load(std::size_t i) const {
      [[maybe_unused]] const auto access = M::loading(values_[i]);
      return values_[i];
    }
    void store(std::size_t i, T value) {
      if (const auto access = M::storing(values_[i])) values_[i] = value;
    }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      [[maybe_unused]] const auto access = M::loading(values_);
      return Bytes16::load(values_);
    }

   private:
    alignas(sizeof(T) * N >= 8 ? 8 : alignof(T)) T values_[N]{};
  };

  /// Words of eight bytes are the unit of access: elements are read out of them and written back into them, which is
  /// safe because only the thread that holds the latch writes. All accesses are relaxed and ordered by the latch: the
  /// stores come after the release fence of VersionLatch::try_lock and before the release of its unlock, the loads of a
  /// reader between the acquire of VersionLatch::version and the acquire fence of unchanged. A reader without a latch
  /// (rowex) first loads a cell that is stored after the row, and whose release its acquire pairs with.
  template <class T, std::size_t N>
  class RacyRow {
    static constexpr std::size_t kPerWord = 8 / sizeof(T);
    static_assert(std::is_unsigned_v<T> && N % kPerWord == 0);

   public:
    RacyRow() = default;
    RacyRow(const RacyRow&) = delete;
    RacyRow& operator=(const RacyRow&) = delete;
    T load(std::size_t i) const { return static_cast<T>(word(i / kPerWord) >> shift(i)); }
    void store(std::size_t i, T value) {
      const u64 mask = u64{static_cast<T>(~T{})} << shift(i);
      const u64 changed = (word(i / kPerWord) & ~mask) | u64{value} << shift(i);
      std::atomic<u64>& to = words_[i / kPerWord];
      if (const auto access = M::storing(to)) to.store(changed, kRelaxed);
    }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      const u64 low = word(0);
      return Bytes16::of_words(low, word(1));
    }

   private:
    static constexpr u32 shift(std::size_t i) { return static_cast<u32>(i % kPerWord * 8 * sizeof(T)); }
    u64 word(std::size_t i) const {
      [[maybe_unused]] const auto access = M::loading(words_[i]);
      return words_[i].load(kRelaxed);
    }

    std::atomic<u64> words_[N / kPerWord]{};
  };
};

}  // namespace latchlab
