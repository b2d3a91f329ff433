#include "src/wire/protocol.h"

#include <limits>

#include "src/base/types.h"
#include "src/testing/catch.h"
#include "src/wire/numbers.h"

namespace latchlab {
namespace {

TEST_CASE("the first byte of a connection tells the protocol") {
  for (const char first : {'g', 's', 'm', 'v', 'q', ' ', '\r', '\n', '\0', '\x7f', '\x81', '\xff', '$', '1'})
    CHECK(protocol_of(first) == Protocol::kMemcached);
  for (const char first : {'*', 'P', 'G', 'A', 'Z'}) CHECK(protocol_of(first) == Protocol::kResp);
  CHECK(protocol_of('\x80') == Protocol::kBinary);
}

template <class T>
std::string appended(T number) {
  std::string out = "n";
  append_number(out, number);
  return out;
}

TEST_CASE("numbers are printed and read at their edges") {
  CHECK(appended(u64{0}) == "n0");
  CHECK(appended(std::numeric_limits<u64>::max()) == "n18446744073709551615");
  CHECK(appended(std::numeric_limits<i64>::min()) == "n-9223372036854775808");
  CHECK(appended(std::numeric_limits<i64>::max()) == "n9223372036854775807");
  CHECK(appended(std::numeric_limits<u32>::max()) == "n4294967295");

  CHECK(signed_number_in<u32>("4294967295") == 4294967295u);
  CHECK(signed_number_in<u64>("18446744073709551615") == std::numeric_limits<u64>::max());
  CHECK(signed_number_in<i64>("-9223372036854775808") == std::numeric_limits<i64>::min());
  CHECK(signed_number_in<u64>("+007") == 7u);
  CHECK_FALSE(number_in<u64>("+7"));
  CHECK_FALSE(signed_number_in<u32>("4294967296"));
  CHECK_FALSE(signed_number_in<u64>("18446744073709551616"));
  CHECK_FALSE(signed_number_in<i64>("9223372036854775808"));
  for (const char* text : {"", "+", "-", "+-1", "-1", "1 ", " 1", "1x", "0x1", "1.0"}) {
    CHECK_FALSE(signed_number_in<u64>(text));
  }
}

}  // namespace
}  // namespace latchlab
