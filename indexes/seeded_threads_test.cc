// Histories of real threads find seeded bugs: with one step of a protocol left out (sync/seeded_bugs.h) they are not
// linearizable. Bugs that threads find seldom or never have no check here, since the race finder finds them.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/as_numbers_test.h"
#include "indexes/bskip/bskip.h"
#include "indexes/bskip/race_mixes_test.h"
#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/chained/chained_line.h"
#include "indexes/chained/race_line_mixes_test.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/kvdirect/kvdirect.h"
#include "indexes/kvdirect/race_mixes_test.h"
#include "indexes/memc3/memc3.h"
#include "indexes/memc3/race_mixes_test.h"
#include "indexes/seeded_histories_test.h"
#include "indexes/seeded_test.h"
#include "indexes/vip/race_mixes_test.h"
#include "indexes/vip/vip.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/striped.h"
#include "sync/synchronized.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

/// Policies with tiny scales: tables begin with two buckets, and retired memory is freed soon.
using OlcOnThreads = Tiny<Olc<Native, BugsOnRequest>>;
using RowexOnThreads = Tiny<Rowex<Native, BugsOnRequest>>;

/// Returns a mix in which a table grows all the time: many keys are inserted into an empty one.
std::vector<RaceMix<u64>> growth() {
  std::vector<u64> keys;
  for (u64 key = 0; key < 400; ++key) keys.push_back(key);
  return {{"growth", {}, {}, keys, {5, 6, 1, 1, 2, 0}}};
}

/// A hash with two values.
struct TwoHashes {
  static u64 of(std::string_view key) { return static_cast<u8>(key.back()) % 2; }
};

template <template <class Layout, class Key> class Index, class Policy>
auto histories(const std::vector<RaceMix<u64>>& mixes, u32 most) {
  return [=] { return run_histories<Synchronized<Index, Policy, U64Key>>(Policy::kName, mixes, most, watch_history); };
}

/// Returns the complaint about histories of sound code, or an empty string.
template <template <class Layout, class Key> class Index, class Policy>
std::string complaint_of(const std::vector<RaceMix<u64>>& mixes) {
  return run_histories<Synchronized<Index, Policy, U64Key>>(Policy::kName, mixes, 200, [] {}).message;
}

// docs/seeded_bugs.md has the counts, and how the limits follow from them.

