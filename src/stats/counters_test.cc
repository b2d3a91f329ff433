#include "src/stats/counters.h"

#include <string>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

struct Toy {
  u64 ops = 0, restarts = 0;
  static constexpr auto fields() {
    return std::array{CounterField{"ops", &Toy::ops}, CounterField{"restarts", &Toy::restarts}};
  }
};
static_assert(CounterSet<Toy> && CounterSet<NoCounters>);
static_assert(sizeof(PaddedCounters<Toy>) == 128 && alignof(PaddedCounters<NoCounters>) == 128);

std::vector<std::pair<std::string, u64>> listed(const auto& counters) {
  std::vector<std::pair<std::string, u64>> list;
  for_each_counter(counters, [&](std::string_view name, u64 value) { list.emplace_back(name, value); });
  return list;
}

TEST_CASE("Counters are listed by name in order") {
  CHECK(listed(Toy{3, 5}) == std::vector<std::pair<std::string, u64>>{{"ops", 3}, {"restarts", 5}});
  CHECK(listed(NoCounters{}).empty());
}

TEST_CASE("Counters add, subtract and reset field by field") {
  Toy sum{1, 2};
  add_counters(sum, Toy{10, 20});
  CHECK(sum.ops == 11);
  CHECK(sum.restarts == 22);
  const Toy since = counters_since(Toy{1, 2}, sum);
  CHECK(since.ops == 10);
  CHECK(since.restarts == 20);
  reset_counters(sum);
  CHECK(sum.ops == 0);
  CHECK(sum.restarts == 0);
}

TEST_CASE("Padded counters are listed like what they pad") {
  PaddedCounters<Toy> padded;
  padded.ops = 7;
  CHECK(listed(static_cast<const Toy&>(padded)).front().second == 7);
}

}  // namespace
}  // namespace latchlab
