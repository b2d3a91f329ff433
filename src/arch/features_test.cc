#include "src/arch/features.h"

#include <sched.h>
#include <signal.h>

#include <cstring>

#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("The RTM probe has one of three outcomes, with evidence, and changes nothing in the process") {
  struct sigaction before, after;
  cpu_set_t allowed_before, allowed_after;
  REQUIRE(sigaction(SIGILL, nullptr, &before) == 0);
  REQUIRE(sched_getaffinity(0, sizeof allowed_before, &allowed_before) == 0);
  const RtmProbe& probe = rtm_probe();
  REQUIRE(sigaction(SIGILL, nullptr, &after) == 0);
  REQUIRE(sched_getaffinity(0, sizeof allowed_after, &allowed_after) == 0);

  UNSCOPED_INFO(word(probe.outcome) << ": " << probe.evidence);
  CHECK(before.sa_handler == after.sa_handler);
  CHECK(CPU_EQUAL(&allowed_before, &allowed_after));
  CHECK(probe.evidence.starts_with("CPUID "));
  CHECK(probe.evidence.find('\n') == std::string::npos);
  CHECK(&probe == &rtm_probe());
  CHECK(rtm_works() == (probe.outcome == RtmOutcome::kWorks && !kSanitized));
  CHECK(rtm_works() == !why_no_rtm());
}

TEST_CASE("A sanitizer build runs no body in a hardware transaction, even where transactions work") {
  const RtmProbe works{RtmOutcome::kWorks, "seen"};
  CHECK(why_no_rtm(works).has_value() == kSanitized);
  for (const RtmOutcome outcome : {RtmOutcome::kAlwaysAborts, RtmOutcome::kAbsent}) {
    const auto why = why_no_rtm({outcome, "seen"});
    REQUIRE(why);
    CHECK(*why == "hardware transactions: " + std::string(word(outcome)) + " (seen)");
  }
}

TEST_CASE("Loads are suspended where transactions work and the processor has TSXLDTRK") {
  const RtmProbe works{RtmOutcome::kWorks, "seen"}, absent{RtmOutcome::kAbsent, "seen"};
  CpuFlags has;
  has.tsxldtrk = true;
  CHECK(why_no_suspended_loads(absent, has) ==
        why_no_rtm(absent));  // a processor may announce TSXLDTRK and have no RTM
  CHECK(why_no_suspended_loads(works, has) == why_no_rtm(works));
  CHECK(why_no_suspended_loads(works, {}) == (kSanitized ? why_no_rtm(works) : "the processor has no TSXLDTRK"));
}

TEST_CASE("The RTM probe believes only what it sees") {
  // The transactions of this test must agree with the probe. If it says absent, XBEGIN may not even exist.
  if (rtm_probe().outcome == RtmOutcome::kAbsent) {
    WARN("skipped: " << rtm_probe().evidence);
    return;
  }
  constexpr u32 kTries = 1000;
  volatile u64 word = 0;
  u32 commits = 0;
  for (u32 i = 0; i < kTries; ++i) {
    if (rtm_begin() != kCommitted) continue;
    word = word + 1;
    rtm_end();
    ++commits;
  }
  CHECK(word == commits);
  if (rtm_probe().outcome == RtmOutcome::kAlwaysAborts) {
    CHECK(commits < kTries / 2);
  } else if (!kSanitized) {
    CHECK(commits >= kTries / 2);
  }
}

TEST_CASE("Each RTM outcome has the name that documents use") {
  CHECK(word(RtmOutcome::kWorks) == "works");
  CHECK(word(RtmOutcome::kAlwaysAborts) == "always-aborts");
  CHECK(word(RtmOutcome::kAbsent) == "absent");
}

}  // namespace
}  // namespace latchlab
