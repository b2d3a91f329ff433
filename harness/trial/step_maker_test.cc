#include "harness/trial/step_maker.h"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/trial/trial_testing.h"
#include "src/base/spec.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/phased_stream.h"
#include "workloads/wiscer.h"
#include "workloads/wiscer_stream.h"

namespace latchlab {
namespace {

TEST_CASE("a step knows what must come of it") {
  const KeySet keys(Spec::parse("u64"), 1);
  const Mix mix(Spec::parse("mix:read=40,insert=20,update=20,upsert=10,rmw=10"), .5);
  const Distribution uniform(Spec::parse("uniform"));
  const MixStream stream(1, 1, keys, uniform, mix, 100);
  Steps made;
  std::vector<Op> ops(512), gets;
  stream.fill(0, ops, gets);
  for (const bool may_be_gone : {false, true}) {
    const Slice slice = made.only(StepMaker(stream, may_be_gone, 64), 0, 512);
    CHECK(slice.count == 512);
    CHECK_FALSE(slice.only);
    for (u32 i = 0; i < 512; ++i) {
      const Step& step = slice.steps[i];
      CHECK(tag_matches(step.number, step.value));
      if (step.kind == OpKind::kInsert) CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kMiss));
      if (about(step.kind).updates) CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      if (step.kind == OpKind::kRead && ops[i].absent) CHECK(step.expect == Expect::kMiss);
      if (step.kind == OpKind::kRead && !ops[i].absent) {
        CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      }
    }
  }
}

