#include "harness/host/pmu_access.h"

#include <cerrno>
#include <map>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// A kernel that counts software events, and with EACCES also others outside the kernel.
class OnlySoftware final : public PerfCalls {
 public:
  explicit OnlySoftware(int error) : error_(error) {}
  int open(const PerfCode& code, int, int) override {
    if (code.type != 1 && (error_ != EACCES || !code.exclude_kernel)) return -error_;
    ++files;
    return 3;
  }
  long read(int, std::span<u64>) override { return -EIO; }
  void close(int) override { --files; }
  int files = 0;

 private:
  const int error_;
};

TEST_CASE("The access report counts the permitted events family by family", "[pmu]") {
  OnlySoftware kernel(ENOENT);
  const PmuAccess access = pmu_access(kernel);
  CHECK(access.error == ENOENT);
  CHECK_FALSE(access.user_only);
  CHECK_THAT(access.families,
             Catch::StartsWith(
                 "software 3 of 3, core 0 of 3, cache 0 of 4, l2 0 of 1, tlb 0 of 4, tsx 0 of 13, energy 0 of "));
  CHECK(kernel.files == 0);
  OnlySoftware paranoid(EACCES);
  CHECK(pmu_access(paranoid).error == 0);
  CHECK(pmu_access(paranoid).user_only);
  CHECK_THAT(pmu_access(paranoid).families,
             Catch::StartsWith("software 3 of 3, core 3 of 3, cache 4 of 4, l2 ") &&
                 Catch::Contains(" of 1, tlb 4 of 4, "));  // libpfm4 may not know this processor
}

TEST_CASE("Each event that is not counted here has its own reason", "[pmu]") {
  OnlySoftware kernel(ENOENT);
  std::vector<PmuEvent> events = pmu_events("core");  // after the three software events
  const std::vector<std::string> whys = why_not_here(events, kernel);
  REQUIRE(whys.size() == 6);
  CHECK(whys[0].empty());
  CHECK_THAT(whys[3], Catch::StartsWith("ENOENT: the kernel has no such counter here ("));
  events[0].missing = "libpfm4 has no such event";
  CHECK(why_not_here(events, kernel)[0] == "libpfm4 has no such event");
  CHECK(kernel.files == 0);
}

}  // namespace
}  // namespace latchlab
