// Workload files of phases.
#include "workloads/phases_file.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data), size));
  read_or_refuse([&] { expect(!read_phases(file.path()).empty(), "a file has a phase"); });
  return 0;
}
