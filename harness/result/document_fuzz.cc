// Result documents, read again.
#include "harness/result/document.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data), size));
  read_or_refuse([&] {
    for (const Json& document : read_results("fuzz", file.path())) {
      read_or_refuse([&] { (void)result_of(document); });
    }
  });
  return 0;
}
