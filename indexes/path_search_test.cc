#include "indexes/path_search.h"

#include <utility>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using Moves = std::vector<std::pair<u64, char>>;

TEST_CASE("path search: no bucket is on a path twice, and two paths may share one") {
  PathSearch<char, 8> search;
  search.begin(10);
  search.begin(20);
  REQUIRE(search.come_to(30, 'a', 0));
  REQUIRE(search.come_to(40, 'b', 2));
  CHECK_FALSE(search.come_to(40, 'c', 3));  // the bucket itself
  CHECK_FALSE(search.come_to(30, 'c', 3));  // the bucket before it
  CHECK_FALSE(search.come_to(10, 'c', 3));  // the first bucket of the path
  CHECK(search.size() == 4);
  CHECK(search.come_to(20, 'c', 3));  // the other first bucket is on another path
  CHECK(search.come_to(40, 'd', 1));
  CHECK(search.size() == 6);
}

TEST_CASE("path search: for_each_move visits a path from its end, with the bucket that each move leaves") {
  PathSearch<char, 4> search;
  search.begin(10);
  REQUIRE(search.come_to(30, 'a', 0));
  REQUIRE(search.come_to(40, 'b', 1));
  CHECK(search.moves(0) == 0);
  CHECK(search.moves(2) == 2);
  Moves moves;
  search.for_each_move(2, [&](u64 from, char move) { moves.push_back({from, move}); });
  CHECK(moves == Moves{{30, 'b'}, {10, 'a'}});
  CHECK_FALSE(search.full());
  REQUIRE(search.come_to(50, 'c', 0));
  CHECK(search.full());
}

}  // namespace
}  // namespace latchlab::testing
