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

}  // namespace
}  // namespace latchlab::testing
