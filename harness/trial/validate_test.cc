#include "harness/trial/validate.h"

#include "harness/loop/trial.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("validation names the first contradiction") {
  Tally tally;
  tally.succeeded[static_cast<std::size_t>(OpKind::kInsert)] = 3;
  tally.checksum = 17;
  Contents contents;
  contents.keys = 3;
  contents.checksum = 17;
  CHECK(*validate(tally, contents).passed);
  contents.checksum = 18;
  CHECK_THAT(validate(tally, contents).detail, Catch::Contains("not the right ones"));
  contents.disorder = 1;
  contents.example = "key 2 comes after key 3";
  CHECK_THAT(validate(tally, contents).detail, Catch::Contains("key 2 comes after key 3"));
  contents.wrong_values = 4;
  CHECK_THAT(validate(tally, contents).detail, Catch::StartsWith("4 keys hold values of other keys"));
  contents.keys = 4;
  CHECK_THAT(validate(tally, contents).detail, Catch::Contains("holds 4 keys, the tally says 3"));
}

}  // namespace
}  // namespace latchlab
