#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/error.h"

// Fuzz targets. A file NAME_fuzz.cc defines LLVMFuzzerTestOneInput, which passes arbitrary bytes to one parser. The
// folder NAME_fuzz beside it holds the committed inputs. clang links a target with libFuzzer, which starts from these
// inputs and looks for more; without libFuzzer, fuzz_main.cc runs only these.
//
// A parser reads its input or throws an InputError of one line. Everything else is a bug: a crash, a leak, another
// exception, or a broken expectation of the target.

/// Runs the target on one input; libFuzzer calls it. Returns 0; aborts for a bug.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace latchlab {

/// Aborts with the text unless `holds`.
void expect(bool holds, std::string_view text);

/// Runs `parse`, which may refuse its input by an InputError of one line.
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

/// A file in memory with the given bytes, which a parser can open by its path.
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
