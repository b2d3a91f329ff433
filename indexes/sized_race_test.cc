// Indexes of sized values on the race finder. A number is spelled in 8 to 40 bytes, so each value is a block. Visitors
// touch the whole block again before they return, and so does the holder of a pin.
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/chained/chained.h"
#include "indexes/chained/race_mixes_test.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "indexes/sized.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// The bytes that spell a number: one to five copies of it.
class SpelledNumber {
 public:
  explicit SpelledNumber(u64 number) : copies_(1 + number % 5) { numbers_.fill(number); }
  ByteSpan bytes() const { return std::as_bytes(std::span(numbers_).first(copies_)); }

 private:
  std::size_t copies_;
  std::array<u64, 5> numbers_;
};
u64 unspelled(ByteSpan bytes) {
  u64 number = 0;
  expect(bytes.size() >= sizeof number, "a value is too short");
  std::memcpy(&number, bytes.data(), sizeof number);
  const SpelledNumber whole(number);
  expect(bytes.size() == whole.bytes().size() && std::memcmp(bytes.data(), whole.bytes().data(), bytes.size()) == 0,
         "a value is not one that was stored");
  return number;
}
u64 number_read(ByteSpan bytes) {
  Simulated::touch(bytes.data(), bytes.size(), Access::kRead);
  return unspelled(bytes);
}

/// An index of sized values with the interface of an index of numbers.
template <class Map>
class AsNumbers {
 public:
  using Raw = typename Map::Raw;
  using ThreadState = typename Sized<Map>::ThreadState;
  static constexpr bool kOrdered = false;
  static constexpr bool kWalksBesideWriters = Map::kWalksBesideWriters;

  AsNumbers(const Spec& policy, const MemoryConfig& memory) : sized_(memory, policy, memory) {}
  ThreadState join() { return sized_.join(); }

  Found find(ThreadState& me, Raw key) const {
    Found found;
    if (const auto pinned = sized_.pin(me, key)) {
      sized_.find(me, key, [&](ByteSpan value) { found = number_read(value); });
      (void)number_read(pinned->bytes());
      return found;
    }
    sized_.find(me, key, [&](ByteSpan value) { found = number_read(value); });
    return found;
  }
  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found) const {
    for (Found& one : found) one.reset();
    sized_.find_batch(me, keys, [&](std::size_t i, ByteSpan value) { found[i] = number_read(value); });
  }
  bool insert(ThreadState& me, Raw key, u64 number) { return sized_.insert(me, key, SpelledNumber(number).bytes()); }
  bool update(ThreadState& me, Raw key, u64 number) {
    const SpelledNumber spelled(number);
    if (number % 2 != 0) return sized_.update(me, key, spelled.bytes(), number_read);
    return sized_.modify(me, key, [&](std::optional<ByteSpan> old) {
      return old ? Change::to(spelled.bytes()) : Change::leave();
    }) == Effect::kReplaced;
  }
  bool upsert(ThreadState& me, Raw key, u64 number) {
    return sized_.upsert(me, key, SpelledNumber(number).bytes(), number_read);
  }
  bool erase(ThreadState& me, Raw key) { return sized_.erase(me, key, number_read); }
  template <class Visit>
  void for_each(ThreadState& me, const Visit& visit) const {
    sized_.for_each(me, [&](const Raw& key, ByteSpan value) { visit(key, number_read(value)); });
  }

 private:
  Sized<Map> sized_;
};

/// A program of a mix, whose changes become modifications: fibers add amounts to keys, or take all of a key.
template <class Map>
class SizedSums {
 public:
  using Key = typename Map::Raw;

