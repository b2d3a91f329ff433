// Where streams that have no multi-gets would put the keys of them.

#pragma once

#include <vector>

#include "workloads/op.h"

namespace latchlab::testing {

inline std::vector<Op> no_gets;

}  // namespace latchlab::testing
