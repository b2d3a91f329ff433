// Indexes of sized values on the race finder (as_numbers_test.h), and caches of them (sized_evict.h). Visitors touch
// the whole block again before they return, and so does the holder of a pin.
#include <deque>
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
#include "indexes/memc3/memc3.h"
#include "indexes/memc3/race_mixes_test.h"
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

/// A program of a mix, whose changes become modifications: fibers add amounts to keys, or take all of a key. With two
/// memories an erase moves cold values to far memory instead, and a find moves its own to near memory.
template <class Map, bool kTiers = false>
class SizedSums {
 public:
  using Key = typename Map::Raw;

  SizedSums(const RaceProgram<Key>& program, std::string_view policy)
    requires(!kTiers)
      : program_(program), index_(MemoryConfig{}, Spec::parse(policy), MemoryConfig{}) {
    preload();
  }
  SizedSums(const RaceProgram<Key>& program, std::string_view policy)
    requires(kTiers)
      : program_(program), index_(MemoryConfig{}, FarMemory(), Spec::parse(policy), MemoryConfig{}) {
    preload();
  }
  void fiber(u32 id) {
    for (const RaceOp& op : program_.fibers[id]) {
      const Key key = program_.keys[op.key];
      switch (op.verb) {
        case RaceVerb::kFind:
        case RaceVerb::kScan: index_.find(threads_[id], key, number_read); break;
        case RaceVerb::kErase:
          if (kTiers) {
            (void)index_.demote(threads_[id]);
          } else {
            take(id, key);
          }
          break;
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
  void preload() {
    for (std::size_t i = 0; i < program_.fibers.size(); ++i) threads_.push_back(index_.join());
    for (const u32 key : program_.preload) add(0, program_.keys[key], key + 1);
  }
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

/// A program of a mix on a cache. A find uses a key; an erase or a scan turns a clock hand by a step; the rest insert
/// and replace. What is put is taken once: by a hand, by the value that replaces it, or at the end. If `kSole`, only
/// the first fiber turns a hand, always by whole rounds. Then a value that it has used before a round stays in that
/// round.
template <class Map, bool kSole>
class CacheHands {
 public:
  using Key = typename Map::Raw;

  CacheHands(const RaceProgram<Key>& program, std::string_view policy)
      : program_(program), hands_(program.fibers.size()), index_(MemoryConfig{}, Spec::parse(policy), MemoryConfig{}) {
    for (std::size_t i = 0; i < program.fibers.size(); ++i) threads_.push_back(index_.join());
    for (const u32 key : program.preload) insert(0, program.keys[key], key + 1);
  }
  void fiber(u32 id) {
    for (const RaceOp& op : program_.fibers[id]) {
      const Key key = program_.keys[op.key];
      switch (op.verb) {
        case RaceVerb::kFind: use(id, key); break;
        case RaceVerb::kErase:
        case RaceVerb::kScan:
          if (!kSole) (void)turn(id);
          if (kSole && id == 0) turn_round({});
          break;
        case RaceVerb::kUpsert: replace(id, key, op.value); break;
        case RaceVerb::kUpdate: change(id, key, op.value); break;
        default: insert(id, key, op.value);
      }
    }
  }
  std::string check() {
    index_.for_each(threads_[0], [&](const Key&, ByteSpan bytes) { taken_ += unspelled(bytes); });
    return taken_ == added_ ? "" : "the sum is " + std::to_string(taken_) + " instead of " + std::to_string(added_);
  }

 private:
  void insert(u32 id, const Key& key, u64 amount) {
    added_ += index_.insert(threads_[id], key, SpelledNumber(amount).bytes()) ? amount : 0;
  }
  void replace(u32 id, const Key& key, u64 amount) {
    u64 taken = 0;
    index_.upsert(threads_[id], key, SpelledNumber(amount).bytes(),
                  [&](ByteSpan bytes) { taken = number_read(bytes); });
    added_ += amount;
    taken_ += taken;
  }
  /// Replaces the value of a key, or erases it, by a modification, which may claim the pair.
  void change(u32 id, const Key& key, u64 amount) {
    std::optional<SpelledNumber> sum;
    u64 taken = 0, put = 0;
    index_.modify(threads_[id], key, [&](std::optional<ByteSpan> old) {
      taken = old ? unspelled(*old) : 0;
      put = old && amount % 2 == 0 ? 0 : amount;
      return put == 0 ? Change::erase() : Change::to(sum.emplace(put).bytes());
    });
    added_ += put;
    taken_ += taken;
  }
  void use(u32 id, const Key& key) {
    Found used;
    index_.use(threads_[id], key, [&](ByteSpan bytes) { used = number_read(bytes); });
    if (kSole && id == 0) turn_round(used);
  }
  /// Takes a step. Returns whether the hand has come round.
  bool turn(u32 id, Found kept = {}) {
    return index_
        .evict(threads_[id], hands_[id], 1,
               [&](const Key&, ByteSpan bytes) {
                 const u64 amount = number_read(bytes);
                 expect(kept != amount, "the hand evicted a value that was used since it came by");
                 taken_ += amount;
               })
        .came_round;
  }
  void turn_round(Found kept) {
    while (!turn(0, kept)) {}
  }

  const RaceProgram<Key>& program_;
  u64 added_ = 0, taken_ = 0;  // fibers are one thread
  std::deque<typename Sized<Map>::Walk> hands_;
  Sized<Map> index_;
  std::vector<typename Sized<Map>::ThreadState> threads_;
};

template <class Map>
void explore_moves(const std::vector<RaceMix<u64>>& mixes, std::string_view policy, const RaceOptions& options) {
  explore<AsNumbers<Map, true>>(mixes, policy, options, kRaceSchedules / 4);
  explore_mixes<SizedSums<Map, true>>(mixes, policy, options);
}

template <class Map>
void explore_hands(const std::vector<RaceMix<u64>>& mixes, std::string_view policy, const RaceOptions& options) {
  explore_mixes<CacheHands<Map, false>>(mixes, policy, options);
  explore_mixes<CacheHands<Map, true>>(mixes, policy, options);
}

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

TEST_CASE("Races: the clock hands of a cache lose no pair, take none twice and keep what was used", "[race]") {
  explore_hands<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(number_mixes(), "olc", {});
  explore_hands<Synchronized<Cuckoo, Tiny<Olc<Simulated>>, U64Key>>(four_mixes(), "olc", {});
  explore_hands<Synchronized<MemC3, Tiny<Olc<Simulated>>, U64Key>>(memc3_mixes(), "olc", {});
  explore_hands<Synchronized<Chained, Tiny<Rtm<Simulated>>, U64Key>>(chained_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: values that move between two memories", "[race]") {
  explore_moves<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(number_mixes(), "olc", {});
  explore_moves<Synchronized<Cuckoo, Tiny<Olc<Simulated>>, U64Key>>(four_mixes(), "olc", {});
  explore_moves<Synchronized<Cuckoo, Tiny<Rtm<Simulated>>, U64Key>>(four_mixes(), "rtm:1", {.abort_rate = 0.2});
  explore_moves<Synchronized<Chained, Tiny<Spin<Simulated>>, U64Key>>(chained_mixes(), "spin", {});
}

TEST_CASE("Seeded bugs: the race finder finds values read while they move, lost demotions and double frees", "[race]") {
  using Map = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  using Flags = sized::BugFlags<bool>;
  const auto moves = search_in_mixes<SizedSums<Map, true>>("olc", chained_mixes());
  CHECK(caught("sized: retired before move", Flags::kRetireBeforeMove, moves));
  CHECK(caught("sized: moved any word", Flags::kMoveAnyWord, moves));
  CHECK(caught("sized: retired late move", Flags::kRetireLateMove, moves));
}

TEST_CASE("Seeded bugs: the race finder finds a clock hand that evicts by key", "[race]") {
  using Map = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = search_in_mixes<CacheHands<Map, false>>("olc", chained_mixes());
  CHECK(caught("sized: evicted by key", sized::BugFlags<bool>::kEvictByKey, run));
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
