#include "workloads/made_up.h"

#include <array>
#include <bit>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "src/base/rng.h"
#include "workloads/bijection.h"
#include "workloads/streams.h"

namespace latchlab {

namespace {

using Words = std::array<std::string_view, 32>;

constexpr Words kFirst = {"anna",  "bruno", "carla", "david", "elena", "frank", "grace", "hugo",
                          "irene", "jonas", "karin", "leo",   "maria", "nils",  "olga",  "paul",
                          "quinn", "rosa",  "simon", "tanya", "ugo",   "vera",  "wanda", "xenia",
                          "yusuf", "zoe",   "amir",  "bela",  "chen",  "dipti", "emeka", "fatima"};
constexpr Words kLast = {"smith", "garcia",  "mueller", "rossi",   "tanaka", "petrov", "kim",    "silva",
                         "novak", "jensen",  "brown",   "martin",  "kowal",  "nguyen", "haas",   "okafor",
                         "singh", "leclerc", "ivers",   "fischer", "moreno", "laine",  "weber",  "costa",
                         "patel", "berg",    "sato",    "andrade", "dubois", "yilmaz", "horvat", "kaya"};
constexpr Words kHostWords = {"amber",  "bridge", "canyon", "delta",  "ember",   "forge",   "garden", "harbor",
                              "island", "jasper", "kernel", "lunar",  "meadow",  "nova",    "orbit",  "prairie",
                              "quartz", "river",  "summit", "timber", "umbra",   "valley",  "willow", "yonder",
                              "zephyr", "cedar",  "drift",  "falcon", "glacier", "horizon", "iron",   "juniper"};
constexpr std::string_view kMailDomains[] = {
    "mail.example", "post.example",  "web.example",     "inbox.example",  "uni.example",
    "corp.example", "cloud.example", "letters.example", "office.example", "department.gov.example"};
constexpr std::string_view kSections[] = {"news",  "reviews", "products", "articles/archive",
                                          "users", "tags",    "2024/11",  "wiki"};

/// Returns a word by a skewed law: the first word has half of the probability, and each other word half of what those
/// before it leave.
std::string_view skewed(const auto& words, u64 word) {
  const u64 at = static_cast<u64>(std::countl_zero(word | 1));
  return words[at % std::size(words)];
}

std::string_view alike(const Words& words, u64 word) { return words[word % words.size()]; }

}  // namespace

std::string made_up_emails(u64 count, u64 seed) {
  constexpr u64 kNames = kFirst.size() * kLast.size();
  const Bijection person(count, seed, kMadeUpStream);
  const Draws draws(seed, kMadeUpStream);
  std::string text;
  for (u64 n = 0; n < count; ++n) {
    const u64 number = person(n);  // people with the same name differ by a number
    fmt::format_to(std::back_inserter(text), "{}.{}", alike(kFirst, number), alike(kLast, number / kFirst.size()));
    if (number >= kNames) fmt::format_to(std::back_inserter(text), "{}", number / kNames);
    fmt::format_to(std::back_inserter(text), "@{}\n", skewed(kMailDomains, draws(n)));
  }
  return text;
}

std::string made_up_urls(u64 count, u64 seed) {
  constexpr u64 kHosts = 512;
  const Bijection page(count, seed, kMadeUpStream);
  const Draws draws(seed, kMadeUpStream);
  std::string text;
  for (u64 n = 0; n < count; ++n) {
    const u64 word = draws(n);
    // Hosts differ in their number of pages, which is distributed like the square of a uniform number.
    const u64 host = bounded(word, bounded(word * kMixFactor, kHosts) + 1);
    fmt::format_to(std::back_inserter(text), "https://www.{}{}.example/{}/{}-{}-{}\n", alike(kHostWords, host),
                   alike(kHostWords, host / kHostWords.size() * 7 + host), skewed(kSections, word << 9),
                   alike(kHostWords, word), alike(kHostWords, word >> 8), page(n));
  }
  return text;
}

}  // namespace latchlab
