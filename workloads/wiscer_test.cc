#include "workloads/wiscer.h"

#include <string>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"
#include "workloads/shipped.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;

WiscerFile wiscer_file(const std::string& text) {
  const TemporaryFile file(text);
  return WiscerFile::read(file.path());
}

std::string wiscer_refusal(const std::string& text) {
  return testing::refusal([&] { (void)wiscer_file(text); });
}

TEST_CASE("a Wiscer file is read in either spelling", "[wiscer]") {
  const WiscerFile file = wiscer_file(
      "zipf=0.5\r\ninitialSize=10\noperationCount=1000\nfetchProportion=0.5\ninsertProportion=0.25\ndeleteProportion=0."
      "25\n"
      "distShiftFreq=100\ndistShiftPrct=25  # a "
      "quarter\nstorageEngine=VIPHashing\nkeyPattern=sequential\nkeyorder=sorted\n"
      "outputFile=somewhere.txt\n");
  CHECK(file.zipf == 0.5);
  CHECK(file.initial_size == 10);
  CHECK(file.operations == 1000);
  CHECK(file.fetch == 0.5);
  CHECK(file.shift_every == 100u);
  CHECK(file.shift_share == 0.25);
  CHECK(file.sequential);
  CHECK(file.sorted);
  REQUIRE(file.engine);
  CHECK(file.engine->index == "vip");
  CHECK(file.output == "somewhere.txt");
  CHECK(file.mix(0).ppm(OpKind::kErase) == 250'000);
  CHECK(wiscer_file("operationCount=1\nkeyOrder=sorted").sorted);
}

TEST_CASE("keys missing in a Wiscer file have Wiscer's defaults", "[wiscer]") {
  const WiscerFile file = wiscer_file("operationCount=7\n");
  CHECK(file.zipf == 1);
  CHECK(file.initial_size == 0);
  CHECK(file.fetch == 1);
  CHECK_FALSE(file.shift_every);
  CHECK_FALSE(file.sequential);
  CHECK_FALSE(file.sorted);
  CHECK_FALSE(file.engine);
  CHECK_FALSE(file.output);
}

TEST_CASE("wrong Wiscer files are refused with their line", "[wiscer]") {
  const std::string ok = "operationCount=1\n";
  CHECK_THAT(wiscer_refusal(""), Contains("has no line"));
  CHECK_THAT(wiscer_refusal("zipf=1"), Contains("needs operationCount"));
  CHECK_THAT(wiscer_refusal(ok + "zipf"), Contains("line 2 'zipf' is not key=value"));
  CHECK_THAT(wiscer_refusal(std::string("\0\1\n", 3)), Contains("line 1 '\\x00\\x01' is not key=value"));
  CHECK_THAT(wiscer_refusal(ok + std::string(59, 'x') + "\xe2\x82\xac"),
             Contains("line 2 '" + std::string(59, 'x') + "...' is not key=value"));
  CHECK_THAT(wiscer_refusal(ok + "zipf=nan"), Contains("line 2 'zipf=nan' needs a number of 0 or more"));
  CHECK_THAT(wiscer_refusal(ok + "zipf=-1"), Contains("line 2"));
  CHECK_THAT(wiscer_refusal(ok + "zipf=1 2"), Contains("line 2"));
  CHECK_THAT(wiscer_refusal(ok + "zipff=1"), Contains("has an unknown key") && Contains("did you mean 'zipf'"));
  CHECK_THAT(wiscer_refusal(ok + "zipf=1\nzipf=2"), Contains("line 3 'zipf=2' repeats zipf of line 2"));
  CHECK_THAT(wiscer_refusal(ok + "keyOrder=random\nkeyorder=random"), Contains("repeats keyOrder of line 2"));
  CHECK_THAT(wiscer_refusal(ok + "initialSize=1.5"), Contains("needs a whole number"));
  CHECK_THAT(wiscer_refusal(ok + "initialSize=99999999999999"), Contains("needs a whole number"));
  CHECK_THAT(wiscer_refusal("operationCount=0"), Contains("above 0"));
  CHECK_THAT(wiscer_refusal(ok + "fetchProportion=0.9"), Contains("which sum to 0.9, not to 1"));
  CHECK_THAT(wiscer_refusal(ok + "fetchProportion=1.1"), Contains("from 0 to 1"));
  CHECK_THAT(wiscer_refusal(ok + "distShiftFreq=0"), Contains("needs a whole number from 1"));
  CHECK_THAT(wiscer_refusal(ok + "distShiftPrct=50"), Contains("distShiftPrct without distShiftFreq"));
  CHECK_THAT(wiscer_refusal(ok + "distShiftPrct=101"), Contains("from 0 to 100"));
  CHECK_THAT(wiscer_refusal(ok + "keyPattern=odd"), Contains("needs random or sequential"));
  CHECK_THAT(wiscer_refusal(ok + "keyOrder=odd"), Contains("needs random or sorted"));
  CHECK_THAT(wiscer_refusal(ok + "storageEngine=Cuckoo"),
             Contains("needs ChainedHashing, VIPHashing or none; leave it out"));
  CHECK_THAT(wiscer_refusal(ok + "outputFile="), Contains("needs a path"));
  CHECK_THROWS_WITH(WiscerFile::read("/no/such"), Contains("Wiscer file '/no/such': No such file"));
  CHECK_THROWS_WITH(WiscerFile::read("/tmp"), Contains("directory"));
  CHECK_THROWS_WITH(WiscerFile::read("high-chrn"), Contains("did you mean 'high-churn'") && Contains("steady-state"));
}

TEST_CASE("the seven workloads of Wiscer and its test are shipped", "[wiscer]") {
  CHECK(shipped_wiscer_files().size() == 8);
  for (const Shipped& shipped : shipped_wiscer_files()) {
    const WiscerFile file = WiscerFile::read(std::string(shipped.name));
    INFO(shipped.name);
    const bool test = shipped.name == "test";
    CHECK(file.initial_size == (test ? 1 << 20 : 1'000'000));
    CHECK(file.engine_in_effect().index == (test ? "vip" : "chained"));
    CHECK(file.operations == 500'000'000);
  }
  CHECK(WiscerFile::read("static-medium-skew").zipf == 2);
  CHECK(WiscerFile::read("medium-churn").shift_every == 100'000'001u);
  CHECK(WiscerFile::read("high-churn").shift_share == 0.5);
  CHECK(WiscerFile::read("steady-state").erase == 0.01);
  CHECK(WiscerFile::read("read-mostly").insert == 0.02);
}

TEST_CASE("proportions that nearly sum to 1 make a mix, and one too small for a mix is refused with its line",
          "[wiscer]") {
  const TemporaryFile nearly(
      "operationCount=1\nfetchProportion=0.7000000005\ninsertProportion=0.2\ndeleteProportion=0.1\n");
  const Mix mix = WiscerFile::read(nearly.path()).mix(0);
  CHECK(mix.ppm(OpKind::kRead) == 700'000);
  CHECK(mix.ppm(OpKind::kErase) == 100'000);
  const TemporaryFile small("operationCount=1\nfetchProportion=0.9999999\ninsertProportion=1e-7\n");
  CHECK_THROWS_WITH(
      WiscerFile::read(small.path()),
      Catch::Contains("line 3 'insertProportion=1e-7' is less than the smallest proportion, one in a million"));
  const TemporaryFile least("operationCount=1\nfetchProportion=0.999999\ninsertProportion=1e-6\n");
  CHECK(WiscerFile::read(least.path()).mix(0).ppm(OpKind::kInsert) == 1);
}

}  // namespace
}  // namespace latchlab
