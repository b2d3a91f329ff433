// Indexes of sized values on the race finder (as_numbers_test.h). Visitors touch the whole block again before they
// return, and so does the holder of a pin.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/as_numbers_test.h"
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

u64 unspelled(ByteSpan bytes) {
  const Found number = SpelledNumber::of(bytes);
  expect(number.has_value(), "a value is not one that was stored");
  return *number;
}
u64 number_read(ByteSpan bytes) {
  Simulated::touch(bytes.data(), bytes.size(), Access::kRead);
  return unspelled(bytes);
}

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
        case RaceVerb::kUpsert: add_two(id, op.key, op.value); break;
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
  /// Adds to the key and to its neighbour, in one batch.
  void add_two(u32 id, u32 key, u64 amount) {
    const Key keys[] = {program_.keys[key], program_.keys[(key + 1) % program_.keys.size()]};
    Effect effects[2];
    std::optional<SpelledNumber> sum;
    index_.modify_batch(threads_[id], keys, effects, [&](std::size_t, std::optional<ByteSpan> old) {
      sum.emplace((old ? unspelled(*old) : 0) + amount);
      return Change::to(sum->bytes());
    });
    added_ += 2 * amount;
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
  CHECK(caught("sized: forgotten claim", Flags::kForgetClaim, numbers));
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
