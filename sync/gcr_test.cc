// Tests of the options of `gcr`. sync/locks_race_test.cc explores the lock.
#include "sync/gcr.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("gcr takes a number of threads in its range, and names the range in a refusal") {
  const auto threads = [](std::string_view spec) { return GcrOptions::parse(Spec::parse(spec)).resolved(); };
  using Resolved = std::vector<std::pair<std::string, std::string>>;
  CHECK(threads("gcr") == Resolved{{"threads", "2"}});
  CHECK(threads("gcr:1") == Resolved{{"threads", "1"}});
  CHECK(threads("gcr:1000000") == Resolved{{"threads", "1000000"}});
  CHECK(!GcrOptions::about("threads").empty());
  for (const auto* number : {"0", "1000001", "-1", "some"}) {
    CHECK_THROWS_WITH(
        threads("gcr:" + std::string(number)),
        Catch::StartsWith("policy gcr: '" + std::string(number) + "' must be a whole number from 1 to 1000000"));
  }
  CHECK_THROWS_AS(threads("gcr:2,lock=spin"), InputError);
}

}  // namespace
}  // namespace latchlab
