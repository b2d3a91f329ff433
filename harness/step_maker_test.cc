#include "harness/step_maker.h"

#include <vector>

#include "src/base/spec.h"
#include "src/testing/catch.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/stream.h"

namespace latchlab {
namespace {

TEST_CASE("a step knows what must come of it") {
  const KeySet keys(Spec::parse("u64"), 1);
  const Mix mix(Spec::parse("mix:read=40,insert=30,update=30"), .5);
  const Distribution uniform(Spec::parse("uniform"));
  const Stream stream(1, 1, keys, uniform, mix, 100);
  std::vector<Op> ops;
  std::vector<Step> steps;
  for (const bool erases : {false, true}) {
    const Slice slice = StepMaker(stream, erases).make(0, 512, ops, steps);
    CHECK(slice.count == 512);
    CHECK_FALSE(slice.only);
    for (u32 i = 0; i < 512; ++i) {
      const Step& step = steps[i];
      CHECK(tag_matches(step.number, step.value));
      if (step.kind == OpKind::kInsert) CHECK(step.expect == (erases ? Expect::kEither : Expect::kMiss));
      if (step.kind == OpKind::kUpdate) CHECK(step.expect == (erases ? Expect::kEither : Expect::kHit));
      if (step.kind == OpKind::kRead && ops[i].absent) CHECK(step.expect == Expect::kMiss);
      if (step.kind == OpKind::kRead && !ops[i].absent) {
        CHECK(step.expect == (erases ? Expect::kEither : Expect::kHit));
      }
    }
  }
}

}  // namespace
}  // namespace latchlab
