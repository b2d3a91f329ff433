#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/error.h"

// Fuzz targets. A file NAME_fuzz.cc defines LLVMFuzzerTestOneInput, which gives arbitrary bytes to one parser, and the
// folder NAME_fuzz beside it holds inputs that have taught something. clang links a target with libFuzzer, which looks
// for more of them; elsewhere fuzz_main.cc runs those that are there.
//
// A parser reads its input or throws an InputError in one line. Everything else is a bug: a crash, a leak, another
// exception, or an expectation that a target states.

/// libFuzzer's entry point: returns 0, aborts for a bug.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace latchlab {

/// Aborts with the text unless `holds`.
void expect(bool holds, std::string_view text);

/// Runs `parse`, which may refuse its input.
template <class Parse>
void read_or_refuse(Parse&& parse) {
  try {
    parse();
  } catch (const InputError& error) {
    const std::string_view text = error.what();
    expect(!text.empty(), "a refusal says why");
    expect(text.find('\n') == std::string_view::npos, "a refusal is one line");
  }
}

/// Bytes as a file that a parser can open by its path, in memory.
class FileInMemory {
 public:
  explicit FileInMemory(std::string_view bytes);
  ~FileInMemory() { close(file_); }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

}  // namespace latchlab
