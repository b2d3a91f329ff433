#include "src/arch/wide.h"

#include <vector>

#include "src/arch/features.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Checks that the transform replaces each word by f of it and changes nothing beyond the words.
template <class Transform>
void check_transform(const Transform& transform) {
  Rng rng(test_seed());
  const auto f = [offset = rng()](u64 x) { return stafford64(x + offset); };
  for (std::size_t count : {0, 1, 63, 64, 65, 127, 128, 300}) {
    std::vector<u64> xs(count + 8), expected;
    for (u64& x : xs) x = rng();
    expected = xs;
    for (std::size_t i = 0; i < count; ++i) expected[i] = f(expected[i]);
    transform(std::span(xs).first(count), f);
    CHECK(xs == expected);
  }
}

TEST_CASE("Arithmetic on many words gives the same results as one word at a time, for every vector width") {
  check_transform([](std::span<u64> xs, const auto& f) { transform_in_wide_vectors(xs, f); });
  check_transform([](std::span<u64> xs, const auto& f) { transform_in_blocks(xs, f); });
  if (!cpu_flags().avx2) {
    WARN("skipped vectors of 256 bits: the processor has no AVX2");
    return;
  }
  check_transform([](std::span<u64> xs, const auto& f) { in_256_bits([=] { transform_in_blocks(xs, f); }); });
  if (!cpu_flags().avx512) {
    WARN("skipped vectors of 512 bits: the processor has no AVX-512");
    return;
  }
  check_transform([](std::span<u64> xs, const auto& f) { in_512_bits([=] { transform_in_blocks(xs, f); }); });
}

}  // namespace
}  // namespace latchlab
