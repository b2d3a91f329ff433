#include "src/vector/reduce.h"

#include <cmath>
#include <limits>
#include <vector>

#include "src/testing/catch.h"
#include "src/vector/random_vector_testing.h"

namespace latchlab::vectors {
namespace {

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMin, Reduction::kMax,
                                     Reduction::kAnd, Reduction::kOr,  Reduction::kCount};

/// Returns the reduction of these elements, which is the same by every kernel.
template <class T>
Number reduced(Reduction reduction, const std::vector<T>& elements) {
  const Bytes bytes = std::as_bytes(std::span(elements));
  const Reduced first = reduce(kElementOf<T>, reduction, bytes, Kernel::kScalar);
  REQUIRE(first.status == Status::kDone);
  for (const Kernel kernel : kKernels) {
    if (runs_here(kernel)) CHECK(reduce(kElementOf<T>, reduction, bytes, kernel).number == first.number);
  }
  return first.number;
}

/// Returns true if sums of `elements` may be `a` and `b`: they differ by at most twice the bound.
bool are_sums_of(Bytes elements, Element element, f64 a, f64 b) {
  long double exact = 0, magnitude = 0;
  const std::size_t count = elements.size() / size_of(element);
  for (std::size_t i = 0; i < count; ++i) {
    const f64 x =
        element == Element::kF32 ? f64{load<f32>(elements.data() + 4 * i)} : load<f64>(elements.data() + 8 * i);
    exact += x;
    magnitude += std::fabs(x);
  }
  const long double n = static_cast<long double>(count), bound = n * 0x1p-53L * magnitude + n * 0x1p-64L * magnitude;
  return std::fabs(a - exact) <= bound && std::fabs(b - exact) <= bound;
}

template <ElementType T>
void check_reduction(Reduction reduction, Rng& rng) {
  for (const std::size_t count : kTestedCounts) {
    Surrounded vector(count * sizeof(T), rng() % 16);
    vector.fill<T>(rng);
    const bool is_float_sum = std::floating_point<T> && reduction == Reduction::kSum;
    if (is_float_sum) {  // finite ones
      for (std::size_t i = 0; i < count; ++i)
        store(vector.bytes().data() + i * sizeof(T), static_cast<T>((unit(rng()) - .5) * std::exp2(rng() % 60)));
    }
    const Bytes bytes = vector.bytes();
    const Reduced expected = reduce(kElementOf<T>, reduction, bytes, Kernel::kScalar);
    REQUIRE(expected.status == Status::kDone);
    for_fast_kernels([&](Kernel kernel) {
      INFO(word(reduction) << " of " << word(kElementOf<T>) << ", " << word(kernel) << ", " << count);
      const Reduced found = reduce(kElementOf<T>, reduction, bytes, kernel);
      REQUIRE(found.status == Status::kDone);
      REQUIRE(found.number.element() == expected.number.element());
      if (found.number.element() != Element::kF64) {
        CHECK(found.number == expected.number);
      } else if (is_float_sum) {
        CHECK(are_sums_of(bytes, kElementOf<T>, found.number.as<f64>(), expected.number.as<f64>()));
      } else {
        CHECK(found.number.as<f64>() == expected.number.as<f64>());  // the zeros are equal
      }
    });
  }
}

TEST_CASE(
    "Every kernel of a reduction returns what the scalar reference does, and sums of floats are within their bound") {
  Rng rng(test_seed());
  for (const Reduction reduction : kReductions) {
    for_types([&]<class T>(std::type_identity<T>) {
      if (reduce(kElementOf<T>, reduction, {}).status == Status::kDone) check_reduction<T>(reduction, rng);
    });
  }
}

TEST_CASE("Reductions of known vectors, and of none") {
  using enum Reduction;
  const std::vector<i32> signs{-1, 5, std::numeric_limits<i32>::min(), 0};
  CHECK(reduced(kSum, signs) == Number(i64{std::numeric_limits<i32>::min()} + 4));
  CHECK(reduced(kMin, signs) == Number(i64{std::numeric_limits<i32>::min()}));
  CHECK(reduced(kMax, signs) == Number(i64{5}));
  CHECK(reduced(kCount, signs) == Number(u64{3}));
  CHECK(reduced(kAnd, std::vector<u32>{7, 14}) == Number(u64{6}));
  CHECK(reduced(kOr, std::vector<u32>{1, 1u << 31}) == Number((u64{1} << 31) + 1));
  CHECK(reduced(kAnd, std::vector<i64>{}) == Number(i64{-1}));
  CHECK(reduced(kMin, std::vector<u32>{}) == Number(u64{~u32{0}}));
  CHECK(reduced(kMin, std::vector<f32>{}) == Number(std::numeric_limits<f64>::infinity()));
  CHECK(reduced(kSum, std::vector<u64>{~u64{0}, 3}) == Number(u64{2}));
  CHECK(reduced(kSum, std::vector<i64>{std::numeric_limits<i64>::max(), 1}) == Number(std::numeric_limits<i64>::min()));
  CHECK(reduced(kSum, std::vector<u32>(100, ~u32{0})) == Number(100 * u64{~u32{0}}));
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const std::vector<f32> floats{nan, -1.5f, 2, -0.f};
  CHECK(reduced(kMin, floats) == Number(f64{-1.5}));
  CHECK(reduced(kMax, floats) == Number(f64{2}));
  CHECK(reduced(kCount, floats) == Number(u64{3}));
  CHECK(std::isnan(reduce(Element::kF32, kSum, std::as_bytes(std::span(floats))).number.as<f64>()));
  CHECK(reduced(kSum, std::vector<f32>{16777216.f, 1, 1}) == Number(f64{16777218}));  // beyond 24 bits
}

TEST_CASE("A reduction that does not fit is refused") {
  const std::vector<f32> three(3);
  const Bytes bytes = std::as_bytes(std::span(three));
  CHECK(reduce(Element::kF32, Reduction::kAnd, bytes).status == Status::kUnsuited);
  CHECK(reduce(Element::kF64, Reduction::kOr, {}).status == Status::kUnsuited);
  CHECK(reduce(Element::kF64, Reduction::kSum, bytes).status == Status::kRagged);
  CHECK(reduce(Element::kF32, Reduction::kSum, bytes.first(7)).status == Status::kRagged);
}

}  // namespace
}  // namespace latchlab::vectors
