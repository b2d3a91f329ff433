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

std::vector<std::pair<std::string, u64>> listed(const auto& counters) {
  std::vector<std::pair<std::string, u64>> list;
  for_each_counter(counters, [&](std::string_view name, u64 value) { list.emplace_back(name, value); });
  return list;
}

TEST_CASE("Counters are listed by name, in the order of their fields") {
  CHECK(listed(Toy{3, 5}) == std::vector<std::pair<std::string, u64>>{{"ops", 3}, {"restarts", 5}});
  CHECK(listed(NoCounters{}).empty());
}

TEST_CASE("A histogram is not listed as a field") {
  struct WithHistogram : Toy {
    std::array<u64, 4> histogram{};
    static constexpr auto fields() {
      return std::array{CounterField<WithHistogram>{"ops", &Toy::ops},
                        CounterField<WithHistogram>{"restarts", &Toy::restarts}};
    }
  };
  CHECK(histogram_size<Toy>() == 0);
  CHECK(histogram_size<WithHistogram>() == 4);
  CHECK(listed(WithHistogram{}).size() == 2);
}

TEST_CASE("Counters subtract field by field") {
  const Toy since = counters_since(Toy{1, 2}, Toy{11, 22});
  CHECK(since.ops == 10);
  CHECK(since.restarts == 20);
}

}  // namespace
}  // namespace latchlab
