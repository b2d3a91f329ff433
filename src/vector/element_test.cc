#include "src/vector/element.h"

#include <array>
#include <cmath>

#include "src/testing/catch.h"
#include "src/vector/kernel.h"

namespace latchlab::vectors {
namespace {

TEST_CASE("Types of elements have names and sizes") {
  CHECK(value_of_word<Element>("f32") == Element::kF32);
  CHECK(value_of_word<Element>("f16") == std::nullopt);
  CHECK(word(kElementOf<i64>) == "i64");
  CHECK(size_of(Element::kU32) == 4);
  CHECK(size_of(Element::kF64) == 8);
}

TEST_CASE("A number is read from text and from bytes, or refused") {
  CHECK(Number::of_text(Element::kI32, "-2147483648") == Number(std::numeric_limits<i32>::min()));
  CHECK(Number::of_text(Element::kU64, "18446744073709551615") == Number(~u64{0}));
  CHECK(Number::of_text(Element::kF32, "-1.5e3") == Number(f32{-1500}));
  CHECK(std::isnan(Number::of_text(Element::kF64, "nan")->as<f64>()));
  for (const char* text : {"", " 1", "1 ", "1.5", "2147483648", "0x1", "+1"})
    CHECK(Number::of_text(Element::kI32, text) == std::nullopt);
  CHECK(Number::of_text(Element::kU32, "-1") == std::nullopt);
  CHECK(Number::of_text(Element::kF32, "1e39") == std::nullopt);
  CHECK(Number(f64{.1}).text() == "0.1");
  CHECK(Number(i64{-7}).text() == "-7");
  CHECK(Number(std::numeric_limits<f64>::lowest()).text() == "-1.7976931348623157e+308");
  CHECK(Number::of_bytes(Element::kF64, Number(f64{2}).bytes()) == Number(f64{2}));
  CHECK(Number::of_bytes(Element::kF64, Number(f32{2}).bytes()) == std::nullopt);
}

TEST_CASE("The kernel that operations take runs here") {
  CHECK(runs_here(best_kernel()));
  CHECK(best_kernel() != Kernel::kScalar);
}

}  // namespace
}  // namespace latchlab::vectors
