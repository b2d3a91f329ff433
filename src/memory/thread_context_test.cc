#include "src/memory/thread_context.h"

#include <utility>

#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("A moved context keeps its pool, which returns when it ends", "[memory]") {
  Memory<Native> memory(MemoryConfig{});
  Pool<Native>* pool = nullptr;
  {
    ThreadContext<Native> first(memory);
    pool = &first.pool();
    ThreadContext<Native> second(std::move(first));
    CHECK(&second.pool() == pool);
    CHECK(&memory.join() != pool);
  }
  CHECK(&memory.join() == pool);
}

}  // namespace
}  // namespace latchlab
