#include "harness/host/pmu_events.h"

#include <algorithm>

#include "harness/config/values.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

const CpuFlags kWithRtm{.rtm = true};

const PmuEvent& find(const std::vector<PmuEvent>& events, std::string_view name) {
  const auto found = std::ranges::find(events, name, &PmuEvent::name);
  REQUIRE(found != events.end());
  return *found;
}

TEST_CASE("Software events come first, whatever is asked for, and exist everywhere", "[pmu]") {
  for (const char* words : {"core", "software", "tsx,cache", "software,tlb", "CYCLES:u"}) {
    const std::vector<PmuEvent> events = pmu_events(words);
    REQUIRE(events.size() >= 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(events[i].family == kSoftwareFamily);
      CHECK(events[i].missing == "");
      CHECK(events[i].code.type == 1);
      CHECK_FALSE(events[i].of_packages);
    }
    CHECK(std::ranges::count(events, kSoftwareFamily, &PmuEvent::family) == 3);
  }
  CHECK(pmu_events("software").size() == 3);
  CHECK(pmu_events("off").empty());
  CHECK_FALSE(happens_in_kernel(pmu_events("software")[0].code));
  CHECK(happens_in_kernel(pmu_events("software")[1].code));
  CHECK(happens_in_kernel(pmu_events("software")[2].code));
}

TEST_CASE("Families and names come in the order in which they were asked for", "[pmu]") {
  const std::vector<PmuEvent> events = pmu_events("tlb,core,perf::CYCLES:u");
  CHECK(events[3].family == "tlb");
  CHECK(events[3].code.type == 3);
  CHECK(find(events, "cycles").family == "core");
  CHECK(find(events, "cycles").here == "perf::PERF_COUNT_HW_CPU_CYCLES");
  CHECK_FALSE(find(events, "cycles").code.exclude_kernel);
  CHECK(events.back().family == "named");
  CHECK(events.back().name == "perf::CYCLES:u");
  CHECK(events.back().code.exclude_kernel);
  CHECK_FALSE(events.back().code.exclude_user);
}

TEST_CASE("Without transactions their events are missing, since the kernel would count all cycles", "[pmu]") {
  const char* cycles_t = "r10000003c";
  CHECK(find(pmu_events(cycles_t, kWithRtm), cycles_t).missing == "");
  CHECK(find(pmu_events(cycles_t, kWithRtm), cycles_t).code == PerfCode{.type = 4, .config = 0x1'0000'003c});
  CHECK(find(pmu_events(cycles_t, CpuFlags{.hle = true}), cycles_t).missing == "");
  CHECK(find(pmu_events(cycles_t, CpuFlags{}), cycles_t).missing != "");
  CHECK(find(pmu_events("r3c", CpuFlags{}), "r3c").missing == "");
  for (const PmuEvent& event : pmu_events("tsx", CpuFlags{}))
    CHECK((event.family == kSoftwareFamily) == event.missing.empty());
}

TEST_CASE("A name that libpfm4 knows for another processor is missing here", "[pmu]") {
  for (const char* name : {"TC_deliver_mode:DD", "tc_DELIVER_mode:dd:u=1", "netburst::TC_deliver_mode"}) {
    INFO(name);
    const PmuEvent event = find(pmu_events(name), name);
    CHECK(event.family == "named");
    CHECK_THAT(event.missing,
               Catch::StartsWith("libpfm4 has no such event for this machine") && Catch::Contains("netburst"));
  }
}

std::string events_refusal(std::string_view words) {
  return testing::refusal([&] { (void)pmu_events(words); });
}

TEST_CASE("A name that is no event on any processor is refused in one line", "[pmu]") {
  CHECK(events_refusal("tzx") ==
        "--pmu: 'tzx' is neither a family nor an event of libpfm4; families are software, core, cache, l2, "
        "tlb, tsx, energy; did you mean 'tsx'?");
  CHECK(events_refusal("core,cach").ends_with("did you mean 'cache'?"));
  CHECK(events_refusal("nowhere::CYCLES").starts_with("--pmu: 'nowhere::CYCLES' is neither a family"));
  CHECK(events_refusal("tsx,core,tsx") == "--pmu: 'tsx,core,tsx' has tsx twice");
  CHECK(events_refusal("core,off") == "--pmu: 'core,off': off must stand alone");
  for (const char* words : {"", ",", "core,", ",core", "core,,tlb"}) {
    CHECK_THAT(events_refusal(words), Catch::EndsWith("has an empty element"));
  }
  CHECK_THAT(events_refusal("CYCLES:period=4"),
             Catch::StartsWith("--pmu: 'CYCLES:period=4': CYCLES has no 'period=4'; it has u, k"));
  CHECK_THAT(events_refusal("TC_deliver_mode:"), Catch::Contains("TC_deliver_mode has no ':'; it has DD, "));
  CHECK_THAT(events_refusal("CYCLES:u=7"), Catch::Contains("libpfm4 says: "));
  CHECK_THAT(events_refusal("skx::RTM_RETIRED:STRAT"),
             Catch::Contains("has no 'STRAT'") && Catch::EndsWith("did you mean 'START'?"));
}

TEST_CASE("A comma joins families of one point, braces make a point of each", "[pmu]") {
  using Axis = std::vector<std::string>;
  CHECK(expand_axis("--pmu", {"tsx,cache"}) == Axis{"tsx,cache"});
  CHECK(expand_axis("--pmu", {"{tsx,cache}"}) == Axis{"tsx", "cache"});
  CHECK(expand_axis("--pmu", {"core", "tsx,cache"}) == Axis{"core", "tsx,cache"});
  CHECK(expand_axis("--pmu", {"core,{tlb,cache}"}) == Axis{"core,tlb", "core,cache"});
  CHECK(expand_axis("--pmu", {"skx::RTM_RETIRED:START:u=1,tlb"}) == Axis{"skx::RTM_RETIRED:START:u=1,tlb"});
  CHECK(expand_axis("--pmu", {"{RTM_RETIRED:START:u=1,tlb}"}) == Axis{"RTM_RETIRED:START:u=1", "tlb"});
}

TEST_CASE("Families list the events that they count", "[pmu]") {
  CHECK(pmu_families().front().name == kSoftwareFamily);
  for (const PmuFamily& family : pmu_families()) {
    const std::vector<PmuEvent> events = pmu_events(family.name, kWithRtm);
    CHECK(family.events.size() == static_cast<std::size_t>(std::ranges::count(events, family.name, &PmuEvent::family)));
    for (const std::string_view name : family.events) CHECK(find(events, name).name == name);
  }
}

}  // namespace
}  // namespace latchlab
