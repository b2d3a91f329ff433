#include "src/base/printable.h"

#include <string>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using namespace std::string_literals;

TEST_CASE("printable text stays as it is, and every other byte is escaped") {
  for (const char* text : {"", "a b~", "\xc2\xa0", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\x00"})
    CHECK(printable(text) == text);
  CHECK(printable("a\0b"s) == "a\\x00b");
  CHECK(printable("\n\t\x1b[2J\x7f") == "\\x0a\\x09\\x1b[2J\\x7f");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");                             // a command to a terminal
  CHECK(printable("\xc3(\xa9") == "\\xc3(\\xa9");                           // not UTF-8
  CHECK(printable("\xc0\x80\xe0\x80\x80") == "\\xc0\\x80\\xe0\\x80\\x80");  // NUL, in too many bytes
  CHECK(printable("\xed\xa0\x80\xf4\x90\x80\x80") == "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
}

TEST_CASE("an error shows the begin and the end of its text, whatever bytes it quotes") {
  CHECK(InputError("'\0\1' is wrong"s).what() == "'\\x00\\x01' is wrong"s);
  const std::string all = InputError("begin " + std::string(1 << 20, '\0') + " the end").what();
  CHECK_THAT(
      all, Catch::StartsWith("begin \\x00") && Catch::EndsWith("\\x00 the end") && Catch::Contains("\\x00 ... \\x00"));
  CHECK(all.size() <= 4 * InputError::kMostBytes + 5);
}

}  // namespace
}  // namespace latchlab
