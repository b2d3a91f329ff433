// Tests of the names of types.
#include "src/base/type_name.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

struct Plain {};
template <class T>
struct Of {};

TEST_CASE("type names: without namespaces and arguments") {
  CHECK(type_name<Plain>() == "Plain");
  CHECK(type_name<Of<Plain>>() == "Of");
  CHECK(type_name<int>() == "int");
}

}  // namespace
}  // namespace latchlab
