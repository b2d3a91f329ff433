// The race finder catches seeded bugs. Each bug leaves out one step of a protocol (sync/seeded_bugs.h) or of art
// (seeded_bugs.h). The finder must then fail on programs that the sound code passes, or on more of their kind
// (seeded_test.h).

#include <array>
#include <optional>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/adaptive.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/seeded_bugs_testing.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using ArtBugs = art::BugFlags<bool>;
using OlcArt = Synchronized<Art, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
using RowexArt = Synchronized<Art, Tiny<Rowex<Simulated, BugsOnRequest>>, U64Key>;
using StripedArt = Synchronized<Art, Tiny<Striped<Simulated, BugsOnRequest>>, U64Key>;
using RtmArt = Synchronized<Art, Tiny<Rtm<Simulated, BugsOnRequest>>, U64Key>;
using HleArt = Synchronized<Art, Tiny<Hle<Simulated, BugsOnRequest>>, U64Key>;
using AdaptiveArt = Synchronized<Art, Tiny<Adaptive<Simulated, BugsOnRequest>>, U64Key>;
using HybridArt = Synchronized<Art, Tiny<Hybrid<Simulated, BugsOnRequest>>, U64Key>;

template <class Index>
auto all_mixes(const std::string& policy, double abort_rate, const std::vector<RaceMix<u64>>& mixes = number_mixes()) {
  return find_in_mixes<Index>(policy, abort_rate, mixes);
}

