#include "src/vector/update.h"

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "src/testing/catch.h"
#include "src/vector/random_vector_testing.h"
#include "src/vector/update_table.h"

namespace latchlab::vectors {
namespace {

constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// Applies the update to a vector of these elements by every kernel, and returns the result, which is the same.
template <class T>
std::vector<T> updated(const Update& update, const std::vector<T>& old) {
  std::vector<T> first;
  for (const Kernel kernel : kKernels) {
    if (!runs_here(kernel)) continue;
    std::vector<T> out(old.size());
    REQUIRE(apply(update, bytes_of(old), std::as_writable_bytes(std::span(out)), kernel) == Status::kDone);
    if (first.empty()) first = out;
    CHECK(same<T>(bytes_of(out), bytes_of(first)));
  }
  return first;
}

/// Compares every kernel with the reference, for a function of a table, T and a shape of operands.
template <ElementType T>
void check_update(const UpdateEntry& entry, Operands shape, Rng& rng) {
  for (const std::size_t count : kTestedCounts) {
    const std::size_t size = count * sizeof(T);
    Surrounded old(size, rng() % 16), expected(size, rng() % 16);
    Surrounded operands(entry.operands * (shape == Operands::kForEach ? size : sizeof(T)), rng() % 16);
    old.fill<T>(rng);
    operands.fill<T>(rng);
    const auto run = [&](Kernel kernel, Bytes from, MutableBytes to) {
      return apply(entry, kElementOf<T>, shape, std::as_const(operands).bytes(), from, to, kernel);
    };
    REQUIRE(run(Kernel::kScalar, old.bytes(), expected.bytes()) == Status::kDone);
    CHECK(expected.is_intact());
    for_fast_kernels([&](Kernel kernel) {
      INFO(entry.name << " of " << word(kElementOf<T>) << ", " << word(shape) << ", " << word(kernel) << ", " << count);
      Surrounded out(size, rng() % 16);
      REQUIRE(run(kernel, old.bytes(), out.bytes()) == Status::kDone);
      CHECK(same<T>(out.bytes(), expected.bytes()));
      CHECK(out.is_intact());
      Surrounded in_place = old;
      REQUIRE(run(kernel, in_place.bytes(), in_place.bytes()) == Status::kDone);
      CHECK(same<T>(in_place.bytes(), expected.bytes()));
      CHECK(in_place.is_intact());
    });
    Surrounded in_place = old;
    REQUIRE(run(Kernel::kScalar, in_place.bytes(), in_place.bytes()) == Status::kDone);
    CHECK(same<T>(in_place.bytes(), expected.bytes()));
  }
}

void check_table(std::span<const UpdateEntry> table) {
  Rng rng(test_seed());
  for (const UpdateEntry& entry : table) {
    for (const Operands shape : {Operands::kForAll, Operands::kForEach}) {
      for_types([&]<class T>(std::type_identity<T>) {
        if (entry.takes(kElementOf<T>)) check_update<T>(entry, shape, rng);
      });
    }
  }
}

TEST_CASE("Every kernel of an update does what the scalar reference does, for vectors of any length and address") {
  check_table(update_table());
}

TEST_CASE("Updates of integers wrap, and compare by their sign") {
  using V = std::vector<i32>;
  constexpr i32 kLeast = std::numeric_limits<i32>::min(), kMost = std::numeric_limits<i32>::max();
  const V old{5, -5, kMost, kLeast};
  using enum UpdateFunction;
  CHECK(updated({kAdd, i32{1}}, old) == V{6, -4, kLeast, kLeast + 1});
  CHECK(updated({kSub, i32{1}}, old) == V{4, -6, kMost - 1, kMost});
  CHECK(updated({kMin, i32{-1}}, old) == V{-1, -5, -1, kLeast});
  CHECK(updated({kMax, i32{-1}}, old) == V{5, -1, kMost, -1});
  CHECK(updated({kAnd, i32{4}}, old) == V{4, 0, 4, 0});
  CHECK(updated({kOr, i32{2}}, old) == V{7, -5, kMost, kLeast + 2});
  CHECK(updated({kXor, i32{-1}}, old) == V{-6, 4, kLeast, kMost});
  CHECK(updated({kSet, i32{9}}, old) == V{9, 9, 9, 9});
  CHECK(updated({kCasIfLess, i32{5}, i32{77}}, old) == V{5, 77, kMost, 77});
  CHECK(updated({kClip, i32{-3}, i32{3}}, old) == V{3, -3, 3, -3});
  CHECK(updated({kClip, i32{3}, i32{-3}}, old) == V{-3, -3, -3, -3});
  const std::vector<u64> large{1, u64{1} << 63};
  CHECK(updated({kMin, u64{2}}, large) == std::vector<u64>{1, 2});
  CHECK(updated({kMax, u64{2}}, large) == std::vector<u64>{2, u64{1} << 63});
}

TEST_CASE("An update has an operand for each element, or two: the first ones of all elements, then the second ones") {
  using V = std::vector<f64>;
  const V old{1, 2, 3}, deltas{.5, -2, 0}, bounds{2, 2, 4, 10, 20, 30};
  CHECK(updated(Update(UpdateFunction::kAdd, std::span(deltas)), old) == V{1.5, 0, 3});
  CHECK(updated(Update(UpdateFunction::kCasIfLess, std::span(bounds)), old) == V{10, 2, 30});
}

TEST_CASE("An element that is a NaN stays where an update compares, and an operand that is one changes nothing") {
  using V = std::vector<f32>;
  using enum UpdateFunction;
  const V old{kNan, -0.f, 2};
  const auto is = [](const V& a, const V& b) { return same<f32>(bytes_of(a), bytes_of(b)); };
  CHECK(is(updated({kMin, 1.f}, old), {kNan, -0.f, 1}));
  CHECK(is(updated({kMax, 0.f}, old), {kNan, -0.f, 2}));
  CHECK(is(updated({kMin, kNan}, old), old));
  CHECK(is(updated({kMax, kNan}, old), old));
  CHECK(is(updated({kClip, 0.f, 1.f}, old), {kNan, -0.f, 1}));
  CHECK(is(updated({kClip, kNan, kNan}, old), old));
  CHECK(is(updated({kCasIfLess, 9.f, kNan}, old), {kNan, kNan, kNan}));
  CHECK(is(updated({kCasIfLess, kNan, 9.f}, old), old));
  CHECK(is(updated({kSet, kNan}, old), {kNan, kNan, kNan}));
  CHECK(is(updated({kAdd, 1.f}, old), {kNan, 1, 3}));
}

TEST_CASE("An update that does not fit does nothing and says why") {
  const std::vector<i32> old{1, 2, 3};
  std::vector<i32> out{7, 8, 9};
  const MutableBytes room = std::as_writable_bytes(std::span(out));
  const auto refused = [&](const Update& update, Bytes value, MutableBytes to) {
    const Status status = apply(update, value, to);
    CHECK(out == std::vector<i32>{7, 8, 9});
    return std::string(word(status)) + ": " + why(status, update);
  };
  using enum UpdateFunction;
  CHECK(refused({kXor, f32{1}}, bytes_of(old), room) == "unsuited: xor is not for f32");
  CHECK(refused({kAdd, i64{1}}, bytes_of(old), room) == "ragged: the value is no whole number of i64, of 8 bytes each");
  CHECK(refused({kAdd, i32{1}}, bytes_of(old).first(11), room.first(11)) ==
        "ragged: the value is no whole number of i32, of 4 bytes each");
  CHECK(refused({kClip, i32{1}}, bytes_of(old), room) ==
        "mismatched: clip takes two operands of 4 bytes for all elements");
  CHECK(refused({kAdd, i32{1}, i32{2}}, bytes_of(old), room) ==
        "mismatched: add takes one operand of 4 bytes for all elements");
  const std::vector<i32> two{1, 2};
  CHECK(refused(Update(kAdd, std::span(two)), bytes_of(old), room) ==
        "mismatched: add takes one operand for each element of the value");
  CHECK(refused(Update(kClip, std::span(two)), bytes_of(old), room) ==
        "mismatched: clip takes two operands for each element of the value");
  CHECK(refused(Update(Element::kI32, kAdd, Operands::kForAll, bytes_of(std::vector<i32>(9))), bytes_of(old), room) ==
        "mismatched: add takes one operand of 4 bytes for all elements");
  CHECK(refused({kAdd, i32{1}}, bytes_of(old), room.first(8)) == "room: the result is of another size than the value");
  CHECK(apply({kAdd, i32{1}}, {}, {}) == Status::kDone);
}

TEST_CASE("Updates have names, in the order of their enumeration") {
  const std::vector<std::string> built_in{"add", "sub", "min", "max", "and", "or", "xor", "cas-if-less", "clip", "set"};
  const std::vector<std::string> all = update_names();
  REQUIRE(all.size() >= built_in.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < built_in.size()) CHECK(all[i] == built_in[i]);
    const auto function = static_cast<UpdateFunction>(i);
    CHECK(update_of_name(all[i]) == function);
    CHECK(name_of(function) == all[i]);
  }
  CHECK(operands_of(UpdateFunction::kClip) == 2);
  CHECK(operands_of(UpdateFunction::kSet) == 1);
  CHECK(update_of_name("nand") == std::nullopt);
}

/// A build's own functions.
struct Halve {
  static constexpr std::string_view kName = "halve";
  template <class T>
  static T apply(T element, T) {
    return element / 2;
  }
};
struct Toward {
  static constexpr std::string_view kName = "toward";
  template <std::floating_point T>
  static T apply(T element, T target, T share) {
    return share > T{.5} ? target : element;
  }
};

TEST_CASE("Functions of a build's own have kernels too, for the types that they take") {
  static constexpr auto kTable = table_of(TypeList<Halve>(), TypeList<Toward>());
  STATIC_REQUIRE(kTable.size() == 2);
  STATIC_REQUIRE(kTable[0].name == "halve");
  STATIC_REQUIRE(kTable[0].operands == 1);
  STATIC_REQUIRE(kTable[1].operands == 2);
  CHECK(kTable[1].takes(Element::kF32));  // UBSan lets no constant compare a function with null
  CHECK(!kTable[1].takes(Element::kU32));
  check_table(kTable);
  std::vector<u64> value{8, 9};
  const u64 unused = 0;
  const MutableBytes bytes = std::as_writable_bytes(std::span(value));
  REQUIRE(apply(kTable[0], Element::kU64, Operands::kForAll, std::as_bytes(std::span(&unused, 1)), bytes, bytes,
                best_kernel()) == Status::kDone);
  CHECK(value == std::vector<u64>{4, 4});
}

}  // namespace
}  // namespace latchlab::vectors
