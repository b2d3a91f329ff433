// The main function of every test executable, and the definitions of src/testing/catch.h. Catch2 2.x is compiled here,
// once; 3.x comes as a library and ignores the macro.
#define CATCH_CONFIG_RUNNER
#include "src/testing/catch.h"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace latchlab {

namespace {

u64 choose_seed() {
  u64 seed = 0;
  if (const char* given = std::getenv("LATCHLAB_SEED"); given != nullptr) {
    char* end = nullptr;
    seed = std::strtoull(given, &end, 0);
    if (end == given || *end != '\0') {
      std::fprintf(stderr, "LATCHLAB_SEED=%s must be a whole number, decimal or with 0x\n", given);
      std::exit(2);
    }
  } else {
    std::random_device device;
    seed = (u64{device()} << 32) | device();
  }
  std::fprintf(stderr, "random choices of this run: LATCHLAB_SEED=0x%llx\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace

u64 test_seed() {
  static const u64 seed = choose_seed();
  return seed;
}

std::string harness_binary() { return LATCHLAB_HARNESS_BINARY; }
std::string source_folder() { return LATCHLAB_SOURCE_FOLDER; }
std::string build_folder() { return LATCHLAB_BUILD_FOLDER; }
std::string python() { return LATCHLAB_PYTHON; }

}  // namespace latchlab

// The options of the sanitizers in tests, unless the environment sets others. Their runtimes call these functions; in a
// build without sanitizers no code does.
extern "C" {
const char* __asan_default_options();
const char* __tsan_default_options();
const char* __ubsan_default_options();

const char* __asan_default_options() { return "detect_stack_use_after_return=1:allocator_may_return_null=1"; }
const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"; }
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
