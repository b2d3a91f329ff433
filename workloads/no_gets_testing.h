// A place for the keys of multi-gets, for tests of streams that have none.

#pragma once

#include <vector>

#include "workloads/op.h"

namespace latchlab::testing {

inline std::vector<Op> no_gets;

}  // namespace latchlab::testing
