#include "services/kv/glob.h"

#include <optional>
#include <string>
#include <string_view>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using namespace std::string_literals;

TEST_CASE("A pattern without signs matches its own text and no other") {
  CHECK(matches("", ""));
  CHECK(matches("abc", "abc"));
  CHECK_FALSE(matches("abc", "ab"));
  CHECK_FALSE(matches("ab", "abc"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("a", ""));
  CHECK_FALSE(matches("abc", "ABC"));
  CHECK(matches("a\0b"s, "a\0b"s));
}

TEST_CASE("A question mark matches exactly one byte") {
  CHECK(matches("a?c", "abc"));
  CHECK(matches("?", "\xff"));
  CHECK_FALSE(matches("?", ""));
  CHECK_FALSE(matches("a?", "a"));
  CHECK_FALSE(matches("?", "ab"));
}

TEST_CASE("A star matches any bytes, also none") {
  CHECK(matches("*", ""));
  CHECK(matches("*", "abc"));
  CHECK(matches("a*", "a"));
  CHECK(matches("*c", "abc"));
  CHECK(matches("a*c", "ac"));
  CHECK(matches("a*b*c", "a-b-b-c"));
  CHECK(matches("**a**", "a"));
  CHECK(matches("*ab", "aab"));
  CHECK(matches("user:*:name", "user:7:name"));
  CHECK_FALSE(matches("user:*:name", "user:7:names"));
  CHECK_FALSE(matches("a*b", "a"));
  CHECK_FALSE(matches("*a?", "ba"));
}

TEST_CASE("Brackets match one byte of a set, of a range, or outside them") {
  CHECK(matches("h[ae]llo", "hallo"));
  CHECK(matches("h[ae]llo", "hello"));
  CHECK_FALSE(matches("h[ae]llo", "hillo"));
  CHECK(matches("[a-c]", "b"));
  CHECK(matches("[c-a]", "b"));
  CHECK_FALSE(matches("[a-c]", "d"));
  CHECK(matches("[xa-cy]", "y"));
  CHECK(matches("[^a]", "b"));
  CHECK_FALSE(matches("[^a]", "a"));
  CHECK_FALSE(matches("[^a-c]", "b"));
  CHECK_FALSE(matches("[^a]", ""));
  CHECK(matches("[a-]", "-"));
  CHECK(matches(R"([\]])", "]"));
  CHECK(matches(R"([\-a])", "-"));
  CHECK(matches("[ab", "b"));  // a set without an end goes to the end of the pattern
  CHECK_FALSE(matches("[]", "a"));
  CHECK_FALSE(matches("[", "["));
  CHECK(matches("*[0-9]", "key7"));
}

TEST_CASE("A backslash takes the meaning from the next byte") {
  CHECK(matches(R"(\*)", "*"));
  CHECK_FALSE(matches(R"(\*)", "a"));
  CHECK(matches(R"(a\?c)", "a?c"));
  CHECK_FALSE(matches(R"(a\?c)", "abc"));
  CHECK(matches(R"(\[a])", "[a]"));
  CHECK(matches(R"(\\)", "\\"));
  CHECK(matches("\\", "\\"));  // it is the last byte, so it stands for itself
}

/// Matches stars, question marks and plain bytes by the definition, in exponential time.
bool slow_match(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return slow_match(pattern.substr(1), text) || (!text.empty() && slow_match(pattern, text.substr(1)));
  if (text.empty() || (pattern.front() != '?' && pattern.front() != text.front())) return false;
  return slow_match(pattern.substr(1), text.substr(1));
}

TEST_CASE("Random patterns match what their definition says") {
  Rng rng(test_seed());
  const auto random_text = [&](std::string_view alphabet) {
    std::string text;
    for (u64 left = rng.below(8); left > 0; --left) text += alphabet[rng.below(alphabet.size())];
    return text;
  };
  u64 matched = 0;
  for (u32 i = 0; i < 20'000; ++i) {
    const std::string pattern = random_text("ab*?"), text = random_text("ab");
    INFO(pattern << " on " << text);
    const bool expected = slow_match(pattern, text);
    REQUIRE(matches(pattern, text) == expected);
    matched += expected;
  }
  CHECK(matched > 100);
}

TEST_CASE("A pattern of many stars costs no exponential time") {
  std::string pattern;
  for (u32 i = 0; i < 200; ++i) pattern += "a*";
  CHECK_FALSE(matches(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace latchlab::kv
