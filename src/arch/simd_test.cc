#include "src/arch/simd.h"

#include <array>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

TEST_CASE("first_equal_of_seven finds the first equal word, also where later words are equal or only halves agree") {
  Rng rng(test_seed());
  for (int round = 0; round < 1000; ++round) {
    alignas(64) std::array<u64, 9> line;  // the seven words and their neighbours
    const u64 wanted = rng();
    for (u64& word : line) {
      switch (rng.below(4)) {
        case 0: word = wanted; break;
        case 1: word = wanted ^ u64 { 1 } << rng.below(32); break;  // the upper half agrees
        case 2: word = wanted ^ u64 { 1 } << (32 + rng.below(32)); break;
        default: word = rng();
      }
    }
    for (const u32 offset : {0u, 1u}) {
      u32 first = 0;
      while (first < 7 && line[offset + first] != wanted) ++first;
      CHECK(first_equal_of_seven(&line[offset], wanted) == first);
    }
  }
}

TEST_CASE("Every fifth byte of seven words is gathered in order") {
  Rng rng(test_seed());
  for (int round = 0; round < 100; ++round) {
    std::array<u64, 7> words;
    for (u64& word : words) word = rng();
    const Bytes16 gathered = Bytes16::fifths(words.data());
    for (u32 i = 0; i < 10; ++i) {
      const u32 at = 5 * i + 4;
      CHECK((gathered.equal_to(static_cast<u8>(words[at / 8] >> at % 8 * 8)) >> i & 1) == 1);
    }
    CHECK(gathered.equal_to(0) >> 10 == 0x3f);
  }
}

template <u32 kWords>
void check_words(Rng& rng) {
  alignas(16) u64 words[kWords];
  // Few different words, at both ends of the signed numbers and around zero.
  const auto draw = [&] { return (rng.below(2) << 63) + rng.below(4) - rng.below(4); };
  for (u64& word : words) word = draw();
  const u64 wanted = draw();
  u32 less = 0, equal = 0;
  for (u32 i = 0; i < kWords; ++i) {
    less += static_cast<i64>(words[i]) < static_cast<i64>(wanted);
    equal |= u32{words[i] == wanted} << i;
  }
  CHECK(count_less<kWords>(words, wanted) == less);
  CHECK(equal_words<kWords>(words, wanted) == equal);
}

TEST_CASE("count_less counts words as signed numbers, and equal_words finds all that are equal") {
  Rng rng(test_seed());
  for (u32 i = 0; i < 2000; ++i) {
    check_words<4>(rng);
    check_words<14>(rng);
    check_words<32>(rng);
  }
}

}  // namespace
}  // namespace latchlab::testing
