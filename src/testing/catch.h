#pragma once

// The one way to include Catch2 (2.x of Debian 12 and 3.x after it). All tests share two more things: the seed of
// random choices and the paths of this build.
//
// The build understands these tags:
//   [release]            runs in the release preset only
//   [no-asan] [no-tsan]  leave out one sanitizer lane
//   [threads]            runs beside no other test (indexes)
//   [realtime]           runs for a time rather than a number of operations (harness: ctest -L realtime)
//   [.all]               runs by ./test --all only
//
// Assertions of Catch2 belong to one thread: other threads collect results, and the test's own thread checks them.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

#include "src/base/types.h"

namespace latchlab {

/// Returns the seed of this process: LATCHLAB_SEED from the environment (decimal, or hexadecimal with 0x), else a
/// random one. The first call prints it to stderr, so that a failure can be repeated. Any thread may call it.
[[nodiscard]] u64 test_seed();

/// The next four return absolute paths: of the harness binary of this build, the source tree, the build tree, and the
/// Python interpreter.
[[nodiscard]] std::string harness_binary();
[[nodiscard]] std::string source_folder();
[[nodiscard]] std::string build_folder();
[[nodiscard]] std::string python();

}  // namespace latchlab