  SizedSums(const RaceProgram<Key>& program, std::string_view policy)
      : program_(program), index_(MemoryConfig{}, Spec::parse(policy), MemoryConfig{}) {
    for (std::size_t i = 0; i < program.fibers.size(); ++i) threads_.push_back(index_.join());
    for (const u32 key : program.preload) add(0, program.keys[key], key + 1);
  }
  void fiber(u32 id) {
    for (const RaceOp& op : program_.fibers[id]) {
      const Key key = program_.keys[op.key];
      switch (op.verb) {
        case RaceVerb::kFind:
        case RaceVerb::kScan: index_.find(threads_[id], key, number_read); break;
        case RaceVerb::kErase: take(id, key); break;
        default: add(id, key, op.value);
      }
    }
  }
  std::string check() {
    for (const Key& key : program_.keys) take(0, key);
    return taken_ == added_ ? "" : "the sum is " + std::to_string(taken_) + " instead of " + std::to_string(added_);
  }

 private:
  void add(u32 id, const Key& key, u64 amount) {
    std::optional<SpelledNumber> sum;
    index_.modify(threads_[id], key, [&](std::optional<ByteSpan> old) {
      sum.emplace((old ? unspelled(*old) : 0) + amount);
      return Change::to(sum->bytes());
    });
    added_ += amount;
  }
  void take(u32 id, const Key& key) {
    u64 taken = 0;
    index_.modify(threads_[id], key, [&](std::optional<ByteSpan> old) {
      taken = old ? unspelled(*old) : 0;
      return Change::erase();
    });
    taken_ += taken;
  }

  const RaceProgram<Key>& program_;
  u64 added_ = 0, taken_ = 0;  // fibers are one thread
  Sized<Map> index_;
  std::vector<typename Sized<Map>::ThreadState> threads_;
};

template <class Map>
void explore_sized(const std::vector<RaceMix<u64>>& mixes, std::string_view policy, const RaceOptions& options) {
  explore<AsNumbers<Map>>(mixes, policy, options, kRaceSchedules / 4);
  explore_mixes<SizedSums<Map>>(mixes, policy, options);
}

TEST_CASE("Races: sized values in art", "[race]") {
  explore_sized<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(number_mixes(), "olc", {});
}
TEST_CASE("Races: sized values in cuckoo", "[race]") {
  explore_sized<Synchronized<Cuckoo, Tiny<Rtm<Simulated>>, U64Key>>(four_mixes(), "rtm:1", {.abort_rate = 0.2});
  explore_sized<Synchronized<Cuckoo, Tiny<Olc<Simulated>>, U64Key>>(four_mixes(), "olc", {});
}
TEST_CASE("Races: sized values in chained", "[race]") {
  explore_sized<Synchronized<Chained, Tiny<Spin<Simulated>>, U64Key>>(chained_mixes(), "spin", {});
}

TEST_CASE("Seeded bugs: the race finder finds lost epochs, early retirement and blind modifications of sized values",
          "[race]") {
  using Map = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  using Flags = sized::BugFlags<bool>;
  const auto numbers = find_in_mixes<AsNumbers<Map>>("olc", 0, chained_mixes());
  const auto sums = search_in_mixes<SizedSums<Map>>("olc", chained_mixes());
  CHECK(caught("sized: epoch", Flags::kDropEpoch, numbers));
  CHECK(caught("sized: retired first", Flags::kRetireFirst, numbers));
  CHECK(caught("sized: trusted word", Flags::kTrustWord, sums));
  CHECK(caught("sized: any word", Flags::kEraseAnyWord, sums));
}

TEST_CASE("Seeded bugs: the race finder finds visitors and pins of sized values without protection", "[race]") {
  using Map = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  using Flags = sized::BugFlags<bool>;
  const auto numbers = find_in_mixes<AsNumbers<Map>>("olc", 0, chained_mixes());
  const auto sums = search_in_mixes<SizedSums<Map>>("olc", chained_mixes());
  CHECK(caught("sized: visit late", Flags::kVisitLate, sums));  // which read without a pin
  CHECK(caught("sized: pin late", Flags::kPinLate, numbers));
  CHECK(caught("sized: pins ignored", Flags::kIgnorePins, numbers));
}

}  // namespace
}  // namespace latchlab::testing
