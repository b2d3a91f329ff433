#include "harness/step_maker.h"

#include <algorithm>
#include <string>
#include <vector>

#include "harness/trial_testing.h"
#include "src/base/spec.h"
#include "src/testing/catch.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/wiscer.h"
#include "workloads/wiscer_stream.h"

namespace latchlab {
namespace {

TEST_CASE("a step knows what must come of it") {
  const KeySet keys(Spec::parse("u64"), 1);
  const Mix mix(Spec::parse("mix:read=40,insert=30,update=30"), .5);
  const Distribution uniform(Spec::parse("uniform"));
  const MixStream stream(1, 1, keys, uniform, mix, 100);
  std::vector<Op> ops;
  std::vector<Step> steps;
  for (const bool may_be_gone : {false, true}) {
    const Slice slice = StepMaker(stream, may_be_gone, 64).make(0, 512, ops, steps);
    CHECK(slice.count == 512);
    CHECK_FALSE(slice.only);
    for (u32 i = 0; i < 512; ++i) {
      const Step& step = steps[i];
      CHECK(tag_matches(step.number, step.value));
      if (step.kind == OpKind::kInsert) CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kMiss));
      if (step.kind == OpKind::kUpdate) CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      if (step.kind == OpKind::kRead && ops[i].absent) CHECK(step.expect == Expect::kMiss);
      if (step.kind == OpKind::kRead && !ops[i].absent) {
        CHECK(step.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      }
    }
  }
}

TEST_CASE("an insert of a new key is promised to find none, also where lookups may come too early") {
  const KeySet keys(Spec::parse("affine"), 1);
  const Mix mix(Spec::parse("ycsb-d"), 0);
  const MixStream by_age(1, 1, keys, Distribution(Spec::parse("latest:0.99")), mix, 1000);
  const WiscerStream wiscer(WiscerFile::read("read-mostly"), 1, keys);
  for (const Stream* stream : {static_cast<const Stream*>(&by_age), static_cast<const Stream*>(&wiscer)}) {
    std::vector<Op> ops;
    std::vector<Step> steps;
    (void)StepMaker(*stream, false, 64).make(0, 4096, ops, steps);
    u64 inserts = 0;
    for (const Step& step : steps) {
      inserts += step.kind == OpKind::kInsert;
      REQUIRE(step.expect == (step.kind == OpKind::kInsert ? Expect::kMiss : Expect::kEither));
    }
    CHECK(inserts > 50);
  }
}

TEST_CASE("an insert of keys that end finds its key absent where they do not go round") {
  const testing::Lines lines(2000);
  for (const std::string& kind : {std::string("u64"), std::string("u32"), std::string("stride:4096"), "file:" + lines.path()}) {
    CAPTURE(kind);
    const KeySet keys(Spec::parse(kind), 1);
    std::vector<Op> ops;
    std::vector<Step> steps;
    const auto all_expect = [&](const Stream& stream, Expect expect) {
      (void)StepMaker(stream, false, 64).make(0, 1000, ops, steps);
      return std::ranges::all_of(steps, [&](const Step& step) { return step.kind != OpKind::kInsert || step.expect == expect; });
    };
    CHECK(all_expect(MixStream::loading(1, keys, 1000), Expect::kMiss));
    const Mix mix(Spec::parse("mix:read=50,insert=50"), 0);
    const MixStream mixed(1, 1, keys, Distribution(Spec::parse("uniform")), mix, 1000);
    CHECK(all_expect(mixed, keys.capacity() == KeySet::kNumbers ? Expect::kMiss : Expect::kEither));
  }
}

}  // namespace
}  // namespace latchlab
