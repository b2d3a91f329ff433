#include "services/kv/secrets.h"

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab::kv {
namespace {

using Catch::Matchers::Contains;

Secrets read_with_mode(std::string_view text, mode_t mode) {
  const TemporaryFile file(text);
  REQUIRE(chmod(file.path().c_str(), mode) == 0);
  return Secrets::read(file.path());
}
Secrets read(std::string_view text) { return read_with_mode(text, 0600); }

TEST_CASE("A client with the name and the password of one line is admitted") {
  const Secrets secrets = read("anna:secret\n\nbert:with:colons\ncarl:no line end");
  CHECK(secrets.admit("anna", "secret"));
  CHECK(secrets.admit("bert", "with:colons"));
  CHECK(secrets.admit("carl", "no line end"));
}

TEST_CASE("A client is refused unless name and password are whole and of one line") {
  const Secrets secrets = read("anna:secret\nbert:other\nab:ab\n");
  for (const auto& [name, password] : std::vector<std::pair<std::string, std::string>>{
           {"anna", "other"},
           {"bert", "secret"},
           {"anna", ""},
           {"", "secret"},
           {"", ""},
           {"anna", "secre"},
           {"anna", "secrets"},
           {"anna", "secretsecret"},
           {"ann", "secret"},
           {"annaanna", "secret"},
           {"Anna", "secret"},
           {"abab", "ab"},
           {"ab", "abab"},
           {"anna:secret", "anna:secret"},
       }) {
    INFO(name << " / " << password);
    CHECK_FALSE(secrets.admit(name, password));
  }
}

TEST_CASE("Of two lines with one name each password is right") {
  const Secrets secrets = read("anna:old\nanna:new\n");
  CHECK(secrets.admit("anna", "old"));
  CHECK(secrets.admit("anna", "new"));
  CHECK_FALSE(secrets.admit("anna", "neither"));
}

TEST_CASE("A file that other users may use is refused") {
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601, 0644, 0777}) {
    CAPTURE(mode);
    CHECK_THROWS_AS(read_with_mode("anna:secret\n", mode), InputError);
  }
  CHECK_THROWS_WITH(read_with_mode("anna:secret\n", 0644), Contains("--auth") && Contains("chmod 600"));
  CHECK(read_with_mode("anna:secret\n", 0400).admit("anna", "secret"));
  CHECK(read_with_mode("anna:secret\n", 0700).admit("anna", "secret"));
}

TEST_CASE("A file with a wrong line is refused, and the error has the number of the line") {
  CHECK_THROWS_WITH(read("anna:secret\n\nnonsense\n"), Contains("line 3 is not name:password"));
  CHECK_THROWS_WITH(read(":secret\n"), Contains("line 1 is not name:password"));
  CHECK_THROWS_WITH(read("anna:\n"), Contains("line 1 is not name:password"));
}

TEST_CASE("A file without a line, or no file, is refused") {
  CHECK_THROWS_WITH(read(""), Contains("has no line"));
  CHECK_THROWS_WITH(read("\n\n"), Contains("has no line"));
  CHECK_THROWS_WITH(Secrets::read("/nonexistent/secrets"),
                    Contains("/nonexistent/secrets") && Contains("cannot be read"));
}

}  // namespace
}  // namespace latchlab::kv
