#include "src/wire/base64.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

std::string decoded(std::string_view text) {
  std::string room(text.size(), '?');
  const auto size = decode_base64(text, room.data());
  return size ? room.substr(0, *size) : "refused";
}

TEST_CASE("base64 encodes the examples of RFC 4648, and decodes them") {
  constexpr std::string_view kPlain = "foobar";
  constexpr std::string_view kEncoded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size <= kPlain.size(); ++size) {
    std::string text;
    append_base64(text, kPlain.substr(0, size));
    CHECK(text == kEncoded[size]);
    CHECK(decoded(text) == kPlain.substr(0, size));
  }
}

TEST_CASE("base64 carries every byte at every place of a group") {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t place = 0; place < 4; ++place) {
      std::string bytes(4, 'x'), text;
      bytes[place] = static_cast<char>(byte);
      append_base64(text, bytes);
      REQUIRE(is_base64(text));
      REQUIRE(decoded(text) == bytes);
    }
  }
}

TEST_CASE("base64 refuses what no encoder writes") {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9=v", "Zm9!", "Zm 9", "Zh==", "Zm9="})
    CHECK(decoded(text) == "refused");
}

}  // namespace
}  // namespace latchlab
