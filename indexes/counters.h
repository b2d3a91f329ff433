#pragma once
// `counters`: an array of std::atomic, and no index. Key n is element n. It is what a program does that only counts:
// the bound of every other way to serve one hot key, since an increment is one locked instruction.
//
//     harness --index=counters --sync=own --keys=dense --workload=mix:increment=100 --records=1 --threads=56
//
// It is no map. There is room for the keys below a number that is given beforehand (`counters:N`), a counter that is
// there stays (kNoErase), and the value 0 stands for an absent key. So only --keys=dense fits it.
//
// Neighbours share a line, eight of them, as in any array. Every operation on a key is one access to its word: a lookup
// loads it, an update exchanges it and an increment adds to it. All orders are relaxed, since a value needs no other
// memory.
#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "src/memory/page_source.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

struct CountersOptions {
  u64 most = u64{1} << 24;  ///< the number after the colon, 1 to 2^32: the first key that has no counter

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static CountersOptions parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    CountersOptions options;
    options.most = reader.arg_u64(options.most, 1, u64{1} << 32);
    reader.finish();
    return options;
  }
  std::vector<std::pair<std::string, std::string>> resolved() const { return {{"most", std::to_string(most)}}; }
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key) {
    return key == "most" ? "the number after the colon: how many counters there are, those of keys from 0 on" : "";
  }
  u64 most_keys() const { return most; }
};

/// The array on machine M; KeyType is U64Key.
template <class M, class KeyType>
class CounterArray {
 public:
  using Policy = Own;
  using Machine = M;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  using Options = CountersOptions;
  static constexpr std::string_view kName = "counters";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kNeeds = "dense keys";
  static constexpr bool kDenseKeys = true;
  static constexpr std::string_view kNoErase = "a counter that is there stays, so that an update is one exchange";
  static constexpr std::string_view kOwnMemory = "the array is one mapping";

  struct ThreadState {
    Policy::Counters counters;
  };

  /// Maps an array of zeros, whose pages lie where they are first touched. Throws InputError for options out of range,
  /// and std::bad_alloc.
  CounterArray(const Spec& policy, const MemoryConfig& memory,
               const Spec& index = {.name = "counters", .arg = {}, .options = {}})
      : most_(Options::parse(index).most) {
    Policy::Options::parse(policy);
    words_ = static_cast<Word*>(M::pages()->map(mapped_bytes(), memory.thp, memory.pages).start);
    if (words_ == nullptr) throw std::bad_alloc();
  }
  CounterArray(const CounterArray&) = delete;
  CounterArray& operator=(const CounterArray&) = delete;
  ~CounterArray() { M::pages()->unmap(words_, mapped_bytes()); }

  ThreadState join() { return {}; }

  Found find(ThreadState&, Raw key) const {
    M::begin_operation();
    return key < most_ ? counted(words_[key].load(kRelaxed)) : Found();
  }
  /// Throws IndexFull if the key has no counter.
  bool insert(ThreadState&, Raw key, u64 value) {
    M::begin_operation();
    if (key >= most_) throw IndexFull();
    // Relaxed, as the walk over the array, which runs alone.
    for (u64 end = end_.load(kRelaxed); end <= key && !end_.compare_exchange(end, key + 1, kRelaxed);) {}
    u64 absent = 0;
    return words_[key].compare_exchange(absent, value, kRelaxed);
  }
  bool update(ThreadState&, Raw key, u64 value) {
    M::begin_operation();
    if (!is_there(key)) return false;
    words_[key].exchange(value, kRelaxed);
    return true;
  }
  bool upsert(ThreadState& me, Raw key, u64 value) {
    for (;;) {
      if (update(me, key, value)) return false;
      if (insert(me, key, value)) return true;  // else another thread has inserted meanwhile
    }
  }
  /// Throws std::logic_error. A caller that has read kNoErase does not call it.
  bool erase(ThreadState&, Raw) { throw std::logic_error(std::string(kNoErase)); }

  /// Changes the value of a key in one step from what is there to f(what is there). Throws std::logic_error if a
  /// present key shall go (kNoErase).
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    M::begin_operation();
    for (;;) {
      u64 before = key < most_ ? words_[key].load(kRelaxed) : 0;
      const Found after = f(counted(before));
      if (before == 0) {
        if (!after) return {};
        if (insert(me, key, *after)) return {Found(), after};
        continue;
      }
      if (!after) throw std::logic_error(std::string(kNoErase));
      if (words_[key].compare_exchange(before, *after, kRelaxed)) return {Found(before), after};
    }
  }
  /// Adds one to a counter, and returns what it became; nothing if it is not there. A counter that wraps to 0 is gone.
  Found increment(ThreadState&, Raw key) {
    M::begin_operation();
    if (!is_there(key)) return {};
    return words_[key].fetch_add(1, kRelaxed) + 1;
  }

  // A batch is its operations, one after the other: there is nothing to look up before.
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found, BatchOrder) const {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = find(me, keys[i]);
  }
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> inserted,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) inserted[i] = insert(me, keys[i], values[i]);
  }
  void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) changed[i] = update(me, keys[i], values[i]);
  }
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) erased[i] = erase(me, keys[i]);
  }
  void increment_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> after, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) after[i] = increment(me, keys[i]);
  }

  /// Visits every counter that is there, while no other thread inserts. O(largest key).
  template <class Visit>
  void for_each(ThreadState&, Visit&& visit) const {
    for (u64 key = 0, end = end_.load(kRelaxed); key < end; ++key) {
      if (const u64 value = words_[key].load(kRelaxed); value != 0) visit(key, value);
    }
  }

  Footprint bytes() const {
    const u64 live = end_.load(kRelaxed) * sizeof(Word);
    return {.live = live, .room = live, .reserved = mapped_bytes(), .chunks = 1, .page_bytes = 0};
  }

 private:
  using Word = typename M::template Atomic<u64>;
  static_assert(sizeof(Word) == sizeof(u64), "zero pages are absent counters");

  static Found counted(u64 value) { return value == 0 ? Found() : Found(value); }
  bool is_there(Raw key) const { return key < most_ && !words_[key].is(0); }
  u64 mapped_bytes() const { return (most_ * sizeof(Word) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes; }

  const u64 most_;
  Word* words_ = nullptr;
  typename M::template Atomic<u64> end_{0};  // one more than the largest key that was inserted
};

}  // namespace latchlab
