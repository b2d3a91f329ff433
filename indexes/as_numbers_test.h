#pragma once
// An index of sized values with the interface of an index of numbers, for programs and histories of numbers. A number
// is spelled in 8 to 40 bytes, so each value is a block. Each form of an operation has its share of the calls: with
// `before`, as a batch of one, as a modification. With two memories a find moves its value to near memory, after it has
// moved cold ones to far memory.
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "indexes/sized.h"
#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/machine/machine.h"
#include "src/memory/memory_config.h"
#include "src/memory/values.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab::testing {

/// The bytes that spell a number: one to five copies of it.
class SpelledNumber {
 public:
  explicit SpelledNumber(u64 number) : copies_(1 + number % 5) { numbers_.fill(number); }
  ByteSpan bytes() const { return std::as_bytes(std::span(numbers_).first(copies_)); }
  /// Returns the number that the bytes spell; nothing if they spell none.
  static Found of(ByteSpan bytes) {
    u64 number = 0;
    if (bytes.size() < sizeof number) return {};
    std::memcpy(&number, bytes.data(), sizeof number);
    const SpelledNumber whole(number);
    const ByteSpan right = whole.bytes();
    const bool same = bytes.size() == right.size() && std::memcmp(bytes.data(), right.data(), right.size()) == 0;
    return same ? Found(number) : Found();
  }

 private:
  std::size_t copies_;
  std::array<u64, 5> numbers_;
};

template <class Map, bool kTiers = false>
class AsNumbers {
 public:
  using Raw = typename Map::Raw;
  using ThreadState = typename Sized<Map>::ThreadState;
  static constexpr bool kOrdered = false;
  static constexpr bool kWalksBesideWriters = Map::kWalksBesideWriters;
  /// A value that is not one that was stored counts as this number, which no program stores.
  static constexpr u64 kTorn = ~u64{0};

  AsNumbers(const Spec& policy, const MemoryConfig& memory)
    requires(!kTiers)
      : sized_(memory, policy, memory) {}
  AsNumbers(const Spec& policy, const MemoryConfig& memory)
    requires(kTiers)
      : sized_(memory, FarMemory{.memory = memory}, policy, memory) {}
  ThreadState join() { return sized_.join(); }

  /// Reads the value by a visitor and, after that, by a pin that began before it.
  Found find(ThreadState& me, Raw key) const {
    Found found;
    const auto visit = [&](ByteSpan value) { found = read(value); };
    if (kTiers) (void)sized_.demote(me);
    const auto pinned = sized_.pin(me, key);
    sized_.find(me, key, visit);
    if (pinned && read(pinned->bytes()) == kTorn) found = kTorn;
    return found;
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    for (Found& one : found) one.reset();
    sized_.find_batch(me, keys, [&](std::size_t i, ByteSpan value) { found[i] = read(value); }, order);
  }
  bool insert(ThreadState& me, Raw key, u64 number) {
    const SpelledNumber spelled(number);
    if (number % 2 != 0) return sized_.insert(me, key, spelled.bytes(), read);
    const ByteSpan value = spelled.bytes();
    return of_one([&](auto done) { sized_.insert_batch(me, {&key, 1}, {&value, 1}, done); });
  }
  bool update(ThreadState& me, Raw key, u64 number) {
    const SpelledNumber spelled(number);
    if (number % 2 != 0) return sized_.update(me, key, spelled.bytes(), read);
    return sized_.modify(me, key, [&](std::optional<ByteSpan> old) {
      return old ? Change::to(spelled.bytes()) : Change::leave();
    }) == Effect::kReplaced;
  }
  bool upsert(ThreadState& me, Raw key, u64 number) {
    const SpelledNumber spelled(number);
    if (number % 2 != 0) return sized_.upsert(me, key, spelled.bytes(), read);
    const ByteSpan value = spelled.bytes();
    return of_one([&](auto done) { sized_.upsert_batch(me, {&key, 1}, {&value, 1}, done); });
  }
  bool erase(ThreadState& me, Raw key) {
    if (key % 2 != 0) return sized_.erase(me, key, read);
    return of_one([&](auto done) { sized_.erase_batch(me, {&key, 1}, done); });
  }
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    Modified done;
    std::optional<SpelledNumber> spelled;
    sized_.modify(me, key, [&](std::optional<ByteSpan> old) {
      done.before = old ? Found(SpelledNumber::of(*old).value_or(kTorn)) : Found();
      done.after = f(done.before);
      return done.after ? Change::to(spelled.emplace(*done.after).bytes()) : Change::erase();
    });
    return done;
  }
  template <class Visit>
  void for_each(ThreadState& me, const Visit& visit) const {
    sized_.for_each(me, [&](const Raw& key, ByteSpan value) { visit(key, read(value)); });
  }
  Footprint bytes() const { return sized_.bytes().index; }

 private:
  static constexpr auto read = [](ByteSpan bytes) {
    Map::Machine::touch(bytes.data(), bytes.size(), Access::kRead);
    return SpelledNumber::of(bytes).value_or(kTorn);
  };
  /// Returns the only result of a batch.
  template <class Batch>
  static bool of_one(const Batch& batch) {
    bool done = false;
    batch(std::span(&done, 1));
    return done;
  }

  mutable Sized<Map> sized_;  // a find demotes others
};

}  // namespace latchlab::testing
