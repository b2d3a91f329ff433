#include "src/testing/fuzzing.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace latchlab {

void expect(bool holds, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "fuzzing: this does not hold: %.*s\n", static_cast<int>(text.size()), text.data());
  std::abort();
}

FileInMemory::FileInMemory(std::string_view bytes) : file_(memfd_create("input", MFD_CLOEXEC)) {
  expect(file_ >= 0, "the system makes a file in memory");
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    expect(written > 0, "a file in memory takes its bytes");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  path_ = "/proc/self/fd/" + std::to_string(file_);
}

}  // namespace latchlab
