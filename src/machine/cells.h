#pragma once
// The cells and rows of every machine; machine.h describes the kinds. Their layout is the same on all machines. A
// machine M only adds hooks to the accesses. Each hook is called before its access, and its result is held until after:
//
//   M::loading(v)     before a load
//   M::storing(v)     before a store; if the result is false, the body is being left and must not store
//   M::changing(v)    before a read-modify-write; the result means the same
//
// v is the object accessed: a T, a whole array of T, or a std::atomic<T>. On Native the hooks compile to nothing. A
// racy row is loaded in words, each with its own hook; with M::kLoadsWholeRows it is one array of std::atomic<T>.
#include <atomic>
#include <type_traits>

#include "src/arch/holds.h"
#include "src/arch/simd.h"
#include "src/base/types.h"

namespace latchlab {

template <class M>
struct Cells {
  static constexpr bool kLoadsWholeRows = false;

  // Without prefixes of lock elision, only the instructions after them remain. The next two pair with each other.
  static u32 prefixed_exchange(std::atomic<u32>& word, u32 value) { return word.exchange(value, kAcquire); }
  static void prefixed_store(std::atomic<u32>& word, u32 value) { word.store(value, kRelease); }
  static constexpr bool kPrefixesAreTransactions = false;
  static bool prefixes_elide() { return false; }
  static bool in_elision() { return false; }

  struct Section {};

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
    // The acquire pairs with the release of store(). So a reader may follow a pointer before it validates: the object
    // was initialised before the store. Neither order costs anything on x86-64.
    T load() const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return value_.load(kAcquire);
    }
    /// Returns true if the cell holds `value`, by a relaxed load.
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
    /// Returns true if the cell holds `value`, by a relaxed load.
    bool is(T value) const {
      [[maybe_unused]] const auto access = M::loading(value_);
      return holds(value_, value);
    }
    void store(T value, std::memory_order order) {
      if (const auto access = M::storing(value_)) value_.store(value, order);
    }
    // If the change must not take place, the body is being left and no code uses the result. So that load is relaxed.
    T exchange(T value, std::memory_order order) {
      const auto access = M::changing(value_);
      return access ? value_.exchange(value, order) : value_.load(kRelaxed);
    }
    /// Exchanges with acquire order; store_by_prefix stores with release order. Both have the prefixes of lock elision
    /// if the machine has them.
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
    /// Compares and exchanges; never fails spuriously. A failure is relaxed, so the caller may only retry with the
    /// value found, or give up.
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

  /// A row that is accessed in words of eight bytes. A store rewrites a whole word, which is safe because only the
  /// thread that holds the latch writes. All accesses are relaxed; the latch orders them:
  ///   1. stores come after the release fence of LatchBase::try_lock and before the release of its set;
  ///   2. a reader's loads come between the acquire of LatchBase::version and the acquire fence of unchanged.
  /// A reader without a latch (rowex) first loads a cell that is stored after the row: its acquire pairs with that
  /// store's release.
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
      if constexpr (M::kLoadsWholeRows) {
        [[maybe_unused]] const auto access = M::loading(words_);
        return Bytes16::of_words(words_[0].load(kRelaxed), words_[1].load(kRelaxed));
      }
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
