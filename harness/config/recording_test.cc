#include "harness/config/recording.h"

#include <string>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("the words of --history are read, and written back in full") {
  for (const auto& [text, full] : {std::pair{"calls.history", "calls.history,keys=1/64"},
                                   std::pair{"a,keys=all", "a,keys=all"}, std::pair{"a,keys=1/1", "a,keys=all"},
                                   std::pair{"/tmp/a b,keys=1/1000,calls=2M", "/tmp/a b,keys=1/1000,calls=2000000"},
                                   std::pair{"a,calls=5,keys=1/2", "a,keys=1/2,calls=5"}}) {
    const Recording recording = Recording::parse(text);
    CHECK(recording.str() == full);
    CHECK(Recording::parse(recording.str()).str() == full);
  }
}

TEST_CASE("wrong words of --history are refused in one line") {
  for (const auto& [text, why] :
       {std::pair{"", "does not begin with a file"},
        std::pair{"keys=all", "does not begin with a file; write FILE,keys=1/64"},
        std::pair{"a,keys=some", "keys=some is no share of the keys; write keys=1/64"},
        std::pair{"a,keys=2/64", "keys=2/64 is no share"}, std::pair{"a,keys=1/0", "--history: the N of keys=1/N: "},
        std::pair{"a,keys=all,keys=1/2", "--history: keys is given twice"}, std::pair{"a,calls=0", "--history: calls="},
        std::pair{"a,", "there is no ''"}, std::pair{"a,call=5", "there is no 'call=5'; there are keys=1/64"}}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(Recording::parse(text), Catch::Contains(why) && !Catch::Contains("\n"));
  }
}

TEST_CASE("by default there is room for the loaded records, and for a million calls") {
  CHECK(Recording{}.room_for(0, 1) == 1'000'000);
  CHECK(Recording{}.room_for(6'400'000, 2) == 1'125'000);
  CHECK(Recording{}.room_for(0, 1000) == 16'384'000);
  CHECK(Recording{.file = "", .keys = {.one_in = 1}, .calls = 0}.room_for(1000, 1) == 1'001'250);
  CHECK(Recording{.file = "", .keys = {}, .calls = 7}.room_for(1'000'000, 9) == 7);
}

}  // namespace
}  // namespace latchlab