TEST_CASE("Seeded bugs: histories of threads find those of art", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = number_mixes();
  CHECK(complaint_of<Art, OlcOnThreads>(mixes) == "");
  CHECK(caught("art on threads: validation", B::kDropValidation, histories<Art, OlcOnThreads>(mixes, 3000)));
  CHECK(caught("art on threads: link", B::kDropLink, histories<Art, OlcOnThreads>(mixes, 2000)));
  CHECK(caught("art on threads: upgrade", B::kDropUpgrade, histories<Art, OlcOnThreads>(mixes, 100)));
  CHECK(caught("art on threads: grace period", B::kDropGracePeriod, histories<Art, OlcOnThreads>(mixes, 2000)));
  CHECK(complaint_of<Art, RowexOnThreads>(mixes) == "");
  CHECK(caught("art on threads, rowex: upgrade", B::kDropUpgrade, histories<Art, RowexOnThreads>(mixes, 100)));
  CHECK(
      caught("art on threads, rowex: grace period", B::kDropGracePeriod, histories<Art, RowexOnThreads>(mixes, 2000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of bskip", "[threads]") {
  using T = bskip::BugFlags<bool>;
  using OptiqlOnThreads = Tiny<Optiql<Native, BugsOnRequest>>;
  const auto mixes = bskip_mixes();
  CHECK(complaint_of<BSkip, OlcOnThreads>(mixes) == "");
  CHECK(complaint_of<BSkip, OptiqlOnThreads>(mixes) == "");
  CHECK(caught("bskip on threads: upper levels", T::kDropUpper, histories<BSkip, OlcOnThreads>(mixes, 1000)));
  CHECK(caught("bskip on threads: left node", T::kDropLeft, histories<BSkip, OlcOnThreads>(mixes, 1000)));
  CHECK(caught("bskip on threads: right node", T::kDropRight, histories<BSkip, OlcOnThreads>(mixes, 3000)));
  CHECK(caught("bskip on threads: stays linked", T::kStayLinked, histories<BSkip, OlcOnThreads>(mixes, 100)));
  CHECK(caught("bskip on threads: unproven", T::kKeepUnproven, histories<BSkip, OlcOnThreads>(mixes, 200)));
  CHECK(caught("bskip on threads: peeked bound", T::kTrustPeek, histories<BSkip, OptiqlOnThreads>(mixes, 1000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of btree", "[threads]") {
  using B = BugsOnRequest;
  using T = btree::BugFlags<bool>;
  const auto mixes = btree_mixes();
  CHECK(complaint_of<BTree, OlcOnThreads>(mixes) == "");
  CHECK(caught("btree on threads: validation", B::kDropValidation, histories<BTree, OlcOnThreads>(mixes, 100)));
  CHECK(caught("btree on threads: link", B::kDropLink, histories<BTree, OlcOnThreads>(mixes, 5000)));
  CHECK(caught("btree on threads: upgrade", B::kDropUpgrade, histories<BTree, OlcOnThreads>(mixes, 100)));
  CHECK(caught("btree on threads: parent", T::kDropParent, histories<BTree, OlcOnThreads>(mixes, 100)));
  CHECK(caught("btree on threads: right node", T::kDropRight, histories<BTree, OlcOnThreads>(mixes, 3000)));
  CHECK(caught("btree on threads: unproven", T::kKeepUnproven, histories<BTree, OlcOnThreads>(mixes, 100)));
  CHECK(caught("btree on threads: end at empty", T::kEndAtEmpty, histories<BTree, OlcOnThreads>(mixes, 100)));
}

TEST_CASE("Seeded bugs: histories of threads find those of the epochs", "[threads]") {
  using B = reclaim::BugFlags<bool>;
  const auto mixes = number_mixes();
  CHECK(caught("epochs on threads: scan", B::kSkipScan, histories<Art, OlcOnThreads>(mixes, 20'000)));
  CHECK(caught("epochs on threads: one epoch", B::kOneEpoch, histories<Art, OlcOnThreads>(mixes, 20'000)));
  CHECK(caught("epochs on threads: early stamp", B::kEarlyStamp, histories<Art, OlcOnThreads>(mixes, 20'000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of growing tables", "[threads]") {
  CHECK(caught("growing on threads: guess", growing::BugFlags<bool>::kTrustGuess,
               histories<Chained, OlcOnThreads>(growth(), 10'000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of strings by their hash", "[threads]") {
  using B = by_hash::BugFlags<bool>;
  using Index = ByHash<Synchronized<Cuckoo, OlcOnThreads, U64Key>, TwoHashes>;
  // The numbers are spelled in eight bytes, of which the last decides about the hash.
  const std::vector<RaceMix<u64>> mixes{{"one chain", {0, 2, 4}, {}, {0, 2, 4, 6}, {4, 3, 2, 1, 6, 0}},
                                        {"two chains", {0, 1, 2, 3}, {}, {0, 1, 2, 3, 4, 5}, {4, 3, 2, 1, 6, 1}}};
  CHECK(run_histories<Index>("olc", mixes, 200, [] {}).message == "");
  const auto run = [&] { return run_histories<Index>("olc", mixes, 5000, watch_history); };
  CHECK(caught("by_hash on threads: epoch", B::kDropEpoch, run));
  CHECK(caught("by_hash on threads: hash", B::kTrustHash, run));
  CHECK(caught("by_hash on threads: freed at once", B::kFreeAtOnce, run));
  CHECK(caught("by_hash on threads: link cut", B::kCutLink, run));
}

TEST_CASE("Seeded bugs: histories of threads find those of sized values", "[threads]") {
  using B = sized::BugFlags<bool>;
  using Index = AsNumbers<Synchronized<Chained, OlcOnThreads, U64Key>>;
  const std::vector<RaceMix<u64>> mixes{{"one value", {0}, {}, {0}, {4, 3, 4, 2, 4, 0}},
                                        {"few values", {0, 1, 2}, {}, {0, 1, 2, 3}, {4, 3, 4, 2, 4, 1}}};
  CHECK(run_histories<Index>("olc", mixes, 200, [] {}).message == "");
  const auto run = [&] { return run_histories<Index>("olc", mixes, 10'000, watch_history); };
  CHECK(caught("sized on threads: epoch", B::kDropEpoch, run));
  CHECK(caught("sized on threads: retired first", B::kRetireFirst, run));
  CHECK(caught("sized on threads: trusted word", B::kTrustWord, run));
  CHECK(caught("sized on threads: any word", B::kEraseAnyWord, run));
  CHECK(caught("sized on threads: forgotten claim", B::kForgetClaim, run));
  CHECK(caught("sized on threads: pin late", B::kPinLate,
               [&] { return run_histories<Index>("olc", mixes, 60'000, watch_history); }));
  CHECK(caught("sized on threads: pins ignored", B::kIgnorePins, run));
}

/// Returns the complaint about histories of sound values in two memories, or an empty string.
template <template <class Layout, class Key> class Index, class Policy>
std::string complaint_of_moves(const std::vector<RaceMix<u64>>& mixes) {
  using Moved = AsNumbers<Synchronized<Index, Policy, U64Key>, true>;
  return run_histories<Moved>(Policy::kName, mixes, 30, [] {}).message;
}

TEST_CASE("Seeded bugs: histories of threads find those of values that move between two memories", "[threads]") {
  using B = sized::BugFlags<bool>;
  const std::vector<RaceMix<u64>> mixes{{"one value", {0}, {}, {0}, {4, 3, 4, 2, 1, 0}},
                                        {"few values", {0, 1, 2}, {}, {0, 1, 2, 3}, {4, 3, 4, 2, 1, 1}}};
  CHECK(complaint_of_moves<Chained, OlcOnThreads>(mixes) == "");
  CHECK(complaint_of_moves<Chained, RowexOnThreads>(mixes) == "");
  CHECK(complaint_of_moves<Chained, Tiny<Spin<Native>>>(mixes) == "");
  CHECK(complaint_of_moves<Cuckoo, Tiny<Striped<Native>>>(mixes) == "");
  CHECK(complaint_of_moves<Cuckoo, Tiny<Rtm<Emulated>>>(mixes) == "");
  CHECK(complaint_of_moves<Art, OlcOnThreads>(mixes) == "");
  const auto run = [&] {
    return run_histories<AsNumbers<Synchronized<Chained, OlcOnThreads, U64Key>, true>>("olc", mixes, 10'000,
                                                                                       watch_history);
  };
  CHECK(caught("moves on threads: retired before", B::kRetireBeforeMove, run));
  CHECK(caught("moves on threads: any word", B::kMoveAnyWord, run));
  CHECK(caught("moves on threads: retired late", B::kRetireLateMove, run));
}

TEST_CASE("Seeded bugs: histories of threads find those of chained", "[threads]") {
  using B = BugsOnRequest;
  CHECK(complaint_of<Chained, OlcOnThreads>(growth()) == "");
  CHECK(
      caught("chained on threads: validation", B::kDropValidation, histories<Chained, OlcOnThreads>(growth(), 10'000)));
  CHECK(caught("chained on threads: upgrade", B::kDropUpgrade, histories<Chained, OlcOnThreads>(growth(), 100)));
  CHECK(complaint_of<Chained, RowexOnThreads>(growth()) == "");
  CHECK(caught("chained on threads, rowex: trusted miss", chained::BugFlags<bool>::kTrustMiss,
               histories<Chained, RowexOnThreads>(growth(), 10'000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of chained_line", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = chained_line_mixes();
  CHECK(complaint_of<ChainedLine, OlcOnThreads>(mixes) == "");
  CHECK(caught("chained_line on threads: validation", B::kDropValidation,
               histories<ChainedLine, OlcOnThreads>(mixes, 8000)));
  CHECK(caught("chained_line on threads: upgrade", B::kDropUpgrade, histories<ChainedLine, OlcOnThreads>(mixes, 100)));
  CHECK(caught("chained_line on threads: word first", chained::BugFlags<bool>::kLineFirst,
               histories<ChainedLine, OlcOnThreads>(mixes, 10'000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of vip", "[threads]") {
  using B = BugsOnRequest;
  CHECK(complaint_of<Vip, OlcOnThreads>(growth()) == "");
  CHECK(caught("vip on threads: validation", B::kDropValidation, histories<Vip, OlcOnThreads>(growth(), 10'000)));
  CHECK(caught("vip on threads: upgrade", B::kDropUpgrade, histories<Vip, OlcOnThreads>(growth(), 100)));
}

TEST_CASE("Seeded bugs: histories of threads find those of cuckoo", "[threads]") {
  using B = BugsOnRequest;
  const auto mixes = four_mixes();
  CHECK(complaint_of<Cuckoo, OlcOnThreads>(mixes) == "");
  CHECK(caught("cuckoo on threads: validation", B::kDropValidation, histories<Cuckoo, OlcOnThreads>(mixes, 4000)));
  CHECK(caught("cuckoo on threads: upgrade", B::kDropUpgrade, histories<Cuckoo, OlcOnThreads>(mixes, 200)));
  CHECK(caught("cuckoo on threads: update latch", B::kDropUpdateLatch, histories<Cuckoo, OlcOnThreads>(mixes, 2000)));
  CHECK(
      caught("cuckoo on threads: tag", cuckoo::BugFlags<bool>::kDropTag, histories<Cuckoo, OlcOnThreads>(mixes, 200)));
  CHECK(caught("cuckoo on threads: strays", cuckoo::BugFlags<bool>::kForgetStrays,
               histories<Cuckoo, OlcOnThreads>(mixes, 500)));
  CHECK(caught("cuckoo on threads: stale path", cuckoo::BugFlags<bool>::kTrustPath,
               histories<Cuckoo, OlcOnThreads>(mixes, 1500)));
  CHECK(complaint_of<Cuckoo, OlcOnThreads>(growth()) == "");
  CHECK(complaint_of<Cuckoo3, OlcOnThreads>(three_mixes()) == "");
  CHECK(complaint_of<Cuckoo7, OlcOnThreads>(seven_mixes()) == "");
}

TEST_CASE("Seeded bugs: histories of threads find those of memc3", "[threads]") {
  using Own = memc3::BugFlags<bool>;
  const auto mixes = memc3_mixes();
  CHECK(complaint_of<MemC3, OlcOnThreads>(mixes) == "");
  CHECK(caught("memc3 on threads: upgrade", BugsOnRequest::kDropUpgrade, histories<MemC3, OlcOnThreads>(mixes, 200)));
  CHECK(caught("memc3 on threads: root first", Own::kRootFirst, histories<MemC3, OlcOnThreads>(mixes, 5000)));
  CHECK(caught("memc3 on threads: stale path", Own::kTrustPath, histories<MemC3, OlcOnThreads>(mixes, 5000)));
}

TEST_CASE("Seeded bugs: histories of threads find those of kvdirect", "[threads]") {
  using B = BugsOnRequest;
  using Own = kvdirect::BugFlags<bool>;
  using StripedOnThreads = Tiny<Striped<Native, BugsOnRequest>>;
  const auto mixes = kvdirect_pointer_mixes();
  CHECK(complaint_of<KvDirect, StripedOnThreads>(mixes) == "");
  CHECK(complaint_of<KvDirectInline, StripedOnThreads>(kvdirect_inline_mixes()) == "");
  CHECK(caught("kvdirect on threads: validation", B::kDropValidation,
               histories<KvDirect, StripedOnThreads>(mixes, 5000)));
  CHECK(caught("kvdirect on threads: upgrade", B::kDropUpgrade, histories<KvDirect, StripedOnThreads>(mixes, 200)));
  CHECK(caught("kvdirect on threads: shard", Own::kForgetShard, histories<KvDirect, StripedOnThreads>(mixes, 5000)));
  CHECK(caught("kvdirect on threads: bucket", Own::kForgetHome, histories<KvDirect, StripedOnThreads>(mixes, 5000)));
}

}  // namespace
}  // namespace latchlab::testing