TEST_CASE("steps of operations that are alike are those of one after the other") {
  const testing::Lines lines(2000);
  std::string numbers;  // a file of SOSD: a count, and so many sorted ones
  const auto append = [&](u64 number) { numbers.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(2000);
  for (u64 n = 0; n < 2000; ++n) append(n * n);
  const TemporaryFile sosd(numbers);
  constexpr u64 kFirst = 300, kCount = 700;  // parts of blocks at both ends
  for (const std::string& kind :
       {std::string("u64"), std::string("u32"), std::string("u16"), std::string("stride:4096"),
        std::string("clustered:64"), std::string("dense:in_order=1"), "sosd:" + sosd.path(), "file:" + lines.path()}) {
    const KeySet keys(Spec::parse(kind), test_seed());
    const auto check = [&](const MixStream& stream) {
      REQUIRE(stream.alike().has_value() == !keys.bytes());
      constexpr u64 kBefore = 100;
      std::vector<Op> all(kBefore + kCount), gets;
      stream.fill(kFirst - kBefore, all, gets);
      const auto ops = std::span<const Op>(all).subspan(kBefore);
      Steps steps;
      const StepMaker maker(stream, false, 64);
      steps.refill(maker, kFirst - kBefore, kBefore);  // which stay before them
      steps.refill(maker, kFirst, kCount);
      CHECK(steps.print(stream, kFirst, kCount) == fingerprint(kFirst, ops));
      CHECK(steps.print(stream, kFirst, 10) == fingerprint(kFirst, ops.first(10)));
      const Slice made = steps.rest();
      REQUIRE(made.count == all.size());
      CHECK(made.only == ops[0].kind);
      for (u64 i = 0; i < all.size(); ++i) {
        const Step& step = made.steps[i];
        const Op& op = all[i];
        const u64 stamp = kFirst - kBefore + i;
        REQUIRE(step.kind == op.kind);
        REQUIRE(step.limit == 0);
        REQUIRE(step.expect == (op.absent || step.kind == OpKind::kInsert ? Expect::kMiss : Expect::kHit));
        if (keys.bytes()) {
          const auto key = keys.raw<std::string_view>(op);
          REQUIRE(std::string_view(step.bytes, step.length) == key);
          REQUIRE(step.value == value_of(key, stamp));
        } else {
          REQUIRE(step.number == op.key);
          REQUIRE(step.length == sizeof(u64));
          REQUIRE(step.value == value_of(op.key, stamp));
        }
      }
    };
    CAPTURE(kind);
    check(MixStream::loading(1, keys, 1000));
    for (const char* distribution : {"uniform", "zipf:0.99", "latest"}) {
      for (const double negative : {0., 1.}) {
        CAPTURE(distribution, negative);
        const Distribution popularity(Spec::parse(distribution));
        check(MixStream(test_seed(), 1, keys, popularity, Mix(Spec::parse("lookup"), negative), 1000));
        check(MixStream(test_seed(), 1, keys, popularity, Mix(Spec::parse("lookup"), negative),
                        MixStream::Window{700, 1000}, {}));
      }
    }
  }
}

TEST_CASE("steps that are left keep the keys of their multi-gets when others are made behind them", "[multi-get]") {
  const KeySet keys(Spec::parse("u64"), 1);
  const MixStream stream(1, 1, keys, Distribution(Spec::parse("uniform")),
                         Mix(Spec::parse("mix:multi_get=50,update=50"), 0), 1000);
  const StepMaker maker(stream, false, 64);
  Steps whole, parts;
  const Slice expected = whole.only(maker, 0, 1024);
  u64 next = 0;  // the operation that the rest begins with
  const auto check_rest = [&] {
    const Slice& rest = parts.rest();
    for (u32 i = 0; i < rest.count; ++i) {
      const Step &got = rest.steps[i], &want = expected.steps[next + i];
      REQUIRE(got.kind == want.kind);
      if (got.kind != OpKind::kMultiGet) continue;
      REQUIRE(got.limit == want.limit);
      for (u32 k = 0; k < got.limit; ++k) {
        const Step &key = rest.gets[got.number + k], &as = expected.gets[want.number + k];
        REQUIRE(key.number == as.number);
        REQUIRE(key.value == as.value);
        REQUIRE(key.expect == Expect::kHit);
      }
    }
  };
  for (const u32 run : {256u, 1u, 200u, 55u, 0u, 256u}) {  // all, one, most, the rest
    const u64 made = next + parts.left();
    parts.refill(maker, made, static_cast<u32>(std::min<u64>(256, 1024 - made)));
    check_rest();
    parts.take(run);
    next += run;
    CHECK(parts.ran().count == run);
  }
}

TEST_CASE("an insert of a new key is promised to find none, also where lookups may come too early") {
  const KeySet keys(Spec::parse("affine"), 1);
  const Mix mix(Spec::parse("ycsb-d"), 0);
  const MixStream by_age(1, 1, keys, Distribution(Spec::parse("latest:0.99")), mix, 1000);
  const WiscerStream wiscer(WiscerFile::read("read-mostly"), 1, keys);
  for (const Stream* stream : {static_cast<const Stream*>(&by_age), static_cast<const Stream*>(&wiscer)}) {
    Steps made;
    const Slice slice = made.only(StepMaker(*stream, false, 64), 0, 4096);
    u64 inserts = 0;
    for (const Step& step : std::span(slice.steps, slice.count)) {
      inserts += step.kind == OpKind::kInsert;
      REQUIRE(step.expect == (step.kind == OpKind::kInsert ? Expect::kMiss : Expect::kEither));
    }
    CHECK(inserts > 50);
  }
}

TEST_CASE("an insert is promised nothing where an upsert may have come before it") {
  const KeySet keys(Spec::parse("u64"), 1);
  const auto expected = [&](const Stream& stream) {
    Steps steps;
    const Slice made = steps.only(StepMaker(stream, false, 64), 0, 4096);
    std::set<Expect> of_inserts;
    for (const Step& step : std::span(made.steps, made.count)) {
      if (step.kind == OpKind::kInsert) of_inserts.insert(step.expect);
    }
    REQUIRE(of_inserts.size() == 1);
    return *of_inserts.begin();
  };
  const auto mixed = [&](const char* mix, const char* distribution) {
    return expected(MixStream(1, 1, keys, Distribution(Spec::parse(distribution)), Mix(Spec::parse(mix), 0), 1000));
  };
  CHECK(mixed("mix:insert=20,upsert=80", "latest") == Expect::kEither);
  CHECK(mixed("mix:insert=20,update=80", "latest") == Expect::kMiss);
  CHECK(mixed("mix:insert=20,upsert=80", "uniform") == Expect::kMiss);  // of what was loaded
  const auto phased = [&](const char* text) {
    const TemporaryFile file(text);
    return expected(PhasedStream(1, 1, keys, read_phases(file.path()), 1000));
  };
  CHECK(phased("a 4k mix:insert=50,read=50\nb 4k mix:upsert=100\n") == Expect::kEither);
  CHECK(phased("a 4k mix:insert=50,read=50\nb 4k mix:update=100\n") == Expect::kMiss);
}

TEST_CASE("an insert of keys that end finds its key absent where they do not go round") {
  const testing::Lines lines(2000);
  for (const std::string& kind :
       {std::string("u64"), std::string("u32"), std::string("stride:4096"), "file:" + lines.path()}) {
    CAPTURE(kind);
    const KeySet keys(Spec::parse(kind), 1);
    Steps made;
    const auto all_expect = [&](const Stream& stream, Expect expect) {
      const Slice slice = made.only(StepMaker(stream, false, 64), 0, 1000);
      return std::ranges::all_of(std::span(slice.steps, slice.count), [&](const Step& step) {
        return step.kind != OpKind::kInsert || step.expect == expect;
      });
    };
    CHECK(all_expect(MixStream::loading(1, keys, 1000), Expect::kMiss));
    const Mix mix(Spec::parse("mix:read=50,insert=50"), 0);
    const MixStream mixed(1, 1, keys, Distribution(Spec::parse("uniform")), mix, 1000);
    CHECK(all_expect(mixed, keys.capacity() == KeySet::kNumbers ? Expect::kMiss : Expect::kEither));
  }
}

/// All that a step says, as words.
std::vector<u64> words_of(std::span<const Step> steps) {
  std::vector<u64> words;
  for (const Step& step : steps) {
    words.insert(words.end(), {step.number, step.value, u64{step.length} << 32 | step.limit,
                               u64{static_cast<u8>(step.kind)} << 8 | static_cast<u8>(step.expect)});
  }
  return words;
}

/// Another stream, for which memory may run out.
class Starved final : public Stream {
 public:
  explicit Starved(const Stream& stream) : Stream(stream.keys()), stream_(stream) {}
  u64 size() const override { return stream_.size(); }
  bool addresses_new() const override { return stream_.addresses_new(); }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override {
    if (starves) throw std::bad_alloc();
    stream_.fill(first, ops, gets);
  }
  bool starves = false;

 private:
  const Stream& stream_;
};

TEST_CASE("where memory runs out no steps are left, and others can be made", "[multi-get]") {
  const KeySet keys(Spec::parse("u64"), 1);
  const MixStream mixed(1, 1, keys, Distribution(Spec::parse("uniform")),
                        Mix(Spec::parse("mix:multi_get=50,update=50"), 0), 1000);
  Starved stream(mixed);
  const StepMaker maker(stream, false, 64);
  Steps steps, others;
  steps.refill(maker, 0, 256);
  steps.take(100);
  stream.starves = true;
  CHECK_THROWS_AS(steps.refill(maker, 256, 4096), std::bad_alloc);  // those that were left have moved by then
  CHECK(steps.left() == 0);
  CHECK(steps.ran().count == 0);
  stream.starves = false;
  steps.refill(maker, 256, 256);
  const Slice expected = others.only(maker, 256, 256);
  REQUIRE(steps.left() == 256);
  CHECK(words_of(std::span(steps.rest().steps, 256)) == words_of(std::span(expected.steps, 256)));
  CHECK(words_of(std::span(steps.rest().gets, 100)) == words_of(std::span(expected.gets, 100)));
}

}  // namespace
}  // namespace latchlab
