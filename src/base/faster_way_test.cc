#include "src/base/faster_way.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Runs pieces of 64 operations that cost as much as `cost` says for each way; returns how many ran in way 1.
template <class Cost>
u32 in_way_1(FasterWay& choice, u32 pieces, const Cost& cost) {
  u64 time = 0;
  u32 ran = 0;
  for (u32 i = 0; i < pieces; ++i) {
    choice.run([&] { return time; },
               [&](u32 way) {
                 ran += way;
                 time += 64 * cost(way, i);
                 return 64;
               });
  }
  return ran;
}

TEST_CASE("the faster of two ways is taken, and the other is tried now and then", "[faster-way]") {
  FasterWay choice;
  CHECK(in_way_1(choice, 1000, [](u32 way, u32) { return way == 1 ? 20 : 50; }) > 950);
  CHECK(choice.better() == 1);
  // Costs change: the choice follows.
  CHECK(in_way_1(choice, 4000, [](u32 way, u32) { return way == 1 ? 50 : 10; }) < 1000);
  CHECK(choice.better() == 0);
  const u32 tried = in_way_1(choice, 13'000, [](u32 way, u32) { return way == 1 ? 50 : 10; });
  CHECK(tried >= 50);
  CHECK(tried <= 13'000 / FasterWay::kLongest);
}

TEST_CASE("an interruption does not change the choice", "[faster-way]") {
  FasterWay choice;
  in_way_1(choice, 2000, [](u32 way, u32) { return way == 1 ? 20 : 30; });
  // One of 300 pieces takes a hundred times as long, whichever way it ran.
  CHECK(in_way_1(choice, 6000, [](u32 way, u32 i) { return (way == 1 ? 20 : 60) * (i % 300 == 0 ? 100 : 1); }) > 5800);
}

TEST_CASE("of two ways that cost the same, the present one stays", "[faster-way]") {
  FasterWay choice;
  CHECK(in_way_1(choice, 1300, [](u32, u32) { return 20; }) <= 20);
}

}  // namespace
}  // namespace latchlab
