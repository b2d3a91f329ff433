// Tests of the operations on vectors (sized_vectors.h) through the type-erased face of sized values (erased_sized.h),
// under policies of every class of transactions.
#include "indexes/sized_vectors.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "indexes/any_sized_test.h"
#include "src/base/types.h"
#include "src/memory/values.h"
#include "src/testing/catch.h"
#include "src/vector/element.h"
#include "src/vector/filter.h"
#include "src/vector/reduce.h"
#include "src/vector/update.h"

namespace latchlab::testing {
namespace {

using any_sized::AnySession;
using any_sized::Subject;
using vectors::Status;
using vectors::Update;
using vectors::UpdateFunction;

using Words = std::vector<u32>;

ByteSpan vector_bytes(const Words& words) { return std::as_bytes(std::span(words)); }
Words words_in(ByteSpan bytes) {
  Words words(bytes.size() / sizeof(u32));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}
std::optional<Words> words_of(AnySession& me, u64 key) {
  std::optional<Words> words;
  me.find(key, [&](ByteSpan value) { words = words_in(value); });
  return words;
}

void check_operations(AnySession& me) {
  me.upsert(1, vector_bytes({1, 2, 3}));
  me.upsert(2, vector_bytes({7}));  // lies in the cell
  Words before, after;
  const auto keep_before = [&](ByteSpan bytes) { before = words_in(bytes); };
  const auto keep_after = [&](ByteSpan bytes) { after = words_in(bytes); };
  CHECK(me.update_vector(1, Update(UpdateFunction::kAdd, u32{10}), keep_before, keep_after) == Status::kDone);
  CHECK(before == Words{1, 2, 3});
  CHECK(after == Words{11, 12, 13});
  CHECK(words_of(me, 1) == Words{11, 12, 13});
  const Words each{1, 0, 100};
  CHECK(me.update_vector(1, Update(UpdateFunction::kMax, std::span(each))) == Status::kDone);
  CHECK(words_of(me, 1) == Words{11, 12, 100});
  CHECK(me.update_vector(2, Update(UpdateFunction::kXor, u32{5})) == Status::kDone);
  CHECK(words_of(me, 2) == Words{2});

  CHECK(me.reduce_vector(1, vectors::Element::kU32, vectors::Reduction::kSum).number == vectors::Number(u64{123}));
  CHECK(me.reduce_vector(3, vectors::Element::kU32, vectors::Reduction::kSum).status == Status::kAbsent);
  std::vector<std::byte> out;
  const vectors::Filter filter{vectors::Comparison::kGt, vectors::Number(u32{11})};
  CHECK(me.filter_matches(1, filter, out).matches == 2);
  CHECK(words_in(out) == Words{12, 100});
  CHECK(me.filter_bitmap(1, filter, out).matches == 2);
  CHECK(out == std::vector{std::byte{6}});
  CHECK(me.filter_matches(3, filter, out).status == Status::kAbsent);
  CHECK(out.empty());
  out.resize(5);
  CHECK(me.filter_bitmap(3, filter, out).status == Status::kAbsent);
  CHECK(out.empty());
  CHECK(me.filter_bitmap(1, {vectors::Comparison::kGt, vectors::Number(u64{11})}, out).status == Status::kRagged);
  CHECK(out.empty());

  CHECK(me.update_vector(3, Update(UpdateFunction::kAdd, u32{1})) == Status::kAbsent);
  CHECK(me.update_vector(1, Update(UpdateFunction::kAdd, u64{1})) == Status::kRagged);
  CHECK(me.update_vector(1, Update(UpdateFunction::kXor, 1.)) == Status::kUnsuited);
  CHECK(me.update_vector(2, Update(UpdateFunction::kAdd, std::span(each))) == Status::kMismatched);
  CHECK(words_of(me, 1) == Words{11, 12, 100});
  CHECK_FALSE(words_of(me, 3));
}

/// Two threads add to all elements of a vector, and look that no reader sees a part of an update.
void check_threads(const Subject& subject) {
  any_sized::Indexed index(subject);
  constexpr u32 kUpdates = 500;
  index->join()->upsert(1, vector_bytes(Words(600, 0)));
  const auto add = [&] {
    const auto me = index->join();
    for (u32 i = 0; i < kUpdates; ++i) {
      const Status status = me->update_vector(1, Update(UpdateFunction::kAdd, u32{1}));
      const auto least = me->reduce_vector(1, vectors::Element::kU32, vectors::Reduction::kMin);
      const auto all = me->update_vector(1, Update(UpdateFunction::kMax, u32{0}), [&](ByteSpan bytes) {
        const Words words = words_in(bytes);
        if (std::ranges::adjacent_find(words, std::not_equal_to<>()) != words.end())
          FAIL("a reader saw a part of an update");
      });
      if (status != Status::kDone || all != Status::kDone || least.status != Status::kDone)
        FAIL("an operation was not done");
    }
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(words_of(*index->join(), 1) == Words(600, 2 * kUpdates));
}

TEST_CASE("Sized: vectors are updated, reduced and filtered under every class of policies", "[sized]") {
  for (const Subject& subject : any_sized::subjects()) {
    DYNAMIC_SECTION(subject.name) {
      any_sized::Indexed index(subject);
      check_operations(*index->join());
      CHECK(index.live_after_all() != 0);
    }
  }
}

TEST_CASE("Sized: updates of a vector by two threads are atomic", "[sized]") {
  for (const Subject& subject : any_sized::subjects()) {
    if (!subject.shared) continue;
    DYNAMIC_SECTION(subject.name) { check_threads(subject); }
  }
}

}  // namespace
}  // namespace latchlab::testing
