#include "src/memory/pool_lease.h"

#include <utility>

#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("A moved lease keeps its pool and returns it at its end", "[memory]") {
  Memory<Native> memory(MemoryConfig{});
  Pool<Native>* pool = nullptr;
  {
    PoolLease<Native> first(memory);
    pool = &*first;
    PoolLease<Native> second(std::move(first));
    CHECK(&*second == pool);
    CHECK(&memory.join() != pool);
  }
  CHECK(&memory.join() == pool);
}

}  // namespace
}  // namespace latchlab
