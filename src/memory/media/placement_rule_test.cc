#include "src/memory/media/placement_rule.h"

#include "src/base/hash.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

using Catch::Contains;
using testing::refusal;

PlacementRule parse(std::string_view text) { return PlacementRule::parse(text, "--rule"); }

TEST_CASE("a rule is one of six, with the touch that promotes and the share of the keys") {
  CHECK(parse("near-first") == PlacementRule{});
  CHECK(parse("near-first,promote=never").promote == 0);
  CHECK(parse("far-first") == PlacementRule{.kind = PlacementKind::kFarFirst, .promote = 2});
  CHECK(parse("far-first,promote=7").promote == 7);
  CHECK(parse("second-touch").kind == PlacementKind::kSecondTouch);
  CHECK(parse("fixed:0.25").share == .25);
  CHECK(parse("fixed:0.25,promote=3").promote == 3);
  CHECK(parse("weighted:0.5") == PlacementRule{.kind = PlacementKind::kWeighted, .promote = 0, .share = .5});
  CHECK(parse("leaves") == PlacementRule{.kind = PlacementKind::kLeaves, .promote = 0});
  for (const char* text : {"near-first", "near-first,promote=never", "far-first,promote=3", "second-touch", "fixed:0.1",
                           "weighted:0.75", "fixed:1,promote=never", "leaves"})
    CHECK(parse(parse(text).str()) == parse(text));
}

TEST_CASE("a wrong rule says what would be right") {
  CHECK_THAT(refusal([] { (void)parse("near-frist"); }),
             Contains("--rule near-frist: there is no rule 'near-frist'; there are near-first, far-first") &&
                 Contains("did you mean 'near-first'?"));
  CHECK_THAT(refusal([] { (void)parse("fixed"); }), Contains("it is 0 to 1, as in fixed:0.1"));
  CHECK_THAT(refusal([] { (void)parse("weighted:2"); }), Contains("it is 0 to 1, as in weighted:0.1"));
  CHECK_THAT(refusal([] { (void)parse("near-first,promote=8"); }), Contains("7"));
  CHECK_THAT(refusal([] { (void)parse("weighted:0.5,promote=1"); }), Contains("promote"));
  CHECK_THAT(refusal([] { (void)parse("near-first:3"); }), Contains("near-first"));
  CHECK_THAT(refusal([] { (void)parse("leaves,promote=1"); }), Contains("promote"));
}

TEST_CASE("a rule chooses its share of the keys, and where a value begins and moves") {
  const PlacementRule fixed = parse("fixed:0.25");
  u64 near = 0;
  for (u64 key = 0; key < 100'000; ++key) near += fixed.may_be_near(mix64(key));
  CHECK(near > 24'000);
  CHECK(near < 26'000);
  CHECK_FALSE(parse("fixed:0").may_be_near(0));
  CHECK(parse("fixed:1").may_be_near(~u64{0}));
  CHECK(parse("near-first").begins_near(~u64{0}));
  CHECK_FALSE(parse("far-first").begins_near(0));
  CHECK_FALSE(parse("far-first").promotes(0, 1));
  CHECK(parse("far-first").promotes(0, 2));
  CHECK_FALSE(parse("near-first,promote=never").promotes(0, 7));
  CHECK_FALSE(fixed.promotes(~u64{0}, 1));
  CHECK_FALSE(parse("weighted:0.5").demotes());
}

}  // namespace
}  // namespace latchlab
