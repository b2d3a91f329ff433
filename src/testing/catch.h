#pragma once

// The one way to include Catch2 (2.x of Debian 12 and 3.x after it), and what every test shares: the seed of its random
// choices and the places of this build.
//
// Tags that the build understands: [release] runs in the release preset only, [no-asan] and [no-tsan] leave out one
// sanitizer lane, [threads] runs beside no other test, [.nightly] by ctest --preset nightly only. Assertions of Catch2
// belong to one thread: other threads collect, the test's own thread checks.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

#include "src/base/types.h"

namespace latchlab {

/// The seed of this process: LATCHLAB_SEED from the environment (decimal, or hexadecimal with 0x), else a random one.
/// The first call prints it to stderr, so that a failure can be run again. Any thread may call it.
[[nodiscard]] u64 test_seed();

/// Absolute paths: the harness binary of this build, the source tree, the build tree, and the interpreter of Python.
[[nodiscard]] std::string harness_binary();
[[nodiscard]] std::string source_folder();
[[nodiscard]] std::string build_folder();
[[nodiscard]] std::string python();

}  // namespace latchlab
