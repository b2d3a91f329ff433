// A cache by the clock algorithm, as lines on a walk: the hand is a walk that goes round, and eviction is erase_if.
//
//     word    | value : 63 | reference : 1 |
//
// A hit sets the reference bit after its attempt, and only if it is clear. So a popular key is read and not written,
// and the attempt of a lookup stays what it is without a cache.
#include <atomic>
#include <thread>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

template <class Index>
class ClockCache {
 public:
  /// One thread's access. Each thread has a hand of its own.
  class Session {
   public:
    explicit Session(ClockCache& cache) : cache_(cache), me_(cache.index_.join()) {}

    Found get(u64 key) {
      const Found word = cache_.index_.find(me_, key);
      if (!word) return {};
      if ((*word & 1) == 0) {
        ++marked_;
        (void)cache_.index_.update_if(me_, key, [](u64 now) { return (now & 1) == 0 ? Found(now | 1) : Found(); });
      }
      return *word >> 1;
    }
    /// Adds the pair if the key is absent, and evicts others if the cache is full.
    void put(u64 key, u64 value) {
      if (cache_.index_.insert(me_, key, value << 1)) ++cache_.pairs_;
      while (cache_.pairs_ > cache_.most_) turn();
    }
    u64 marked() const { return marked_; }
    u64 count() {
      u64 pairs = 0;
      cache_.index_.for_each(me_, [&](u64, u64) { ++pairs; });
      return pairs;
    }

   private:
    /// Turns the hand to the next bucket that has pairs. Evicts those without the bit, and clears it in the others.
    void turn() {
      (void)cache_.index_.walk_on(me_, hand_, 1, [&](u64 key, u64 word) {
        if ((word & 1) != 0) {
          (void)cache_.index_.update_if(me_, key, [](u64 now) { return (now & 1) != 0 ? Found(now - 1) : Found(); });
        } else if (cache_.pairs_ > cache_.most_ &&
                   cache_.index_.erase_if(me_, key, [](u64 now) { return (now & 1) == 0; }) == Changed::kChanged) {
          --cache_.pairs_;
        }
      });
    }

    ClockCache& cache_;
    typename Index::ThreadState me_;
    typename Index::Walk hand_;
    u64 marked_ = 0;  // number of reference bits that hits have set
  };

  explicit ClockCache(u64 most) : most_(most) {}
  u64 pairs() const { return pairs_; }

 private:
  const u64 most_;
  std::atomic<u64> pairs_{0};
  Index index_{Spec::parse("olc"), MemoryConfig{}};
};

template <template <class, class> class Index>
using Table = Synchronized<Index, Olc<Native>, U64Key>;

TEMPLATE_TEST_CASE("A clock hand over an index evicts keys that were not used since it came by", "", Table<Cuckoo>,
                   Table<Chained>, Table<Art>) {
  constexpr u64 kMost = 1000, kHot = 100;
  ClockCache<TestType> cache(kMost);
  typename ClockCache<TestType>::Session session(cache);
  for (u64 key = 0; key < kHot; ++key) session.put(mix64(key), key);
  for (u64 key = kHot; key < 20 * kMost; ++key) {
    session.put(mix64(key), key);
    CHECK(cache.pairs() <= kMost);
    if (key % 50 != 0) continue;
    for (u64 hot = 0; hot < kHot; ++hot) {
      INFO(hot << " after " << key);
      REQUIRE(session.get(mix64(hot)) == hot);
    }
  }
  CHECK(session.count() == kMost);
  // There were some 40,000 hits of popular keys. The hand cleared their bits some twenty times.
  CHECK(session.marked() < 100 * kHot);
}

TEST_CASE("A cache with a clock hand for each thread keeps its size and its values", "[threads]") {
  constexpr u64 kMost = 500, kThreads = 3;
  ClockCache<Table<Cuckoo>> cache(kMost);
  std::atomic<u64> wrong{0};
  std::vector<std::thread> threads;
  for (u64 id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      ClockCache<Table<Cuckoo>>::Session session(cache);
      Rng rng(test_seed() + id);
      for (u32 i = 0; i < 20'000; ++i) {
        const u64 key = rng.below(2 * kMost);
        const Found value = session.get(mix64(key));
        if (!value) session.put(mix64(key), key);
        if (value && *value != key) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(cache.pairs() <= kMost);
  CHECK(ClockCache<Table<Cuckoo>>::Session(cache).count() == cache.pairs());
}

}  // namespace
}  // namespace latchlab::testing
