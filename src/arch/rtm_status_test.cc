#include "src/arch/rtm_status.h"

#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

// The documented table of causes, as data: the first row that has all its bits in the status decides.
struct Row {
  u32 bits;
  AbortCause cause;
};
const std::vector<Row> kTable{
    {0xff000001, AbortCause::kLockBusy}, {0xee000001, AbortCause::kArena}, {1, AbortCause::kExplicitOther},
    {32, AbortCause::kNested},           {16, AbortCause::kDebug},         {8, AbortCause::kCapacity},
    {4, AbortCause::kConflict},          {2, AbortCause::kRetryOnly},      {0, AbortCause::kZero},
};

TEST_CASE("Every abort status belongs to the first class that matches") {
  for (u32 code = 0; code < 256; ++code) {
    for (u32 bits = 0; bits < 64; ++bits) {
      const u32 status = code << 24 | bits;
      AbortCause expected = AbortCause::kZero;
      for (const Row& row : kTable) {
        // A row with a code asks for exactly that code.
        if ((bits & row.bits & 63) != (row.bits & 63)) continue;
        if (row.bits >> 24 != 0 && row.bits >> 24 != code) continue;
        expected = row.cause;
        break;
      }
      // CHECK would be too slow for each of the 16384 statuses.
      if (classify(status) != expected) FAIL_CHECK(status << " is " << word(expected));
    }
  }
}

TEST_CASE("Reserved bits of a status do not change its class") {
  CHECK(classify(0x00ffffc0) == AbortCause::kZero);
  CHECK(classify(0x00ffffc6) == AbortCause::kConflict);
}

TEST_CASE("Statuses seen on real processors have the documented classes") {
  CHECK(classify(0x06) == AbortCause::kConflict);  // conflict, retry may help
  CHECK(classify(0x08) == AbortCause::kCapacity);
  CHECK(classify(explicit_status(kBusyCode)) == AbortCause::kLockBusy);
  CHECK(classify(explicit_status(kArenaCode) | kAbortNested) == AbortCause::kArena);
  CHECK(classify(explicit_status(0)) == AbortCause::kExplicitOther);
  CHECK(classify(0x20) == AbortCause::kNested);  // nested too deep
  CHECK(classify(0x10) == AbortCause::kDebug);   // int3
  CHECK(classify(0) == AbortCause::kZero);
  CHECK(explicit_code(explicit_status(0xa5)) == 0xa5);
}

TEST_CASE("bits_of names the bits of a status and leaves out its code") {
  CHECK(bits_of(0) == "zero");
  CHECK(bits_of(kAbortRetry | kAbortConflict) == "retry+conflict");
  CHECK(bits_of(explicit_status(kBusyCode) | kAbortNested) == "explicit+nested");
}

}  // namespace
}  // namespace latchlab
