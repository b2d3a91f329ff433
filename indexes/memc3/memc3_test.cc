// Cases of memc3 that the conformance suite does not cover: the load at which a table grows, and readers beside moves,
// growth and recycled pairs.
#include "indexes/memc3/memc3.h"

#include <atomic>
#include <thread>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Table = MemC3<U64Key>;

TEST_CASE("memc3: a table of four-slot buckets doubles at load .96", "[release]") {
  Table table(Spec::parse("own"), {});
  auto me = table.join();
  Rng rng(test_seed());
  table.insert(me, rng(), 0);  // allocates the first slab
  u64 keys = 1, buckets = 256;
  std::vector<double> loads;
  while (loads.size() < 10) {
    const u64 before = table.bytes().reserved;
    table.insert(me, rng(), 0);
    ++keys;
    // A slab of pairs is 96 KiB. A new table is larger than that from 4096 buckets on.
    if (table.bytes().reserved - before >= 2 * buckets * 32) {
      loads.push_back(static_cast<double>(keys - 1) / static_cast<double>(4 * buckets));
      buckets *= 2;
    }
  }
  CHECK(loads.back() > .95);
  CHECK(loads.back() < .97);
}

/// Readers look up keys that stay, while a writer inserts and erases others in a nearly full table, and grows it.
TEST_CASE("memc3: a reader never misses a moved key, and never reads the pair of another key") {
  constexpr u64 kStay = 900, kReaders = 3, kChanges = kSanitized ? 50'000 : 3'000'000;
  for (const u64 others : {70, 3000}) {  // of 1024 slots: with 70 others keys are moved, with 3000 tables are outgrown
    Table table(Spec::parse("own"), {});
    auto me = table.join();
    for (u64 key = 0; key < kStay; ++key) REQUIRE(table.insert(me, key, key));
    const u64 bytes_before = table.bytes().reserved;
    std::atomic<u64> last{kStay}, missing{0}, wrong{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (u64 reader = 0; reader < kReaders; ++reader) {
      readers.emplace_back([&, reader] {
        auto mine = table.join();
        Rng rng(reader);
        u64 missed = 0, other = 0;
        while (!stop.load(kRelaxed)) {
          const u64 key = rng() % kStay;
          const auto found = table.find(mine, key);
          missed += !found;
          other += found && *found != key;
          const u64 fleeting = last.load(kRelaxed) - rng() % 4;
          const auto seen = table.find(mine, fleeting);
          other += seen && *seen != fleeting;
        }
        missing += missed, wrong += other;
      });
    }
    u64 refused = 0;
    for (u64 key = kStay; key < kStay + kChanges; ++key) {
      last.store(key, kRelaxed);
      refused += !table.insert(me, key, key);
      if (key >= kStay + others) refused += !table.erase(me, key - others);
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    // The table stayed nearly full, so keys were moved.
    CHECK((table.bytes().reserved == bytes_before) == (others == 70));
    CHECK(refused == 0);
    CHECK(missing == 0);
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace latchlab
