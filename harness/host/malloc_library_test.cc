#include "harness/host/malloc_library.h"

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("the C library serves malloc unless another library is preloaded, and reports its version", "[release]") {
  const MallocServer server = malloc_server();
  CHECK(server.library == "libc.so.6");
  CHECK_THAT(server.version, Catch::StartsWith("glibc 2."));
}

TEST_CASE("an --alloc word that names a library has a file and a package, the others have none") {
  for (const Alloc alloc : {Alloc::kTcmalloc, Alloc::kJemalloc, Alloc::kMimalloc, Alloc::kTbb}) {
    REQUIRE(library_of(alloc));
    CHECK_THAT(std::string(library_of(alloc)->file), Catch::StartsWith("lib"));
    CHECK_THAT(std::string(library_of(alloc)->package), Catch::StartsWith("lib"));
    CHECK(calls_malloc(alloc));
  }
  for (const Alloc alloc : {Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch}) {
    CHECK_FALSE(library_of(alloc));
    serve_malloc_by(alloc, {});  // returns without a restart
  }
}

}  // namespace
}  // namespace latchlab
