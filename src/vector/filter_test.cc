#include "src/vector/filter.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "src/testing/catch.h"
#include "src/vector/random_vector_testing.h"

namespace latchlab::vectors {
namespace {

constexpr Comparison kComparisons[] = {Comparison::kLt, Comparison::kLe, Comparison::kEq,
                                       Comparison::kNe, Comparison::kGe, Comparison::kGt};

template <ElementType T>
void check_filter(const Filter& filter, std::size_t count, Rng& rng) {
  constexpr Element element = kElementOf<T>;
  Surrounded vector(count * sizeof(T), rng() % 16);
  vector.fill<T>(rng);
  const Bytes bytes = vector.bytes();
  const std::size_t bitmap_size = bitmap_bytes(element, bytes.size());
  Surrounded bits(bitmap_size, 0), values(bytes.size(), rng() % 16);
  const Filtered expected = filter_bitmap(filter, bytes, bits.bytes(), Kernel::kScalar);
  REQUIRE(expected.status == Status::kDone);
  CHECK(filter_matches(filter, bytes, values.bytes(), Kernel::kScalar).matches == expected.matches);
  for_fast_kernels([&](Kernel kernel) {
    INFO(word(filter.comparison) << " of " << word(element) << ", " << word(kernel) << ", " << count);
    Surrounded fast_bits(bitmap_size, rng() % 16), fast_values(bytes.size(), rng() % 16);
    const Filtered found = filter_bitmap(filter, bytes, fast_bits.bytes(), kernel);
    CHECK(found.status == Status::kDone);
    CHECK(found.matches == expected.matches);
    CHECK(std::ranges::equal(fast_bits.bytes(), bits.bytes()));
    CHECK(fast_bits.is_intact());
    const Filtered matched = filter_matches(filter, bytes, fast_values.bytes(), kernel);
    CHECK(matched.status == Status::kDone);
    REQUIRE(matched.matches == expected.matches);
    const std::size_t used = matched.matches * sizeof(T);
    CHECK(same<T>(fast_values.bytes().first(used), values.bytes().first(used)));
    CHECK(fast_values.is_intact());
  });
}

TEST_CASE("Every kernel of a filter finds what the scalar reference does") {
  Rng rng(test_seed());
  for_types([&]<class T>(std::type_identity<T>) {
    for (const Comparison comparison : kComparisons) {
      for (const std::size_t count : kTestedCounts) {
        check_filter<T>({comparison, Number(random_element<T>(rng))}, count, rng);
        check_filter<T>({comparison, Number(std::numeric_limits<T>::max())}, count, rng);  // all, or few
      }
    }
  });
}

/// Returns the matches of these elements, and checks the bitmap.
template <class T>
std::vector<T> matches_of(Comparison comparison, T operand, const std::vector<T>& elements) {
  std::vector<T> out(elements.size());
  const Bytes bytes = std::as_bytes(std::span(elements));
  const Filter filter{comparison, Number(operand)};
  const Filtered found = filter_matches(filter, bytes, std::as_writable_bytes(std::span(out)));
  REQUIRE(found.status == Status::kDone);
  out.resize(found.matches);
  std::vector<std::byte> bits(bitmap_bytes(kElementOf<T>, bytes.size()));
  CHECK(filter_bitmap(filter, bytes, bits).matches == out.size());
  std::vector<T> by_bits;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (static_cast<unsigned>(bits[i / 8] >> (i % 8)) & 1) by_bits.push_back(elements[i]);
  }
  CHECK(same<T>(std::as_bytes(std::span(by_bits)), std::as_bytes(std::span(out))));
  return out;
}

TEST_CASE("Filters of known vectors") {
  using V = std::vector<i32>;
  using enum Comparison;
  const V all{3, -9, 1, 7, 3};
  CHECK(matches_of(kLt, 3, all) == V{-9, 1});
  CHECK(matches_of(kLe, 3, all) == V{3, -9, 1, 3});
  CHECK(matches_of(kEq, 3, all) == V{3, 3});
  CHECK(matches_of(kNe, 3, all) == V{-9, 1, 7});
  CHECK(matches_of(kGe, 3, all) == V{3, 7, 3});
  CHECK(matches_of(kGt, 3, all) == V{7});
  CHECK(matches_of(kGt, u32{3}, std::vector<u32>{~u32{0}, 1}) == std::vector<u32>{~u32{0}});
  const f64 nan = std::numeric_limits<f64>::quiet_NaN();
  const std::vector<f64> floats{nan, -0., 1};
  CHECK(matches_of(kEq, 0., floats).size() == 1);
  CHECK(matches_of(kNe, 0., floats).size() == 2);
  CHECK(matches_of(kGe, nan, floats).empty());
}

TEST_CASE("A filter that does not fit changes nothing") {
  const std::vector<i32> elements(9);
  const Bytes bytes = std::as_bytes(std::span(elements));
  const Filter filter{Comparison::kEq, Number(i32{0})};
  std::vector<std::byte> out(64, std::byte{7});
  CHECK(filter_bitmap(filter, bytes, MutableBytes(out).first(1)).status == Status::kTooLittleRoom);
  CHECK(filter_matches(filter, bytes, MutableBytes(out).first(35)).status == Status::kTooLittleRoom);
  CHECK(filter_bitmap(filter, bytes.first(35), out).status == Status::kRagged);
  CHECK(filter_matches({Comparison::kEq, Number(u64{0})}, bytes, out).status == Status::kRagged);
  CHECK(std::ranges::count(out, std::byte{7}) == 64);
  CHECK(bitmap_bytes(Element::kI32, 36) == 2);
}

}  // namespace
}  // namespace latchlab::vectors
