// Modifications on the race finder. Each fiber adds amounts to keys, or takes the whole of a key and erases it. No
// amount may be lost or taken twice: that would happen if a modification did not see the latest value, or were not one
// step with its store. Sums also cover batches of modifications and erasures on a condition, which the programs of
// race_program.h do not have.
#include <string>
#include <string_view>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/chained/chained.h"
#include "indexes/chained/chained_line.h"
#include "indexes/chained/race_line_mixes_test.h"
#include "indexes/chained/race_mixes_test.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/kvdirect/kvdirect.h"
#include "indexes/kvdirect/race_mixes_test.h"
#include "indexes/memc3/memc3.h"
#include "indexes/memc3/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// A program of a mix, whose changes become modifications.
template <class Index, class Key>
class Sums {
 public:
  Sums(const RaceProgram<Key>& program, std::string_view policy)
      : program_(program), taken_(program.fibers.size()), index_(Spec::parse(policy), MemoryConfig{}) {
    for (std::size_t i = 0; i < program.fibers.size(); ++i) threads_.push_back(index_.join());
    for (const u32 key : program.preload) {
      added_ += key + 1;
      (void)index_.insert(threads_[0], program.keys[key], key + 1);
    }
  }

  void fiber(u32 id) {
    for (const RaceOp& op : program_.fibers[id]) {
      const Key& key = program_.keys[op.key];
      switch (op.verb) {
        case RaceVerb::kErase: take(id, key, [](u64) { return true; }); break;
        case RaceVerb::kFind:
        case RaceVerb::kScan: take(id, key, [](u64 there) { return there % 2 == 0; }); break;
        case RaceVerb::kUpsert: add_two(id, op.key, op.value); break;
        default: add(id, key, op.value);
      }
    }
  }

  std::string check() {
    u64 sum = 0;
    for (const u64 taken : taken_) sum += taken;
    index_.for_each(threads_[0], [&](const auto&, u64 value) { sum += value; });
    return sum == added_ ? "" : "the sum is " + std::to_string(sum) + " instead of " + std::to_string(added_);
  }

 private:
  void add(u32 id, const Key& key, u64 amount) {
    const Modified done = index_.modify(threads_[id], key,
                                        [amount](Found there) noexcept -> Found { return there.value_or(0) + amount; });
    expect(done.after == done.before.value_or(0) + amount, "a modification returned another value than it stored");
    added_ += amount;
  }
  /// Adds to the key and to its neighbour, in one batch.
  void add_two(u32 id, u32 key, u64 amount) {
    const Key keys[] = {program_.keys[key], program_.keys[(key + 1) % program_.keys.size()]};
    Modified done[2];
    index_.modify_batch(threads_[id], keys, done, [amount](std::size_t i, const Found& there) noexcept -> Found {
      return there.value_or(i) + amount;
    });
    for (std::size_t i = 0; i < 2; ++i) {
      expect(done[i].after == done[i].before.value_or(i) + amount, "a batch returned another value than it stored");
      added_ += *done[i].after - done[i].before.value_or(0);
    }
  }
  /// Takes what a key has and erases it, if the value is one that is wanted.
  template <class Wanted>
  void take(u32 id, const Key& key, const Wanted& wanted) {
    const Modified done = index_.modify(threads_[id], key, [&wanted](Found there) noexcept -> Found {
      return there && wanted(*there) ? Found() : there;
    });
    if (!done.after) taken_[id] += done.before.value_or(0);
  }

  const RaceProgram<Key>& program_;
  u64 added_ = 0;  // fibers are one thread
  std::vector<u64> taken_;
  Index index_;
  std::vector<typename Index::ThreadState> threads_;
};

template <template <class Layout, class Key> class Index, class Policy>
void check_sums_under(std::string_view policy, const std::vector<RaceMix<u64>>& mixes, const RaceOptions& options) {
  explore_mixes<Sums<Synchronized<Index, Tiny<Policy>, U64Key>, u64>>(mixes, policy, options);
}
template <template <class Layout, class Key> class Index>
void check_sums(const std::vector<RaceMix<u64>>& mixes) {
  check_sums_under<Index, Olc<Simulated>>("olc", mixes, {});
  check_sums_under<Index, Rtm<Simulated>>("rtm:1", mixes, {.abort_rate = 0.2});
}

TEST_CASE("Races: modifications of art lose nothing", "[race]") {
  check_sums<Art>(number_mixes());
  check_sums_under<Art, Striped<Simulated>>("striped:3", number_mixes(), {});
  check_sums_under<Art, Hybrid<Simulated>>("hybrid:2", number_mixes(), {.abort_rate = 0.2});
  check_sums_under<Art, Rowex<Simulated>>("rowex", number_mixes(), {});
}
TEST_CASE("Races: modifications of cuckoo lose nothing", "[race]") {
  check_sums<Cuckoo>(four_mixes());
  check_sums_under<Cuckoo, Striped<Simulated>>("striped:3", four_mixes(), {});
}
TEST_CASE("Races: modifications of chained lose nothing", "[race]") {
  check_sums<Chained>(chained_mixes());
  check_sums_under<Chained, Rowex<Simulated>>("rowex", chained_mixes(), {});
}
TEST_CASE("Races: modifications of chained_line lose nothing", "[race]") {
  check_sums<ChainedLine>(chained_line_mixes());
}
TEST_CASE("Races: modifications of kvdirect lose nothing", "[race]") {
  check_sums_under<KvDirect, Striped<Simulated>>("striped:3", kvdirect_pointer_mixes(), {});
  check_sums_under<KvDirectInline, Striped<Simulated>>("striped:3", kvdirect_inline_mixes(), {});
  check_sums_under<KvDirectInline, Rtm<Simulated>>("rtm:1", kvdirect_inline_mixes(), {.abort_rate = 0.2});
}
TEST_CASE("Races: modifications of memc3 lose nothing", "[race]") { check_sums<MemC3>(memc3_mixes()); }

TEST_CASE("Seeded bugs: lost modifications are found", "[race]") {
  using Index = Synchronized<Cuckoo, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = search_in_mixes<Sums<Index, u64>>("olc", four_mixes());
  CHECK(caught("cuckoo: first look", cuckoo::BugFlags<bool>::kTrustFirstLook, run));
  CHECK(caught("cuckoo: modify latch", BugsOnRequest::kDropUpdateLatch, run));
}

}  // namespace
}  // namespace latchlab::testing
