#include "harness/loop/trial.h"

#include <string>
#include <string_view>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("keys in messages are printable") {
  CHECK(shown(u64{17}) == "17");
  CHECK(shown(std::string_view("a\n\x01z")) == "\"a\\x0a\\x01z\"");
  CHECK(shown(std::string(100, 'x')) == "\"" + std::string(64, 'x') + "\"...");
}

}  // namespace
}  // namespace latchlab
