#pragma once
// The vector functions of a build's own: none. A build takes those of another header in this one's place, by
//
//     cmake -DLATCHLAB_VECTOR_FUNCTIONS=/path/to/my_functions.h ...
//
// That header includes "src/vector/functions.h", which says what a function is, and lists its own ones:
//
//     struct Halve { ... };
//     namespace latchlab::vectors { using UserFunctions = TypeList<Halve>; }
//
// They are then updates by name like the others, in the map, the erased interface and the server. Each compiles to a
// kernel for every instruction set and type of elements. At most 200 fit.
#include "src/vector/functions.h"

namespace latchlab::vectors {

using UserFunctions = TypeList<>;

}  // namespace latchlab::vectors