TEST_CASE("Seeded bugs: the race finder finds a dropped validation, upgrade, unlock or grace period of olc", "[race]") {
  CHECK(caught("drop validation", BugsOnRequest::kDropValidation, all_mixes<OlcArt>("olc", 0)));
  CHECK(caught("drop link", BugsOnRequest::kDropLink, all_mixes<OlcArt>("olc", 0)));
  CHECK(caught("drop upgrade", BugsOnRequest::kDropUpgrade, all_mixes<OlcArt>("olc", 0)));
  // Steps below a Node256 are guessed, and may end at a free slot of another Node256.
  CHECK(caught("drop validation, large", BugsOnRequest::kDropValidation,
               all_mixes<OlcArt>("olc", 0, large_node_mixes())));
  CHECK(caught("drop upgrade, large", BugsOnRequest::kDropUpgrade, all_mixes<OlcArt>("olc", 0, large_node_mixes())));
  CHECK(caught("drop unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, all_mixes<OlcArt>("olc", 0)));
  CHECK(caught("drop grace period", BugsOnRequest::kDropGracePeriod, all_mixes<OlcArt>("olc", 0)));
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of the epochs", "[race]") {
  using Epoch = reclaim::BugFlags<bool>;
  CHECK(caught("epochs: scan", Epoch::kSkipScan, all_mixes<OlcArt>("olc", 0)));
  CHECK(caught("epochs: one epoch", Epoch::kOneEpoch, all_mixes<OlcArt>("olc", 0)));
  CHECK(caught("epochs: early stamp", Epoch::kEarlyStamp, all_mixes<OlcArt>("olc", 0)));
}

TEST_CASE("Seeded bugs: the race finder finds a dropped guarantee that rowex gives its readers", "[race]") {
  CHECK(caught("rowex: child first", ArtBugs::kChildAfterIndex, all_mixes<RowexArt>("rowex", 0)));
  CHECK(caught("rowex: proof of zero", ArtBugs::kDropProofOfZero, all_mixes<RowexArt>("rowex", 0, large_node_mixes())));
  CHECK(caught("rowex: grace period", BugsOnRequest::kDropGracePeriod, all_mixes<RowexArt>("rowex", 0)));
  CHECK(caught("rowex: upgrade", BugsOnRequest::kDropUpgrade, all_mixes<RowexArt>("rowex", 0)));
}

TEST_CASE("Seeded bugs: the race finder finds a dropped validation, upgrade, unlock or grace period of striped",
          "[race]") {
  CHECK(caught("stripes: validation", BugsOnRequest::kDropValidation, all_mixes<StripedArt>("striped:3", 0)));
  CHECK(caught("stripes: upgrade", BugsOnRequest::kDropUpgrade, all_mixes<StripedArt>("striped:3", 0)));
  CHECK(caught("stripes: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, all_mixes<StripedArt>("striped:3", 0)));
  CHECK(caught("stripes: grace period", BugsOnRequest::kDropGracePeriod, all_mixes<StripedArt>("striped:3", 0)));
}

TEST_CASE("Seeded bugs: the race finder finds rtm's dropped subscription or lock, and a counter in a transaction",
          "[race]") {
  CHECK(caught("drop subscription", BugsOnRequest::kDropSubscription, all_mixes<RtmArt>("rtm:1", 0.2)));
  CHECK(caught("drop fallback lock", BugsOnRequest::kDropFallbackLock, all_mixes<RtmArt>("rtm:1", 0.2)));
  CHECK(caught("count inside", BugsOnRequest::kCountInside, all_mixes<RtmArt>("rtm:1", 0.2)));
}

TEST_CASE("Seeded bugs: the race finder finds a dropped subscription or fallback lock of hle", "[race]") {
  CHECK(caught("hle: subscription", BugsOnRequest::kDropSubscription, all_mixes<HleArt>("hle:emulated", 0.2)));
  CHECK(caught("hle: fallback lock", BugsOnRequest::kDropFallbackLock, all_mixes<HleArt>("hle:emulated", 0.2)));
}

TEST_CASE("Seeded bugs: the race finder finds a dropped subscription, fallback lock or grace period of adaptive",
          "[race]") {
  CHECK(caught("adaptive: subscription", BugsOnRequest::kDropSubscription, all_mixes<AdaptiveArt>("adaptive", 0.2)));
  CHECK(caught("adaptive: fallback lock", BugsOnRequest::kDropFallbackLock, all_mixes<AdaptiveArt>("adaptive", 0.2)));
  CHECK(caught("adaptive: grace period", BugsOnRequest::kDropGracePeriod, all_mixes<AdaptiveArt>("adaptive", 0.2)));
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of hybrid", "[race]") {
  CHECK(caught("hybrid: upgrade", BugsOnRequest::kDropUpgrade, all_mixes<HybridArt>("hybrid:0", 0.2)));
  CHECK(caught("hybrid: change", BugsOnRequest::kDropChange, all_mixes<HybridArt>("hybrid:0", 0.2)));
  // So many restarts are never used up, so no operation takes latches, whose loss is found by the checks above. Only
  // the versions of transactions are lost here.
  CHECK(caught("hybrid: its versions", BugsOnRequest::kDropUpgrade, all_mixes<HybridArt>("hybrid:1000000", 0)));
  CHECK(caught("hybrid: its changes", BugsOnRequest::kDropChange, all_mixes<HybridArt>("hybrid:1000000", 0)));
  CHECK(
      caught("suspended: versions", BugsOnRequest::kDropUpgrade, all_mixes<HybridArt>("hybrid:1000000,suspend=1", 0)));
  // This bug drops the validation of steps from a node whose link was not checked; small trees have few such steps.
  CHECK(caught("hybrid: validation", BugsOnRequest::kDropValidation,
               all_mixes<HybridArt>("hybrid:0", 0.2, large_node_mixes())));
  CHECK(caught("hybrid: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, all_mixes<HybridArt>("hybrid:0", 0.2)));
  CHECK(caught("hybrid: grace period", BugsOnRequest::kDropGracePeriod, all_mixes<HybridArt>("hybrid:0", 0.2)));
}

/// One writer adds bytes to a node, replaces and removes them. Readers look without a latch, as those of `rowex` do, by
/// find and by next. Each byte is absent, then has its first word, perhaps its second, and may be absent again. A
/// reader that has seen a byte in one of these stages must not see it in an earlier stage, by find or by next. At the
/// last level words are values, one of them 0.
template <class Node, u32 kLevel>
struct LatchFreeReaders {
  static constexpr bool kValues = kLevel + 1 == U64Key::kFixedSize;
  static constexpr u8 kStays = 9, kGoes = 3, kGoesToo = 5, kStaysToo = 7, kNever = 8;

  Node node{art::U64Path(U64Key(spelled({1, 2, 3, 4, 5, 6, 7})), kLevel)};

  static u64 first_word(u8 byte) { return kValues && byte == kGoes ? 0 : 0x1000 + 0x10 * byte; }
  static u64 second_word(u8 byte) { return 0x2000 + 0x10 * byte; }
  void fiber(u32 id) {
    if (id == 0) {
      write();
    } else {
      read();
    }
  }
  void write() {
    for (const u8 byte : {kStays, kGoes, kGoesToo, kStaysToo}) {
      expect_word(byte, {});
      change([&] { node.add(byte, first_word(byte)); });
      expect_word(byte, first_word(byte));
      if (byte != kGoes) continue;
      change([&] { node.replace(byte, second_word(byte)); });
      expect_word(byte, second_word(byte));
    }
    for (const u8 byte : {kGoesToo, kGoes}) {
      change([&] { node.remove(byte); });
      expect_word(byte, {});
    }
  }
  template <class Change>
  void change(Change&& change) {
    const u64 version = node.latch.version();
    expect(node.latch.try_lock(version), "there is another writer");
    change();
    node.latch.set(decltype(node.latch)::changed(version));
  }
  /// Checks, as the writer, that the byte has the expected word.
  void expect_word(u8 byte, std::optional<u64> wanted) {
    u64 word = 1;
    const bool there = node.find(byte, word) != nullptr;
    expect(there == wanted.has_value(), "the writer missed what is there, or found what is not");
    if (wanted) expect(word == *wanted, "the writer found another word");
  }

  /// The latest stage in which a reader has seen a byte.
  enum class Stage : u8 { kNotYet, kFirst, kSecond, kGone };
  struct Seen {
    std::array<Stage, 256> stage{};
    void absent(u8 byte) { reach(byte, stage[byte] == Stage::kNotYet ? Stage::kNotYet : Stage::kGone); }
    void present(u8 byte, u64 word) {
      const bool second = byte == kGoes && word == second_word(byte);
      expect(second || word == first_word(byte), "a reader was led to a slot without its word");
      reach(byte, second ? Stage::kSecond : Stage::kFirst);
    }
    void reach(u8 byte, Stage now) {
      expect(byte != kNever || now == Stage::kNotYet, "a reader found a byte that was never added");
      expect(now != Stage::kGone || byte == kGoes || byte == kGoesToo, "a reader missed what stays");
      expect(now >= stage[byte], "a reader was led back to what was before");
      stage[byte] = now;
    }
  };
  void read() {
    Seen seen;
    for (const u8 byte : {kStaysToo, kGoes, kGoesToo, kStays, kNever, kGoes}) {
      u64 word = 1;
      if (node.find(byte, word)) {
        seen.present(byte, word);
      } else {
        seen.absent(byte);
      }
      art::Entry entry{};
      const bool some = node.next(byte, entry);
      if (some) expect(entry.byte >= byte, "a scan went back");
      if (!some || entry.byte != byte) seen.absent(byte);
      if (some) seen.present(entry.byte, entry.word);
    }
  }
  std::string check() {
    u64 word = 1;
    if (node.find(kStays, word) && node.find(kStaysToo, word) && node.children() == 2) return {};
    return "the node does not end with what stays";
  }
};

template <class Bugs, u32 kLevel>
ProgramsReport read_without_latch() {
  using Layout = LatchFreeLayout<Simulated, Bugs>;
  ProgramsReport all;
  const auto read = [&]<class Node>() {
    if (all.failures != 0) return;
    const RaceReport one = find_races<LatchFreeReaders<Node, kLevel>>({.schedules = kRaceSchedules});
    all.schedules += one.schedules;
    all.failures += one.failures;
    all.message = one.str();
  };
  read.template operator()<art::Node4<Layout, U64Key>>();
  read.template operator()<art::Node16<Layout, U64Key>>();
  read.template operator()<art::Node48<Layout, U64Key>>();
  read.template operator()<art::Node256<Layout, U64Key>>();
  return all;
}

TEST_CASE("Races: readers without a latch find a complete child or none in a node that grows", "[race]") {
  const ProgramsReport report = read_without_latch<NoBugs, 1>();
  INFO(report.message);
  CHECK(report.failures == 0);
}

TEST_CASE("Races: readers without a latch find a complete value, 0 too, or none in a node that grows", "[race]") {
  const ProgramsReport report = read_without_latch<NoBugs, 7>();
  INFO(report.message);
  CHECK(report.failures == 0);
}

/// The words that a byte has, one after the other, and the number of looks of each reader.
constexpr u64 kAbsent = ~u64{0};
struct ComesAndGoes {
  static constexpr u64 kWords[] = {kAbsent, 0, 7, kAbsent, 8, kAbsent, 9, kAbsent, 10, kAbsent};
  static constexpr u32 kLooks = 12;
};
struct Goes {
  static constexpr u64 kWords[] = {0, 7, kAbsent};
  static constexpr u32 kLooks = 3;
};

/// One value in a Node256 goes through its words, while readers look at nothing else, by find and by next. Each reader
/// must see the words in order, perhaps with gaps. Two cells express the value 0.
template <class Bugs, class Way>
struct OneValueOfMany {
  using Node = art::Node256<LatchFreeLayout<Simulated, Bugs>, U64Key>;
  static constexpr u8 kByte = 9;
  static constexpr auto& kWay = Way::kWords;

  Node node{art::U64Path(U64Key(), 7)};

  OneValueOfMany() {
    if (kWay[0] != kAbsent) node.add(kByte, kWay[0]);
  }
  void fiber(u32 id) {
    if (id == 0) {
      for (u32 i = 1; i < std::size(kWay); ++i) change(kWay[i - 1], kWay[i]);
    } else {
      read();
    }
  }
  void change(u64 from, u64 to) {
    const u64 version = node.latch.version();
    expect(node.latch.try_lock(version), "there is another writer");
    if (from == kAbsent) {
      node.add(kByte, to);
    } else if (to != kAbsent) {
      node.replace(kByte, to);
    } else {
      node.remove(kByte);
    }
    node.latch.set(decltype(node.latch)::changed(version));
  }
  void read() {
    u32 at = 0;  // the first position in kWay that is consistent with all words seen
    for (u32 look = 0; look < Way::kLooks; ++look) {
      art::Entry entry{kByte, 1};
      const bool found = look % 2 == 0 ? node.find(kByte, entry.word) != nullptr : node.next(kByte, entry);
      const u64 seen = found ? entry.word : kAbsent;
      while (at < std::size(kWay) && kWay[at] != seen) ++at;
      expect(at < std::size(kWay), "a reader saw a word that was never there, or an earlier one again");
    }
  }
  std::string check() { return {}; }
};

template <class Bugs, class Way>
RaceReport look_at_one_value() {
  return find_races<OneValueOfMany<Bugs, Way>>({.schedules = 3 * kRaceSchedules});
}

TEST_CASE("Races: readers without a latch see a value in a node of 256 come, change and go", "[race]") {
  const auto check = []<class Way>(Way) {
    const RaceReport report = look_at_one_value<NoBugs, Way>();
    INFO(report.str());
    CHECK(report.failures == 0);
  };
  check(ComesAndGoes());
  check(Goes());
}

TEST_CASE("Seeded bugs: the race finder finds a present bit cleared before its slot, and a 0 read at two moments",
          "[race]") {
  const auto run = []<class Way>(Way) {
    return [] {
      const RaceReport one = look_at_one_value<BugsOnRequest, Way>();
      return ProgramsReport{.schedules = one.schedules, .failures = one.failures, .message = one.str()};
    };
  };
  CHECK(caught("bit before slot", ArtBugs::kBitBeforeSlot, run(Goes())));
  CHECK(caught("zero of two moments", ArtBugs::kDropProofOfZero, run(ComesAndGoes())));
}

TEST_CASE("Seeded bugs: the race finder finds an index that is published before its child", "[race]") {
  CHECK(caught("child after index", ArtBugs::kChildAfterIndex, read_without_latch<BugsOnRequest, 1>));
  CHECK(caught("value after index", ArtBugs::kChildAfterIndex, read_without_latch<BugsOnRequest, 7>));
}

TEST_CASE("Seeded bugs: the race finder finds a value 0 that was read at two moments", "[race]") {
  CHECK(caught("proof of zero", ArtBugs::kDropProofOfZero, read_without_latch<BugsOnRequest, 7>));
}

}  // namespace
}  // namespace latchlab::testing
