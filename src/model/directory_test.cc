#include "src/model/directory.h"

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

TEST_CASE("Model directory: a new line is in no cache, and at its home") {
  Directory directory;
  CHECK(directory.find(7) == nullptr);
  const Line& line = directory.at(7, 3, true);
  CHECK(line.number == 7);
  CHECK(line.home == 3);
  CHECK(line.snoop_all == 1);
  CHECK(line.holders == 0);
  CHECK(line.owner1 == 0);
  CHECK(line.l3s == 0);
  directory.at(7, 1, false).holders = 5;
  CHECK(directory.find(7)->home == 3);
  CHECK(directory.find(7)->holders == 5);
  CHECK(directory.size() == 1);
}

TEST_CASE("Model directory: grows, and keeps what it knows of each line") {
  Directory directory;
  Rng rng(test_seed());
  const u64 base = rng() >> 23;
  const u64 lines = 100'000;
  for (u64 i = 0; i < lines; ++i) directory.at(base + i * 3, 0, false).holders = i;
  CHECK(directory.size() == lines);
  u64 wrong = 0;
  for (u64 i = 0; i < lines; ++i) {
    const Line* const line = directory.find(base + i * 3);
    wrong += line == nullptr || line->holders != i;
    wrong += directory.find(base + i * 3 + 1) != nullptr;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Model directory: a line has room for the last core and cluster, and for hours") {
  Line line;
  line.owner1 = kMostCores;
  line.home = kMostClusters - 1;
  line.l3s = 1u << (kMostClusters - 1);
  line.busy = ticks(3600e9);
  CHECK(line.owned_by(kMostCores - 1));
  CHECK(line.home == kMostClusters - 1);
  CHECK(line.l3s >> (kMostClusters - 1) == 1);
  CHECK(line.busy == ticks(3600e9));
}

}  // namespace
}  // namespace latchlab::model
