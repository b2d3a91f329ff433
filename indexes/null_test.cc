// Tests of `null`, which keeps nothing: its operations say that they have done what was asked, so that loops end.
#include "indexes/null.h"

#include "src/base/key.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

TEST_CASE("null: every modification ends, one that erases too") {
  Synchronized<Null, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  CHECK_FALSE(index.modify(me, 1, [](const Found&) noexcept { return Found(); }).after);
  CHECK(index.modify(me, 1, [](const Found&) noexcept { return Found(5); }).after == 5);
  CHECK(index.erase(me, 1));
}

}  // namespace
}  // namespace latchlab
