#include "src/arch/slice_extension.h"

#include <cerrno>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

u32 yields = 0;
SliceControl control;

/// A thread whose requests a test sees, and whose yields it counts.
struct Pretended {
  Pretended() {
    yields = 0;
    control.request = 0;
    control.granted = 0;
    SliceExtension::pretend(&control, [] {
      ++yields;
      control.granted = 0;
    });
  }
  ~Pretended() { SliceExtension::pretend(nullptr, nullptr); }
};

TEST_CASE("a section asks for its time, and gives back what it got", "[slice]") {
  const Pretended thread;
  {
    const SliceSection section;
    CHECK(control.request == 1);
  }
  CHECK(control.request == 0);
  CHECK(yields == 0);
  {
    const SliceSection section;
    control.request = 0;  // as the kernel does
    control.granted = 1;
  }
  CHECK(yields == 1);
  CHECK(SliceExtension::granted() == 1);
}

TEST_CASE("a thread that may not ask has no control", "[slice]") {
  control.request = 0;
  { const SliceSection section; }
  CHECK(control.request == 0);
  CHECK(SliceExtension::granted() == 0);
}

TEST_CASE("each refusal of the kernel has its reason", "[slice]") {
  CHECK(SliceExtension::refusal(EINVAL).find("Linux 7.0") != std::string::npos);
  CHECK(SliceExtension::refusal(ENXIO).find("rseq") != std::string::npos);
  CHECK(SliceExtension::refusal(524).find("rseq_slice_ext=off") != std::string::npos);
  CHECK(SliceExtension::refusal(EPERM).find("not permitted") != std::string::npos);
  if (const auto why = SliceExtension::why_none()) WARN(*why);
}

}  // namespace
}  // namespace latchlab
